"""Helpers of the laws that move operations through one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.analysis.strided import groups
from passes.match import has_one_use, is_static, producer, shape_of, size_of, splat_of

ELEMENTWISE = operations.where(elementwise=True)
# How long it takes to compute an element, by cost.
WEIGHT = {
    operations.Cost.FREE: 0,
    operations.Cost.CHEAP: 1,
    operations.Cost.MODERATE: 2,
    operations.Cost.COSTLY: 8,
}


def all_static(*values: Any) -> bool:
    """Whether all values are ranked tensors of static shapes."""
    return all(is_static(value) for value in values)


def is_static_op(op: Any) -> bool:
    """Whether all operands and results are ranked tensors of static shapes."""
    return all_static(*op.operation.operands, *op.operation.results)


def is_whole(op: Any, dim: int) -> bool:
    """Whether a slice, dynamic or not, takes all of a dimension."""
    return bool(shape_of(op.operand)[dim] == shape_of(op.operation.results[0])[dim])


def used_once(op: Any) -> bool:
    """Whether an op has one result, and the program reads it exactly once."""
    results = op.operation.results
    return len(results) == 1 and has_one_use(results[0])


def producers_of(values: Iterable[Any], name: str | None = None) -> list[Any]:
    """Return the ops that produce the values; empty if a value is an argument, or produced by an op of another name."""
    found: list[Any] = [producer(value, name) for value in values]
    return found if all(op is not None for op in found) else []


def is_elementwise(op: Any) -> bool:
    """Whether each element of the only result depends on the corresponding elements of the operands alone."""
    return operations.of(op.operation.name).elementwise and len(op.operation.results) == 1


def spread(op: Any) -> list[Any]:
    """Return the distinct operands of an elementwise op that have the result's rank and are not splats."""
    rank = len(op.operation.results[0].type.shape)
    found = dict.fromkeys(value for value in op.operation.operands if len(value.type.shape) == rank)
    return [value for value in found if splat_of(value) is None]


def rebuilt(op: Any, operands: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return a copy of an op without regions, with other operands and a result of another shape."""
    element = op.operation.results[0].type.element_type
    type_ = build.tensor_type(shape, element)
    return build.op(op.operation.name, operands, type_, attributes=attrs.copied(op))


def elementwise(op: Any, shape: Sequence[int], move: Callable[[Any], Any]) -> Any:
    """Return a copy of an elementwise op for arrays of another shape; `move` replaces each operand in `spread`."""
    result = op.operation.results[0]
    moved = {value: move(value) for value in spread(op)}

    def operand(value: Any) -> Any:
        if value in moved:
            return moved[value]
        if len(value.type.shape) != len(result.type.shape):
            return value  # one number for all elements
        number = splat_of(value)
        assert number is not None, "operands that are not spread are splats"
        return build.full(number, build.tensor_type(shape, value.type.element_type))

    return rebuilt(op, [operand(value) for value in op.operation.operands], shape)


def cloned(op: Any, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    """Clone an op with its regions for other operands and result types, and return the results."""
    copy = op.operation.clone(ip=bindings.ir.InsertionPoint.current).operation
    for position, value in enumerate(operands):
        copy.operands[position] = value
    for result, type_ in zip(copy.results, types):
        result.set_type(type_)
    return list(copy.results)


def saves_work(op: Any, kept: int, moves: int) -> bool:
    """Whether moving elements first is cheaper: `moves` moves of `kept` elements, then `op` on `kept` elements only."""
    size = size_of(op.operation.results[0])
    weight = WEIGHT[operations.of(op.operation.name).cost] + 1
    return kept * (weight + moves) < size * weight + kept


def unit_map(first: Sequence[int], second: Sequence[int]) -> dict[int, int] | None:
    """Map dimensions of `first` to those of `second`, if the two differ in dimensions of size 1 only; else None.

    Dimensions of size 1 that `second` lacks are left out.
    """
    found = groups(first, second)
    if found is None or any(len(a) > 1 or len(b) > 1 for a, b in found):
        return None
    return {a[0]: b[0] for a, b in found if a and b}
