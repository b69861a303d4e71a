"""Interpolation, polynomials and membership beside NumPy, eager and compiled."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors

X = np.array([-2.0, -1.0, 0.0, 0.25, 1.0, 1.5, 3.0, 7.0, np.nan], np.float32)
XP = np.array([-1.0, 0.0, 1.0, 1.0, 3.0], np.float32)
FP = np.array([1.0, 4.0, -2.0, 3.0, 0.5], np.float32)


def both(function, *args):
    return np.asarray(function(*args)), np.asarray(stagec.jit(function)(*args))


@pytest.mark.parametrize("options", [{}, {"left": -9.0}, {"left": -9.0, "right": 9.0}, {"period": 2.5}])
def test_interp_agrees_with_numpy(options):
    distinct = slice(None) if "period" not in options else [0, 1, 2]
    expected = np.interp(X, XP[distinct], FP[distinct], **options)
    for result in both(lambda x, xp, fp: snp.interp(x, xp, fp, **options), X, XP[distinct], FP[distinct]):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_interp_through_one_point_and_through_integers():
    for result in both(snp.interp, X[:-1], XP[:1], FP[:1]):
        np.testing.assert_allclose(result, np.interp(X[:-1], XP[:1], FP[:1]))
    assert snp.interp(1, np.array([0, 2]), np.array([0, 3])).item() == 1.5


def test_interp_refuses_points_that_do_not_pair():
    with pytest.raises(errors.ShapeError, match=r"interp: xp is float32\[5\], fp is float32\[4\]"):
        snp.interp(X, XP, FP[:4])


@pytest.mark.parametrize("p", [[], [2.0], [1.0, -3.0, 0.5, 2.0]])
def test_polyval_agrees_with_numpy(p):
    p, x = np.array(p, np.float32), X.reshape(3, 3)
    # NumPy multiplies each x by zero first, which makes NaN of infinity and NaN.
    expected = np.full_like(x, p[0]) if len(p) == 1 else np.polyval(p, x)
    for result in both(snp.polyval, p, x):
        np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("count", [0, 3, 200])
def test_isin_agrees_with_numpy(count, invert):
    rng = np.random.default_rng(0)
    x, table = rng.integers(0, 300, (4, 5)).astype(np.int32), rng.integers(0, 300, count).astype(np.int32)
    for result in both(lambda x, t: snp.isin(x, t, invert=invert), x, table):
        assert np.array_equal(result, np.isin(x, table, invert=invert))


def test_nan_is_in_nothing():
    for result in both(snp.isin, X, np.concatenate([X, np.zeros(40, np.float32)])):
        assert result.tolist() == [True] * 8 + [False]


def test_quantile_levels_may_be_a_list():
    x = np.arange(11, dtype=np.float32)
    for result in both(lambda x: snp.percentile(x, [25, 50]), x):
        np.testing.assert_allclose(result, [2.5, 5.0])
    for result in both(lambda x: snp.nanquantile(x, (0.1, 0.5)), x):
        np.testing.assert_allclose(result, [1.0, 5.0], rtol=1e-6)


def test_clip_knows_numpys_names():
    x = np.arange(4.0, dtype=np.float32)
    assert snp.clip(x, a_min=1, a_max=2).tolist() == [1, 1, 2, 2]
