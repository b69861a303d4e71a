"""Exact laws of ops that only move elements."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import SPLAT, is_static, producer, same_type, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern


def _static(*values: Any) -> bool:
    return all(is_static(value) for value in values)


@pattern("stablehlo.reshape", "stablehlo.convert", "stablehlo.bitcast_convert")
def same_type_as_operand(op: Any) -> Any:
    """A reshape, convert or bitcast to the operand's own type -> the operand."""
    return op.operand if same_type(op.operand, op.operation.results[0]) else None


@pattern("stablehlo.reshape", of="stablehlo.reshape")
def reshape_of_reshape(op: Any) -> Any:
    """reshape(reshape(x)) -> reshape(x)."""
    inner = producer(op.operand, "stablehlo.reshape")
    if inner is None or not _static(inner.operand, op.operation.results[0]):
        return None
    return build.reshape(inner.operand, shape_of(op.operation.results[0]))


@pattern("stablehlo.transpose")
def transpose_identity(op: Any) -> Any:
    """transpose(x, [0, 1, ...]) -> x."""
    order = attrs.ints(op, "permutation")
    return op.operand if order == tuple(range(len(order))) else None


@pattern("stablehlo.transpose", of="stablehlo.transpose")
def transpose_of_transpose(op: Any) -> Any:
    """transpose(transpose(x, p), q) -> transpose(x, p[q])."""
    inner = producer(op.operand, "stablehlo.transpose")
    if inner is None:
        return None
    first, second = attrs.ints(inner, "permutation"), attrs.ints(op, "permutation")
    return build.transpose(inner.operand, [first[i] for i in second])


@pattern("stablehlo.transpose")
def transpose_of_unit_dimensions(op: Any) -> Any:
    """A transpose that moves only dimensions of size 1 -> reshape."""
    shape, order = shape_of(op.operand), attrs.ints(op, "permutation")
    if not _static(op.operand):
        return None
    moved = [i for i in order if shape[i] != 1]
    return build.reshape(op.operand, [shape[i] for i in order]) if moved == sorted(moved) else None


@pattern("stablehlo.broadcast_in_dim")
def broadcast_identity(op: Any) -> Any:
    """A broadcast to the operand's own type, dimensions in order -> the operand."""
    dims = attrs.ints(op, "broadcast_dimensions")
    if same_type(op.operand, op.operation.results[0]) and dims == tuple(range(len(dims))):
        return op.operand
    return None


@pattern("stablehlo.broadcast_in_dim", of="stablehlo.broadcast_in_dim")
def broadcast_of_broadcast(op: Any) -> Any:
    """broadcast(broadcast(x, p), q) -> broadcast(x, q[p])."""
    inner = producer(op.operand, "stablehlo.broadcast_in_dim")
    if inner is None or not _static(op.operation.results[0]):
        return None
    first, second = attrs.ints(inner, "broadcast_dimensions"), attrs.ints(op, "broadcast_dimensions")
    return build.broadcast_in_dim(inner.operand, shape_of(op.operation.results[0]), [second[i] for i in first])


@pattern("stablehlo.broadcast_in_dim")
def broadcast_that_adds_unit_dimensions(op: Any) -> Any:
    """A broadcast that repeats nothing and keeps the order of dimensions -> reshape."""
    result, dims = op.operation.results[0], attrs.ints(op, "broadcast_dimensions")
    if not _static(op.operand, result):
        return None
    count = size_of(result)
    # Shapes without elements may differ in more than dimensions of size 1.
    if count != size_of(op.operand) or count == 0 or list(dims) != sorted(dims):
        return None
    return build.reshape(op.operand, shape_of(result))


@pattern("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", of=SPLAT)
def move_splat(op: Any) -> Any:
    """A constant that repeats one number, reshaped, transposed or broadcast -> a constant of the new shape."""
    result = op.operation.results[0]
    if producer(op.operand, "stablehlo.constant") is None or not _static(result):
        return None
    number = splat_of(op.operand)
    if number is None or number.dtype.kind == "c":
        return None
    return build.full(number, result)


@pattern("stablehlo.slice")
def slice_everything(op: Any) -> Any:
    """A slice of the whole array -> the array."""
    whole = same_type(op.operand, op.operation.results[0]) and all(step == 1 for step in attrs.ints(op, "strides"))
    return op.operand if whole else None


@pattern("stablehlo.slice", of="stablehlo.slice")
def slice_of_slice(op: Any) -> Any:
    """slice(slice(x)) -> one slice of x."""
    inner = producer(op.operand, "stablehlo.slice")
    if inner is None or not _static(op.operation.results[0]):
        return None
    first, _, step = attrs.cut(inner)
    starts, _, strides = attrs.cut(op)
    start = [a + b * s for a, b, s in zip(first, starts, step)]
    stride = [a * b for a, b in zip(step, strides)]
    sizes = shape_of(op.operation.results[0])
    limit = [a + max(0, (n - 1) * s + 1) if n else a for a, n, s in zip(start, sizes, stride)]
    if any(hi > n for hi, n in zip(limit, shape_of(inner.operand))):
        return None
    return build.slice_(inner.operand, start, limit, stride)


@pattern("stablehlo.slice", of="stablehlo.concatenate")
def slice_of_concatenate(op: Any) -> Any:
    """A slice that lies within one operand of a concatenate -> a slice of that operand."""
    inner = producer(op.operand, "stablehlo.concatenate")
    if inner is None or not _static(op.operation.results[0], *inner.operation.operands):
        return None
    dim = attrs.integer(inner, "dimension")
    starts, limits, strides = map(list, attrs.cut(op))
    offset = 0
    for part in inner.operation.operands:
        size = shape_of(part)[dim]
        if offset <= starts[dim] and limits[dim] <= offset + size and size > 0:
            starts[dim] -= offset
            limits[dim] -= offset
            return build.slice_(part, starts, limits, strides)
        offset += size
    return None


@pattern("stablehlo.concatenate")
def concatenate_one(op: Any) -> Any:
    """concatenate(x) -> x, and operands of size 0 are dropped."""
    operands = list(op.operation.operands)
    if len(operands) == 1:
        return operands[0]
    dim = attrs.integer(op, "dimension")
    kept = [value for value in operands if shape_of(value)[dim] != 0]
    if len(kept) == len(operands):
        return None
    if len(kept) == 1 and same_type(kept[0], op.operation.results[0]):
        return kept[0]
    return build.concatenate(kept, dim) if kept else operands[0]


@pattern("stablehlo.pad")
def pad_by_less_than_nothing(op: Any) -> Any:
    """pad that cuts elements off -> slice, and pad by what is left.

    With interior padding, a cut may end between two elements; the gap is padded again.
    """
    low, high, between = map(list, attrs.padding(op))
    if not _static(op.operand) or min((*low, *high), default=0) >= 0:
        return None
    starts, limits = [0] * len(low), list(shape_of(op.operand))
    for d, gap in enumerate(between):
        starts[d], cut = (-(-max(0, -ends[d]) // (gap + 1)) for ends in (low, high))
        limits[d] -= cut
        if starts[d] >= limits[d]:
            return None
        low[d], high[d] = low[d] + starts[d] * (gap + 1), high[d] + cut * (gap + 1)
    return build.pad(build.slice_(op.operand, starts, limits), op.operands[1], low, high, between)


@pattern("stablehlo.pad")
def pad_by_nothing(op: Any) -> Any:
    """pad by zero everywhere -> the operand."""
    return None if any(map(any, attrs.padding(op))) else op.operand


@pattern("stablehlo.reverse")
def reverse_of_unit_dimensions(op: Any) -> Any:
    """A reversal of dimensions of size 1 or 0, or of a splat -> the operand."""
    shape = shape_of(op.operand)
    if all(0 <= shape[dim] <= 1 for dim in attrs.ints(op, "dimensions")) or splat_of(op.operand) is not None:
        return op.operand
    return None


@pattern("stablehlo.dynamic_slice")
def dynamic_slice_of_constants(op: Any) -> Any:
    """dynamic_slice at constant indices -> slice, clamped as dynamic_slice clamps."""
    starts = [splat_of(value) for value in op.start_indices]
    shape, sizes = shape_of(op.operand), attrs.ints(op, "slice_sizes")
    if not _static(op.operand):
        return None
    if any(start is None for start, n, k in zip(starts, shape, sizes) if n != k):
        return None
    begin = [0 if n == k else max(0, min(int(s), n - k)) for s, n, k in zip(starts, shape, sizes)]  # type: ignore[arg-type]
    return build.slice_(op.operand, begin, [b + k for b, k in zip(begin, sizes)])


@pattern("stablehlo.dynamic_update_slice")
def update_everything(op: Any) -> Any:
    """dynamic_update_slice of the whole array -> the update."""
    return op.update if same_type(op.operand, op.update) and _static(op.operand) else None


PATTERNS = laws_of(globals())
