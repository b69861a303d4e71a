"""Laws that drop unused results of reductions, sorts and barriers of several arrays."""

from __future__ import annotations

from typing import Any

from passes import build
from passes.match import is_static, uses, yielded
from passes.patterns import laws_of, pattern
from passes.simplify.regions import reached, with_operands, with_zeros


@pattern("stablehlo.reduce")
def unused_reduce_results(op: Any) -> Any:
    """A reduction of several arrays with unused results -> a reduction of the arrays that are needed. Exact.

    An array is needed, too, if the combination of a needed array reads its elements.
    """
    operation = op.operation
    results, block = list(operation.results), operation.regions[0].blocks[0]
    count = len(results)
    kept = {i for i, result in enumerate(results) if uses(result) or not is_static(result)}
    if len(kept) == count or not kept:
        return None
    grown: set[int] = set()
    while grown != kept:
        found = reached(block, [yielded(block)[i] for i in kept])
        if found is None:
            return None
        grown, kept = kept, kept | {number % count for number in found}
    return _only(op, sorted(kept), [*sorted(kept), *(count + i for i in sorted(kept))]) if len(kept) < count else None


@pattern("stablehlo.sort")
def unused_sort_results(op: Any) -> Any:
    """A sort of several arrays with unused results -> a sort of the arrays that are needed. Exact.

    An array is needed, too, if the comparison reads it.
    """
    operation = op.operation
    results, block = list(operation.results), operation.regions[0].blocks[0]
    found = reached(block, yielded(block))
    if found is None:
        return None
    kept = {i for i, result in enumerate(results) if uses(result) or not is_static(result)}
    kept |= {number // 2 for number in found}
    if len(kept) == len(results) or not kept:
        return None
    return _only(op, sorted(kept), [2 * i + side for i in sorted(kept) for side in (0, 1)])


def _only(op: Any, kept: list[int], arguments: list[int]) -> list[Any]:
    """Return the results of the op in `kept`, with zeros for the others."""
    return with_zeros(op, dict(zip(kept, with_operands(op, kept, arguments))))


@pattern("stablehlo.optimization_barrier")
def unused_barrier_results(op: Any) -> Any:
    """A barrier with unused results -> one of the values that are read. Exact."""
    results = list(op.operation.results)
    kept = [i for i, result in enumerate(results) if uses(result)]
    if len(kept) == len(results) or not kept:
        return None
    operands = list(op.operation.operands)
    made = build.op(op.operation.name, [operands[i] for i in kept], [results[i].type for i in kept])
    instead = dict(zip(kept, [made] if len(kept) == 1 else made))
    return [instead.get(i, operand) for i, operand in enumerate(operands)]


PATTERNS = laws_of(globals())
