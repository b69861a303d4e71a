"""Slices move before the ops whose results they slice, so that less is computed and moved. Exact."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis.facts import of
from passes.analysis.strided import groups
from passes.match import dtype_of, is_static, producer, shape_of, size_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import (
    ELEMENTWISE,
    cloned,
    elementwise,
    is_elementwise,
    is_static_op,
    is_whole,
    rebuilt,
    saves_work,
    spread,
    used_once,
)

_SLICES = operations.where(memory=operations.Memory.PART)


@pattern(*_SLICES, of=ELEMENTWISE)
def slice_of_elementwise(op: Any) -> Any:
    """slice(f(x, y)) -> f(slice(x), slice(y)), where nothing else reads f(x, y). Exact: fewer elements are computed."""
    inner = producer(op.operand)
    if inner is None or not is_elementwise(inner) or not used_once(inner) or not is_static_op(inner):
        return None
    shape = shape_of(op.operation.results[0])
    if not saves_work(inner, math.prod(shape), len(spread(inner))):
        return None
    starts = list(op.operation.operands)[1:]
    return elementwise(inner, shape, lambda value: _sliced(op, value, starts, shape))


def _sliced(op: Any, value: Any, starts: list[Any], shape: Any) -> Any:
    type_ = build.tensor_type(shape, value.type.element_type)
    return build.op(op.operation.name, [value, *starts], type_, attributes=attrs.copied(op))


def part(op: Any, value: Any, dims: Mapping[int, int]) -> Any:
    """The part of another array that a slice takes along its dimensions `dims`, by those of the slice, and all else.

    A start is clamped in the same way before and after: what is sliced has the same size along that dimension.
    """
    shape, sizes = shape_of(value), list(shape_of(value))
    if op.operation.name == "stablehlo.slice":
        cuts = list(zip(*attrs.cut(op)))
        own = [cuts[dims[d]] if d in dims else (0, n, 1) for d, n in enumerate(shape)]
        return build.slice_(value, *zip(*own)) if own else value
    starts = [build.full(0, op.start_indices[0]) for _ in shape] if dims else []
    for d, cut in dims.items():
        starts[d], sizes[d] = op.start_indices[cut], shape_of(op.operation.results[0])[cut]
    return value if tuple(sizes) == shape else build.dynamic_slice(value, starts, sizes)


def sliced(op: Any, name: str) -> Any:
    """Return the op of this name that a slice is alone to read, in the same block, or None."""
    inner = producer(op.operand, name)
    if inner is None or not used_once(inner) or not is_static_op(inner):
        return None
    # A slice in a loop may read what was computed before the loop.
    return inner if inner.operation.block == op.operation.block else None


def _takes_half(op: Any) -> bool:
    """Whether a slice takes elements, and at most half of them."""
    return bool(0 < 2 * size_of(op.operation.results[0]) <= size_of(op.operand))


@pattern(*_SLICES, of="stablehlo.broadcast_in_dim")
def slice_of_broadcast(op: Any) -> Any:
    """slice(broadcast(x)) -> broadcast(slice(x)): what is repeated is cut first. Exact."""
    inner = producer(op.operand, "stablehlo.broadcast_in_dim")
    result = op.operation.results[0]
    if inner is None or not is_static(inner.operand):
        return None
    dims = attrs.ints(inner, "broadcast_dimensions")
    own = {i: d for i, (d, n) in enumerate(zip(dims, shape_of(inner.operand))) if n != 1}
    return build.broadcast_in_dim(part(op, inner.operand, own), shape_of(result), dims)


@pattern(*_SLICES, of="stablehlo.transpose")
def slice_of_transpose(op: Any) -> Any:
    """slice(transpose(x)) -> transpose(slice(x)). Exact: fewer elements are transposed."""
    inner = producer(op.operand, "stablehlo.transpose")
    if inner is None or not is_static_op(inner) or not used_once(inner):
        return None
    order = attrs.ints(inner, "permutation")
    return build.transpose(part(op, inner.operand, {d: i for i, d in enumerate(order)}), order)


@pattern("stablehlo.slice", of="stablehlo.pad")
def slice_of_pad(op: Any) -> Any:
    """slice(pad(x)) -> pad(slice(x)), slice(x), or a broadcast of the padding value. Exact."""
    inner = producer(op.operand, "stablehlo.pad")
    result = op.operation.results[0]
    if inner is None or not is_static_op(inner) or size_of(inner.operand) == 0 or size_of(result) == 0:
        return None
    shape, sizes = shape_of(inner.operand), shape_of(result)
    padding = attrs.padding(inner)
    if min((*padding.low, *padding.high)) < 0:
        return None
    found = [_within_padding(*dimension) for dimension in zip(*attrs.cut(op), sizes, shape, *padding)]
    if "padding" in found:
        return build.broadcast_in_dim(inner.padding_value, sizes, ())
    if None in found:
        return None
    starts, limits, strides, lows, highs, gaps = zip(*found)
    if any((*lows, *highs, *gaps)) and not used_once(inner):
        return None
    return build.pad(build.slice_(inner.operand, starts, limits, strides), inner.padding_value, lows, highs, gaps)


def _within_padding(start: int, limit: int, stride: int, count: int, n: int, low: int, high: int, gap: int) -> Any:
    """Return slice and pad parameters for a slice of one padded dimension, "padding" if that is all it has, or None."""
    period = gap + 1
    last = start + (count - 1) * stride
    end = low + (n - 1) * period  # the position of the last element
    if last < low or start > end:
        return "padding"
    if stride == 1 and last - start + 1 == low + (n - 1) * period + 1 + high:
        return 0, n, 1, low, high, gap
    if stride % period == 0:
        if (start - low) % period:
            return "padding"
        step = stride // period
        if start >= low and last <= end:
            return (start - low) // period, (last - low) // period + 1, step, 0, 0, 0
        if step != 1:
            return None
        # One element of x in each period: the part that lies within x, and padding on both sides.
        first, final = max(0, (start - low) // period), min(n - 1, (last - low) // period)
        return first, final + 1, 1, max(0, (low - start) // period), max(0, (last - end) // period), 0
    if stride != 1:
        return None
    first, final = max(0, -(-(start - low) // period)), min(n - 1, (last - low) // period)
    if first > final:
        return "padding"
    return first, final + 1, 1, low + first * period - start, last - (low + final * period), gap


@pattern("stablehlo.slice", of="stablehlo.reshape")
def slice_of_reshape(op: Any) -> Any:
    """slice(reshape(x)) -> reshape(slice(x)), where the part is a slice of x as well. Exact."""
    inner = producer(op.operand, "stablehlo.reshape")
    result = op.operation.results[0]
    if inner is None or not is_static(inner.operand) or size_of(result) == 0:
        return None
    before, after = shape_of(inner.operand), shape_of(op.operand)
    starts, limits, strides = attrs.cut(op)
    found = groups(before, after)
    if found is None:
        return None
    cuts = [(0, n, 1) for n in before]
    for left, right in found:
        cut = [d for d in right if limits[d] - starts[d] != after[d] or (strides[d] != 1 and after[d] != 1)]
        if not cut:
            continue
        if len(left) == len(right) == 1:
            (d,) = right
            cuts[left[0]] = (starts[d], limits[d], strides[d])
            continue
        # If only the outermost dimension is sliced, the elements are adjacent.
        outer = next(d for d in right if after[d] != 1)
        row = next(d for d in left if before[d] != 1)
        mine = math.prod(before[d] for d in left if d > row)
        begin, end = (k * math.prod(after[d] for d in right if d > outer) for k in (starts[outer], limits[outer]))
        if cut != [outer] or strides[outer] != 1 or begin % mine or end % mine:
            return None
        cuts[row] = (begin // mine, end // mine, 1)
    value = build.slice_(inner.operand, *zip(*cuts)) if cuts else inner.operand
    return build.reshape(value, shape_of(result))


@pattern("stablehlo.slice", "stablehlo.dynamic_slice", of="stablehlo.iota")
def slice_of_iota(op: Any) -> Any:
    """A slice of an iota that takes the beginning of the dimension counted along -> a smaller iota. Exact."""
    inner = producer(op.operand, "stablehlo.iota")
    result = op.operation.results[0]
    if inner is None:
        return None
    dim = attrs.integer(inner, "iota_dimension")
    if not is_whole(op, dim):
        if op.operation.name != "stablehlo.slice":
            return None
        starts, _, strides = attrs.cut(op)
        if starts[dim] != 0 or strides[dim] != 1:
            return None
    return rebuilt(inner, [], shape_of(result))


@pattern("stablehlo.slice", of="stablehlo.concatenate")
def slice_of_concatenate(op: Any) -> Any:
    """slice(concatenate(x, y, z)) -> concatenate of the slices of those parts that are in it. Exact.

    Where there are several, the law requires that nothing else reads the concatenation.
    """
    inner = producer(op.operand, "stablehlo.concatenate")
    if inner is None or not is_static_op(inner) or size_of(op.operation.results[0]) == 0:
        return None
    dim = attrs.integer(inner, "dimension")
    starts, limits, strides = map(list, attrs.cut(op))
    first, last, offset, found = starts[dim], limits[dim], 0, []
    for value in inner.operation.operands:
        size = shape_of(value)[dim]
        begin, end = max(0, first - offset), min(size, last - offset)
        if begin < end:
            found.append((value, begin, end))
        offset += size
    if len(found) > 1 and (strides[dim] != 1 or not used_once(inner)):
        return None
    parts = []
    for value, starts[dim], limits[dim] in found:
        parts.append(build.slice_(value, starts, limits, strides))
    return build.concatenate(parts, dim) if len(parts) > 1 else parts[0]


@pattern(*_SLICES, of="stablehlo.reduce", reorders=True)
def slice_of_reduce(op: Any) -> Any:
    """slice(reduce(x)) -> reduce(slice(x)) for half of the results or less. Exact: fewer results are computed."""
    inner = sliced(op, "stablehlo.reduce")
    if inner is None or not _takes_half(op):
        return None
    (value,), dims = inner.inputs, attrs.ints(inner, "dimensions")
    kept = [d for d in range(len(shape_of(value))) if d not in dims]
    cut = part(op, value, {d: i for i, d in enumerate(kept)})
    return cloned(inner, [cut, *inner.init_values], [op.operation.results[0].type])


@pattern(*_SLICES, of="stablehlo.dot_general")
def slice_of_dot(op: Any) -> Any:
    """slice(dot(x, y)) -> dot(slice(x), slice(y)) for half of the results or less. Exact: fewer sums."""
    inner = sliced(op, "stablehlo.dot_general")
    if inner is None or not _takes_half(op):
        return None
    dims, shape = attrs.dot_dimensions(inner), shape_of(op.operation.results[0])
    batch = len(dims.lhs_batch)
    rows = [d for d in range(len(shape_of(inner.lhs))) if d not in (*dims.lhs_batch, *dims.lhs_contract)]
    columns = [d for d in range(len(shape_of(inner.rhs))) if d not in (*dims.rhs_batch, *dims.rhs_contract)]
    left = dict(zip((*dims.lhs_batch, *rows), range(len(shape))))
    right = dict(zip((*dims.rhs_batch, *columns), (*range(batch), *range(batch + len(rows), len(shape)))))
    return rebuilt(inner, [part(op, inner.lhs, left), part(op, inner.rhs, right)], shape)


@pattern(*_SLICES, of=_SLICES)
def slice_within_slice(op: Any) -> Any:
    """slice(dynamic_slice(x)), dynamic_slice(slice(x)) and the like -> one dynamic_slice of x.

    Exact. In a dimension that both cut, starts that are not constants must be known to be in range, since the two
    slices clamp them to different bounds.
    """
    inner = producer(op.operand)
    if inner is None or inner.operation.name not in _SLICES or not is_static(inner.operand):
        return None
    names = {one.operation.name for one in (op, inner)}
    if names == {"stablehlo.slice"} or size_of(op.operation.results[0]) == 0:
        return None  # `slice_of_slice` has strides, too
    if op.operation.name == "stablehlo.slice" and not used_once(inner):
        return None
    starts = [_starts(one) for one in (inner, op)]
    if starts[0] is None or starts[1] is None:
        return None
    sums = [_sum(op, inner, d, *pair) for d, pair in enumerate(zip(*starts))]
    dynamic = [value for pair in zip(*starts) for value in pair if not isinstance(value, int)]
    if any(found is None for found in sums) or any(value.type != dynamic[0].type for value in dynamic[1:]):
        return None
    if any(not values and offset > np.iinfo(dtype_of(dynamic[0])).max for values, offset in sums):  # type: ignore[misc]
        return None
    begin = [functools.reduce(_added, values, offset) for values, offset in sums]  # type: ignore[misc]
    begin = [build.full(start, dynamic[0]) if isinstance(start, int) else start for start in begin]
    return build.dynamic_slice(inner.operand, begin, shape_of(op.operation.results[0]))


def _starts(op: Any) -> list[Any] | None:
    """Return the starts of a slice, as integers where it is not dynamic; None where it skips elements."""
    if op.operation.name == "stablehlo.dynamic_slice":
        return list(op.start_indices)
    starts, _, strides = attrs.cut(op)
    return list(starts) if all(step == 1 for step in strides) else None


def _sum(op: Any, inner: Any, d: int, first: Any, second: Any) -> tuple[list[Any], int] | None:
    """Return the values and the integer that add up to the start of both slices in a dimension; None if unknown."""
    if is_whole(op, d):
        second = 0
    elif is_whole(inner, d):
        first = 0
    offset = sum(start for start in (first, second) if isinstance(start, int))
    values = [start for start in (first, second) if not isinstance(start, int)]
    if not values or is_whole(op, d) or is_whole(inner, d):
        return values, offset
    total = shape_of(inner.operand)[d]
    for start, one in ((first, inner), (second, op)):
        known = None if isinstance(start, int) else of(start)
        limit = shape_of(one.operand)[d] - shape_of(one.operation.results[0])[d]
        if not isinstance(start, int) and (known is None or not known.within(0, limit)):
            return None
    return (values, offset) if total <= np.iinfo(dtype_of(values[0])).max else None


def _added(start: Any, value: Any) -> Any:
    if isinstance(start, int):
        return build.op("stablehlo.add", [value, build.full(start, value)]) if start else value
    return build.op("stablehlo.add", [start, value])


@pattern("stablehlo.slice", of="stablehlo.reverse")
def slice_of_reverse(op: Any) -> Any:
    """slice(reverse(x)) -> reverse(slice(x)) of the mirrored part. Exact: fewer elements are reversed."""
    inner = producer(op.operand, "stablehlo.reverse")
    result = op.operation.results[0]
    if inner is None or not is_static_op(inner) or not used_once(inner) or size_of(result) == 0:
        return None
    shape, sizes = shape_of(op.operand), shape_of(result)
    starts, limits, strides = map(list, attrs.cut(op))
    for d in attrs.ints(inner, "dimensions"):
        last = starts[d] + (sizes[d] - 1) * strides[d]
        starts[d], limits[d] = shape[d] - 1 - last, shape[d] - starts[d]
    return rebuilt(inner, [build.slice_(inner.operand, starts, limits, strides)], sizes)


PATTERNS = laws_of(globals())
