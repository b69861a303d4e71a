"""Laws of conditionals: known branches, conditions, branches that become selections; and of results that nothing reads,
which sorts and barriers have, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import SPLAT, is_boolean, is_static, operations_in, producer, size_of, splat_of, uses, yielded
from passes.patterns import laws_of, pattern
from passes.simplify.moves import WEIGHT
from passes.simplify.regions import (
    has_effects,
    inlined_region,
    is_function,
    is_pure,
    may_trap,
    operations_of,
    reached,
    with_operands,
    with_regions,
    with_results,
    with_zeros,
)

# A select reads both of its operands, a conditional only runs one branch.
_SELECTED_ELEMENTS = 1 << 16
# The most work in both branches, in elements times their weight, for which both are computed. On a CPU, it takes about
# as long as a branch that was predicted wrongly; on a GPU, a conditional waits until the host has read its condition.
_CHEAP, _CHEAP_ON_GPU = 32, 1 << 18
# Branches of more ops are not compared.
_OPS = 128


@pattern("stablehlo.case", of="stablehlo.convert")
def case_of_boolean(op: Any) -> Any:
    """A case of two branches whose index is a converted boolean -> if. Exact: true is 1."""
    converted = producer(op.operation.operands[0], "stablehlo.convert")
    if converted is None or len(op.operation.regions) != 2 or not is_boolean(converted.operand):
        return None
    return _rebuilt(op, "stablehlo.if", converted.operand, [1, 0])


def _rebuilt(op: Any, name: str, index: Any, branches: Sequence[int]) -> list[Any]:
    """The results of a conditional with another index, and some of the branches."""
    copy = op.operation.clone(ip=False)
    regions = [copy.regions[number] for number in branches]
    return list(with_regions(name, [index], [r.type for r in op.operation.results], regions).results)


@pattern(*operations.CONDITIONALS)
def branches_of_one_form(op: Any) -> Any:
    """Branches that compute the same of different values -> those ops of selected values. Exact.

    The values come from outside or are constants. Branches that are equal need no selection.
    """
    operation = op.operation
    results = list(operation.results)
    if not results or not all(map(is_static, results)) or any(has_effects(o) for o in operations_in(op)):
        return None
    blocks = [region.blocks[0] for region in operation.regions]
    if max(len(block.operations) for block in blocks) > _OPS:
        return None
    form = _Form(operation, blocks)
    columns = list(zip(*map(yielded, blocks)))
    if not all(form.fits(column) for column in columns):
        return None
    return [form.built(column) for column in columns]


class _Form:
    """What all branches of a conditional compute, with selections where they read different values."""

    def __init__(self, operation: Any, blocks: Sequence[Any]) -> None:
        self.operation, self.blocks = operation, blocks
        self._known: dict[tuple[Any, ...], bool] = {}
        self._made: dict[tuple[Any, ...], Any] = {}
        self._selected = 0

    def fits(self, column: tuple[Any, ...]) -> bool:
        """Whether the branches compute these values, one of each, in the same way."""
        if column not in self._known:
            self._known[column] = False
            self._known[column] = self._is_selected(column) or self._is_computed(column)
        return self._known[column]

    def _is_inside(self, value: Any, block: Any) -> bool:
        return not isinstance(value.owner, bindings.ir.Block) and value.owner.operation.block == block

    def _is_outer(self, column: tuple[Any, ...]) -> bool:
        """Whether each value is from outside, or a constant."""
        pairs = zip(column, self.blocks)
        return all(not self._is_inside(v, b) or producer(v, "stablehlo.constant") is not None for v, b in pairs)

    def _is_equal(self, column: tuple[Any, ...]) -> bool:
        first, *others = column
        numbers = [producer(value, "stablehlo.constant") for value in column]
        if all(number is not None for number in numbers):
            return len({number.operation.attributes["value"] for number in numbers}) == 1  # type: ignore[union-attr]
        return all(value == first for value in others)

    def _is_selected(self, column: tuple[Any, ...]) -> bool:
        if not self._is_outer(column):
            return False
        if self._is_equal(column):
            return True
        if len(column) != 2 or not is_static(column[0]) or column[0].type != column[1].type:
            return False
        self._selected += size_of(column[0])
        return self._selected <= _SELECTED_ELEMENTS

    def _is_computed(self, column: tuple[Any, ...]) -> bool:
        if not all(self._is_inside(value, block) for value, block in zip(column, self.blocks)):
            return False
        first, *others = (value.owner.operation for value in column)
        if not is_function(first) or len(first.results) != 1 or not len(first.operands):
            return False
        for other, value in zip(others, column[1:]):
            if other.name != first.name or value.type != column[0].type or len(other.operands) != len(first.operands):
                return False
            if attrs.copied(other) != attrs.copied(first):
                return False
        return all(self.fits(operands) for operands in zip(first.operands, *(other.operands for other in others)))

    def built(self, column: tuple[Any, ...]) -> Any:
        """The value that `column` has after the conditional."""
        if column not in self._made:
            self._made[column] = self._build(column)
        return self._made[column]

    def _build(self, column: tuple[Any, ...]) -> Any:
        ops = [value.owner for value in column]
        if self._is_outer(column):
            values = [
                op.operation.clone(bindings.ir.InsertionPoint.current).operation.results[0]
                if self._is_inside(value, block)
                else value
                for value, op, block in zip(column, ops, self.blocks)
            ]
            return values[0] if self._is_equal(column) else build.select(self._condition(), *values)
        first = ops[0].operation
        operands = [self.built(values) for values in zip(*(op.operation.operands for op in ops))]
        return build.op(first.name, operands, column[0].type, attributes=attrs.copied(first))

    def _condition(self) -> Any:
        return _takes_first(self.operation)


def _takes_first(operation: Any) -> Any:
    """Whether the first of a conditional's two branches runs."""
    index = operation.operands[0]
    return index if operation.name == "stablehlo.if" else build.compare(index, build.full(0, index), "EQ", "SIGNED")


@pattern(*operations.CONDITIONALS)
def cheap_branches(op: Any) -> Any:
    """A conditional of two branches of a few cheap ops -> the ops of both branches, and a select. Exact."""
    return _both_branches(op, _CHEAP)


@pattern(*operations.CONDITIONALS, targets=("gpu", "spirv"))
def cheap_branches_on_a_gpu(op: Any) -> Any:
    """A conditional of two branches that compute little -> the ops of both branches, and a select. Exact.

    The host need not wait for the condition then.
    """
    return _both_branches(op, _CHEAP_ON_GPU)


def _both_branches(op: Any, most: int) -> Any:
    operation = op.operation
    results = list(operation.results)
    if len(operation.regions) != 2 or not results or not all(map(is_static, results)):
        return None
    inner = [o.operation for region in operation.regions for o in region.blocks[0].operations]
    work = sum(map(size_of, results))
    for o in inner:
        if o.name == "stablehlo.return":
            continue
        row = operations.of(o.name)
        if not is_pure(o) or may_trap(o) or not all(map(is_static, (*o.operands, *o.results))):
            return None
        sizes = sum(map(size_of, (*o.operands, *o.results) if row.regions is not row.regions.NONE else o.results))
        work += sizes * max(1, WEIGHT[row.cost])
        if work > most:
            return None
    condition = _takes_first(operation)
    first, second = (inlined_region(op, number, []) for number in range(2))
    return [build.select(condition, a, b) for a, b in zip(first, second)]


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
