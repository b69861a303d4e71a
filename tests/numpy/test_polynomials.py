"""Polynomials: NumPy decides values; dtypes, and leading zeros, are JAX's."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
RNG = np.random.default_rng(3)
P = [np.array(x, "float32") for x in ([1, 2, 3], [2, -1], [4], [1, 0, -2, 5, 7])]
Z = np.array([1 + 2j, -1, 3j], "complex64")


def agree(found, expected, rtol=1e-4):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=rtol)


def padded(x, size):
    return np.pad(x, (size - len(x), 0))


@pytest.mark.parametrize("second", [*P, Z], ids=lambda x: f"{x.dtype}{len(x)}")
@pytest.mark.parametrize("first", [*P, Z], ids=lambda x: f"{x.dtype}{len(x)}")
def test_arithmetic(first, second):
    for ours, theirs in ((snp.polyadd, np.polyadd), (snp.polysub, np.polysub)):
        agree(ours(first, second), padded(theirs(first, second), max(len(first), len(second))))
    agree(snp.polymul(first, second), np.polymul(first, second))
    quotient, rest = snp.polydiv(first, second)
    expected, left = np.polydiv(first, second)
    agree(quotient, expected)
    agree(rest, padded(left, len(first)), 1e-3)
    assert not np.asarray(rest)[: max(len(first) - len(second) + 1, 0)].any()


def test_derivatives_and_antiderivatives():
    for p in (*P, Z):
        for m in (0, 1, 2, 5):
            agree(snp.polyder(p, m), np.polyder(p, m))
            agree(snp.polyint(p, m), np.polyint(p, m))
            agree(snp.polyint(p, m, 3), np.polyint(p, m, [3] * m))
        agree(snp.polyint(p, 2, snp.array([3, 4])), np.polyint(p, 2, [3, 4]))


def test_leading_zeros():
    x = snp.array([0, 1, 2])
    assert np.asarray(snp.polymul(x, x)).tolist() == [0, 0, 1, 4, 4]
    assert np.asarray(snp.polymul(x, x, trim_leading_zeros=True)).tolist() == [1, 4, 4]
    assert np.asarray(snp.polydiv(snp.array([1, 2, 4]), snp.array([1, 2]), trim_leading_zeros=True)[1]).tolist() == [4]
    assert snp.polysub(x, snp.array([1])).dtype == "int32" and snp.polymul(x, x).dtype == "float32"
    assert np.asarray(snp.polyadd(2, snp.array([1.0, 2.0]))).tolist() == [1, 4]
    assert np.asarray(snp.polymul(snp.zeros(0), x)).tolist() == [0, 0, 0]
    assert np.asarray(snp.polyder(snp.array([5.0]), 2)).tolist() == []


def test_polynomials_of_roots_and_of_matrices():
    for x in ([1.0, 2, 3], [2.0], [1 + 1j, 1 - 1j, 2]):
        agree(snp.poly(snp.array(x)), np.poly(x))
    matrix = RNG.normal(size=(4, 4)).astype("float32")
    agree(snp.poly(matrix), np.poly(matrix), 1e-3)
    assert float(snp.poly(snp.zeros(0))) == 1 and np.asarray(snp.poly(3.0)).tolist() == [1, -3]


def same_roots(found, expected):
    found, expected = list(np.asarray(found)), np.asarray(expected)
    assert len(found) == len(expected)
    for value in expected:
        best = min(found, key=lambda v: abs(v - value))
        assert abs(best - value) < 1e-3 * max(1, abs(value))
        found.remove(best)


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [0, 0, 1, -3, 2, 0], [2, 1], [5], [0, 0], [], [1, 0, 1], [1, 2, 3, 4, 5, 0, 0], [1j, 2, 0.5]]
)
def test_roots(p):
    x = snp.array(p, "complex64" if 1j in p else "float32")
    expected = np.roots(p)
    same_roots(snp.roots(x), expected)
    made = np.asarray(snp.roots(x, strip_zeros=False))
    assert len(made) == max(len(p) - 1, 0)
    same_roots(made[: len(expected)], expected)
    # What belongs to leading zeros is NaN, at the end.
    assert np.isnan(made[len(expected) :]).all()


def test_compiled_roots():
    p = snp.array([0.0, 1.0, -6.0, 11.0, -6.0])
    made = np.asarray(stagec.jit(lambda p: snp.roots(p, strip_zeros=False))(p))
    same_roots(made[:3], [1, 2, 3])
    assert np.isnan(made[3])
    with pytest.raises(stagec.errors.ConcretizationError):
        stagec.jit(snp.roots)(p)


X = np.linspace(-1, 2, 9).astype("float32")
Y = (X**3 - 2 * X + 0.1 * RNG.normal(size=9)).astype("float32")
MANY = np.stack([Y, 2 * Y + X], 1)
WEIGHTS = (1 + abs(X)).astype("float32")


@pytest.mark.parametrize("y", [Y, MANY], ids=["one", "columns"])
@pytest.mark.parametrize("w", [None, WEIGHTS], ids=["equal", "weighted"])
def test_fits(y, w):
    # One of the four is compiled; in hunts, all are.
    with warnings.catch_warnings(), stagec.disable_jit(not FUZZ and (w is None or y is Y)):
        warnings.simplefilter("ignore")
        for deg in (0, 1, 3):
            agree(snp.polyfit(X, y, deg, w=w), np.polyfit(X, y, deg, w=w), 1e-3)
        for cov in (True, "unscaled"):
            for found, expected in zip(
                snp.polyfit(X, y, 2, w=w, cov=cov), np.polyfit(X, y, 2, w=w, cov=cov), strict=True
            ):
                agree(found, expected, 1e-3)
        found, expected = snp.polyfit(X, y, 2, w=w, full=True), np.polyfit(X, y, 2, w=w, full=True)
    for a, b in zip(found[:4], expected[:4], strict=True):
        agree(a, b, 1e-3)
    assert found[4] == pytest.approx(9 * np.finfo("float32").eps)


def test_a_compiled_fit_and_its_derivative():
    with stagec.enable_x64():
        x, y = X.astype("float64"), Y.astype("float64")
        agree(stagec.jit(lambda x, y: snp.polyfit(x, y, 2))(x, y), np.polyfit(x, y, 2), 1e-8)
        step = RNG.normal(size=9)
        _, dot = stagec.jvp(lambda y: snp.polyfit(snp.asarray(x), y, 2), (snp.asarray(y),), (snp.asarray(step),))
        agree(dot, np.polyfit(x, step, 2), 1e-8)


def test_under_vmap_and_with_derivatives():
    rows = RNG.normal(size=(3, 4)).astype("float32")
    divisor = snp.array([1.0, 2.0])
    quotients, rests = stagec.jit(stagec.vmap(lambda u: snp.polydiv(u, divisor)))(rows)
    for row, quotient, rest in zip(rows, quotients, rests):
        agree(quotient, np.polydiv(row, [1, 2])[0])
        agree(rest[-1:], np.polydiv(row, [1, 2])[1], 1e-3)
    gradient = stagec.grad(lambda r: snp.poly(r)[-1])(snp.array([2.0, 3.0, 4.0]))
    agree(gradient, [-12, -8, -6])


def test_sums_of_several_polynomials():
    one, two = np.array([[1, 2, 3]]), np.array([[4, 5, 6], [7, 8, 9]])
    for x, y in ((one, two), (two, one), (two, two)):
        longer = [np.pad(v, ((2 - len(v), 0), (0, 0))) for v in (x, y)]
        agree(snp.polyadd(x, y), longer[0] + longer[1])
        agree(snp.polysub(x, y), longer[0] - longer[1])


def test_two_fits_of_known_points_in_one_program():
    # Both begin with zeros; the memory of one's was given to the other while it was still read.
    found = stagec.jit(lambda: [snp.polyfit(X, Y, degree) for degree in (1, 3)])()
    for p, degree in zip(found, (1, 3)):
        np.testing.assert_allclose(p, np.polyfit(X, Y, degree), 1e-3, 1e-3)
