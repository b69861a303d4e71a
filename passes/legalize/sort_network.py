"""Sorts of long axes as a bitonic network in one loop, for targets and programs without kernels of stagec's own.

IREE's own sort compares every pair of neighbours n times: 150 ms for 16,000
floats, and far too slow for a million. The network takes log2(n) * (log2(n) + 1) / 2 steps,
each of them one parallel compare-and-exchange at a distance that the loop computes.

K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import bindings, build
from passes.legalize.expressions import Tensor, where
from passes.legalize.indices import IN_RANGE
from passes.legalize.memory import index_along
from passes.match import dtype_of, shape_of
from passes.types import tensor_type

# From here on the network is faster than IREE's sort. Measured on the CPU: rows of 32 are equal,
# 1000 rows of 64 are 5x faster, 200 rows of 200 8x, for 0.3 s more to compile.
LONG = 48


def sorted_positions(keys: Sequence[Any], dimension: int) -> Any:
    """The index along a dimension from which each element of the sorted order comes, stably, as int32.

    Args:
      keys: signed integers of one shape, the most significant first.
    """
    shape = list(shape_of(keys[0]))
    limit, n = list(shape), shape[dimension]
    shape[dimension] = size = 1 << max(n - 1, 1).bit_length()
    high = [a - b for a, b in zip(shape, limit)]
    carried: list[Any] = []
    for key in keys:
        # Elements added here have the largest key and, last of all, the largest position.
        largest = build.constant(np.array(np.iinfo(dtype_of(key)).max, dtype_of(key)))
        carried.append(build.pad(key, largest, [0] * len(shape), high))
    carried += [index_along(shape, dimension), build.constant(np.int32(2)), build.constant(np.int32(1))]
    types = [value.type for value in carried]
    loop = build.op("stablehlo.while", carried, types, regions=2)
    build.unary_region(loop, 0, types, lambda *state: (Tensor(state[-2]) <= size).value)
    build.unary_region(loop, 1, types, lambda *state: _exchange(state, dimension))
    return build.slice_(loop.results[len(keys)], [0] * len(shape), limit)


def _exchange(state: Sequence[Any], dimension: int) -> list[Any]:
    """One step: each element is compared with the one at distance `reach`, within runs of `span` elements."""
    *rows, span, reach = state
    shape = shape_of(rows[-1])
    here = Tensor(index_along(shape, dimension))
    reach_all, span_all = (Tensor(build.broadcast_in_dim(value, shape, ())) for value in (reach, span))
    partner = (here ^ reach_all).value
    mine, others = [Tensor(row) for row in rows], [Tensor(taken(row, partner, dimension)) for row in rows]
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


def taken(x: Any, positions: Any, dimension: int) -> Any:
    """The elements of an array at positions along a dimension, which are in range."""
    rank = len(shape_of(x))
    others = [i for i in range(rank) if i != dimension]
    batches = f"operand_batching_dims = {others}, start_indices_batching_dims = {others}, " if others else ""
    numbers = f"collapsed_slice_dims = [{dimension}], {batches}start_index_map = [{dimension}]"
    attributes = {
        "dimension_numbers": f"#stablehlo.gather<{numbers}, index_vector_dim = {rank}>",
        "slice_sizes": build.i64_array([1] * rank),
        IN_RANGE: bindings.ir.UnitAttr.get(),
    }
    indices = build.reshape(positions, (*shape_of(positions), 1))
    type_ = tensor_type(shape_of(positions), x.type.element_type)
    return build.op("stablehlo.gather", [x, indices], type_, attributes=attributes)
