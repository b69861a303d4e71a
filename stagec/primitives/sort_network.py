"""Sorting of long axes: a bitonic network in one loop.

The compiler's own sort compares every pair of neighbours n times: 150 ms for 16,000
floats, and hopeless for a million. The network takes log2(n) * (log2(n) + 1) / 2 steps,
each of them one parallel compare-and-exchange at a distance that the loop counts out.
On CPUs the loop says what it does, and a kernel takes its place (`passes.kernels.sort`).

K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.primitives.checks import i64_array

# From here on the network is faster than the compiler's sort. Measured on the CPU: rows of 32 are equal,
# 1000 rows of 64 are 5x faster, 200 rows of 200 8x, for 0.3 s more to compile.
LONG = 48

_I32 = np.dtype(np.int32)
_SCALAR = ShapedArray.of((), _I32)


class Emitter:
    """Emits operations on values whose avals it remembers by the caller's word."""

    def __init__(self, cx: Any) -> None:
        self.cx = cx

    def __call__(self, name: str, aval: ShapedArray, *operands: Any, **attributes: str) -> Any:
        return self.cx.emit(f"stablehlo.{name}", operands, attributes or None, [aval])

    def compare(self, direction: str, x: Any, y: Any, aval: ShapedArray) -> Any:
        """A bool for each element of `aval`'s shape."""
        text = f"#stablehlo<comparison_direction {direction}>"
        return self("compare", aval.update(dtype=dtypes.bool_), x, y, comparison_direction=text)

    def fill(self, value: Any, aval: ShapedArray) -> Any:
        """A constant of `aval`."""
        return self.cx.constant(value, aval)


def ordered_keys(cx: Any, x: Any, aval: ShapedArray) -> list[tuple[Any, ShapedArray]]:
    """Signed integers in the order of `x`: NaN last, both zeros equal; two of them for complex numbers."""
    e = Emitter(cx)
    dtype = aval.dtype
    if dtypes.is_complex(dtype):
        part = aval.update(dtype=dtypes.real_dtype(dtype))
        parts = e("real", part, x), e("imag", part, x)
        return [key for p in parts for key in ordered_keys(cx, p, part)]
    if dtypes.is_bool(dtype):
        wide = aval.update(dtype=_I32)
        return [(e("convert", wide, x), wide)]
    if dtypes.is_signed(dtype):
        return [(x, aval)]
    signed = aval.update(dtype=np.dtype(f"int{8 * dtype.itemsize}"))
    if dtypes.is_unsigned(dtype):
        bits = e("bitcast_convert", signed, x)
        return [(e("xor", signed, bits, e.fill(np.iinfo(signed.dtype).min, signed)), signed)]
    if dtype.itemsize == 2:
        wide = aval.update(dtype=np.float32)
        return ordered_keys(cx, e("convert", wide, x), wide)
    zero = e.compare("EQ", x, e.fill(0, aval), aval)
    x = e("select", aval, zero, e.fill(0, aval), x)
    nan = e.compare("NE", x, x, aval)
    x = e("select", aval, nan, e.fill(np.nan, aval), x)
    bits = e("bitcast_convert", signed, x)
    sign = e("shift_right_arithmetic", signed, bits, e.fill(8 * dtype.itemsize - 1, signed))
    flip = e("and", signed, sign, e.fill(np.iinfo(signed.dtype).max, signed))
    return [(e("xor", signed, bits, flip), signed)]


def sorted_positions(cx: Any, keys: Sequence[tuple[Any, ShapedArray]], n: int, first: int | None = None) -> Any:
    """Where each element of the sorted order comes from, stably.

    Args:
      keys: signed integers of shape `(n, m)`, most significant first.
      n: how many rows to sort.
      first: how many rows of the result are wanted; by default all.

    Returns:
      int32 values of shape `(n, m)`, or `(first, m)`.
    """
    e = Emitter(cx)
    m = keys[0][1].shape[1]
    size = 1 << max(n - 1, 1).bit_length()
    shape = (size, m) if m > 1 else (size,)
    index = ShapedArray.of(shape, _I32)
    carried: list[Any] = []
    avals: list[ShapedArray] = []
    for value, aval in keys:
        rows = aval.update(shape=shape, weak_type=False)
        if m == 1:
            value = e("reshape", rows.update(shape=(n,)), value)
        rank = len(shape)
        # Rows added here have the largest key and, last of all, the largest position.
        value = e(
            "pad",
            rows,
            value,
            e.fill(np.iinfo(aval.dtype).max, ShapedArray.of((), aval.dtype)),
            edge_padding_low=i64_array([0] * rank),
            edge_padding_high=i64_array([size - n] + [0] * (rank - 1)),
            interior_padding=i64_array([0] * rank),
        )
        carried.append(value)
        avals.append(rows)
    carried += [_rows(e, index), e.fill(2, _SCALAR), e.fill(1, _SCALAR)]
    avals += [index, _SCALAR, _SCALAR]

    def more(*state: Any) -> Any:
        going = e.compare("LE", state[-2].value, e.fill(size, _SCALAR), _SCALAR)
        return cx.tracers([going], [ShapedArray.of((), dtypes.bool_)])

    def step(*state: Any) -> Any:
        return cx.tracers(_exchange(e, [s.value for s in state], avals), avals)

    # By these attributes, `passes.kernels.sort` knows the loop.
    known = {"sorts": f"{n} : i64", **({"first": f"{first} : i64"} if first is not None else {})}
    n = n if first is None else first
    results = cx.emit("stablehlo.while", carried, known, avals, [cx.region(avals, more), cx.region(avals, step)])
    out = ShapedArray.of((n, m), _I32)
    flat = out if m > 1 else ShapedArray.of((n,), _I32)
    rank = flat.ndim
    positions = e(
        "slice",
        flat,
        results[len(keys)],
        start_indices=i64_array([0] * rank),
        limit_indices=i64_array(flat.shape),
        strides=i64_array([1] * rank),
    )
    return e("reshape", out, positions) if m == 1 else positions


def _rows(e: Emitter, index: ShapedArray) -> Any:
    return e("iota", index, iota_dimension="0 : i64")


def _exchange(e: Emitter, state: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """One step: each row meets the row at distance `reach`, within runs of `span` rows."""
    *rows, span, reach = state
    index, row_avals = avals[-3], avals[:-2]
    truth = index.update(dtype=dtypes.bool_)
    here = _rows(e, index)
    reach_all = e.cx.broadcast(reach, index, ())
    partner = e("xor", index, here, reach_all)
    if index.ndim == 2:
        # Only the row numbers: whole rows move.
        column = ShapedArray.of((index.shape[0],), _I32)
        one = e.cx.broadcast(reach, column, ())
        partner = e("xor", column, _rows(e, column), one)
    partner = e("reshape", ShapedArray.of((index.shape[0], 1), _I32), partner)
    others = [_take_rows(e, r, partner, a) for r, a in zip(rows, row_avals)]
    # Lexicographic "other < own", from the least significant row; positions never tie.
    less = e.compare("LT", others[-1], rows[-1], index)
    for own, other, aval in list(zip(rows, others, row_avals))[-2::-1]:
        below = e.compare("LT", other, own, aval)
        equal = e.compare("EQ", other, own, aval)
        less = e("or", truth, below, e("and", truth, equal, less))
    zeros = e.fill(0, index)
    upper = e.compare("NE", e("and", index, here, reach_all), zeros, index)
    down = e.compare("NE", e("and", index, here, e.cx.broadcast(span, index, ())), zeros, index)
    take = e("xor", truth, e("xor", truth, upper, down), less)
    chosen = [e("select", a, take, other, own) for own, other, a in zip(rows, others, row_avals)]
    one = e.fill(1, _SCALAR)
    half = e("shift_right_logical", _SCALAR, reach, one)
    last = e.compare("EQ", reach, one, _SCALAR)
    next_span = e("select", _SCALAR, last, e("shift_left", _SCALAR, span, one), span)
    next_reach = e("select", _SCALAR, last, span, half)
    return [*chosen, next_span, next_reach]


def _take_rows(e: Emitter, x: Any, rows: Any, aval: ShapedArray) -> Any:
    offsets = "offset_dims = [1], " if aval.ndim == 2 else ""
    numbers = f"#stablehlo.gather<{offsets}collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
    return e("gather", aval, x, rows, dimension_numbers=numbers, slice_sizes=i64_array((1, *aval.shape[1:])))


def positions_as(cx: Any, positions: Any, aval: ShapedArray) -> Any:
    """Sorted positions, which a counter along the sorted dimension becomes."""
    return positions if aval.dtype == _I32 else Emitter(cx)("convert", aval, positions)


def permuted(cx: Any, x: Any, aval: ShapedArray, positions: Any) -> Any:
    """`x[positions[i, c], c]` for values of shape `(n, m)`."""
    e = Emitter(cx)
    n, m = aval.shape
    flat, index = ShapedArray.of((n * m,), aval.dtype), ShapedArray.of((n, m), _I32)
    if m > 1:
        positions = e("multiply", index, positions, e.fill(m, index))
        positions = e("add", index, positions, e("iota", index, iota_dimension="1 : i64"))
    positions = e("reshape", ShapedArray.of((n * m, 1), _I32), positions)
    moved = _take_rows(e, e("reshape", flat, x), positions, flat)
    return e("reshape", aval, moved)


def to_rows(cx: Any, x: Any, aval: ShapedArray, dimension: int) -> tuple[Any, ShapedArray]:
    """`x` as `(n, m)` with the sorted dimension in front."""
    e = Emitter(cx)
    order = [dimension, *[i for i in range(aval.ndim) if i != dimension]]
    moved = aval.update(shape=[aval.shape[i] for i in order], weak_type=False)
    if order != sorted(order):
        x = e("transpose", moved, x, permutation=i64_array(order))
    rows = moved.update(shape=(moved.shape[0], math.prod(moved.shape[1:])))
    return e("reshape", rows, x), rows


def from_rows(cx: Any, x: Any, aval: ShapedArray, dimension: int) -> Any:
    """The inverse of `to_rows`, to `aval`."""
    e = Emitter(cx)
    order = [dimension, *[i for i in range(aval.ndim) if i != dimension]]
    x = e("reshape", aval.update(shape=[aval.shape[i] for i in order]), x)
    if order == sorted(order):
        return x
    return e("transpose", aval, x, permutation=i64_array([order.index(i) for i in range(aval.ndim)]))


def first_of_rows(cx: Any, x: Any, aval: ShapedArray, k: int, out_avals: Sequence[ShapedArray]) -> list[Any]:
    """The `k` largest elements along the last axis, and where they are; of equal ones the first."""
    e = Emitter(cx)
    n = aval.shape[-1]
    ((key, key_aval),) = ordered_keys(cx, x, aval)
    rows = to_rows(cx, e("not", key_aval, key), key_aval, aval.ndim - 1)
    places = from_rows(cx, sorted_positions(cx, [rows], n, k), out_avals[1], aval.ndim - 1)
    count = aval.size // n
    index, flat = ShapedArray.of((count, k), _I32), ShapedArray.of((aval.size,), aval.dtype)
    starts = e("multiply", index, e("iota", index, iota_dimension="0 : i64"), e.fill(n, index))
    taken = e("add", index, e("reshape", index, places), starts)
    taken = e("reshape", ShapedArray.of((count * k, 1), _I32), taken)
    values = _take_rows(e, e("reshape", flat, x), taken, ShapedArray.of((count * k,), aval.dtype))
    return [e("reshape", out_avals[0], values), places]
