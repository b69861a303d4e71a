"""Hessenberg's and Schur's forms, eigenvalues and eigenvectors: evaluated and compiled, by what has to hold of them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from matrices import EPS, adjoint, near, random, wide
from test_derivatives import check_derivatives

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.factorizations import sweeps
from stagec.factorizations.eig import eig

LA = snp.linalg
DTYPES = ["float32", "float64", "complex64", "complex128"]


def difficult(n, dtype):
    """Matrices at which a QR algorithm may fail: equal eigenvalues, no eigenvectors, shifts that change nothing."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    found = {
        "random": a,
        "zeros": np.zeros((n, n)),
        "one Jordan block": np.eye(n, k=1) + np.eye(n),
        "its transpose": np.eye(n, k=-1) + np.eye(n),
        "a permutation": np.roll(np.eye(n), 1, 0),
        "rank one": np.ones((n, n)),
        "symmetric": a + a.T,
        "skew": a - a.T,
        "graded": a * 10.0 ** -np.arange(n)[:, None],
        "huge": a * 1e30,
        "tiny": a * 1e-30,
        "nearly equal": np.eye(n) + 1e-7 * a,
    }
    turn = np.exp(1j) if np.dtype(dtype).kind == "c" else 1
    return {name: (turn * x).astype(dtype) for name, x in found.items()}


def check_hessenberg(a, h, scales):
    n = len(a)
    q = np.eye(n, dtype=a.dtype)
    if n > 1:
        q[1:, 1:] = np.asarray(lax.linalg.householder_product(np.asarray(h)[1:, :-1], np.asarray(scales)))
    h = np.triu(np.asarray(h), -1)
    size = float(abs(wide(a)).max()) or 1.0
    near((wide(q) @ wide(h) @ adjoint(wide(q)) / size).astype(a.dtype), (wide(a) / size).astype(a.dtype))


def check_schur(a, t, q):
    n = len(a)
    t, q = np.asarray(t), np.asarray(q)
    bound = 4 * EPS[a.dtype.name] * (n + 4)
    size = float(np.linalg.norm(wide(a))) or 1.0
    assert np.linalg.norm((wide(q) @ wide(t) @ adjoint(wide(q)) - wide(a)) / size) < bound
    assert np.linalg.norm(adjoint(wide(q)) @ wide(q) - np.eye(n)) < bound * 4
    if a.dtype.kind == "c":
        assert not np.tril(t, -1).any()
        return
    assert not np.tril(t, -2).any()
    below, above, main = np.diagonal(t, -1), np.diagonal(t, 1), np.diagonal(t)
    for k in np.flatnonzero(below):
        # A block for two complex eigenvalues, in LAPACK's form; it stands alone.
        assert main[k] == main[k + 1] and (below[k] < 0) == (above[k] > 0)
        assert not (k > 0 and below[k - 1]) and not (k + 2 < n and below[k + 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_difficult_matrices(dtype):
    with stagec.enable_x64():
        compiled = stagec.jit(lambda a: (lax.linalg.hessenberg(a), lax.linalg.schur(a), eig(a, left=True)))
        # Programs for a block of two, and for one size of each kind of number: they compile in seconds.
        for n in (1, 2, 3, 12):
            programs = [compiled] if (n, dtype) in ((2, "float32"), (12, "float32"), (12, "complex64")) else []
            for name, a in difficult(n, dtype).items():
                evaluated = lax.linalg.hessenberg(a), lax.linalg.schur(a), eig(a, left=True)
                for hessenberg, schur, found in (evaluated, *(program(a) for program in programs)):
                    check_hessenberg(a, *hessenberg)
                    check_schur(a, *schur)
                    values, left, right = map(wide, found)
                    size = float(np.linalg.norm(wide(a))) or 1.0
                    bound = 8 * EPS[dtype] * (n + 4)
                    assert np.linalg.norm((wide(a) @ right - right * values) / size) < bound, name
                    if found is evaluated[2] and "Jordan" in name:
                        continue
                    residual = adjoint(left) @ wide(a) - values[:, None] * adjoint(left)
                    assert np.linalg.norm(residual / size) < bound, name
                    np.testing.assert_allclose(np.linalg.norm(right, axis=0), 1, rtol=1e-5)
                check_schur(a, *sweeps.iterated(a))


def test_without_scipy_numpy_does_the_same(monkeypatch):
    a = random(6, 6)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "scipy", None)
        t, q = lax.linalg.schur(a)
        values, left, _ = eig(a, left=True)
    check_schur(a, t, q)
    near(adjoint(left) @ a, np.asarray(values)[:, None] * adjoint(left))
    assert np.array_equal(t, sweeps.iterated(a)[0])


def test_larger_matrices():
    a = random(70, 70)
    t, q = stagec.jit(lax.linalg.schur)(a)
    check_schur(a, t, q)
    values = stagec.jit(LA.eigvals)(a)
    expected = np.linalg.eigvals(wide(a))
    assert max(abs(expected - v).min() for v in np.asarray(values)) < 1e-4


def test_eigenvalues_of_real_matrices_come_in_pairs():
    a = random(9, 9)
    for values, vectors in (LA.eig(a), stagec.jit(LA.eig)(a)):
        values, vectors = np.asarray(values), np.asarray(vectors)
        (pairs,) = np.nonzero(values.imag > 0)
        assert len(pairs) and np.array_equal(values[pairs].conj(), values[pairs + 1])
        assert np.array_equal(vectors[:, pairs].conj(), vectors[:, pairs + 1])
        assert not vectors[:, values.imag == 0].imag.any() and (values.imag == 0).sum() == 9 - 2 * len(pairs)


def test_what_is_not_finite_has_forms_of_nan():
    a = random(3, 3)
    a[1, 2] = np.nan
    b = random(3, 3)
    b[0, 0] = np.inf
    functions = lax.linalg.hessenberg, lax.linalg.schur, LA.eig, LA.eigvals
    for x in (a, b, a[1:2, 2:]):
        for found in ([f(x) for f in functions], stagec.jit(lambda x: [f(x) for f in functions])(x)):
            assert all(np.isnan(np.asarray(leaf)).all() for leaf in stagec.tree.leaves(found))


def test_stacks_and_empty_matrices():
    many = random(2, 3, 4, 4)
    for t, q in (lax.linalg.schur(many), stagec.jit(lax.linalg.schur)(many), stagec.vmap(lax.linalg.schur)(many)):
        for index in np.ndindex(2, 3):
            check_schur(many[index], t[index], q[index])
    values = stagec.jit(stagec.vmap(LA.eigvals, in_axes=1))(many)
    for i, j in np.ndindex(3, 2):
        near(np.sort_complex(values[i, j]), np.sort_complex(np.linalg.eigvals(many[j, i])).astype("complex64"), 50)
    nothing = np.zeros((0, 0), "float32")
    assert [x.shape for x in (*lax.linalg.schur(nothing), *lax.linalg.hessenberg(nothing))] == [
        (0, 0), (0, 0), (0, 0), (0,),
    ]  # fmt: skip
    assert LA.eigvals(nothing).shape == (0,)
    assert len(lax.linalg.schur(many, compute_schur_vectors=False)) == 1


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_eigenvectors(dtype):
    with stagec.enable_x64():
        a = random(4, 4, dtype=dtype)
        for left, right in ((False, True), (True, False), (True, True)):

            def function(a, left=left, right=right):
                return eig(a, left=left, right=right, derivatives=True)

            check_derivatives(function, [a], 1e-4)
        with pytest.raises(stagec.errors.UnsupportedError, match="have derivatives where"):
            stagec.jvp(LA.eig, (a,), (a,))


def test_compiled_derivatives_of_eigenvalues():
    with stagec.enable_x64():
        a = random(4, 4, dtype="float64")
        expected = stagec.grad(lambda a: abs(LA.eigvals(a)).sum())(snp.asarray(a))
        found = stagec.jit(stagec.grad(lambda a: abs(LA.eigvals(a)).sum()))(a)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-8, atol=1e-10)


def test_jaxs_arguments_of_eig_eigh_and_svd():
    a = random(4, 4)
    assert len(lax.linalg.eig(a)) == 3 and len(lax.linalg.eig(a, compute_left_eigenvectors=False)) == 2
    kind = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
    (values,) = lax.linalg.eig(a, implementation=lax.linalg.EigImplementation.LAPACK, **kind)
    assert np.array_equal(values, LA.eigvals(a))
    whole = lax.linalg.eigh(a)
    vectors, values = lax.linalg.eigh(a, subset_by_index=(1, 3), implementation=lax.linalg.EighImplementation.QR)
    assert np.array_equal(vectors, whole[0][:, 1:3]) and np.array_equal(values, whole[1][1:3])
    whole = lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR)
    u, s, vh = lax.linalg.svd(a, full_matrices=False, subset_by_index=(0, 2))
    assert np.array_equal(u, whole[0][:, :2]) and np.array_equal(s, whole[1][:2]) and np.array_equal(vh, whole[2][:2])
    assert lax.linalg.svd(a, compute_uv=False, subset_by_index=(0, 1)).shape == (1,)
