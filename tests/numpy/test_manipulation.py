"""Rearranging arrays: NumPy decides values and shapes, eagerly and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
V = np.array([3, 1, 4, 1, 5], np.int32)
M = np.array([[1, 2, 0], [0, 5, 6]], np.int32)


def test_shapes_and_axes() -> None:
    check(
        [
            lambda xp, a, v, m: xp.reshape(a, (4, -1)),
            lambda xp, a, v, m: xp.reshape(a, 24),
            lambda xp, a, v, m: xp.reshape(a, (6, 4), order="F"),
            lambda xp, a, v, m: xp.ravel(a),
            lambda xp, a, v, m: xp.ravel(a, order="F"),
            lambda xp, a, v, m: xp.transpose(a),
            lambda xp, a, v, m: xp.transpose(a, (1, -1, 0)),
            lambda xp, a, v, m: xp.permute_dims(a, (2, 0, 1)),
            lambda xp, a, v, m: xp.matrix_transpose(a),
            lambda xp, a, v, m: xp.swapaxes(a, 0, -1),
            lambda xp, a, v, m: xp.moveaxis(a, (0, 1), (-1, 0)),
            lambda xp, a, v, m: xp.moveaxis(a, 0, 1),
            lambda xp, a, v, m: xp.rollaxis(a, 2, 1),
            lambda xp, a, v, m: xp.rollaxis(a, 0, 3),
            lambda xp, a, v, m: xp.squeeze(a[:1, :, :1]),
            lambda xp, a, v, m: xp.squeeze(a[:1, :, :1], axis=-1),
            lambda xp, a, v, m: xp.expand_dims(a, (0, -1)),
            lambda xp, a, v, m: xp.broadcast_to(m, (4, 2, 3)),
            lambda xp, a, v, m: xp.broadcast_arrays(m, a[:, :1, :3]),
            lambda xp, a, v, m: xp.atleast_1d(v[0], v),
            lambda xp, a, v, m: xp.atleast_2d(v),
            lambda xp, a, v, m: xp.atleast_3d(v),
            lambda xp, a, v, m: xp.atleast_3d(m),
        ],
        [A, V, M],
    )


def test_joining_and_splitting() -> None:
    check(
        [
            lambda xp, a, v, m: xp.concatenate([a, a[:1]]),
            lambda xp, a, v, m: xp.concatenate([m, a[0, :2]], axis=-1),
            lambda xp, a, v, m: xp.concatenate([m, v], axis=None),
            lambda xp, a, v, m: xp.concatenate(a),
            lambda xp, a, v, m: xp.stack([v, v + 1]),
            lambda xp, a, v, m: xp.stack([v, v + 1], axis=-1),
            lambda xp, a, v, m: xp.vstack([v, v]),
            lambda xp, a, v, m: xp.hstack([v, v]),
            lambda xp, a, v, m: xp.hstack([m, m]),
            lambda xp, a, v, m: xp.dstack([m, m]),
            lambda xp, a, v, m: xp.dstack([v, v]),
            lambda xp, a, v, m: xp.column_stack([v, v]),
            lambda xp, a, v, m: xp.column_stack([m, m[:, 0]]),
            lambda xp, a, v, m: xp.block([[m, m], [m[:1], m[1:]]]),
            lambda xp, a, v, m: xp.block([v, v[:1]]),
            lambda xp, a, v, m: xp.append(v, v[:2]),
            lambda xp, a, v, m: xp.append(m, m, axis=1),
            lambda xp, a, v, m: xp.split(a, 2, axis=2),
            lambda xp, a, v, m: xp.split(v, [1, 3]),
            lambda xp, a, v, m: xp.split(v, [2, -1]),
            lambda xp, a, v, m: xp.array_split(v, 3),
            lambda xp, a, v, m: xp.hsplit(m, 3),
            lambda xp, a, v, m: xp.vsplit(m, 2),
            lambda xp, a, v, m: xp.dsplit(a, 2),
            lambda xp, a, v, m: xp.unstack(m, axis=1),
        ],
        [A, V, M],
    )


def test_repeating_and_turning() -> None:
    check(
        [
            lambda xp, a, v, m: xp.tile(m, 2),
            lambda xp, a, v, m: xp.tile(m, (2, 1, 2)),
            lambda xp, a, v, m: xp.tile(a, (2, 1)),
            lambda xp, a, v, m: xp.repeat(m, 2),
            lambda xp, a, v, m: xp.repeat(m, 3, axis=1),
            lambda xp, a, v, m: xp.repeat(m, np.array([2, 0, 1]), axis=1),
            lambda xp, a, v, m: xp.roll(v, 2),
            lambda xp, a, v, m: xp.roll(m, -1),
            lambda xp, a, v, m: xp.roll(a, (1, -2), axis=(0, 2)),
            lambda xp, a, v, m: xp.roll(a, 7, axis=1),
            lambda xp, a, v, m: xp.flip(a),
            lambda xp, a, v, m: xp.flip(a, (0, 2)),
            lambda xp, a, v, m: xp.fliplr(m),
            lambda xp, a, v, m: xp.flipud(m),
            lambda xp, a, v, m: [xp.rot90(m, k) for k in range(-1, 4)],
            lambda xp, a, v, m: xp.rot90(a, 1, (1, 2)),
            lambda xp, a, v, m: xp.resize(v, (2, 4)),
            lambda xp, a, v, m: xp.insert(v, 2, 9),
            lambda xp, a, v, m: xp.insert(v, [1, 3], np.array([8, 9])),
            lambda xp, a, v, m: xp.insert(m, 1, 7, axis=1),
            lambda xp, a, v, m: xp.insert(m, [0, -1], np.array([[7], [8]]), axis=1),
            lambda xp, a, v, m: xp.insert(v, slice(0, 4, 2), 6),
            lambda xp, a, v, m: xp.delete(v, 1),
            lambda xp, a, v, m: xp.delete(v, [0, -1]),
            lambda xp, a, v, m: xp.delete(m, slice(0, 3, 2), axis=1),
        ],
        [A, V, M],
    )


def test_padding() -> None:
    check(
        [
            lambda xp, a, v, m: xp.pad(v, 2),
            lambda xp, a, v, m: xp.pad(m, ((1, 0), (0, 2)), constant_values=7),
            lambda xp, a, v, m: xp.pad(m, 1, constant_values=((1, 2), (3, 4))),
            lambda xp, a, v, m: xp.pad(v, (1, 2), "edge"),
            lambda xp, a, v, m: xp.pad(m, 1, "edge"),
            lambda xp, a, v, m: xp.pad(v, (3, 9), "wrap"),
            lambda xp, a, v, m: xp.pad(v, (3, 9), "reflect"),
            lambda xp, a, v, m: xp.pad(v, (3, 9), "symmetric"),
            lambda xp, a, v, m: xp.pad(v, (3, 2), "reflect", reflect_type="odd"),
            lambda xp, a, v, m: xp.pad(v, (3, 2), "symmetric", reflect_type="odd"),
            lambda xp, a, v, m: xp.pad(a, ((1, 1), (2, 0), (0, 3)), "reflect"),
            lambda xp, a, v, m: xp.pad(a, 2, "linear_ramp", end_values=-1),
            lambda xp, a, v, m: xp.pad(v, 2, "maximum"),
            lambda xp, a, v, m: xp.pad(v, 2, "minimum", stat_length=2),
            lambda xp, a, v, m: xp.pad(a, 1, "mean"),
            lambda xp, a, v, m: xp.pad(a, 1, "median"),
        ],
        [A, V, M],
    )


def test_choosing_elements() -> None:
    rows = np.array([[2, 0], [1, 1]])
    check(
        [
            lambda xp, a, v, r: xp.take(v, r),
            lambda xp, a, v, r: xp.take(a, r, axis=1),
            lambda xp, a, v, r: xp.take(a, -1, axis=-1),
            lambda xp, a, v, r: xp.take(v, r * 9, mode="wrap"),
            lambda xp, a, v, r: xp.take(v, r * 9, mode="clip"),
            lambda xp, a, v, r: xp.take_along_axis(a[:, :2, :2], r[:, :, None] % 2, axis=2),
            lambda xp, a, v, r: xp.take_along_axis(a, xp.argsort(-a, axis=1), axis=1),
            lambda xp, a, v, r: xp.take_along_axis(v, r[0], axis=None),
            lambda xp, a, v, r: xp.choose(r % 2, [r, r * 10], mode="clip"),
            lambda xp, a, v, r: xp.choose(r, xp.stack([r, r * 10]), mode="wrap"),
            lambda xp, a, v, r: xp.unravel_index(v, (2, 3)),
            lambda xp, a, v, r: [xp.ravel_multi_index((r % 2, r), (2, 3), mode=m) for m in ("clip", "wrap")],
            lambda xp, a, v, r: a[xp.ix_(r[1], r[0])],
            lambda xp, a, v, r: a[0][xp.diag_indices(3)],
            lambda xp, a, v, r: a[0][xp.tril_indices(3, -1, 4)],
            lambda xp, a, v, r: a[0][xp.triu_indices(3, 1, 4)],
        ],
        [A, V, rows],
    )


def test_positions_of_true_elements() -> None:
    x = snp.asarray(M)
    for ours, theirs in ((snp.nonzero(x), np.nonzero(M)), (snp.argwhere(x), np.argwhere(M))):
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))
    assert snp.flatnonzero(x).tolist() == [0, 1, 4, 5]
    assert snp.compress(np.array([True, False, True]), x, axis=1).tolist() == [[1, 0], [0, 6]]
    assert snp.extract(x > 1, x).tolist() == [2, 5, 6]
    assert snp.trim_zeros(snp.asarray(np.array([0, 0, 1, 0, 2, 0]))).tolist() == [1, 0, 2]


def test_positions_of_a_traced_array_need_a_size() -> None:
    with pytest.raises(TypeError, match="size=") as caught:
        stagec.jit(snp.nonzero)(M)
    assert "must be known while tracing" in str(caught.value)
    run = stagec.jit(
        lambda m: [*snp.nonzero(m, size=6, fill_value=-1), *snp.nonzero(m, size=2), snp.compress(m[0], m, 1, size=3)]
    )
    assert [r.tolist() for r in run(M)] == [
        [0, 0, 1, 1, -1, -1],
        [0, 1, 1, 2, -1, -1],
        [0, 0],
        [0, 1],
        [[1, 2, 0], [0, 5, 0]],
    ]
    assert [r.tolist() for r in snp.nonzero(snp.asarray(M), size=6, fill_value=-1)] == [
        [0, 0, 1, 1, -1, -1],
        [0, 1, 1, 2, -1, -1],
    ]


def test_what_fills_up_positions_may_be_traced():
    rows, columns = stagec.jit(lambda x, fill: snp.nonzero(x, size=6, fill_value=fill))(M, 9)
    assert rows.tolist()[4:] == columns.tolist()[4:] == [9, 9]
    assert stagec.jit(lambda fill: snp.flatnonzero(M, size=6, fill_value=fill))(9).tolist() == [0, 1, 4, 5, 9, 9]


def test_traced_repeats_need_the_total_length() -> None:
    counts = np.array([2, 0, 3])
    run = stagec.jit(lambda x, n: snp.repeat(x, n, axis=1, total_repeat_length=6))
    assert run(M, counts).tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 6, 6, 6, 6]]
    assert snp.repeat(snp.asarray(M), counts, axis=1, total_repeat_length=4).tolist() == [[1, 1, 0, 0], [0, 0, 6, 6]]
    with pytest.raises(TypeError, match="repeats must be known"):
        stagec.jit(lambda x, n: snp.repeat(x, n, axis=1))(M, counts)


def test_traced_shifts_roll() -> None:
    run = stagec.jit(lambda x, n: [snp.roll(x, n), snp.roll(x, n, axis=0), snp.delete(x, n % 5)])
    for n in (2, -1, 13):
        rolled, along, deleted = run(V, n)
        assert rolled.tolist() == along.tolist() == np.roll(V, n).tolist()
        assert deleted.tolist() == np.delete(V, n % 5).tolist()


def test_take_fills_what_is_out_of_range() -> None:
    x = np.array([1.0, 2.0], np.float32)

    def run(x, i):
        return snp.take(x, i), snp.take(x, i, fill_value=-1.0), snp.take(i, i)

    for f in (run, stagec.jit(run)):
        nan, filled, least = f(snp.asarray(x), snp.asarray(np.array([1, 5, -1])))
        np.testing.assert_array_equal(nan.numpy(), [2, np.nan, 2])
        assert filled.tolist() == [2, -1, 2]
        assert least.tolist() == [5, -(2**31), -1]


def test_updates_in_functional_form() -> None:
    x = snp.asarray(M)
    assert snp.put_along_axis(x, np.array([[1], [0]]), 9, 1, inplace=False).tolist() == [[1, 9, 0], [9, 5, 6]]
    assert snp.put(x, np.array([0, -1]), np.array([7, 8]), inplace=False).tolist() == [[7, 2, 0], [0, 5, 8]]
    with pytest.raises(ValueError, match="inplace=False"):
        snp.put(x, 0, 1)


def test_shapes_that_do_not_fit_say_so() -> None:
    x = snp.asarray(A)
    for call, kind, text in [
        (lambda: snp.reshape(x, (5, 5)), ValueError, "cannot reshape array of size 24 into shape"),
        (lambda: snp.reshape(x, (5, -1)), ValueError, "not a multiple"),
        (lambda: snp.reshape(x, (-1, -1)), ValueError, "more than one unknown"),
        (lambda: snp.transpose(x, (0, 0, 1)), ValueError, "duplicate"),
        (lambda: snp.swapaxes(x, 0, 3), IndexError, "axis 3 is out of bounds for array of dimension 3"),
        (lambda: snp.squeeze(x, 0), ValueError, "not equal to one"),
        (lambda: snp.concatenate([x, x[:, :2]]), ValueError, "shapes differ"),
        (lambda: snp.concatenate([]), ValueError, "at least one array"),
        (lambda: snp.stack([x, x[0]]), ValueError, "same shape"),
        (lambda: snp.split(x, 5), ValueError, "equal parts"),
        (lambda: snp.broadcast_to(x, (3, 3, 4)), ValueError, "do not broadcast"),
        (lambda: snp.pad(x, -1), ValueError, "negative"),
        (lambda: snp.pad(x, 1, "mirror"), ValueError, "unknown mode"),
        (lambda: snp.take(x, 0, mode="raise"), NotImplementedError, "compiled code cannot raise"),
        (lambda: snp.ravel([1, 2]), TypeError, "wrap lists and tuples"),
        (lambda: snp.reshape(x, (2.0, 12)), TypeError, "must be an integer"),
    ]:
        with pytest.raises(kind, match=text) as caught:
            call()
        assert "Fix:" in str(caught.value)
