"""Laws of conditionals: known branches, equal branches, and branches that only select a value."""

from __future__ import annotations

from typing import Any

from passes import bindings, build, operations
from passes.match import SPLAT, is_static, splat_of, uses
from passes.patterns import laws_of, pattern
from passes.simplify.regions import (
    inlined_region,
    operations_of,
    with_results,
    with_zeros,
)


@pattern(*operations.CONDITIONALS, of=SPLAT)
def known_branch(op: Any) -> Any:
    """A conditional with a constant index -> the ops of that branch. Exact."""
    number = splat_of(op.operation.operands[0])
    if number is None:
        return None
    count = len(op.operation.regions)
    if op.operation.name == "stablehlo.if":
        index = 0 if bool(number) else 1
    else:
        index = int(number) if 0 <= int(number) < count else count - 1
    return inlined_region(op, index, [])


@pattern(*operations.CONDITIONALS)
def index_inside_branch(op: Any) -> Any:
    """The index of a conditional, read inside a branch -> the constant that selects the branch. Exact.

    The last branch of a case is left, since it also runs for indices out of range.
    """
    operation = op.operation
    index = operation.operands[0]
    is_case = operation.name == "stablehlo.case"
    known = list(operation.regions)[:-1] if is_case else list(operation.regions)
    readers = [use.owner.operation for use in index.uses]
    inside = [n for n, region in enumerate(known) if any(_is_in_region(r, region, operation) for r in readers)]
    if not inside:
        return None
    constants = {number: build.full(number if is_case else number == 0, index) for number in inside}
    copy = operation.clone(bindings.ir.InsertionPoint.current).operation
    for number, constant in constants.items():
        for inner in operations_of(copy.regions[number].blocks[0]):
            inner.replace_uses_of_with(index, constant)
    return copy


def _is_in_region(inner: Any, region: Any, operation: Any) -> bool:
    """Whether an op is in a region of an operation, at any depth."""
    first, block = region.blocks[0], inner.block
    while block != first:
        owner = block.owner.operation
        if owner == operation or owner.name in ("func.func", "builtin.module"):
            return False
        block = owner.block
    return True


@pattern(*operations.CONDITIONALS)
def unused_results(op: Any) -> Any:
    """A conditional with unused results -> one that returns only the others. Exact."""
    results = list(op.operation.results)
    kept = [i for i, result in enumerate(results) if uses(result) or not is_static(result)]
    if len(kept) == len(results) or not kept:
        return None
    return with_zeros(op, dict(zip(kept, with_results(op, kept))))


PATTERNS = laws_of(globals())
