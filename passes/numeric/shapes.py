"""Ops that move or repeat elements, and read or write parts of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, match
from passes.numeric.elementwise import total_order

Array = np.ndarray


def result_shape(op: Any, index: int = 0) -> tuple[int, ...]:
    return tuple(op.operation.results[index].type.shape)


def result_dtype(op: Any, index: int = 0) -> np.dtype[Any]:
    return match.dtype_of(op.operation.results[index])


def _sizes(op: Any, given: tuple[Array, ...]) -> tuple[int, ...]:
    """The result's shape: that of its type, or the operand that has the sizes."""
    shape = result_shape(op)
    return shape if all(size >= 0 for size in shape) else tuple(given[0].tolist())


def reshape(op: Any, x: Array, *sizes: Array) -> Array:
    return x.reshape(_sizes(op, sizes))


def broadcast_in_dim(op: Any, x: Array, *sizes: Array) -> Array:
    shape, dims = _sizes(op, sizes), attrs.ints(op, "broadcast_dimensions")
    spread = [1] * len(shape)
    for size, dim in zip(x.shape, dims):
        spread[dim] = size
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return np.broadcast_to(x.transpose(order).reshape(spread), shape)


def iota(op: Any, *sizes: Array) -> Array:
    shape, dim = _sizes(op, sizes), attrs.integer(op, "iota_dimension")
    line = np.arange(shape[dim]).astype(result_dtype(op))
    return np.broadcast_to(line.reshape([-1 if i == dim else 1 for i in range(len(shape))]), shape)


def slice_(op: Any, x: Array) -> Array:
    return x[tuple(slice(lo, hi, step) for lo, hi, step in zip(*attrs.cut(op)))]


def pad(op: Any, x: Array, value: Array) -> Array:
    return pad_array(x, value, *attrs.padding(op))


def pad_array(x: Array, value: Any, low: Any, high: Any, interior: Any) -> Array:
    """Spread `x` by `interior`, then pad each edge, or crop it where the padding is negative."""
    spread = [n + max(n - 1, 0) * k for n, k in zip(x.shape, interior)]
    full = np.full([max(0, a) + n + max(0, b) for a, n, b in zip(low, spread, high)], value, x.dtype)
    full[tuple(slice(max(0, a), max(0, a) + n, k + 1) for a, n, k in zip(low, spread, interior))] = x
    return full[tuple(slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(low, high, full.shape))]


def reverse(op: Any, x: Array) -> Array:
    return np.flip(x, attrs.ints(op, "dimensions"))


def clamp_starts(starts: list[Array], shape: Any, sizes: Any) -> tuple[int, ...]:
    return tuple(max(0, min(int(s), n - k)) for s, n, k in zip(starts, shape, sizes))


def dynamic_slice(op: Any, x: Array, *starts: Array) -> Array:
    sizes = attrs.ints(op, "slice_sizes")
    begin = clamp_starts(list(starts), x.shape, sizes)
    return x[tuple(slice(b, b + k) for b, k in zip(begin, sizes))]


def dynamic_update_slice(op: Any, x: Array, update: Array, *starts: Array) -> Array:
    begin = clamp_starts(list(starts), x.shape, update.shape)
    result = x.copy()
    result[tuple(slice(b, b + k) for b, k in zip(begin, update.shape))] = update
    return result


def bitcast_convert(op: Any, x: Array) -> Array:
    dtype = result_dtype(op)
    # In the body of a map the op has a scalar type, and the operand is the whole array.
    shape = x.shape if dtype.itemsize == x.dtype.itemsize else result_shape(op)
    return np.ascontiguousarray(x).reshape(-1).view(dtype).reshape(shape)


def gather(op: Any, x: Array, indices: Array) -> Array:
    """Gather; start indices are clamped so that each slice lies within the operand."""
    fields = attrs.dimension_numbers(op, "dimension_numbers")
    offset, collapsed = fields.get("offset_dims", ()), fields.get("collapsed_slice_dims", ())
    batching = fields.get("operand_batching_dims", ())
    index_batching = fields.get("start_indices_batching_dims", ())
    start_map, vector_dim = fields.get("start_index_map", ()), fields.get("index_vector_dim", 0)
    sizes, shape = attrs.ints(op, "slice_sizes"), result_shape(op)
    if vector_dim == indices.ndim:
        indices = indices[..., None]
    vectors = np.moveaxis(indices, vector_dim, -1)
    index_dims = [d for d in range(indices.ndim) if d != vector_dim]
    result = np.empty(shape, x.dtype)
    batch_dims = [d for d in range(len(shape)) if d not in offset]
    kept = [d for d in range(x.ndim) if d not in collapsed and d not in batching]
    for position in np.ndindex(*vectors.shape[:-1]):
        start = [0] * x.ndim
        for component, dim in enumerate(start_map):
            start[dim] = max(0, min(int(vectors[position][component]), x.shape[dim] - sizes[dim]))
        for dim, index_dim in zip(batching, index_batching):
            start[dim] = position[index_dims.index(index_dim)]
        block = x[tuple(slice(s, s + k) for s, k in zip(start, sizes))].reshape([sizes[d] for d in kept])
        target: list[Any] = [slice(None)] * len(shape)
        for dim, i in zip(batch_dims, position):
            target[dim] = i
        result[tuple(target)] = block
    return result


def scatter(op: Any, operands: list[Array], apply: Callable[..., list[Array]]) -> tuple[Array, ...]:
    """Scatter in row-major order of the updates.

    Windows that exceed the array's bounds are skipped, as in XLA; the specification skips single elements.

    Args:
      apply: runs the update computation on scalars.
    """
    count = (len(operands) - 1) // 2
    results = [x.copy() for x in operands[:count]]
    indices, updates = operands[count], operands[count + 1 :]
    fields = attrs.dimension_numbers(op, "scatter_dimension_numbers")
    window, inserted = fields.get("update_window_dims", ()), fields.get("inserted_window_dims", ())
    batching = fields.get("input_batching_dims", ())
    index_batching = fields.get("scatter_indices_batching_dims", ())
    to_operand, vector_dim = fields.get("scatter_dims_to_operand_dims", ()), fields.get("index_vector_dim", 0)
    if vector_dim == indices.ndim:
        indices = indices[..., None]
    vectors = np.moveaxis(indices, vector_dim, -1)
    index_dims = [d for d in range(indices.ndim) if d != vector_dim]
    rank = results[0].ndim
    kept = [d for d in range(rank) if d not in inserted and d not in batching]
    scatter_dims = [d for d in range(updates[0].ndim) if d not in window]
    sizes = [1] * rank
    for dim, d in zip(kept, window):
        sizes[dim] = updates[0].shape[d]
    for position in np.ndindex(*updates[0].shape):
        where = tuple(position[d] for d in scatter_dims)
        target = [0] * rank
        for component, dim in enumerate(to_operand):
            target[dim] += int(vectors[where][component])
        for dim, index_dim in zip(batching, index_batching):
            target[dim] += where[index_dims.index(index_dim)]
        if all(0 <= i <= n - size for i, n, size in zip(target, results[0].shape, sizes)):
            for dim, d in zip(kept, window):
                target[dim] += position[d]
            at = tuple(target)
            new = apply([r[at] for r in results] + [u[position] for u in updates])
            for r, value in zip(results, new):
                r[at] = value
    return tuple(results)


def sort(op: Any, operands: list[Array], less: Callable[[list[Any]], bool]) -> tuple[Array, ...]:
    """Sort along a dimension by a comparator, with a merge sort, which is stable."""
    dim = attrs.sort_dimension(op)
    results = [x.copy() for x in operands]
    first = operands[0]
    if first.size == 0:
        return tuple(results)
    outer: list[Any] = [range(n) if d != dim else (slice(None),) for d, n in enumerate(first.shape)]
    for position in itertools.product(*outer):
        lines = [x[position] for x in operands]

        def before(i: int, j: int, lines: list[Array] = lines) -> bool:
            return less([line[k] for line in lines for k in (i, j)])

        order = _merge_sort(list(range(len(lines[0]))), before)
        for result, line in zip(results, lines):
            result[position] = line[order]
    return tuple(results)


def _merge_sort(items: list[int], before: Callable[[int, int], bool]) -> list[int]:
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = _merge_sort(items[:middle], before), _merge_sort(items[middle:], before)
    merged: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if before(right[j], left[i]):
            merged.append(right[j])
            j += 1
        else:
            merged.append(left[i])
            i += 1
    return merged + left[i:] + right[j:]


def top_k(op: Any, x: Array) -> tuple[Array, Array]:
    """The k largest elements along the last axis, and their indices; NaN is largest, and ties go to the first."""
    k = attrs.integer(op, "k")
    keys = x
    if x.dtype.kind in "fV":
        # Both zeros are equal, and so is every NaN.
        keys = np.where(x == 0, np.zeros((), x.dtype), x)
        keys = total_order(np.where(x != x, np.array(np.nan, x.dtype), keys))
    # Ascending by the bitwise complement: stable, and no overflow at the smallest integer.
    order = np.argsort(~keys, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)
