"""Ops with regions taken apart and put together again, and what their values depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import yielded

# Ops of the same operands that need not have the same results, and the end of a block.
_NO_FUNCTIONS = ("stablehlo.rng", "stablehlo.return")
_DEPTH = 64


def inlined_region(op: Any, number: int, arguments: Sequence[Any]) -> list[Any]:
    """Copy a region's ops to the insertion point, with values for its arguments; what it would have returned."""
    copy = op.operation.clone(ip=False)
    return build.inlined(copy.regions[number].blocks[0], arguments)


def is_function(operation: Any) -> bool:
    """Whether an op without regions of its own does nothing but compute results, the same for the same operands."""
    row = operations.TABLE.get(operation.name)
    return row is not None and not row.effects and row.name not in _NO_FUNCTIONS and not len(operation.regions)


def has_effects(operation: Any) -> bool:
    """Whether an op itself, apart from those in its regions, may do more than compute its results."""
    row = operations.TABLE.get(operation.name)
    return row is None or (row.effects and not row.is_control)


def with_results(op: Any, kept: Sequence[int]) -> list[Any]:
    """A choice that returns only some of its results, by number; those results."""
    copy = op.operation.clone(ip=False)
    for region in copy.regions:
        _return(region.blocks[0], [yielded(region.blocks[0])[i] for i in kept])
    return list(_moved(copy, list(op.operation.operands), kept).results)


def or_zeros(op: Any, made: Mapping[int, Any]) -> list[Any]:
    """The results of an op that are made, by number, and zeros in the place of the others, which nothing reads."""
    return [made[i] if i in made else build.full(0, result) for i, result in enumerate(op.operation.results)]


def with_operands(op: Any, kept: Sequence[int], arguments: Sequence[int]) -> list[Any]:
    """A reduction or sort with only some of its results and of its region's arguments, by number; those results.

    Nothing that stays may follow from the other arguments.
    """
    operation = op.operation
    copy = operation.clone(ip=False)
    block = copy.regions[0].blocks[0]
    returned = yielded(block)
    _return(block, [returned[i] for i in kept] if len(returned) == len(operation.results) > 1 else returned)
    for inner in reversed([o.operation for o in block.operations][:-1]):
        if not any(True for result in inner.results for _ in result.uses):
            inner.erase()
    for i in range(len(block.arguments) - 1, -1, -1):
        if i not in arguments:
            block.erase_argument(i)
    # Each result has as many operands: an array, and in a reduction an initial value.
    groups = range(0, len(operation.operands), len(operation.results))
    operands = [operation.operands[start + i] for start in groups for i in kept]
    return list(_moved(copy, operands, kept).results)


def without_state(op: Any, instead: Mapping[int, Any]) -> list[Any]:
    """A loop without some parts of its state, by number, each of which is another part or a value from outside.

    Returns:
      What replaces each of the results of the whole loop.
    """
    count = len(op.operation.operands)
    kept = [i for i in range(count) if i not in instead]
    copy = op.operation.clone(ip=False)
    for region in copy.regions:
        block = region.blocks[0]
        for i, value in instead.items():
            block.arguments[i].replace_all_uses_with(block.arguments[value] if isinstance(value, int) else value)
    body = copy.regions[1].blocks[0]
    _return(body, [yielded(body)[i] for i in kept])
    for region in copy.regions:
        for i in sorted(instead, reverse=True):
            region.blocks[0].erase_argument(i)
    results = dict(zip(kept, _moved(copy, [op.operation.operands[i] for i in kept], kept).results))
    for i, value in instead.items():
        results[i] = results[value] if isinstance(value, int) else value
    return [results[i] for i in range(count)]


def cloned(operation: Any, values: Mapping[Any, Any]) -> Any:
    """A copy of an op without regions at the insertion point, with other values for some of its operands."""
    copy = operation.clone(bindings.ir.InsertionPoint.current).operation
    for i, value in enumerate(operation.operands):
        if value in values:
            copy.operands[i] = values[value]
    return copy


def hoisted(op: Any, blocks: Sequence[Sequence[Any]]) -> Any:
    """A copy of an op, after copies of the ops of its regions that are to run before it.

    Args:
      blocks: for each region, the numbers of those ops in its block; the first of each list are equal, and so on.
    """
    values: dict[Any, Any] = {}
    numbers = blocks[0]
    first = [o.operation for o in op.operation.regions[0].blocks[0].operations] if numbers else []
    moved = []
    for number in numbers:
        moved.append(cloned(first[number], values))
        values.update(zip(first[number].results, moved[-1].results))
    copy = op.operation.clone(bindings.ir.InsertionPoint.current).operation
    for region, chosen in zip(copy.regions, blocks):
        inner = [o.operation for o in region.blocks[0].operations]
        for number, made in zip(chosen, moved):
            for old, new in zip(inner[number].results, made.results):
                old.replace_all_uses_with(new)
        # The driver would hoist them again before it notices that nothing reads them.
        for number in chosen:
            inner[number].erase()
    return copy


def _return(block: Any, values: Sequence[Any]) -> None:
    """Have the block of a copy return other values."""
    end = list(block.operations)[-1].operation
    with bindings.ir.InsertionPoint(end), end.location:
        build.op("stablehlo.return", values, [])
    end.erase()


def _moved(copy: Any, operands: Sequence[Any], kept: Sequence[int]) -> Any:
    """A copy's regions in an op of other operands, with some of the copy's results."""
    types = [copy.results[i].type for i in kept]
    made = build.op(copy.name, operands, types, attributes=attrs.copied(copy), regions=len(copy.regions))
    for source, target in zip(copy.regions, made.regions):
        source.blocks[0].append_to(target)
    return made


class Congruence:
    """Whether values are equal because they are made in the same way.

    Args:
      same: pairs of different values that are taken to be equal, both ways round.
    """

    def __init__(self, same: set[tuple[Any, Any]]) -> None:
        self.known: dict[tuple[Any, Any], bool] = dict.fromkeys(same, True)

    def __call__(self, a: Any, b: Any, depth: int = _DEPTH) -> bool:
        """Whether two values are equal; False if that is not known."""
        if a == b:
            return True
        if (a, b) not in self.known:
            self.known[a, b] = depth > 0 and self._made_alike(a, b, depth - 1)
        return self.known[a, b]

    def _made_alike(self, a: Any, b: Any, depth: int) -> bool:
        block, x, y = bindings.ir.Block, a.owner, b.owner
        if a.type != b.type or isinstance(x, block) or isinstance(y, block) or x.name != y.name:
            return False
        x, y = x.operation, y.operation
        return (
            is_function(x)
            and a.result_number == b.result_number
            and len(x.operands) == len(y.operands)
            and attrs.copied(x) == attrs.copied(y)
            and all(self(v, w, depth) for v, w in zip(x.operands, y.operands))
        )
