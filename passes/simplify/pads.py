"""Pads that meet arithmetic and reshapes. Exact."""

from __future__ import annotations

from typing import Any, NamedTuple

from passes import attributes as attrs, build, operations
from passes.match import is_complex, producer, rank_of, shape_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.joins import same_number
from passes.simplify.moves import ELEMENTWISE, groups, is_elementwise, is_static_op, producers_of, rebuilt, used_once


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
    if len(operands) != 2 or not is_elementwise(op) or not is_static_op(op) or is_complex(operands[0]):
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
    if inner is None or not used_once(inner) or not is_static_op(inner) or not is_static_op(op):
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
