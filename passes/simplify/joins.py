"""Concatenations and pads: fewer of them, and arithmetic before them rather than after. Exact."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.analysis.strided import groups
from passes.match import dtype_of, producer, rank_of, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import ELEMENTWISE, all_static, elementwise, is_static_op, producers_of, spread, used_once


def same_number(a: Any, b: Any) -> bool:
    """Whether two values are the same value, or splats of the same number, bit for bit."""
    if a == b:
        return True
    first, second = splat_of(a), splat_of(b)
    return first is not None and second is not None and first.tobytes() == second.tobytes()


@pattern("stablehlo.pad", of="stablehlo.pad")
def pad_of_pad(op: Any) -> Any:
    """pad(pad(x, c), c) -> one pad. Exact."""
    inner = producer(op.operand, "stablehlo.pad")
    if inner is None or not is_static_op(inner) or not same_number(inner.padding_value, op.padding_value):
        return None
    (low, high, between), (low_2, high_2, between_2) = attrs.padding(inner), attrs.padding(op)
    if any(between_2) or min((*low, *high, *low_2, *high_2)) < 0 or size_of(inner.operand) == 0:
        return None
    return build.pad(
        inner.operand,
        op.padding_value,
        [a + b for a, b in zip(low, low_2)],
        [a + b for a, b in zip(high, high_2)],
        between,
    )


@pattern("stablehlo.pad", of="stablehlo.constant")
def pad_of_splat(op: Any) -> Any:
    """pad(c, c), where all elements are equal -> a larger constant, also where the operand has no elements. Exact."""
    result = op.operation.results[0]
    if dtype_of(result).kind == "c" or size_of(result) == 0:
        return None
    if size_of(op.operand) and not same_number(op.operand, op.padding_value):
        return None
    return build.broadcast_in_dim(op.padding_value, shape_of(result), ())


@pattern(*ELEMENTWISE, of="stablehlo.pad")
def elementwise_of_pads(op: Any) -> Any:
    """f(pad(x, c), pad(y, d)) -> pad(f(x, y), f(c, d)) for equal padding by constants. Exact: less is computed."""
    values = spread(op)
    pads = producers_of(values, "stablehlo.pad")
    producers = dict(zip(values, pads))
    if not pads or not all(used_once(pad) for pad in pads) or not _equal_padding(pads):
        return None
    shape = shape_of(pads[0].operand)
    if size_of(pads[0].operand) >= size_of(op.operation.results[0]):
        return None
    if any(splat_of(pad.padding_value) is None for pad in pads):
        return None
    if any(len(v.type.shape) == 0 and splat_of(v) is None for v in op.operation.operands):
        return None
    number = elementwise(op, (), lambda v: producers[v].padding_value)
    return build.pad(elementwise(op, shape, lambda v: producers[v].operand), number, *attrs.padding(pads[0]))


def _equal_padding(pads: list[Any]) -> bool:
    """Whether pads have the same padding and operands of the same shape."""
    return len({(shape_of(pad.operand), attrs.padding(pad)) for pad in pads}) == 1


@pattern("stablehlo.concatenate", of="stablehlo.concatenate")
def concatenate_of_concatenates(op: Any) -> Any:
    """concatenate(concatenate(x, y), z) along one dimension -> concatenate(x, y, z). Exact."""
    dim, changed = attrs.integer(op, "dimension"), False
    parts: list[Any] = []
    for value in op.operation.operands:
        inner = producer(value, "stablehlo.concatenate")
        if inner is not None and used_once(inner) and attrs.integer(inner, "dimension") == dim:
            parts += list(inner.operation.operands)
            changed = True
        else:
            parts.append(value)
    return build.concatenate(parts, dim) if changed and all_static(*parts) else None


@pattern("stablehlo.concatenate")
def concatenate_of_equal_parts(op: Any) -> Any:
    """concatenate(x, x, x) -> broadcast(x), and a reshape where x has several elements along the dimension. Exact."""
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    if len(values) < 2 or any(value != values[0] for value in values[1:]):
        return None
    x, result = values[0], op.operation.results[0]
    shape = shape_of(x)
    if size_of(x) == 0:
        return None
    if shape[dim] == 1:
        return build.broadcast_in_dim(x, shape_of(result), range(len(shape)))
    split = [*shape[:dim], len(values), *shape[dim:]]
    repeated = build.broadcast_in_dim(x, split, [d + (d >= dim) for d in range(len(shape))])
    return build.reshape(repeated, shape_of(result))


_MOVES = ("stablehlo.transpose", "stablehlo.reverse", "stablehlo.pad", "stablehlo.broadcast_in_dim")


@pattern("stablehlo.concatenate", of=_MOVES)
def concatenate_of_moves(op: Any) -> Any:
    """concatenate(transpose(x), transpose(y)) -> transpose(concatenate(x, y)), and the same for reversals, and for pads
    and broadcasts along other dimensions.

    Exact. The law requires that nothing else reads the parts, and that the operation moves each of them alike.
    """
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    first = producer(values[0])
    if len(values) < 2 or first is None or first.operation.name not in _MOVES:
        return None
    makers = producers_of(values, first.operation.name)
    if not makers or not all(used_once(maker) and is_static_op(maker) for maker in makers):
        return None
    if any(attrs.copied(maker) != attrs.copied(first) for maker in makers):
        return None
    along = _before(makers, dim)
    if along is None or 0 in shape_of(op.operation.results[0]):
        return None
    parts = [maker.operand for maker in makers]
    if first.operation.name == "stablehlo.reverse" and dim in attrs.ints(first, "dimensions"):
        parts.reverse()
    joined = build.concatenate(parts, along)
    others = list(first.operation.operands)[1:]
    return build.op(
        first.operation.name, [joined, *others], op.operation.results[0].type, attributes=attrs.copied(first)
    )


@pattern("stablehlo.concatenate", of="stablehlo.reshape")
def concatenate_of_reshapes(op: Any) -> Any:
    """concatenate(reshape(x), reshape(y)) -> reshape(concatenate(x, y)) along an axis that the reshapes keep. Exact.

    The law requires that nothing else reads the reshapes.
    """
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    makers = producers_of(values, "stablehlo.reshape")
    if len(values) < 2 or not makers or not all(used_once(maker) for maker in makers):
        return None
    sizes = [shape_of(value)[dim] for value in values]
    # An axis of one element may be any such axis before the reshape.
    axes = {_kept_axis(maker, dim) for maker, n in zip(makers, sizes) if n > 1}
    (axis,) = axes if len(axes) == 1 else (None,)
    if axis is None or not all(is_static_op(maker) and rank_of(maker.operand) > axis for maker in makers):
        return None
    shapes = [shape_of(maker.operand) for maker in makers]
    if any(shape[axis] != n for shape, n in zip(shapes, sizes)):
        return None
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        return None
    value = build.concatenate([maker.operand for maker in makers], axis)
    return build.reshape(value, shape_of(op.operation.results[0]))


def _kept_axis(maker: Any, dim: int) -> int | None:
    """Return the axis of a reshape's operand that is its axis `dim`; None if it merges or splits that or adds it."""
    if not is_static_op(maker):
        return None
    for left, right in groups(shape_of(maker.operand), shape_of(maker.operation.results[0])) or ():
        if dim in right:
            return left[0] if len(left) == len(right) == 1 else None
    return None


def _before(makers: list[Any], dim: int) -> int | None:
    """Return the dimension along which equal moves can join their operands instead of their results; None if none."""
    first = makers[0]
    name = first.operation.name
    if name == "stablehlo.transpose":
        return attrs.ints(first, "permutation")[dim]
    if name == "stablehlo.reverse":
        return dim
    if name == "stablehlo.pad":
        same = all(same_number(maker.padding_value, first.padding_value) for maker in makers)
        return dim if same and not any(amounts[dim] for amounts in attrs.padding(first)) else None
    dims = attrs.ints(first, "broadcast_dimensions")
    if dim not in dims:
        return None
    along = dims.index(dim)
    shapes = [shape_of(maker.operand) for maker in makers]
    if any(shape[along] != shape_of(maker.operation.results[0])[dim] for shape, maker in zip(shapes, makers)):
        return None
    different = {shape[:along] + shape[along + 1 :] for shape in shapes}
    smaller = size_of(first.operand) < size_of(first.operation.results[0])
    return along if len(different) == 1 and smaller else None


@pattern("stablehlo.concatenate", of="stablehlo.constant")
def concatenate_that_pads(op: Any) -> Any:
    """concatenate(c, x) for a constant of equal numbers -> pad(x), the form that other laws look for. Exact."""
    values, dim = list(op.operation.operands), attrs.integer(op, "dimension")
    if not 2 <= len(values) <= 3 or dtype_of(values[0]).kind == "c":
        return None
    others = [i for i, value in enumerate(values) if splat_of(value) is None]
    if len(others) != 1:
        return None
    (middle,) = others
    splats = [value for i, value in enumerate(values) if i != middle]
    if (len(values) == 3 and (middle != 1 or not same_number(*splats))) or size_of(values[middle]) == 0:
        return None
    low, high = [0] * len(shape_of(values[0])), [0] * len(shape_of(values[0]))
    for i, value in enumerate(values):
        if i != middle:
            (low if i < middle else high)[dim] = shape_of(value)[dim]
    number = build.full(splat_of(splats[0]), build.tensor_type((), splats[0].type.element_type))
    return build.pad(values[middle], number, low, high)


@pattern("stablehlo.concatenate", of="stablehlo.slice")
def concatenate_of_neighbors(op: Any) -> Any:
    """Adjacent slices of one array among the parts of a concatenate -> one slice of it. Exact."""
    dim, changed = attrs.integer(op, "dimension"), False
    parts: list[Any] = []
    for value in op.operation.operands:
        joined = _joined(parts[-1], value, dim) if parts else None
        changed = changed or joined is not None
        parts[-1:] = [joined] if joined is not None else [*parts[-1:], value]
    if not changed:
        return None
    return parts[0] if len(parts) == 1 else build.concatenate(parts, dim)


def _joined(a: Any, b: Any, dim: int) -> Any:
    """Return one slice for two that are adjacent along `dim`, or None."""
    first, second = producer(a, "stablehlo.slice"), producer(b, "stablehlo.slice")
    if first is None or second is None or first.operand != second.operand:
        return None
    (starts, limits, strides), (begin, end, steps) = attrs.cut(first), attrs.cut(second)
    step, count, more = strides[dim], shape_of(a)[dim], shape_of(b)[dim]
    # A slice of one element has any stride.
    if 0 in (count, more) or begin[dim] != starts[dim] + count * step or (steps[dim] != step and more != 1):
        return None
    others = [d for d in range(len(starts)) if d != dim]
    if any((starts[d], limits[d], strides[d]) != (begin[d], end[d], steps[d]) for d in others):
        return None
    ends = list(limits)
    ends[dim] = begin[dim] + (more - 1) * step + 1
    return build.slice_(first.operand, starts, ends, strides)


PATTERNS = laws_of(globals())
