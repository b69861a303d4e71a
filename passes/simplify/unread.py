"""Results of reductions and sorts of several arrays that nothing reads."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs
from passes.match import is_static, shape_of, uses, yielded
from passes.patterns import pattern
from passes.simplify.regions import or_zeros, with_operands


def _reached(block: Any, values: list[Any]) -> set[int] | None:
    """The numbers of a block's arguments that values in it follow from; None if ops in it have regions."""
    ops = [o.operation for o in block.operations]
    if any(len(o.regions) for o in ops):
        return None
    needed = set(values)
    for o in reversed(ops):
        if any(result in needed for result in o.results):
            needed.update(o.operands)
    return {argument.arg_number for argument in block.arguments if argument in needed}


@pattern("stablehlo.reduce")
def unread_reductions(op: Any) -> Any:
    """A reduction of several arrays, some results of which nothing reads -> one of the arrays that matter. Exact.

    An array stays whose elements the combination of another one reads.
    """
    operation = op.operation
    results, block = list(operation.results), operation.regions[0].blocks[0]
    count = len(results)
    kept = {i for i, result in enumerate(results) if uses(result) or not is_static(result)}
    if len(kept) == count or not kept:
        return None
    grown: set[int] = set()
    while grown != kept:
        reached = _reached(block, [yielded(block)[i] for i in kept])
        if reached is None:
            return None
        grown, kept = kept, kept | {number % count for number in reached}
    return _only(op, sorted(kept), [*sorted(kept), *(count + i for i in sorted(kept))]) if len(kept) < count else None


@pattern("stablehlo.sort")
def unread_sorted(op: Any) -> Any:
    """A sort of several arrays, some results of which nothing reads -> one of the arrays that matter. Exact.

    An array stays that the comparison reads.
    """
    operation = op.operation
    results, block = list(operation.results), operation.regions[0].blocks[0]
    reached = _reached(block, yielded(block))
    if reached is None:
        return None
    kept = {i for i, result in enumerate(results) if uses(result) or not is_static(result)}
    kept |= {number // 2 for number in reached}
    if len(kept) == len(results) or not kept:
        return None
    return _only(op, sorted(kept), [2 * i + side for i in sorted(kept) for side in (0, 1)])


def _only(op: Any, kept: list[int], arguments: list[int]) -> list[Any]:
    """The op with some of its results; zeros in the place of those that nothing reads."""
    return or_zeros(op, dict(zip(kept, with_operands(op, kept, arguments))))


@pattern("stablehlo.sort")
def sort_of_one_element(op: Any) -> Any:
    """A sort along an axis of at most one element -> its operands. Exact: nothing moves."""
    operands = list(op.operation.operands)
    return operands if is_static(operands[0]) and shape_of(operands[0])[attrs.sort_dimension(op)] <= 1 else None


PATTERNS = (unread_reductions, unread_sorted, sort_of_one_element)
