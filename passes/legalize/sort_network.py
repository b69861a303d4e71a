"""Sorts of long axes as a bitonic network in one loop, for targets and programs without kernels of stagec's own.

IREE's own sort compares every pair of neighbours n times: 150 ms for 16,000
floats, and far too slow for a million. The network takes log2(n) * (log2(n) + 1) / 2 steps,
each of them one parallel compare-and-exchange at a distance that the loop computes.

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


def sorted_positions(keys: Sequence[Any], dimension: int) -> Any:
    """The index along a dimension from which each element of the sorted order comes, stably, as int32.

    Args:
      keys: signed integers of one shape, the most significant first.
    """
    whole, keys = shape_of(keys[0]), [_to_rows(key, dimension) for key in keys]
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
    loop = build.op("stablehlo.while", carried, types, regions=2)
    build.unary_region(loop, 0, types, lambda *state: (Tensor(state[-2]) <= size).value)
    build.unary_region(loop, 1, types, lambda *state: _exchange(list(state)))
    positions = build.slice_(loop.results[len(keys)], [0] * len(shape), [n, *shape[1:]])
    order = [dimension, *[i for i in range(len(whole)) if i != dimension]]
    positions = build.reshape(positions, [whole[i] for i in order])
    return build.transpose(positions, [order.index(i) for i in range(len(whole))])


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


def _to_rows(x: Any, dimension: int) -> Any:
    """`x` as `(n, m)` with the sorted dimension first."""
    shape = shape_of(x)
    moved = build.transpose(x, [dimension, *[i for i in range(len(shape)) if i != dimension]])
    return build.reshape(moved, (shape[dimension], math.prod(shape) // shape[dimension]))
