"""Windows, packed bits, histograms in several dimensions, unwrapped angles, `r_` and `c_`: against NumPy."""

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from stagec import errors


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
def test_windows(size):
    windows = [lambda np, n=n: getattr(np, n)(size) for n in ("bartlett", "blackman", "hamming", "hanning")]
    check([*windows, lambda np: np.kaiser(size, 8.6), lambda np: np.kaiser(size, 0)], [])


def test_the_slope_of_a_window_is_traced():
    np.testing.assert_allclose(stagec.jit(lambda b: snp.kaiser(6, b))(3.0), np.kaiser(6, 3.0), rtol=1e-5)


X = np.array([0.0, 0.5, 1.0, 2.0, 2.0, 3.5], np.float32)
Y = np.array([5.0, 1.0, 1.0, 2.0, -1.0, 0.0], np.float32)
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0], np.float32)


def test_histograms_of_points():
    check(
        [
            lambda np, x, y, w: np.histogram2d(x, y),
            lambda np, x, y, w: np.histogram2d(x, y, 3, weights=w),
            lambda np, x, y, w: np.histogram2d(x, y, [2, 4], density=True),
            lambda np, x, y, w: np.histogram2d(x, y, np.array([0.0, 1.0, 2.0])),
            lambda np, x, y, w: np.histogram2d(x, y, [np.array([0.0, 1.0]), 3], [[0, 1], [0, 2]]),
            lambda np, x, y, w: np.histogramdd(np.stack([x, y, w], 1), 2),
            lambda np, x, y, w: np.histogramdd([x, y, w], (2, 3, 1), [None, (0, 2), None], weights=w, density=True),
            lambda np, x, y, w: np.histogramdd(np.stack([x, y], 1), [np.array([0.0, 2.0]), np.array([1.0, 2.0, 6.0])]),
        ],
        [X, Y, W],
    )


def test_points_outside_along_one_axis_are_in_no_bin():
    x, y = snp.array([-5.0, 0.5, 9.0]), snp.array([0.5, 9.0, 0.5])
    assert snp.histogram2d(x, y, 2, [[0, 1], [0, 1]])[0].tolist() == [[0, 0], [0, 0]]


def test_histograms_say_what_does_not_fit():
    with pytest.raises(errors.ShapeError, match="1 bins and 2 ranges for points with 2 coordinates"):
        snp.histogramdd([X, Y], [3])
    with pytest.raises(errors.ShapeError, match="two vectors of one size"):
        snp.histogram2d(X, Y[:2])


BITS = np.arange(2 * 3 * 11).reshape(2, 3, 11) % 7 % 3
BYTES = (np.arange(2 * 3) * 41).astype(np.uint8).reshape(2, 3)


def test_bits():
    orders, axes = ("big", "little"), (None, 0, 1, -1)
    packs = [lambda np, a, b, o=o, x=x: np.packbits(a, x, o) for o in orders for x in axes]
    opens = [
        lambda np, a, b, o=o, x=x, n=n: np.unpackbits(b, x, n, o)
        for o in orders
        for x, n in [(None, None), (0, 13), (1, -3), (-1, 30), (None, 0)]
    ]
    check([*packs, *opens], [BITS, BYTES])
    assert snp.packbits(BITS).dtype == snp.unpackbits(BYTES).dtype == np.uint8
    assert snp.unpackbits(snp.packbits(snp.array([True, False, True])))[:3].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "f, kind", [(snp.packbits, "float32"), (snp.unpackbits, "int32")], ids=["packbits", "unpackbits"]
)
def test_bits_are_of_integers_and_bytes(f, kind):
    with pytest.raises(errors.DtypeError, match=f"does not accept {kind}"):
        f(np.ones(3, kind))
    with pytest.raises(ValueError, match="bitorder is 'small'"):
        f(BYTES, bitorder="small")


ANGLES = np.cumsum(np.array([[0, 2, 3, -4, 3.2], [9, -7, 1, 3.1, -3.1]], np.float32), -1) % 6.28


def test_unwrap():
    check(
        [
            lambda np, a, i: np.unwrap(a),
            lambda np, a, i: np.unwrap(a, axis=0),
            lambda np, a, i: np.unwrap(a, 4.0),
            lambda np, a, i: np.unwrap(a, period=2.0),
            lambda np, a, i: np.unwrap(i, period=6),
            lambda np, a, i: np.unwrap(i, period=5),
            lambda np, a, i: np.unwrap(i, 4, period=6),
            lambda np, a, i: np.unwrap(a[:, :1]),
        ],
        [ANGLES, np.array([0, 3, 6, 1, 4, 1, 5, 2])],
    )
    assert snp.unwrap(np.array([0, 3, 7]), period=6).dtype == np.int32


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_brackets_join_arrays():
    check(
        [
            lambda np, x, m: np.r_[1:4, 0, 4.0, x],
            lambda np, x, m: np.r_[0:1:5j, x],
            lambda np, x, m: np.r_[:2, 3:9:2],
            lambda np, x, m: np.r_["0,2", x, [4, 5, 6]],
            lambda np, x, m: np.r_["0,2,0", x, [4, 5, 6]],
            lambda np, x, m: np.r_["1,3,1", x, [4, 5, 6]],
            lambda np, x, m: np.r_["-1", m, m],
            lambda np, x, m: np.c_[x, [4, 5, 6]],
            lambda np, x, m: np.c_[m, m],
            lambda np, x, m: np.c_[0:3, x],
        ],
        [np.arange(3), np.arange(6).reshape(2, 3)],
    )
    # NumPy's results are of its class of matrices.
    x, m = np.arange(3), np.arange(4).reshape(2, 2)
    for ours, numpys in ((snp.r_, np.r_), (snp.c_, np.c_)):
        for directive in ("r", "c"):
            for items in ([x, x], [m, m], [[1, 2], [3, 4]]):
                assert ours[(directive, *items)].tolist() == numpys[(directive, *items)].tolist()
        for directive in ("0", "1", "0,3", "1,3"):
            assert ours[directive, m, m].shape == numpys[directive, m, m].shape
    with pytest.raises(ValueError, match="there is no directive 'x'"):
        snp.r_["x", 1]


def test_apply_over_axes_and_mask_indices_and_place():
    check(
        [
            lambda np, a: np.apply_over_axes(np.sum, a, [0, 2]),
            lambda np, a: np.apply_over_axes(np.cumsum, a, -1),
        ],
        [np.arange(24).reshape(2, 3, 4)],
    )
    with pytest.raises(errors.ShapeError, match="keep the axis, or remove it"):
        snp.apply_over_axes(lambda a, axis: a.ravel(), snp.ones((2, 2, 2)), 0)
    for k in (-1, 0, 2):
        for ours, numpys in zip(snp.mask_indices(4, snp.tril, k), np.mask_indices(4, np.tril, k)):
            assert ours.tolist() == numpys.tolist()
    assert [v.tolist() for v in stagec.jit(lambda: snp.mask_indices(2, snp.triu, size=4))()] == [
        [0, 0, 1, 0],
        [0, 1, 1, 0],
    ]
    x, mask = np.arange(6).reshape(2, 3), np.array([[1, 0, 1], [1, 1, 0]], bool)
    for values in ([7], [7, 8, 9], [1, 2, 3, 4, 5, 6, 7]):
        expected = x.copy()
        np.place(expected, mask, values)
        for f in (snp.place, stagec.jit(snp.place, static_argnames="inplace")):
            assert f(x, mask, np.array(values), inplace=False).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="arrays are immutable"):
        snp.place(x, mask, np.array([1]))
    with pytest.raises(errors.ShapeError, match="at least one value"):
        snp.place(x, mask, np.array([]), inplace=False)
