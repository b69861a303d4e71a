"""Products with reflections, changed triangles, tridiagonal systems and forms, and polar iterations."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import positive, random
from test_derivatives import check_derivatives
from test_spectra import both, hermitian

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.scipy import linalg

LA = lax.linalg
DTYPES = ["float32", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_reflections(dtype):
    a, c = random(5, 3, dtype=dtype), random(5, 4, dtype=dtype, seed=1)
    q = np.linalg.qr(a, "complete")[0]

    def products(a, c):
        h, scales = snp.linalg.qr(a, "raw")
        left = [LA.ormqr(h.mT, scales, c, transpose=t) for t in (False, True)]
        return left + [LA.ormqr(h.mT, scales, c.mT, left=False, transpose=t) for t in (False, True)]

    for found in both(products, a, c):
        for made, expected in zip(found, [q @ c, q.conj().T @ c, c.T @ q, c.T @ q.conj().T], strict=True):
            np.testing.assert_allclose(np.asarray(made), expected, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_pivots_of_qr_are_those_of_lapack(shape, dtype):
    reference = pytest.importorskip("scipy.linalg")
    a = random(*shape, dtype=dtype)
    expected = reference.qr(a, pivoting=True, mode="economic")

    def factors(a):
        return LA.qr(a, pivoting=True, full_matrices=False), linalg.qr(a, mode="economic", pivoting=True)

    for found in both(factors, a):
        for one in found:
            for x, y in zip(one, expected, strict=True):
                np.testing.assert_allclose(np.asarray(x), y, atol=2e-5)
    assert [x.shape for x in linalg.qr(a, mode="r", pivoting=True)] == [shape, shape[1:]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["left", "right"])
def test_products_with_q_are_those_of_scipy(mode, dtype):
    reference = pytest.importorskip("scipy.linalg")
    for a in (random(5, 3, dtype=dtype), random(3, 5, dtype=dtype)):
        c = random(3, 2, dtype=dtype, seed=1) if mode == "left" else random(2, a.shape[0], dtype=dtype, seed=1)
        for given in (c, c[:, 0] if mode == "left" else c[0]):
            for options in ({}, {"conjugate": True}, {"pivoting": True}):
                made = linalg.qr_multiply(snp.asarray(a), snp.asarray(given), mode, **options)
                expected = reference.qr_multiply(a, given, mode, **options)
                for x, y in zip(made, expected, strict=True):
                    np.testing.assert_allclose(np.asarray(x), y, atol=2e-5)


def test_an_updated_triangle():
    a, w = positive(5, 5), random(5, seed=3)
    w[2] = 0
    upper = np.linalg.cholesky(a).T
    expected = np.linalg.cholesky(a + np.outer(w, w)).T
    for found in both(LA.cholesky_update, upper, w):
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-4)
    made = stagec.vmap(LA.cholesky_update, (None, 0))(upper, np.stack([w, 0 * w]))
    np.testing.assert_allclose(np.asarray(made), [expected, upper], atol=1e-4)
    with stagec.enable_x64():
        check_derivatives(lambda r, w: LA.cholesky_update(snp.triu(r), w), (upper.astype(float), w.astype(float)))


def test_symmetric_products():
    a, c = random(2, 3, 4), hermitian(2, 3, 3)
    for symmetrize in (False, True):
        made = LA.symmetric_product(a, c, alpha=2.0, beta=-1.0, symmetrize_output=symmetrize)
        np.testing.assert_allclose(np.asarray(made), 2 * a @ a.swapaxes(1, 2) - c, atol=1e-5)
    odd = np.triu(np.ones((2, 2), np.float32))
    made = LA.symmetric_product(np.zeros((2, 1), np.float32), odd, beta=1.0, symmetrize_output=True)
    np.testing.assert_array_equal(np.asarray(made), np.eye(2))


def _diagonals(dtype, m=6, batch=(2,)):
    """The diagonal is small, so that rows have to be exchanged."""
    dl, d, du = (random(*batch, m, dtype=dtype, seed=i) for i in range(3))
    return dl, d / 10, du


def _dense(dl, d, du):
    m = d.shape[-1]
    whole = np.zeros((*d.shape, m), d.dtype)
    for i in range(m):
        whole[..., i, i] = d[..., i]
        if i:
            whole[..., i, i - 1], whole[..., i - 1, i] = dl[..., i], du[..., i - 1]
    return whole


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("m", [1, 2, 6])
def test_tridiagonal_systems(m, dtype):
    with stagec.enable_x64():
        diagonals, b = _diagonals(dtype, m), random(2, m, 3, dtype=dtype, seed=4)
        expected = np.linalg.solve(_dense(*diagonals), b)
        for found in both(LA.tridiagonal_solve, *diagonals, b):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9)
        check_derivatives(lambda *xs: LA.tridiagonal_solve(*xs), (*diagonals, b))
        made = stagec.vmap(LA.tridiagonal_solve, (None, 0, None, 0))(diagonals[0][0], diagonals[1], diagonals[2][0], b)
        whole = _dense(*(np.stack([x[0], x[0]]) if i != 1 else x for i, x in enumerate(diagonals)))
        np.testing.assert_allclose(np.asarray(made), np.linalg.solve(whole, b), rtol=1e-8, atol=1e-9)


def test_singular_tridiagonal_systems():
    dl, d, du = np.array([[0, 1, 1], [1, 2, 1], [1, 1, 0]], np.float32)
    b = np.array([[1], [2], [3]], np.float32)
    for found in both(LA.tridiagonal_solve, dl, d, du, b):
        assert np.isnan(np.asarray(found)).all()
    for found in both(lambda *xs: LA.tridiagonal_solve(*xs, perturb_singular=True), dl, d, du, b):
        direction = np.asarray(found)[:, 0] / np.abs(found).max()
        # The matrix times 1, -1, 1 is zero.
        np.testing.assert_allclose(np.abs(direction), 1, atol=1e-5)
        assert np.sign(direction[0]) == -np.sign(direction[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal_forms(lower, dtype):
    a = hermitian(2, 5, 5, dtype=dtype)
    for packed, d, e, scales in both(lambda a: LA.tridiagonal(a, lower=lower), np.tril(a) if lower else np.triu(a)):
        packed, d, e, scales = map(np.asarray, (packed, d, e, scales))
        assert d.dtype == e.dtype == np.float32
        for i in range(2):
            # The product of the reflections, in LAPACK's order, is the change of basis.
            q = np.eye(5, dtype=dtype)
            for k in range(4) if lower else reversed(range(4)):
                v = np.zeros(5, dtype)
                if lower:
                    v[k + 1], v[k + 2 :] = 1, packed[i, k + 2 :, k]
                else:
                    v[k], v[:k] = 1, packed[i, :k, k + 1]
                q = q @ (np.eye(5) - scales[i, k] * np.outer(v, v.conj()))
            form = np.diag(d[i]) + np.diag(e[i], 1) + np.diag(e[i], -1)
            np.testing.assert_allclose(q @ form @ q.conj().T, a[i], atol=5e-5)
            np.testing.assert_allclose(np.diag(packed[i], -1 if lower else 1), e[i])


# Loops with calls go through all of the compiler's phases, which takes long; other tests have them.
@pytest.mark.parametrize("host_libraries", ["never"], indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
def test_polar_iterations(dtype):
    reference = pytest.importorskip("scipy.linalg")
    for a in (random(6, 4, dtype=dtype), random(4, 4, dtype=dtype) * 1e-3, np.vander(np.arange(4.0)).astype(dtype)):
        expected = reference.polar(a)
        for u, h, steps, converged in both(LA.qdwh, a):
            np.testing.assert_allclose(np.asarray(u), expected[0], atol=3e-4)
            np.testing.assert_allclose(np.asarray(h), expected[1], atol=1e-4 * abs(a).max())
            assert 2 < int(steps) < 9 and bool(converged)
        assert not LA.qdwh(a, max_iterations=1)[3]
    assert int(LA.qdwh(np.eye(3, dtype=dtype), max_iterations=1)[2]) == 1


def test_part_of_a_matrix_in_polar_iterations():
    a = random(6, 4)
    u, h, *_ = LA.qdwh(a, dynamic_shape=(5, 3))
    inside, expected = LA.qdwh(a[:5, :3])[:2]
    np.testing.assert_allclose(np.asarray(u[:5, :3]), np.asarray(inside), atol=1e-5)
    np.testing.assert_allclose(np.asarray(h[:3, :3]), np.asarray(expected), atol=1e-5)
    assert not np.asarray(u[5:]).any() and not np.asarray(h[3:]).any()


@pytest.mark.parametrize("side", ["left", "right"])
def test_polar_by_iterations_is_polar_by_singular_values(side):
    for a in (random(4, 3), random(3, 4)):
        for x, y in zip(linalg.polar(a, side, method="qdwh"), linalg.polar(a, side), strict=True):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), atol=1e-5)
    assert "while" in str(stagec.make_jaxpr(lambda x: linalg.polar(x, method="qdwh"))(random(3, 3)))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_eigenvalues_of_tridiagonal_matrices(n):
    d, e = random(n), random(n - 1, seed=1)
    whole = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    expected = np.linalg.eigvalsh(whole)
    for values, vectors in both(linalg.eigh_tridiagonal, d, e):
        np.testing.assert_allclose(np.asarray(values), expected, atol=1e-5)
        np.testing.assert_allclose(whole @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values), atol=1e-5)
    for values in both(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), d, e):
        np.testing.assert_allclose(np.asarray(values), expected, atol=1e-5)
    values, vectors = linalg.eigh_tridiagonal(d, e, select="i", select_range=(n // 2, n - 1))
    np.testing.assert_allclose(np.asarray(values), expected[n // 2 :], atol=1e-5)
    assert vectors.shape == (n, n - n // 2)


def test_eigenvalues_of_complex_tridiagonal_matrices():
    d, e = random(5), random(4, dtype="complex64", seed=1)
    e[1] = 0
    whole = np.diag(d) + np.diag(e, 1) + np.diag(e.conj(), -1)
    values, vectors = map(np.asarray, linalg.eigh_tridiagonal(d.astype("complex64"), e))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(whole), atol=1e-5)
    np.testing.assert_allclose(whole @ vectors, vectors * values, atol=1e-5)


def test_derivatives_of_tridiagonal_eigenvalues():
    with stagec.enable_x64():
        d, e = random(5, dtype="float64"), random(4, dtype="float64", seed=1)
        check_derivatives(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), (d, e))
        check_derivatives(lambda d, e: abs(linalg.eigh_tridiagonal(d, e)[1]), (d, e))
        check_derivatives(lambda d: linalg.eigh_tridiagonal(d, e)[0], (d,))


def test_what_is_not_finite_has_no_eigenvalues():
    for found in both(linalg.eigh_tridiagonal, np.array([1, np.inf, 2], np.float32), np.ones(2, np.float32)):
        assert all(np.isnan(np.asarray(x)).all() for x in found)


def test_derivatives_of_exponentials():
    reference = pytest.importorskip("scipy.linalg")
    a, e = random(4, 4), random(4, 4, seed=1)
    for found in both(linalg.expm_frechet, a, e):
        for x, y in zip(found, reference.expm_frechet(a.astype(float), e.astype(float)), strict=True):
            np.testing.assert_allclose(np.asarray(x), y, rtol=1e-3, atol=1e-3)
    assert linalg.expm_frechet(a, e, compute_expm=False).shape == (4, 4)


def test_derivatives_of_qr_with_pivots():
    with stagec.enable_x64():
        check_derivatives(lambda a: LA.qr(a, pivoting=True, full_matrices=False)[:2], (random(5, 3, dtype="float64"),))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_factorizations_of_matrices_without_elements_are_lowered(shape):
    square = [snp.linalg.det, snp.linalg.inv, snp.linalg.eigh, snp.linalg.eig, snp.linalg.cholesky]
    for f in [snp.linalg.svd, snp.linalg.qr, snp.linalg.pinv, linalg.lu, *(square if shape == (0, 0) else [])]:
        assert "func.func" in stagec.jit(f).lower(np.zeros(shape, "float32")).as_text()
