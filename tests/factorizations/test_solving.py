"""Cholesky, LU, triangular systems and QR: evaluated and compiled, by what has to hold of the factors."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import adjoint, near, positive, random, well, wide

import stagec
import stagec.numpy as snp
from stagec import lax

DTYPES = ["float32", "float64", "complex64"]


def both(function, *args):
    """What a function makes outside of jit and inside."""
    return [function(*args), stagec.jit(function)(*args)]


def check_cholesky(a, factor):
    factor = wide(factor)
    assert (np.triu(factor, 1) == 0).all()
    near((factor @ adjoint(factor)).astype(a.dtype), a)


def check_lu(a, found):
    factors, pivots, order = map(np.asarray, found)
    m, n = a.shape[-2:]
    k = min(m, n)
    assert pivots.dtype == order.dtype == np.int32
    for index in np.ndindex(a.shape[:-2]):
        rows = np.arange(m)
        for i, j in enumerate(pivots[index]):
            rows[[i, j]] = rows[[j, i]]
        assert rows.tolist() == order[index].tolist()
        lower = np.tril(wide(factors[index])[:, :k], -1) + np.eye(m, k)
        assert abs(lower).max() <= 1.5 if a.dtype.kind == "c" else abs(lower).max() <= 1
        near((lower @ np.triu(wide(factors[index])[:k])).astype(a.dtype), a[index][order[index]])


def check_qr(a, found, full):
    q, r = map(wide, found)
    m, n = a.shape[-2:]
    k = m if full else min(m, n)
    assert (q.shape[-2:], r.shape[-2:]) == ((m, k), (k, n))
    assert (np.tril(r, -1) == 0).all()
    near((adjoint(q) @ q).astype(a.dtype), np.broadcast_to(np.eye(k), q.shape[:-2] + (k, k)))
    near((q @ r).astype(a.dtype), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_small_matrices(dtype):
    def calls(square, other, definite):
        return (
            [lax.linalg.cholesky(x) for x in definite],
            [lax.linalg.lu(x) for x in [*square, *other]],
            [lax.linalg.qr(x, full_matrices=False) for x in [*square, *other]],
            [lax.linalg.qr(x) for x in other],
        )

    def check(found, square, other, definite):
        factors, exchanged, reduced, full = found
        for a, factor in zip(definite, factors, strict=True):
            check_cholesky(a, factor)
        for a, made in zip([*square, *other], exchanged, strict=True):
            check_lu(a, made)
        for a, made in zip([*square, *other], reduced, strict=True):
            check_qr(a, made, False)
        for a, made in zip(other, full, strict=True):
            check_qr(a, made, True)

    with stagec.enable_x64(dtype == "float64"):
        square = [well(*s, dtype=dtype) for s in ((3, 3), (1, 1), (2, 3, 4, 4))]
        other = [random(*s, dtype=dtype) for s in ((4, 2), (2, 3, 7), (4, 1))]
        definite = [positive(*a.shape, dtype=dtype) for a in square]
        check(calls(square, other, definite), square, other, definite)
        if dtype == "complex64":
            # Kernels have no complex numbers, so such programs compile slowly.
            square, other, definite = square[:1], [], definite[:1]
        check(stagec.jit(calls)(square, other, definite), square, other, definite)


def test_factors_in_panels():
    check_cholesky(positive(150, 150), stagec.jit(snp.linalg.cholesky)(positive(150, 150)))
    check_lu(random(150, 130), stagec.jit(lax.linalg.lu)(random(150, 130)))
    check_qr(random(140, 130), stagec.jit(snp.linalg.qr)(random(140, 130)), False)


def test_the_pivots_are_those_of_lapack():
    """Equal sizes: the first one is the pivot, also after rows have changed places."""
    scipy = pytest.importorskip("scipy.linalg")
    a = np.array([[1, 2, 3, 1], [-1, 2, 1, 0], [1, -2, 2, 5], [-1, 1, 0, 3]], "float32")
    for found in both(lax.linalg.lu, a):
        assert np.asarray(found[1]).tolist() == scipy.lu_factor(a)[1].tolist()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_triangular_systems_of_every_kind(dtype):
    a, b, c = well(2, 6, 6, dtype=dtype), random(2, 6, 3, dtype=dtype), random(2, 3, 6, dtype=dtype)
    a = a + 12 * np.eye(6, dtype=dtype)
    kinds = [
        {"left_side": left, "lower": lower, "transpose_a": turned, "conjugate_a": conjugate, "unit_diagonal": unit}
        for left in (False, True)
        for lower in (False, True)
        for turned in (False, True)
        for conjugate in ((False, True) if dtype == "complex64" else (False,))
        for unit in (False, True)
    ]
    if dtype == "complex64":
        kinds = kinds[1:8:3]

    def solve(a, b, c):
        return [lax.linalg.triangular_solve(a, b if k["left_side"] else c, **k) for k in kinds]

    # Unit triangles of large elements are ill-conditioned.
    small = (a / 24).astype(dtype)
    for made in both(solve, small, b, c):
        for kind, x in zip(kinds, made):
            used = np.tril(wide(small)) if kind["lower"] else np.triu(wide(small))
            if kind["unit_diagonal"]:
                used = used * (1 - np.eye(6)) + np.eye(6)
            used = used.swapaxes(-1, -2) if kind["transpose_a"] else used
            used = used.conj() if kind["conjugate_a"] else used
            back = used @ wide(x) if kind["left_side"] else wide(x) @ used
            near(back.astype(dtype), b if kind["left_side"] else c)


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lead", [(), (3,), (5,), (2, 3)], ids=str)
def test_triangular_systems_take_vectors(lead, left_side):
    a, b = random(*lead, 5, 5) + 4 * np.eye(5, dtype="float32"), random(*lead, 5)
    for x in both(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=left_side), a, b):
        back = wide(np.triu(a)) @ wide(x)[..., None] if left_side else wide(x)[..., None, :] @ wide(np.triu(a))
        near(back.reshape(b.shape).astype("float32"), b)


def test_large_triangular_systems():
    a = (random(150, 150) / 150 + np.eye(150)).astype("float32")
    lower, upper = stagec.jit(
        lambda a, b: [lax.linalg.triangular_solve(a, b, left_side=True, lower=low) for low in (True, False)]
    )(a, random(150, 2))
    near((np.tril(wide(a)) @ wide(lower)).astype("float32"), random(150, 2))
    near((np.triu(wide(a)) @ wide(upper)).astype("float32"), random(150, 2))


def test_what_is_outside_of_the_triangle_is_not_read():
    a = np.array([[2, np.nan], [1, 4]], "float32")
    b = np.ones((2, 1), "float32")
    for x in both(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), a, b):
        assert np.asarray(x).ravel().tolist() == [0.5, 0.125]
    for factor in both(lambda a: snp.linalg.cholesky(a, symmetrize_input=False), a):
        assert np.isfinite(np.asarray(factor)).all()


def test_matrices_that_are_not_definite_have_no_factor():
    bad = np.stack([np.diag([1.0, -1.0]), np.zeros((2, 2)), np.full((2, 2), np.nan), np.eye(2)]).astype("float32")
    for factor in both(snp.linalg.cholesky, bad):
        assert np.isnan(np.asarray(factor)).all((-2, -1)).tolist() == [True, True, True, False]


def test_singular_systems_have_no_finite_solution():
    a = np.array([[1, 2], [2, 4]], "float32")
    for x in both(snp.linalg.solve, a, np.ones(2, "float32")):
        assert not np.isfinite(np.asarray(x)).any()
    for found in both(lambda a: (snp.linalg.det(a), *snp.linalg.slogdet(a)), a):
        assert [float(v) for v in found] == [0.0, 0.0, -np.inf]
    for x in both(snp.linalg.inv, np.full((2, 2), np.nan, "float32")):
        assert np.isnan(np.asarray(x)).all()
    # A column of zeros: the factorization goes on with the next one.
    for found in both(lax.linalg.lu, np.array([[0, 1, 2], [0, 3, 4], [0, 5, 7]], "float32")):
        check_lu(np.array([[0, 1, 2], [0, 3, 4], [0, 5, 7]], "float32"), found)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_determinants_of_large_matrices_are_those_of_their_factors(dtype):
    a = random(2, 130, 130, dtype=dtype) / np.float32(11) + np.eye(130, dtype=dtype)
    a = np.stack([a[0], a[1], a[0][::-1], a[0][[1, 0, *range(2, 130)]]])
    found = np.asarray(snp.linalg.det(a))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.linalg.det(wide(a)), rtol=2e-4)
    assert float(abs(snp.linalg.det(np.ones((130, 130), dtype)))) == 0.0
    assert np.isnan(np.asarray(snp.linalg.det(np.full((130, 130), np.nan, dtype))))


def test_large_and_small_columns_of_qr_do_not_overflow():
    a = random(4, 3) * np.array([1e30, 1e-30, 1], "float32")
    for q, r in both(snp.linalg.qr, a):
        near(np.asarray(q).T @ np.asarray(q), np.eye(3))
        # Compiled code flushes subnormal numbers to zero, so the columns are compared by their own size.
        np.testing.assert_allclose(wide(q) @ wide(r), wide(a), rtol=1e-4)


def test_empty_matrices():
    for shape in ((0, 0), (2, 0, 0)):
        x = snp.zeros(shape)
        for made in both(lambda x: (snp.linalg.inv(x), snp.linalg.cholesky(x), snp.linalg.det(x)), x):
            assert [v.shape for v in made] == [shape, shape, shape[:-2]]
            assert (np.asarray(made[2]) == 1).all()
    for shape in ((0, 3), (3, 0)):
        for mode in ("reduced", "complete"):
            for q, r in both(lambda x, mode=mode: snp.linalg.qr(x, mode), snp.zeros(shape)):
                expected = np.linalg.qr(np.zeros(shape), mode)
                assert (q.shape, r.shape) == (expected[0].shape, expected[1].shape)
        for found in both(lax.linalg.lu, snp.zeros(shape)):
            assert [v.shape for v in found] == [shape, (0,), shape[:1]]
    assert snp.linalg.solve(snp.zeros((0, 0)), snp.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_match_numpy(dtype):
    with stagec.enable_x64(dtype == "float64"):
        a, one, b = well(2, 4, 4, dtype=dtype), well(4, 4, dtype=dtype), random(2, 4, 3, dtype=dtype)

        def calls(xp, a, one, b):
            la = xp.linalg
            if dtype == "complex64":
                return [la.solve(one, b[0]), la.inv(one), la.det(one), *la.slogdet(one)]
            return [
                la.solve(a, b),
                la.solve(one, b),
                la.solve(a, b[0]),
                la.solve(one, b[0, :, 0]),
                la.inv(a),
                la.det(a),
                *la.slogdet(a),
                la.matrix_power(one / 8, -3),
                la.tensorinv(xp.reshape(one, (2, 2, 4))),
                la.tensorsolve(xp.reshape(one, (2, 2, 4)), xp.reshape(b[0, :, 0], (2, 2))),
            ]

        expected = calls(np, wide(a), wide(one), wide(b))
        for made in both(lambda a, one, b: calls(snp, a, one, b), a, one, b):
            for x, y in zip(made, expected, strict=True):
                np.testing.assert_allclose(np.asarray(x), y, rtol=2e-4 if dtype != "float64" else 1e-12, atol=1e-6)


def test_a_vector_and_a_stack_of_matrices():
    """`b` is a vector if it has one axis, and only then."""
    a = well(3, 2, 2)
    assert snp.linalg.solve(a, snp.ones(2)).shape == (3, 2)
    assert snp.linalg.solve(a, snp.ones((2, 2))).shape == (3, 2, 2)
    assert snp.linalg.solve(a[0], snp.ones((3, 2, 1))).shape == (3, 2, 1)


def test_stacks_of_no_matrices():
    def f(a):
        return stagec.vmap(snp.linalg.det)(a), snp.linalg.inv(a), snp.linalg.cholesky(a)

    a = np.zeros((0, 3, 3), np.float32)
    expected = np.linalg.det(a), np.linalg.inv(a), np.linalg.cholesky(a)
    for want, got in zip(expected, stagec.jit(f)(a), strict=True):
        assert (want.shape, want.dtype) == (got.shape, got.dtype)


def test_qr_modes():
    a = random(5, 3)
    for mode in ("reduced", "complete", "r", "raw"):
        expected = np.linalg.qr(a, mode)
        found = stagec.jit(lambda a, mode=mode: snp.linalg.qr(a, mode))(a)
        for x, y in zip([found] if mode == "r" else found, [expected] if mode == "r" else expected, strict=True):
            near(x, y)


def test_slogdet_by_qr():
    a = well(3, 4, 4)
    for found in both(lambda a: snp.linalg.slogdet(a, method="qr"), a):
        for x, y in zip(found, np.linalg.slogdet(a), strict=True):
            np.testing.assert_allclose(np.asarray(x), y, rtol=1e-5)


def test_integers_become_floats():
    assert snp.linalg.inv(snp.array([[2, 0], [0, 4]])).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert snp.linalg.det(snp.array([[2, 0], [0, 4]])).dtype == "float32"
