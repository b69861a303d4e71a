"""Exact laws of ops that only move elements, of counted numbers, and of pads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis.strided import groups
from passes.match import (
    SPLAT,
    dtype_of,
    is_complex,
    is_static,
    producer,
    rank_of,
    same_type,
    shape_of,
    size_of,
    splat_of,
)
from passes.patterns import laws_of, pattern
from passes.simplify.joins import same_number
from passes.simplify.moves import ELEMENTWISE, is_static_op, producers_of, rebuilt, used_once


@pattern("stablehlo.reshape", "stablehlo.convert", "stablehlo.bitcast_convert")
def same_type_as_operand(op: Any) -> Any:
    """A reshape, convert or bitcast to the operand's own type -> the operand."""
    return op.operand if same_type(op.operand, op.operation.results[0]) else None


@pattern("stablehlo.reshape", of="stablehlo.reshape")
def reshape_of_reshape(op: Any) -> Any:
    """reshape(reshape(x)) -> reshape(x)."""
    inner = producer(op.operand, "stablehlo.reshape")
    if inner is None or not is_static(inner.operand):
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
    if inner is None:
        return None
    first, second = attrs.ints(inner, "broadcast_dimensions"), attrs.ints(op, "broadcast_dimensions")
    return build.broadcast_in_dim(inner.operand, shape_of(op.operation.results[0]), [second[i] for i in first])


@pattern("stablehlo.broadcast_in_dim")
def broadcast_that_adds_unit_dimensions(op: Any) -> Any:
    """A broadcast that repeats nothing and keeps the order of dimensions -> reshape."""
    result, dims = op.operation.results[0], attrs.ints(op, "broadcast_dimensions")
    count = size_of(result)
    # Shapes without elements may differ in more than dimensions of size 1.
    if count != size_of(op.operand) or count == 0 or list(dims) != sorted(dims):
        return None
    return build.reshape(op.operand, shape_of(result))


@pattern("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.dynamic_slice", of=SPLAT)
def move_splat(op: Any) -> Any:
    """A constant that repeats one number, reshaped, transposed, broadcast or cut -> a constant of the new shape."""
    result = op.operation.results[0]
    if producer(op.operand, "stablehlo.constant") is None:
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
    if inner is None:
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
    if min((*low, *high), default=0) >= 0:
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
    if any(start is None for start, n, k in zip(starts, shape, sizes) if n != k):
        return None
    begin = [0 if n == k else max(0, min(int(s), n - k)) for s, n, k in zip(starts, shape, sizes)]  # type: ignore[arg-type]
    return build.slice_(op.operand, begin, [b + k for b, k in zip(begin, sizes)])


@pattern("stablehlo.dynamic_update_slice")
def update_everything(op: Any) -> Any:
    """dynamic_update_slice of the whole array -> the update."""
    return op.update if same_type(op.operand, op.update) else None


_IOTA = "stablehlo.iota"


def _made(op: Any) -> tuple[Any, int] | None:
    """Return the iota that an op moves, and the dimension along which it counts, if results are exact; else None."""
    inner, result = producer(op.operand, _IOTA), op.operation.results[0]
    if inner is None or size_of(result) == 0:
        return None
    dim, dtype = attrs.integer(inner, "iota_dimension"), dtype_of(result)
    most = {"f": 2**24, "i": 2**31, "u": 2**31}.get(dtype.kind, 0)
    exact = dtype.itemsize >= 4 and shape_of(op.operand)[dim] <= most
    return (inner, dim) if exact else None


@pattern("stablehlo.dynamic_slice", of=_IOTA)
def dynamic_part_of_iota(op: Any) -> Any:
    """dynamic_slice(iota, i) -> iota + i, with i clamped as dynamic_slice clamps it. Exact."""
    found = _made(op)
    if found is None:
        return None
    inner, dim = found
    result, start = op.operation.results[0], op.start_indices[dim]
    limit = shape_of(op.operand)[dim] - shape_of(result)[dim]
    if limit == 0:
        return None
    most = min(limit, np.iinfo(dtype_of(start)).max)
    start = build.op("stablehlo.clamp", [build.full(0, start), start, build.full(most, start)], start.type)
    start = build.broadcast_in_dim(build.convert(start, dtype_of(result)), shape_of(result), ())
    return build.op("stablehlo.add", [rebuilt(inner, [], shape_of(result)), start])


class _Part(NamedTuple):
    """One operand: its elements along the dimension, what is padded, and by what; and which operand it is."""

    start: int
    size: int
    value: Any
    number: Any
    position: int


@pattern(*ELEMENTWISE, of="stablehlo.pad")
def elementwise_of_pads_apart(op: Any) -> Any:
    """f(pad(x, c), pad(y, d)) -> concatenate(f(x, d), f(c, y)) for pads that do not overlap, padded. Exact.

    The numbers are constants. There is one array instead of two. f(concatenate(x, y), c) suffices where c is d and f is
    commutative.
    """
    operands = list(op.operation.operands)
    if len(operands) != 2 or is_complex(operands[0]):
        return None
    makers = producers_of(operands, "stablehlo.pad")
    if not makers or any(not used_once(maker) or splat_of(maker.padding_value) is None for maker in makers):
        return None
    dim = _dimension(makers)
    if dim is None:
        return None
    parts = [
        _Part(attrs.padding(m).low[dim], shape_of(m.operand)[dim], m.operand, m.padding_value, i)
        for i, m in enumerate(makers)
    ]
    first, second = parts = sorted(parts, key=lambda part: part.start)
    gap = second.start - first.start - first.size
    if gap < 0 or attrs.padding(makers[0]).interior[dim]:
        return None
    number = rebuilt(op, [maker.padding_value for maker in makers], ())
    is_sum = operations.of(op.operation.name).commutative and same_number(first.number, second.number)
    if is_sum:
        values = [first.value, second.value]
    else:
        values = [_computed(op, first, second), _computed(op, second, first)]
    value = _joined(values, gap, first.number if is_sum else number, dim)
    if is_sum:
        value = rebuilt(op, [value, build.full(splat_of(first.number), value)], shape_of(value))
    low, high, interior = map(list, attrs.padding(makers[0]))
    low[dim] = first.start
    high[dim] = shape_of(op.operation.results[0])[dim] - first.start - shape_of(value)[dim]
    return build.pad(value, number, low, high, interior)


def _dimension(makers: list[Any]) -> int | None:
    """Return the only dimension in which two pads differ, if neither cuts elements off nor is empty; else None."""
    one, two = ((attrs.padding(maker), shape_of(maker.operand)) for maker in makers)
    rows = [list(zip(*padding, shape)) for padding, shape in (one, two)]
    different = [d for d, (a, b) in enumerate(zip(*rows)) if a != b]
    if len(different) != 1 or any(min((*p.low, *p.high)) < 0 or 0 in shape for p, shape in (one, two)):
        return None
    (dim,) = different
    return dim if one[0].interior[dim] == two[0].interior[dim] else None


def _computed(op: Any, part: _Part, other: _Part) -> Any:
    """Return f of a part and of the number that pads the other operand."""
    number = build.full(splat_of(other.number), part.value)
    return rebuilt(op, [part.value, number] if part.position == 0 else [number, part.value], shape_of(part.value))


def _joined(values: list[Any], gap: int, number: Any, dim: int) -> Any:
    """Return two arrays one after the other, with a gap filled by a number."""
    shape = [gap if d == dim else n for d, n in enumerate(shape_of(values[0]))]
    middle = [build.broadcast_in_dim(number, shape, ())] if gap else []
    return build.concatenate([values[0], *middle, values[1]], dim)


@pattern("stablehlo.pad", of="stablehlo.reshape")
def pad_of_reshape(op: Any) -> Any:
    """pad(reshape(x), c) -> reshape(pad(x, c)) where the axes that are padded are axes of x, too. Exact.

    The law requires that two pads then meet, or two reshapes, and that nothing else reads the reshape.
    """
    inner = producer(op.operand, "stablehlo.reshape")
    if inner is None or not used_once(inner) or not is_static_op(inner):
        return None
    users = [use.owner.name for use in op.operation.results[0].uses]
    if producer(inner.operand, "stablehlo.pad") is None and users != ["stablehlo.reshape"]:
        return None
    before = shape_of(inner.operand)
    padded = [[0] * len(before) for _ in range(3)]
    for left, right in groups(before, shape_of(op.operand)) or [([], list(range(rank_of(op.operand))))]:
        for d in right:
            amounts = [amount[d] for amount in attrs.padding(op)]
            if any(amounts) and (len(left) != 1 or len(right) != 1):
                return None
            for amount, n in zip(padded, amounts):
                if any(amounts):
                    amount[left[0]] = n
    value = build.pad(inner.operand, op.padding_value, *padded)
    return build.reshape(value, shape_of(op.operation.results[0]))


PATTERNS = laws_of(globals())
