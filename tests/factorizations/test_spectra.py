"""Eigenvalues and singular values: evaluated and compiled, and what is made of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matrices import EPS, adjoint, near, positive, random, wide
from test_derivatives import check_derivatives

import stagec
import stagec.numpy as snp

LA = snp.linalg


def both(function, *args):
    """What a function makes outside of jit and inside."""
    return [function(*args), stagec.jit(function)(*args)]


def hermitian(*shape, dtype="float32", seed=0):
    a = random(*shape, dtype=dtype, seed=seed)
    return ((a + adjoint(a)) / 2).astype(dtype)


def check_eigh(a, found):
    values, vectors = map(np.asarray, found)
    n = a.shape[-1]
    expected = np.linalg.eigvalsh(wide(a))
    scale = max(abs(expected).max(), 1e-30)
    assert abs(values - expected).max() <= 8 * EPS[a.dtype.name] * scale
    near((adjoint(wide(vectors)) @ wide(vectors)).astype(a.dtype), np.broadcast_to(np.eye(n), a.shape), 3)
    residue = wide(a) @ wide(vectors) - wide(vectors) * values[..., None, :]
    assert abs(residue).max() <= 30 * EPS[a.dtype.name] * scale


def check_svd(a, found, full=False):
    u, s, vh = map(np.asarray, found)
    m, n = a.shape[-2:]
    k = min(m, n)
    expected = np.linalg.svd(wide(a), compute_uv=False)
    scale = max(abs(expected).max(), 1e-30)
    assert abs(s - expected).max() <= 8 * EPS[a.dtype.name] * scale
    assert (s >= 0).all()
    assert (u.shape[-1], vh.shape[-2]) == ((m, n) if full else (k, k))
    for q in (wide(u), adjoint(wide(vh))):
        near(
            (adjoint(q) @ q).astype(a.dtype),
            np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2)),
            3,
        )
    back = (wide(u)[..., :k] * s[..., None, :]) @ wide(vh)[..., :k, :]
    assert abs(back - wide(a)).max() <= 30 * EPS[a.dtype.name] * scale


def awkward(n=6):
    """Symmetric matrices with equal, zero and far apart eigenvalues, and of few elements."""
    q = np.linalg.qr(random(n, n, dtype="float64"))[0]
    spectra = [np.ones(n), np.arange(n) // 3, 10.0 ** -np.arange(0, 3 * n, 3), np.r_[1, np.zeros(n - 1)]]
    made = [(q * s) @ q.T for s in spectra]
    made += [np.zeros((n, n)), np.diag(np.arange(n) - 2.0), np.eye(n)[::-1], np.ones((n, n))]
    made += [1e-30 * (q * spectra[1]) @ q.T, 1e30 * (q * spectra[1]) @ q.T]
    return np.stack(made).astype("float32")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_spectra_of_small_matrices(dtype):
    with stagec.enable_x64(dtype == "float64"):
        square = [hermitian(*s, dtype=dtype) for s in ((4, 4), (1, 1), (2, 2, 5, 5))]
        other = [random(*s, dtype=dtype) for s in ((4, 3), (2, 3, 4), (1, 3))]

        def calls(square, other):
            return (
                [LA.eigh(x) for x in square],
                [LA.svd(x) for x in other],
                [LA.svd(x, full_matrices=False) for x in other[:2]],
            )

        def check(found, square, other):
            for a, made in zip(square, found[0], strict=True):
                check_eigh(a, made)
            for a, made in zip(other, found[1], strict=True):
                check_svd(a, made, full=True)
            for a, made in zip(other, found[2]):
                check_svd(a, made)

        check(calls(square, other), square, other)
        if dtype != "complex64":
            # Such programs compile slowly: complex numbers have a test of their own, float64 has a stack of each kind.
            some = square[2:], other[1:2]
            chosen = (square, other) if dtype == "float32" else some
            check(stagec.jit(calls)(*chosen), *chosen)


def test_compiled_spectra_of_complex_matrices():
    square, other = hermitian(3, 3, dtype="complex64"), random(3, 2, dtype="complex64")
    found = stagec.jit(lambda a, b: (LA.eigh(a), LA.svd(b, full_matrices=False)))(square, other)
    check_eigh(square, found[0])
    check_svd(other, found[1])


def test_spectra_of_awkward_matrices():
    eigen, singular = stagec.jit(lambda a: (LA.eigh(a), LA.svd(a)))(awkward())
    for i, a in enumerate(awkward()):
        check_eigh(a, [x[i] for x in eigen])
        check_svd(a, [x[i] for x in singular], full=True)


def test_values_alone():
    a, b = np.concatenate([awkward(), hermitian(3, 6, 6)]), random(3, 5, 4)
    for values, singular in both(lambda a, b: (LA.eigvalsh(a), LA.svdvals(b)), a, b):
        expected = np.linalg.eigvalsh(wide(a))
        assert (abs(values - expected) <= 1e-6 * abs(expected).max(-1, keepdims=True)).all()
        near(singular, np.linalg.svd(wide(b), compute_uv=False).astype("float32"), 2)


def test_matrices_of_nan_and_infinity_have_no_spectra():
    bad = np.stack([np.full((3, 3), np.nan), np.diag([1, np.inf, 2]), np.eye(3)]).astype("float32")
    for made in both(lambda a: (LA.eigh(a), LA.svd(a), LA.eigvalsh(a), LA.svdvals(a), LA.pinv(a)), bad):
        for x in stagec.tree.leaves(made):
            x = np.asarray(x)
            assert np.isnan(x[:2]).all()
            assert np.isfinite(x[2]).all()


def test_one_triangle_is_read():
    a = np.array([[1, np.nan], [2, 3]], "float32")
    expected = np.linalg.eigvalsh(np.array([[1, 2], [2, 3.0]]))
    for x, y, z in both(
        lambda a: (
            LA.eigh(a, symmetrize_input=False)[0],
            LA.eigh(a.T, "U", symmetrize_input=False)[0],
            LA.eigvalsh(a.T, "U", symmetrize_input=False),
        ),
        a,
    ):
        for values in (x, y, z):
            near(values, expected)


def test_empty_matrices():
    for shape in ((0, 0), (2, 0, 0)):
        values, vectors = LA.eigh(snp.zeros(shape))
        assert (values.shape, vectors.shape) == (shape[:-1], shape)
    for shape in ((0, 3), (3, 0)):
        for full in (True, False):
            expected = np.linalg.svd(np.zeros(shape), full)
            assert [x.shape for x in LA.svd(snp.zeros(shape), full)] == [x.shape for x in expected]
        assert LA.pinv(snp.zeros(shape)).shape == shape[::-1]
        assert int(LA.matrix_rank(snp.zeros(shape))) == 0
        x, squares, rank, values = LA.lstsq(snp.zeros(shape), snp.ones(shape[0]))
        assert (x.shape, squares.shape, int(rank), values.shape) == (shape[1:], (1,), 0, (0,))


def test_what_is_made_of_spectra_matches_numpy():
    a, tall = random(2, 4, 4), random(5, 3)
    low = tall.copy()
    low[:, 2] = low[:, 0] + low[:, 1]
    symmetric = hermitian(2, 4, 4)

    def calls(xp, a, tall, low, symmetric):
        la = xp.linalg
        return [
            la.matrix_rank(a),
            la.matrix_rank(low),
            la.matrix_rank(symmetric, hermitian=True),
            la.matrix_rank(low[0]),
            la.matrix_rank(symmetric, rtol=0.5),
            *[la.cond(a, p) for p in (None, 2, -2, 1, xp.inf, "fro")],
            la.pinv(a),
            la.pinv(tall),
            la.pinv(low, 1e-5),
            la.pinv(symmetric, hermitian=True),
            *[la.norm(a, o, axis=(0, 2), keepdims=True) for o in (2, -2, "nuc")],
            la.norm(tall, 2),
            la.matrix_norm(a, ord="nuc"),
            *la.lstsq(tall, tall[:, 0] + 1, rcond=None),
            la.lstsq(low, tall, rcond=1e-5)[0],
            la.lstsq(tall.T, tall[:3], rcond=1e-5)[0],
            la.svd(symmetric, hermitian=True)[1],
            la.svd(symmetric, compute_uv=False, hermitian=True),
        ]

    args = a, tall, low, symmetric
    for i, (x, y) in enumerate(zip(calls(snp, *args), calls(np, *args), strict=True)):
        np.testing.assert_allclose(np.asarray(x), y, rtol=2e-4, atol=2e-5, err_msg=str(i))

    def some(xp, a, tall):
        la = xp.linalg
        return [la.cond(a), la.pinv(tall), la.norm(tall, "nuc"), *la.lstsq(tall, tall[:, 0] + 1, rcond=None)]

    for x, y in zip(stagec.jit(lambda *args: some(snp, *args))(a, tall), some(np, a, tall), strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=2e-4, atol=2e-5)


def test_singular_matrices_have_an_infinite_condition():
    a = np.array([[1, 2], [2, 4]], "float32")
    for p in (1, np.inf):
        assert float(LA.cond(a, p)) == np.inf
    assert float(LA.cond(snp.zeros((2, 2)))) == np.inf
    assert np.isnan(float(LA.cond(snp.full((2, 2), np.nan))))


def test_some_singular_values():
    a = random(4, 3)
    u, s, vh = LA.svd(a, full_matrices=False, subset_by_index=(1, 3))
    whole = LA.svd(a, full_matrices=False)
    assert np.array_equal(u, whole[0][:, 1:]) and np.array_equal(s, whole[1][1:]) and np.array_equal(vh, whole[2][1:])
    assert LA.svd(a, compute_uv=False, subset_by_index=(0, 1)).shape == (1,)


def test_residuals_as_numpy_has_them():
    tall, low = random(5, 3), np.ones((5, 3), "float32")
    for a in (tall, low, tall.T):
        b = np.ones(a.shape[0], "float32")
        assert LA.lstsq(a, b, numpy_resid=True)[1].shape == np.linalg.lstsq(a, b, rcond=None)[1].shape


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_spectra(dtype):
    a, tall = hermitian(4, 4, dtype=dtype), random(5, 3, dtype=dtype)
    low = tall.copy()
    low[:, 2] = low[:, 0] + 2 * low[:, 1]
    with stagec.enable_x64():
        for function, x in [
            (lambda x: LA.eigh(x)[0], a),
            (LA.eigvalsh, a),
            (lambda x: abs(LA.eigh(x)[1]) ** 2, a),
            (LA.svdvals, tall),
            (LA.svdvals, tall.T),
            (lambda x: abs(LA.svd(x, full_matrices=False)[0]) ** 2, tall),
            (lambda x: abs(LA.svd(x, full_matrices=False)[2]) ** 2, tall),
            (lambda x: abs(LA.svd(x, full_matrices=False)[2]) ** 2, tall.T.copy()),
            (lambda x: LA.svd(x, full_matrices=False)[0] @ LA.svd(x, full_matrices=False)[2], tall),
            (LA.pinv, tall),
            (LA.pinv, tall.T.copy()),
            (lambda x: LA.norm(x, "nuc"), tall),
            (lambda x: LA.lstsq(x, x[:, 0] ** 2)[0], tall),
            (lambda x: abs(LA.eigvals(x)) ** 2, a[:3, :3] + random(3, 3, dtype=dtype)),
        ]:
            check_derivatives(function, [x])
        # A change of a matrix of lower rank that keeps the rank.
        check_derivatives(lambda x: LA.pinv(x @ np.array([[1, 0, 1], [0, 1, 2.0]])), [low[:, :2]])
        check_derivatives(lambda x: stagec.jvp(LA.eigvalsh, (x,), (snp.asarray(a @ a),))[1], [a], 1e-4)


def test_compiled_derivatives_of_spectra():
    with stagec.enable_x64():
        a = hermitian(3, 3, dtype="float64")

        def function(a):
            return (LA.eigh(a)[1] ** 2)[0, 0] + LA.svdvals(a)[0] + LA.pinv(a + 5 * snp.eye(3))[0, 1]

        expected = np.asarray(stagec.grad(function)(snp.asarray(a)))
        np.testing.assert_allclose(np.asarray(stagec.jit(stagec.grad(function))(a)), expected, rtol=1e-8, atol=1e-10)


def test_vmap_of_spectra():
    a = hermitian(3, 4, 4)
    for function in (LA.eigvalsh, LA.svdvals, LA.pinv, LA.matrix_rank, LA.cond):
        made = stagec.vmap(function, in_axes=2)(np.moveaxis(a, 0, 2))
        np.testing.assert_allclose(np.asarray(made), np.stack([np.asarray(function(x)) for x in a]), rtol=1e-5)


def test_covariances_are_positive():
    """Rounding makes no eigenvalue of a Gram matrix more negative than its norm's rounding."""
    a = random(8, 3)
    (values,) = both(LA.eigvalsh, a @ a.T)[1:]
    assert np.asarray(values).min() >= -1e-6 * np.asarray(values).max()
    assert (np.asarray(stagec.jit(LA.eigvalsh)(positive(5, 5))) > 0).all()


def test_loops_of_an_algorithm_have_the_line_that_asked_for_it():
    def largest(x):
        return snp.linalg.svd(x)[1][0]

    with stagec.config.override(host_libraries="never"):
        text = stagec.jit(largest).lower(snp.ones((3, 3))).as_text(locations=True)
    assert "stablehlo.while" in text
    assert set(re.findall(r'loc\("([^"]*)":', text)) == {__file__}
