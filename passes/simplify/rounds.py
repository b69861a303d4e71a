"""All rounds of a loop at once: what its body computes, as arrays whose first axis counts the rounds."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from passes import attributes as attrs, build, operations
from passes.analysis.counters import LOOP, Counter, line
from passes.match import captured_values, is_static, shape_of, size_of, splat_of, yielded
from passes.simplify.moves import cloned, rebuilt
from passes.simplify.regions import is_pure
from passes.simplify.running import Running, before, totals

# A value of all rounds has at most as many elements, or four times those of the largest array that the loop reads,
# writes or returns: a loop may be there to save memory.
_ELEMENTS, _GROWTH = 1 << 16, 4
# Inner loops are computed for all rounds at once if no part of their state has more elements, and so fills a vector: 20
# steps of Newton's method for each of 20,000 numbers take a ninth of the time. With 16 elements, some loops take 1.6
# times as long.
_SHORT = 8

# Builds the results of an operation of its operands: of those that vary, the first axis counts the rounds.
Builder = Callable[[list[Any]], list[Any]]


class Rounds:
    """What the body of a loop computes in all of its rounds. Nothing is built before `build`.

    Args:
      loop: the loop; the parts of its state that are not counters are in `instead`, or nothing that is planned reads
        them.
      count: the number of rounds.
      instead: by argument of the body, the value from outside that may be read in its place.

    Attributes:
      varying: the values of the body that may differ from round to round.
      running: state that rounds read and combine with values, by the op that updates it.
      backwards: whether the last round comes first in the arrays.
    """

    backwards = False

    def __init__(self, loop: Any, count: int, instead: Mapping[Any, Any]) -> None:
        self.loop, self.count = loop, count
        self.body = loop.regions[1].blocks[0]
        self.varying = {argument for argument in self.body.arguments if argument not in instead}
        self._mark(self.body)
        self.running: dict[Any, Running] = {}
        self._values = dict(instead)
        self._steps: list[tuple[Any, Builder]] = []
        self._most = _ELEMENTS

    def line(self, value: Any) -> Counter | None:
        """The integer `start + step * n` that a scalar of the body is at index `n` of the arrays of all rounds."""
        found = line(value, self.loop, self.count)
        if found is None or not self.backwards:
            return found
        return Counter(found.start + found.step * (self.count - 1), -found.step)

    def _mark(self, block: Any) -> None:
        """Find the values of a block that vary."""
        for op in [o.operation for o in block.operations]:
            if op.name == LOOP:
                self._mark_loop(op)
            elif any(value in self.varying for value in op.operands):
                self.varying.update(op.results)

    def _mark_loop(self, loop: Any) -> None:
        """Find the state of an inner loop that varies: what begins or is updated with varying values."""
        blocks = [region.blocks[0] for region in loop.regions]
        updates = yielded(blocks[1])
        count = -1
        while count != len(self.varying):
            count = len(self.varying)
            for i, values in enumerate(zip(loop.operands, updates)):
                if any(value in self.varying for value in values):
                    self.varying.update((loop.results[i], *(block.arguments[i] for block in blocks)))
            for block in blocks:
                self._mark(block)

    def plan(self, skipped: Container[Any]) -> bool:
        """Whether all operations of the body, apart from those that are skipped, have a form for all rounds."""
        used = [*self.loop.operands, *captured_values(self.loop)]
        self._most = max([_ELEMENTS, *(_GROWTH * size_of(v) for v in used if is_static(v))])
        steps = self._planned(self._ordered([op for op in _operations(self.body) if op not in skipped]))
        self._steps = steps or []
        return steps is not None

    def _ordered(self, ops: Sequence[Any]) -> Sequence[Any] | None:
        """Operations of the body, those that update running state before those that read it; None if in a circle."""
        if not self.running:
            return ops
        missing = {running.argument for running in self.running.values()}.union(*(op.results for op in ops))
        found: list[Any] = []
        while ops:
            later = []
            for op in ops:
                running = self.running.get(op)
                if any(
                    v in missing
                    for v in ([running.combined.value] if running else (*op.operands, *captured_values(op)))
                ):
                    later.append(op)
                    continue
                found.append(op)
                missing.difference_update(op.results, [running.argument] if running else [])
            if len(later) == len(ops):
                return None
            ops = later
        return found

    def _planned(self, ops: Sequence[Any] | None) -> list[tuple[Any, Builder]] | None:
        """Operations with their builders; None if one of them has no form for all rounds."""
        if ops is None:
            return None
        found = []
        for op in ops:
            builder = self._loop(op) if op.name == LOOP else self._builder(op)
            if builder is None:
                return None
            found.append((op, builder))
        return found

    def _builder(self, op: Any) -> Builder | None:
        row = operations.of(op.name)
        if not is_pure(op) or not all(map(is_static, (*op.operands, *op.results))):
            return None
        if not any(value in self.varying for value in op.operands):
            return lambda operands: cloned(op, operands, [])
        if any(self.count * size_of(result) > self._most for result in op.results):
            return None
        if op in self.running:
            return self._total(op, self.running[op])
        if row.elementwise and len(op.results) == 1:
            return self._elementwise(op)
        found = RULES.get(op.name)
        return None if found is None else found(self, op)

    def _loop(self, op: Any) -> Builder | None:
        """A loop of the body whose condition does not vary, and whose state does not fill a vector."""
        blocks = [region.blocks[0] for region in op.regions]
        state = list(zip(op.operands, blocks[0].arguments))
        varies = [argument in self.varying for _, argument in state]
        if yielded(blocks[0])[0] in self.varying or not all(is_static(value) for value, _ in state):
            return None
        if any(size_of(value) > _SHORT for (value, _), varying in zip(state, varies) if varying):
            return None
        plans = [self._planned(_operations(block)) for block in blocks]
        if any(plan is None for plan in plans):
            return None

        def builder(_: list[Any]) -> list[Any]:
            operands = [
                self.whole(value) if varying else self.value(value) for (value, _), varying in zip(state, varies)
            ]
            types = [value.type for value in operands]
            made = build.op(op.name, operands, types, attributes=attrs.copied(op), regions=2)
            for number, (block, steps) in enumerate(zip(blocks, plans)):

                def body(*arguments: Any, block: Any = block, steps: Any = steps, number: int = number) -> list[Any]:
                    self._values.update(zip(block.arguments, arguments))
                    self._run(steps)
                    columns = zip(yielded(block), varies if number else [False])
                    return [self._either(value, varying) for value, varying in columns]

                build.unary_region(made, number, types, body)
            return list(made.results)

        return builder

    def _either(self, value: Any, varying: bool) -> Any:
        """A value in all rounds, or what it is in each of them."""
        return self.whole(value) if varying else self.value(value)

    def build(self) -> None:
        """Build what is planned."""
        for argument in self.body.arguments:
            if argument in self.varying and self.line(argument) is not None:
                self.value(argument)  # before the inner loops that may read it
        self._run(self._steps)

    def _run(self, steps: Sequence[tuple[Any, Builder]]) -> None:
        for op, builder in steps:
            operands = [] if op in self.running else [self.value(value) for value in op.operands]
            self._values.update(zip(op.results, builder(operands)))

    def value(self, value: Any) -> Any:
        """A value of the body: all rounds of it if it varies, or what it is in each of them."""
        if value in self.varying and value not in self._values:
            found = self.line(value)
            assert found is not None, "a plan reads no other state"
            type_ = build.tensor_type((self.count,), value.type.element_type)
            rounds = build.op("stablehlo.iota", [], type_, attributes={"iota_dimension": build.i64(0)})
            scaled = build.op("stablehlo.multiply", [rounds, build.full(found.step, type_)])
            self._values[value] = build.op("stablehlo.add", [scaled, build.full(found.start, type_)])
        return self._values.get(value, value)

    def whole(self, value: Any, shape: Sequence[int] | None = None) -> Any:
        """A value of the body in all rounds, repeated to `shape` in each of them; its own shape by default."""
        made, rank = self.value(value), len(shape_of(value))
        target = (self.count, *(shape_of(value) if shape is None else shape))
        if value in self.varying:
            return made if rank + 1 == len(target) else build.broadcast_in_dim(made, target, (0,))
        number = splat_of(made)
        if number is not None:
            return build.full(number, build.tensor_type(target, value.type.element_type))
        return build.broadcast_in_dim(made, target, range(1, 1 + rank))

    def _elementwise(self, op: Any) -> Builder:
        shape = shape_of(op.results[0])
        return lambda _: [rebuilt(op, [self.whole(v, shape) for v in op.operands], (self.count, *shape))]

    def _total(self, op: Any, running: Running) -> Builder:
        def builder(_: list[Any]) -> list[Any]:
            found = running.combined
            after = totals(found.name, found.rows(self.whole), running.initial, self.backwards)
            self._values[running.argument] = before(after, running.initial, self.backwards)
            return [after]

        return builder


def _operations(block: Any) -> list[Any]:
    """The operations of a block, without the one that ends it."""
    return [op.operation for op in block.operations][:-1]


Rule = Callable[[Rounds, Any], Builder | None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(found: Rule) -> Rule:
        RULES.update({f"stablehlo.{name}": found for name in names})
        return found

    return register


def _later(op: Any, name: str) -> Any:
    """The axes in an attribute, when there is one more axis before them."""
    return build.i64_array([axis + 1 for axis in attrs.ints(op, name)])


@rule("reshape", "bitcast_convert", "cholesky", "triangular_solve", "fft")
def _leading(rounds: Rounds, op: Any) -> Builder:
    """An op that computes each matrix, row or element by itself, or keeps the order of elements."""
    shape = (rounds.count, *shape_of(op.results[0]))
    return lambda _: [rebuilt(op, [rounds.whole(value) for value in op.operands], shape)]


@rule("optimization_barrier")
def _barrier(rounds: Rounds, op: Any) -> Builder:
    def builder(operands: list[Any]) -> list[Any]:
        values = [rounds.whole(value) for value in op.operands]
        made = build.op(op.name, values, [value.type for value in values])
        return [made] if len(values) == 1 else list(made)

    return builder


@rule("broadcast_in_dim")
def _broadcast(rounds: Rounds, op: Any) -> Builder:
    dims = [0, *(d + 1 for d in attrs.ints(op, "broadcast_dimensions"))]
    return lambda operands: [build.broadcast_in_dim(operands[0], (rounds.count, *shape_of(op.results[0])), dims)]


@rule("transpose")
def _transpose(rounds: Rounds, op: Any) -> Builder:
    return lambda operands: [build.transpose(operands[0], [0, *(d + 1 for d in attrs.ints(op, "permutation"))])]


@rule("reverse")
def _reverse(rounds: Rounds, op: Any) -> Builder:
    return lambda operands: [build.op(op.name, operands, attributes={"dimensions": _later(op, "dimensions")})]


@rule("slice")
def _slice(rounds: Rounds, op: Any) -> Builder:
    starts, limits, strides = attrs.cut(op)
    return lambda operands: [build.slice_(operands[0], (0, *starts), (rounds.count, *limits), (1, *strides))]


@rule("pad")
def _pad(rounds: Rounds, op: Any) -> Builder | None:
    operand, padding = op.operands
    if padding in rounds.varying:
        return None
    amounts = [(0, *amount) for amount in attrs.padding(op)]
    return lambda operands: [build.pad(rounds.whole(operand), operands[1], *amounts)]


@rule("concatenate")
def _concatenate(rounds: Rounds, op: Any) -> Builder:
    dimension = attrs.integer(op, "dimension") + 1
    return lambda _: [build.concatenate([rounds.whole(value) for value in op.operands], dimension)]


@rule("reduce")
def _reduce(rounds: Rounds, op: Any) -> Builder | None:
    count = len(op.results)
    inputs, initial = list(op.operands)[:count], list(op.operands)[count:]
    if any(value in rounds.varying for value in initial):
        return None

    def builder(operands: list[Any]) -> list[Any]:
        found = _with_regions(rounds, op, [*map(rounds.whole, inputs), *operands[count:]])
        found[0].owner.operation.attributes["dimensions"] = _later(op, "dimensions")
        return found

    return builder


@rule("reduce_window")
def _windows(rounds: Rounds, op: Any) -> Builder | None:
    (operand, initial), rank = op.operands, len(shape_of(op.operands[0]))
    if len(op.results) != 1 or initial in rounds.varying:
        return None
    fields = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")

    def builder(operands: list[Any]) -> list[Any]:
        found = _with_regions(rounds, op, [rounds.whole(operand), operands[1]])
        made = found[0].owner.operation
        for name in fields:
            made.attributes[name] = build.i64_array([1, *attrs.ints(op, name, (1,) * rank)])
        made.attributes["padding"] = build.pairs([(0, 0), *attrs.pairs(op, "padding", rank)])
        return found

    return builder


@rule("sort")
def _sort(rounds: Rounds, op: Any) -> Builder:
    def builder(_: list[Any]) -> list[Any]:
        found = _with_regions(rounds, op, [rounds.whole(value) for value in op.operands])
        found[0].owner.operation.attributes["dimension"] = build.i64(attrs.sort_dimension(op) + 1)
        return found

    return builder


def _with_regions(rounds: Rounds, op: Any, operands: Sequence[Any]) -> list[Any]:
    types = [build.tensor_type((rounds.count, *shape_of(r)), r.type.element_type) for r in op.results]
    return cloned(op, operands, types)


@rule("dot_general")
def _product(rounds: Rounds, op: Any) -> Builder:
    lhs, rhs = op.operands
    dims, given, element = attrs.dot_dimensions(op), attrs.copied(op), op.results[0].type.element_type
    left, right = lhs in rounds.varying, rhs in rounds.varying
    free = [len(shape_of(v)) - len(dims.lhs_batch) - len(dims.lhs_contract) for v in (lhs, rhs)]

    def product(a: Any, b: Any, own: tuple[bool, bool], swap: bool = False) -> Any:
        """The product, where the axes of the operands that have all rounds are one further back."""
        both = [0] if all(own) else []
        batch = [[*both, *(d + later for d in side)] for side, later in zip((dims.lhs_batch, dims.rhs_batch), own)]
        inner = [[d + later for d in side] for side, later in zip((dims.lhs_contract, dims.rhs_contract), own)]
        if swap:
            a, b, batch, inner = b, a, batch[::-1], inner[::-1]
        contracting, batching = (inner[0], inner[1]), (batch[0], batch[1])
        return build.dot_general(a, b, contracting=contracting, batching=batching, attributes=given, element=element)

    def builder(operands: list[Any]) -> list[Any]:
        swap = right and not left and not dims.lhs_batch and not free[1]
        found = product(operands[0], operands[1], (left, right), swap)
        # The rounds are a free axis of one operand: the first one, after the batches and those of the operand before.
        axis = 0 if swap or (left and right) else len(dims.lhs_batch) + (0 if left else free[0])
        others = [d for d in range(len(shape_of(found))) if d != axis]
        return [build.transpose(found, [axis, *others]) if axis else found]

    return builder


@rule("dynamic_update_slice")
def _update(rounds: Rounds, op: Any) -> Builder | None:
    operand, update, *starts = op.operands
    shape, sizes = shape_of(operand), shape_of(update)
    cut = [d for d in range(len(shape)) if sizes[d] != shape[d]]
    if any(starts[d] in rounds.varying for d in cut):
        return None
    if not cut:
        return lambda _: [rounds.whole(update)]

    def builder(operands: list[Any]) -> list[Any]:
        kind = starts[cut[0]].type
        first = [operands[2 + d] if d in cut else build.full(0, kind) for d in range(len(shape))]
        values = [rounds.whole(operand), rounds.whole(update), build.full(0, kind), *first]
        return [build.op("stablehlo.dynamic_update_slice", values)]

    return builder
