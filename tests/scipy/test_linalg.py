"""Linear algebra by SciPy's names: SciPy decides values and shapes; derivatives, batches."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.scipy import linalg

reference = pytest.importorskip("scipy.linalg")

RNG = np.random.default_rng(5)
A = (RNG.normal(size=(4, 4)) + 6 * np.roll(np.eye(4), 1, 0)).astype("float32")
B = RNG.normal(size=(4, 2)).astype("float32")
V = RNG.normal(size=4).astype("float32")
C = (A @ A.T + np.eye(4)).astype("float32")
Z = (A[:3, :3] + 1j * A[1:, 1:]).astype("complex64")
TALL = RNG.normal(size=(5, 3)).astype("float32")
VECTORS = [1.0, 2.0, -3.0], [4.0, 5.0]

CALLS = [
    lambda m, f: [m.solve(f(A), f(B)), m.solve(f(A), f(V)), m.solve(f(C), f(V), assume_a="sym")],
    lambda m, f: [m.solve(f(C), f(B), assume_a="pos"), m.solve(f(C), f(V), lower=True, assume_a="pos")],
    lambda m, f: [m.cho_solve(m.cho_factor(f(C), lower), f(V)) for lower in (False, True)],
    lambda m, f: [m.cholesky(f(C)), m.cholesky(f(C), lower=True)],
    lambda m, f: [m.cholesky(f(np.triu(C))), m.cholesky(f(np.tril(C)), lower=True)],
    lambda m, f: [m.lu_solve(m.lu_factor(f(A)), f(B), trans) for trans in (0, 1, 2)],
    lambda m, f: [m.lu_solve(m.lu_factor(f(Z)), f(V[:3]), trans) for trans in (0, 1, 2)],
    lambda m, f: [*m.lu(f(A)), *m.lu(f(TALL)), *m.lu(f(TALL.T)), *m.lu(f(TALL), permute_l=True), m.lu_factor(f(A))[1]],
    lambda m, f: [
        m.solve_triangular(f(C), f(B), trans, lower, unit)
        for trans in (0, "T", 2)
        for lower in (False, True)
        for unit in (False,)
    ],
    lambda m, f: [m.solve_triangular(f(C) / 30, f(V), lower=True, unit_diagonal=True)],
    lambda m, f: [m.solve_triangular(f(Z), f(V[:3]), "C")],
    lambda m, f: [m.det(f(A)), m.inv(f(A)), m.inv(f(Z))],
    lambda m, f: [m.qr(f(TALL))[1], *m.qr(f(TALL), mode="economic"), *m.qr(f(TALL), mode="r")],
    lambda m, f: [m.svd(f(TALL))[1], m.svd(f(TALL), compute_uv=False), m.svd(f(TALL), full_matrices=False)[1]],
    lambda m, f: [m.eigh(f(C))[0], m.eigh(f(C), eigvals_only=True), m.eigh(f(np.triu(C)), lower=False)[0]],
    lambda m, f: [m.eigh(f(A + A.T), f(C))[0], m.eigh(f(A + A.T), f(C), eigvals_only=True)],
    lambda m, f: [m.eigh(f(np.triu(A + A.T)), f(np.triu(C)), lower=False)[0]],
    lambda m, f: [m.expm(f(A / 9)), m.expm(f(A)), m.expm(f(Z / 4)), m.expm(f(np.zeros((2, 2), "float32")))],
    lambda m, f: [*m.polar(f(A)), *m.polar(f(TALL)), *m.polar(f(TALL), side="left"), *m.polar(f(TALL.T))],
    lambda m, f: [m.toeplitz(f(v)) for v in VECTORS],
    lambda m, f: [m.toeplitz(f(VECTORS[0]), f(VECTORS[1])), m.toeplitz(f(np.array([1, 2j])))],
    lambda m, f: [m.hankel(f(VECTORS[0])), m.hankel(f(VECTORS[0]), f(VECTORS[1]))],
    lambda m, f: [m.circulant(f(VECTORS[0])), m.companion(f(VECTORS[0])), m.leslie(f(VECTORS[0]), f(VECTORS[1]))],
    lambda m, f: [m.block_diag(f(A), f(V), f(TALL)), m.block_diag(f(A))],
    lambda m, f: [m.hilbert(3), m.hilbert(1), m.hadamard(8), m.hadamard(1)],
    lambda m, f: [m.dft(5), m.dft(4, "sqrtn"), m.dft(4, "n"), m.helmert(5), m.helmert(4, full=True)],
    lambda m, f: [m.convolution_matrix(f(TALL[:, 0]), n, k) for n in (1, 3, 5, 7) for k in ("full", "same", "valid")],
    lambda m, f: [m.fiedler(f(V)), *[m.fiedler_companion(f(TALL[:n, 0])) for n in (2, 3, 4, 5)]],
    lambda m, f: [m.invhilbert(1), m.invhilbert(5), *[m.invpascal(4, k) for k in ("symmetric", "lower", "upper")]],
    lambda m, f: [m.pascal(n, k) for n in (4, 30) for k in ("symmetric", "lower", "upper")],
    lambda m, f: [m.invhilbert(12), m.invpascal(9, "lower")],
]


def agree(made, expected):
    for i, (x, y) in enumerate(zip(made, expected, strict=True)):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, i
        assert x.dtype.kind == y.dtype.kind or y.dtype.kind in "iu" or x.dtype.kind == "i", i
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-4 * max(1.0, abs(y).max(initial=0)), err_msg=str(i))


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_evaluated_results_are_those_of_scipy(index):
    agree(CALLS[index](linalg, snp.asarray), CALLS[index](reference, np.asarray))


@pytest.mark.parametrize("name", ["toeplitz", "hankel", "circulant", "companion", "leslie"])
def test_matrices_of_special_structure_come_in_batches(name):
    vectors = np.arange(1.0, 13.0, dtype=np.float32).reshape(2, 2, 3)
    more = {"toeplitz": [np.arange(4)], "hankel": [vectors[:, :1, :2] + 5], "leslie": [vectors[0, :, :2]]}.get(name, [])
    found = getattr(linalg, name)(snp.asarray(vectors), *map(snp.asarray, more))
    arrays = [vectors, *(np.broadcast_to(m, (2, 2, m.shape[-1])) for m in more)]
    for i in np.ndindex(2, 2):
        np.testing.assert_allclose(found[i], getattr(reference, name)(*(a[i] for a in arrays)), rtol=1e-6)


def test_compiled_results_are_those_of_scipy():
    def calls(m, a, b, c, tall):
        return [
            m.cho_solve(m.cho_factor(c), b),
            m.lu_solve(m.lu_factor(a), b, 1),
            *m.lu(tall),
            m.solve_triangular(c, b, 1),
            m.eigh(a + a.T, c, eigvals_only=True),
            m.expm(a),
            m.polar(tall)[1],
            m.toeplitz(b[:, 0], tall[:, 0]),
            m.block_diag(a, tall),
        ]

    agree(stagec.jit(lambda *xs: calls(linalg, *xs))(A, B, C, TALL), calls(reference, A, B, C, TALL))


def test_special_matrices_of_stacks():
    many = TALL.T
    for function in (linalg.fiedler, linalg.fiedler_companion, lambda x: linalg.convolution_matrix(x, 2)):
        made = stagec.jit(function)(many)
        agree(list(made), [np.asarray(function(row)) for row in many])


def test_stacks_of_systems():
    many = np.stack([A, C, A.T])
    for i in range(3):
        for made, expected in [
            (linalg.solve(many, B), reference.solve(many[i], B)),
            (linalg.lu_solve(linalg.lu_factor(many), V), reference.solve(many[i], V)),
            (linalg.expm(many), reference.expm(many[i])),
            (linalg.polar(many)[0], reference.polar(many[i])[0]),
        ]:
            agree([made[i]], [expected])


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("name", ["solve", "cho_solve", "lu_solve", "solve_triangular"])
def test_each_matrix_of_a_stack_has_a_vector_of_its_own(name, count):
    matrices = np.stack([C + i * np.eye(4, dtype="float32") for i in range(count)])
    vectors = RNG.normal(size=(count, 4))
    solve = {
        "solve": lambda m, a, b: m.solve(a, b, assume_a="pos"),
        "cho_solve": lambda m, a, b: m.cho_solve(m.cho_factor(a), b),
        "lu_solve": lambda m, a, b: m.lu_solve(m.lu_factor(a), b),
        "solve_triangular": lambda m, a, b: m.solve_triangular(a, b, 1),
    }[name]
    expected = [solve(reference, a, b) for a, b in zip(matrices, vectors)]
    agree([solve(linalg, matrices, vectors.astype("float32"))], [np.stack(expected)])


def test_exponentials_of_large_matrices():
    with stagec.enable_x64():
        a = np.array([[0, 40.0], [-40.0, 0]])
        expected = [[np.cos(40), np.sin(40)], [-np.sin(40), np.cos(40)]]
        np.testing.assert_allclose(np.asarray(linalg.expm(snp.asarray(a))), expected, atol=1e-12)
    huge = snp.stack([snp.eye(2) * 1e9, snp.eye(2)])
    made = np.asarray(linalg.expm(huge))
    assert np.isnan(made[0]).all() and np.isfinite(made[1]).all()


def test_derivatives():
    with stagec.enable_x64():
        a, c, b = (snp.asarray(x.astype("float64")) for x in (A / 4, C, V))
        direction = snp.asarray(RNG.normal(size=(4, 4)))
        for function, x in [
            (linalg.expm, a),
            (lambda x: linalg.cho_solve(linalg.cho_factor(x), b), c),
            (lambda x: linalg.lu_solve(linalg.lu_factor(x), b), a),
            (lambda x: linalg.polar(x)[1], a),
            (lambda x: linalg.eigh(x + x.T, c)[0], a),
        ]:
            forward = np.asarray(stagec.jvp(function, (x,), (direction,))[1])
            ahead, behind = (np.asarray(function(x + s * direction)) for s in (1e-6, -1e-6))
            np.testing.assert_allclose(forward, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)
            _, pull = stagec.vjp(function, x)
            weights = snp.asarray(RNG.normal(size=forward.shape))
            assert float((pull(weights)[0] * direction).sum()) == pytest.approx(
                float((weights * forward).sum()), rel=1e-6
            )


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", [2, 3])
def test_generalized_problems_of_products(kind, lower):
    a, whole = A + A.T, {2: (A + A.T) @ C, 3: C @ (A + A.T)}[kind]
    w, v = linalg.eigh(a, C, lower=lower, type=kind)
    expected, vectors = reference.eigh(a, C, lower=lower, type=kind)
    agree([w, linalg.eigh(a, C, lower, True, type=kind)], [expected, expected])
    agree([abs(np.asarray(v)), whole @ np.asarray(v)], [abs(vectors), np.asarray(v) * expected])


def test_generalized_eigenvectors():
    w, v = linalg.eigh(snp.asarray(A + A.T), snp.asarray(C))
    agree([(A + A.T) @ np.asarray(v)], [C @ np.asarray(v) * np.asarray(w)])
    agree([np.asarray(v).T @ C @ np.asarray(v)], [np.eye(4)])
