"""Sorts of long axes as a bitonic network in one loop.

IREE's own sort compares every pair of neighbours n times: 150 ms for 16,000
floats, and far too slow for a million. The network takes log2(n) * (log2(n) + 1) / 2 steps,
each of them one parallel compare-and-exchange at a distance that the loop computes.
An attribute marks the loop as a sort; on CPUs, a kernel replaces it (`passes.kernels.sort`).

K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from passes.legalize.expressions import Tensor, where
from passes.legalize.indices import IN_RANGE
from passes.match import dtype_of, shape_of
from passes.types import tensor_type

# From here on the network is faster than IREE's sort. Measured on the CPU: rows of 32 are equal,
# 1000 rows of 64 are 5x faster, 200 rows of 200 8x, for 0.3 s more to compile.
LONG = 48

_ROWS = (
    "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>",
    "#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>",
)


def sorted_positions(keys: Sequence[Any], first: int | None = None) -> Any:
    """The index from which each element of the sorted order comes, stably.

    Args:
      keys: signed integers of shape `(n, m)`, the most significant first.
      first: how many rows of the result to return; by default all.

    Returns:
      int32 values of shape `(n, m)`, or `(first, m)`.
    """
    n, m = shape_of(keys[0])
    size = 1 << max(n - 1, 1).bit_length()
    shape = (size, m) if m > 1 else (size,)
    carried: list[Any] = []
    for key in keys:
        key = key if m > 1 else build.reshape(key, (n,))
        # Rows added here have the largest key and, last of all, the largest position.
        largest = build.constant(np.array(np.iinfo(dtype_of(key)).max, dtype_of(key)))
        carried.append(build.pad(key, largest, [0] * len(shape), [size - n] + [0] * (len(shape) - 1)))
    carried += [_iota(shape, 0), build.constant(np.int32(2)), build.constant(np.int32(1))]
    types = [value.type for value in carried]
    # By these attributes, `passes.kernels` recognizes the loop.
    marks = {"sorts": build.i64(n), **({} if first is None else {"first": build.i64(first)})}
    loop = build.op("stablehlo.while", carried, types, attributes=marks, regions=2)
    build.unary_region(loop, 0, types, lambda *state: (Tensor(state[-2]) <= size).value)
    build.unary_region(loop, 1, types, lambda *state: _exchange(list(state)))
    rows = n if first is None else first
    positions = build.slice_(loop.results[len(keys)], [0] * len(shape), [rows, *shape[1:]])
    return positions if m > 1 else build.reshape(positions, (rows, 1))


def _iota(shape: Sequence[int], axis: int) -> Any:
    """Every element's index along an axis, as int32."""
    return build.op("stablehlo.iota", [], tensor_type(shape, np.int32), attributes={"iota_dimension": build.i64(axis)})


def _exchange(state: list[Any]) -> list[Any]:
    """One step: each row is compared with the row at distance `reach`, within runs of `span` rows."""
    *rows, span, reach = state
    shape = shape_of(rows[-1])
    here = Tensor(_iota(shape, 0))
    reach_all, span_all = (Tensor(build.broadcast_in_dim(value, shape, ())) for value in (reach, span))
    partner = here ^ reach_all
    if len(shape) == 2:
        # The gather takes row indices only: whole rows move.
        partner = Tensor(_iota(shape[:1], 0)) ^ Tensor(build.broadcast_in_dim(reach, shape[:1], ()))
    indices = build.reshape(partner.value, (shape[0], 1))
    mine, others = [Tensor(row) for row in rows], [Tensor(_rows_at(row, indices)) for row in rows]
    # Lexicographic "other < own", from the least significant row; positions never tie.
    less = others[-1] < mine[-1]
    for own, other in list(zip(mine, others))[-2::-1]:
        below = other < own
        less = below | (other.equals(own) & less)
    upper = (here & reach_all).differs(0)
    down = (here & span_all).differs(0)
    take = (upper ^ down) ^ less
    chosen = [where(take, other, own).value for own, other in zip(mine, others)]
    distance, run = Tensor(reach), Tensor(span)
    half = Tensor(build.op("stablehlo.shift_right_logical", [reach, distance.like(1).value]))
    last = distance.equals(1)
    return [*chosen, where(last, run << 1, run).value, where(last, run, half).value]


def _rows_at(x: Any, indices: Any) -> Any:
    """The rows of `x` at indices that are all in range."""
    shape = shape_of(x)
    return build.op(
        "stablehlo.gather",
        [x, indices],
        tensor_type([shape_of(indices)[0], *shape[1:]], x.type.element_type),
        attributes={
            "dimension_numbers": _ROWS[len(shape) == 1],
            "slice_sizes": build.i64_array((1, *shape[1:])),
            IN_RANGE: bindings.ir.UnitAttr.get(),
        },
    )


def permuted(x: Any, positions: Any) -> Any:
    """`x[positions[i, c], c]` for values of shape `(n, m)`."""
    n, m = shape_of(x)
    indices = Tensor(positions)
    if m > 1:
        indices = indices * m + Tensor(_iota((n, m), 1))
    moved = _rows_at(build.reshape(x, (n * m,)), build.reshape(indices.value, (n * m, 1)))
    return build.reshape(moved, (n, m))


def to_rows(x: Any, dimension: int) -> Any:
    """`x` as `(n, m)` with the sorted dimension first."""
    shape = shape_of(x)
    order = [dimension, *[i for i in range(len(shape)) if i != dimension]]
    moved = x if order == sorted(order) else build.transpose(x, order)
    return build.reshape(moved, (shape[dimension], math.prod(shape) // shape[dimension]))


def from_rows(x: Any, shape: Sequence[int], dimension: int) -> Any:
    """The inverse of `to_rows`, to an array of that shape."""
    order = [dimension, *[i for i in range(len(shape)) if i != dimension]]
    x = build.reshape(x, [shape[i] for i in order])
    return x if order == sorted(order) else build.transpose(x, [order.index(i) for i in range(len(shape))])


def first_of_rows(x: Any, keys: Any, k: int) -> tuple[Any, Any]:
    """The `k` elements along the last axis with the least keys, and their indices; of equal ones the first.

    Args:
      x: an array.
      keys: signed integers of its shape.
    """
    *outer, n = shape_of(x)
    count, last = math.prod(outer), len(outer)
    positions = from_rows(sorted_positions([to_rows(keys, last)], k), [*outer, k], last)
    starts = Tensor(_iota((count, k), 0)) * n
    taken = (Tensor(build.reshape(positions, (count, k))) + starts).value
    values = _rows_at(build.reshape(x, (count * n,)), build.reshape(taken, (count * k, 1)))
    return build.reshape(values, [*outer, k]), positions
