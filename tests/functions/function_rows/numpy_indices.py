"""`stagec.numpy`: elements that are chosen or written by index."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.numpy_shapes import any_array, both, of_one
from function_rows.row import Row


def _delete(s: Draw) -> Call:
    x = any_array(s, 1, 3, empty=False)
    axis = s.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    where = s.one_of(
        s.whole(-size, size - 1), slice(None, None, 2), [s.whole(0, size - 1) for _ in range(s.whole(1, 2))]
    )
    return call(x, where, axis)


def _insert(s: Draw) -> Call:
    x = any_array(s, 1, 3, empty=False)
    axis = s.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    where = s.one_of(s.whole(-size, size), [s.whole(0, size) for _ in range(2)])
    return call(x, where, s.array((), x.dtype), axis)


def _take(s: Draw) -> Call:
    x = any_array(s, 0, 3, empty=False)
    axis = s.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    mode = s.one_of(None, "wrap", "clip")
    return call(x, s.index(size, s.shape(0, 2), mode != "clip"), axis, **({"mode": mode} if mode else {}))


def _take_along(s: Draw) -> Call:
    x = any_array(s, 1, 3, empty=False)
    axis = s.axis(x.ndim, none=False)
    shape = list(x.shape)
    shape[axis] = s.whole(0, 4)
    return call(x, s.index(x.shape[axis], shape), axis)


def _put_along(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False), s.kind())
    axis = s.axis(x.ndim, none=False)
    shape = list(x.shape)
    shape[axis] = 1
    return call(x, s.index(x.shape[axis], shape), s.array(shape, x.dtype), axis, inplace=False)


def _put_along_oracle(x, places, values, axis, inplace):
    x = x.copy()
    np.put_along_axis(x, places.astype(np.int64), values, axis)
    return x


def _put(s: Draw) -> Call:
    x = any_array(s, empty=False)
    n = s.whole(1, 3)
    places = s.values.permutation(max(x.size, n))[:n] % x.size
    return call(x, places[:1].astype(np.int32), s.array((1,), x.dtype), inplace=False)


def _put_oracle(x, places, values, inplace):
    x = x.copy()
    np.put(x, places, values)
    return x


def _place(s: Draw) -> Call:
    shape = s.shape()
    return call(s.array(shape, s.kind("if")), s.array(shape, "bool"), s.array((2,), "int32", 1, 3), inplace=False)


def _place_oracle(x, mask, values, inplace):
    x = x.copy()
    np.place(x, mask, values)
    return x


def _fill_diagonal(s: Draw) -> Call:
    return call(s.array((s.whole(1, 4), s.whole(1, 4)), s.kind()), s.whole(0, 3), inplace=False)


def _fill_oracle(x, value, inplace):
    x = x.copy()
    np.fill_diagonal(x, value)
    return x


def _choose(s: Draw) -> Call:
    shape, kind = s.shape(), s.kind()
    return call(
        s.index(3, shape, False), [s.array(s.broadcast(shape), kind) for _ in range(3)], mode=s.one_of("wrap", "clip")
    )


def _compress(s: Draw) -> Call:
    x = any_array(s, 1, 3)
    axis = s.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    return call(np.array([s.chance(0.5) for _ in range(size)], bool), x, axis)


def _extract(s: Draw) -> Call:
    shape = s.shape()
    return call(s.array(shape, "bool"), s.array(shape, s.kind()))


def _unravel(s: Draw) -> Call:
    shape = s.shape(1, 3, False)
    return call(s.index(int(np.prod(shape)), s.shape(0, 2), False), shape)


def _multi_index(s: Draw) -> Call:
    shape, of = s.shape(1, 3, False), s.shape(0, 2)
    return call(tuple(s.index(n, of, False) for n in shape), shape, mode=s.one_of("wrap", "clip"))


ROWS = [
    *both("delete", _delete),
    *both("insert", _insert),
    *both("take", _take),
    *both("take_along_axis", _take_along),
    Row("numpy.put_along_axis", _put_along, _put_along_oracle),
    Row("numpy.put", _put, _put_oracle),
    Row("numpy.place", _place, _place_oracle),
    Row("numpy.fill_diagonal", _fill_diagonal, _fill_oracle),
    *both("choose", _choose),
    *both("compress", _compress, concrete=True),
    *both("extract", _extract, concrete=True),
    *both("unravel_index", _unravel),
    *both("ravel_multi_index", _multi_index, like_jax=False, note="positions are default integers"),
    *both("flatnonzero argwhere nonzero", of_one(1), concrete=True),
]
