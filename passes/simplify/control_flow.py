"""Laws of conditionals: known branches, equal branches, and branches that only select a value."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import SPLAT, is_static, operations_in, splat_of, uses, yielded
from passes.operations import Cost
from passes.patterns import laws_of, pattern
from passes.simplify.regions import (
    has_effects,
    hoisted,
    inlined_region,
    is_function,
    operations_of,
    with_results,
    with_sources,
    with_zeros,
)


def _returned(op: Any) -> list[list[Any]]:
    """Return the values that each branch returns."""
    return [yielded(region.blocks[0]) for region in op.operation.regions]


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


@pattern("stablehlo.case")
def single_branch(op: Any) -> Any:
    """case of one branch -> its ops. Exact."""
    return inlined_region(op, 0, []) if len(op.operation.regions) == 1 else None


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


@pattern(*operations.CONDITIONALS)
def equal_results(op: Any) -> Any:
    """A conditional with two results that are equal in each branch -> one that returns the value once. Exact."""
    columns = list(zip(*_returned(op)))
    first = {column: i for i, column in reversed(list(enumerate(columns)))}
    if len(first) == len(columns):
        return None
    kept = sorted(first.values())
    made = dict(zip(kept, with_results(op, kept)))
    return [made[first[column]] for column in columns]


@pattern(*operations.CONDITIONALS)
def branches_that_agree(op: Any) -> Any:
    """A conditional whose branches all return the same value from outside -> that value. Exact.

    Calls of the host in branches are kept.
    """
    results = op.operation.results
    columns = [set(column) for column in zip(*_returned(op))]
    agreed = {i: next(iter(c)) for i, c in enumerate(columns) if len(c) == 1 and uses(results[i])}
    if not agreed:
        return None
    kept = [i for i in range(len(columns)) if i not in agreed]
    if not kept and any(has_effects(inner) for inner in operations_in(op)):
        kept = [0]
    made = dict(zip(kept, with_results(op, kept))) if kept else {}
    return [agreed[i] if i in agreed else made[i] for i in range(len(columns))]


@pattern(*operations.CONDITIONALS)
def op_of_all_branches(op: Any) -> Any:
    """An op that each branch computes from the same values -> the op before the conditional. Exact: one branch runs."""
    blocks = [[o.operation for o in region.blocks[0].operations] for region in op.operation.regions]
    shared = set.intersection(*({o.name for o in ops if is_function(o)} for ops in blocks))
    if all(operations.of(name).cost is Cost.FREE for name in shared):
        return None
    numbers: dict[Any, int] = {}
    found = [_numbered(ops, shared, numbers) for ops in blocks]
    common = set.intersection(*(set(each) for each in found))
    # An op of no cost is hoisted only if a hoisted op reads it.
    hoistable = {number: blocks[0][found[0][number]] for number in common}
    wanted = with_sources(hoistable, lambda o: operations.of(o.name).cost is not Cost.FREE)
    return hoisted(op, [[each[number] for number in wanted] for each in found]) if wanted else None


def _numbered(ops: list[Any], names: set[str], numbers: dict[Any, int]) -> dict[int, int]:
    """Return the positions of the ops of a branch that depend on nothing else in it, by value number.

    Args:
      numbers: value numbers by name, attributes, types and operands of an op; extended here.
    """
    inside = {result for o in ops for result in o.results}
    known: dict[Any, Any] = {}
    found: dict[int, int] = {}
    for position, o in enumerate(ops):
        if o.name not in names or not is_function(o) or any(v in inside and v not in known for v in o.operands):
            continue
        operands = tuple(known.get(v, v) for v in o.operands)
        types = tuple(result.type for result in o.results)
        number = numbers.setdefault((o.name, tuple(attrs.copied(o).items()), types, operands), len(numbers))
        if number not in found:
            found[number] = position
            known.update((result, (number, i)) for i, result in enumerate(o.results))
    return found


PATTERNS = laws_of(globals())
