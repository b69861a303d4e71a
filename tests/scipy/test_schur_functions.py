"""Functions of matrices by Schur's form: SciPy decides; evaluated, compiled, stacked."""

from __future__ import annotations

import os

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.scipy import linalg

reference = pytest.importorskip("scipy.linalg")

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
RNG = np.random.default_rng(8)
A = RNG.normal(size=(5, 5)).astype("float32")
B = RNG.normal(size=(3, 3)).astype("float32")
C = RNG.normal(size=(5, 3)).astype("float32")
P = (A @ A.T + np.eye(5)).astype("float32")
Z = (A + 1j * A.T).astype("complex64")
ONE = np.array([[4.0]], "float32")


def near(found, expected, rtol=1e-3):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * max(1.0, float(abs(expected).max(initial=0))))


def calls(a, b, c, p, z):
    """What is compared with SciPy: roots, functions and equations."""
    return [
        linalg.sqrtm(p),
        linalg.sqrtm(a),
        linalg.sqrtm(z),
        linalg.funm(p / 9, snp.exp),
        linalg.funm(a, snp.sin),
        *linalg.funm(p, snp.cos, disp=False),
        linalg.solve_sylvester(a, b, c),
        linalg.solve_sylvester(z, b, c),
        *[abs(m) for m in linalg.rsf2csf(*linalg.schur(a))],
        *[abs(m) for m in linalg.schur(a, "complex")],
        *linalg.hessenberg(a, calc_q=True),
        *linalg.hessenberg(z, calc_q=True),
    ]


@pytest.mark.parametrize("compiled", [False, True], ids=["evaluated", "compiled"])
def test_results_are_those_of_scipy(compiled):
    # Outside jit, loops are programs of their own, which hunts compile.
    with stagec.disable_jit(not compiled and not FUZZ):
        made = (stagec.jit(calls) if compiled else calls)(*map(snp.asarray, (A, B, C, P, Z)))
    roots, (f1, f2, f3, error), (x, y), forms = made[:3], made[3:7], made[7:9], [np.asarray(m) for m in made[9:]]
    for root, m in zip(roots, (P, A, Z)):
        near(root, reference.sqrtm(m))
        assert root.dtype == "complex64"
    near(f1, reference.funm(P / 9, np.exp))
    near(f2, reference.funm(A, np.sin))
    near(f3, reference.funm(P, np.cos))
    assert 0 < float(error) < 1e-3
    near(x, reference.solve_sylvester(A, B, C))
    # SciPy's own solution is wrong for a complex matrix and a real one with complex eigenvalues.
    near(Z @ np.asarray(y) + np.asarray(y) @ B, C)
    assert x.dtype == "float32" and y.dtype == "complex64"
    for t in (forms[0], forms[2]):
        assert not np.tril(t, -1).any()
        near(np.sort(np.diagonal(t)), np.sort(abs(np.linalg.eigvals(A))))
    for m, (h, q) in ((A, forms[4:6]), (Z, forms[6:8])):
        assert not np.tril(h, -2).any() and q[0, 0] == 1 and not q[0, 1:].any()
        near(q @ h @ q.conj().T, m)
        near(h, reference.hessenberg(m))


def test_the_complex_form_of_a_real_one():
    t, z = (np.asarray(m) for m in linalg.rsf2csf(*map(snp.asarray, reference.schur(A))))
    assert not np.tril(t, -1).any()
    near(z @ t @ z.conj().T, A)
    # Blocks that are not LAPACK's, with real eigenvalues too.
    for block in ([[1.0, 2.0], [3.0, 4.0]], [[1.0, -2.0], [3.0, 4.0]], [[0.0, 1.0], [4.0, 0.0]]):
        t, z = (np.asarray(m) for m in linalg.rsf2csf(snp.array(block), snp.eye(2)))
        near(z @ t @ z.conj().T, block)
        assert not np.tril(t, -1).any()
    z, _ = linalg.rsf2csf(*linalg.schur(Z))
    assert z.dtype == "complex64"


def test_matrices_without_a_root_and_equations_without_a_solution():
    nilpotent = snp.array([[0.0, 1.0], [0.0, 0.0]])
    for root in (linalg.sqrtm(nilpotent), stagec.jit(linalg.sqrtm)(nilpotent)):
        assert not np.isfinite(np.asarray(root)).all()
    assert not np.asarray(linalg.sqrtm(snp.zeros((2, 2)))).any()
    assert np.isnan(np.asarray(linalg.solve_sylvester(snp.asarray(B), snp.asarray(-B), snp.asarray(B)))).all()
    assert np.isnan(np.asarray(linalg.sqrtm(snp.full((2, 2), np.nan)))).all()


def test_stacks_and_small_matrices():
    many = np.stack([P[:3, :3], P[1:4, 1:4]])
    for made in (linalg.sqrtm(many), stagec.jit(stagec.vmap(linalg.sqrtm))(many)):
        near(made, np.stack([reference.sqrtm(m) for m in many]))
    near(linalg.sqrtm(ONE), [[2]])
    near(linalg.funm(ONE, snp.exp), [[np.exp(4)]])
    near(linalg.solve_sylvester(ONE, ONE, ONE), [[0.5]])
    h, q = linalg.hessenberg(ONE, calc_q=True)
    assert h.shape == q.shape == (1, 1) and float(q[0, 0]) == 1


def test_derivatives_of_equations_and_roots_are_differences():
    """In batches, along one direction of all matrices."""
    wa, wb, wc = (np.cos(np.arange(m.size)).reshape(m.shape) for m in (P, B, C))

    def value(step, scale):
        a, b, c = scale * P + step * wa, B + step * wb, C + step * wc
        return (linalg.solve_sylvester(a, b, c) * wc).sum() + (linalg.sqrtm(a).real * wa).sum()

    with stagec.enable_x64():
        scales, h = np.array([1.0, 2.0]), 1e-5
        expected = [float(value(h, s) - value(-h, s)) / (2 * h) for s in scales]
        for derivative in (stagec.grad(value), stagec.jit(stagec.grad(value)), stagec.jacfwd(value)):
            found = stagec.vmap(derivative, (None, 0))(0.0, scales)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
