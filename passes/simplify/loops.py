"""Laws of loops: dead, invariant and duplicate state, invariant operations, few rounds."""

from __future__ import annotations

from typing import Any

from passes import bindings, build, operations
from passes.analysis.counters import LOOP, final, trip_count
from passes.match import (
    before_barriers,
    captured_values,
    is_static,
    operations_in,
    producer,
    size_of,
    splat_of,
    uses,
    yielded,
)
from passes.operations import CONDITIONALS
from passes.patterns import laws_of, pattern
from passes.simplify.regions import (
    Congruence,
    has_effects,
    hoisted,
    inlined_region,
    is_pure,
    may_trap,
    operations_of,
    rounds_of,
    with_sources,
    with_types,
    without_state,
)

_BARRIER = "stablehlo.optimization_barrier"
# As many elements are worth memory of their own while a loop runs; fewer are computed in its kernel. 20,000 rounds take
# twice as long if each computes a function of 64 elements, and 170 times if each computes their sum.
_HOISTED_ELEMENTS = 1024
# How many rounds a loop is assumed to have that does not say it.
_ROUNDS = 8


@pattern(LOOP)
def loop_that_never_runs(op: Any) -> Any:
    """while whose condition is false at once -> its initial values. Exact.

    Ops of the condition that call the host still run once.
    """
    condition = op.operation.regions[0].blocks[0]
    number = splat_of(yielded(condition)[0])
    if (number is None or bool(number)) and trip_count(op.operation) != 0:
        return None
    initial = [before_barriers(value) for value in op.operation.operands]
    inlined_region(op, 0, initial)
    return initial


@pattern(LOOP)
def loop_that_runs_once(op: Any) -> Any:
    """while that runs once, as its counter says -> its body. Exact where the condition does not call the host."""
    operation = op.operation
    if trip_count(operation) != 1:
        return None
    if any(map(has_effects, operations_of(operation.regions[0].blocks[0]))):
        return None
    return inlined_region(op, 1, [before_barriers(value) for value in operation.operands])


@pattern(LOOP)
def counter_after_loop(op: Any) -> Any:
    """The final value of a counter of a loop of known length -> a constant. Exact: it does not wrap around."""
    operation = op.operation
    if trip_count(operation) is None:
        return None
    numbers = {i: final(operation, i) for i, result in enumerate(operation.results) if uses(result)}
    known = {i: build.full(n, operation.results[i]) for i, n in numbers.items() if n is not None}
    if not known:
        return None
    copy = operation.clone(bindings.ir.InsertionPoint.current).operation
    return [known.get(i, result) for i, result in enumerate(copy.results)]


@pattern(LOOP)
def unchanged_state(op: Any) -> Any:
    """State that the body returns unchanged -> its initial value. Exact."""
    body = op.operation.regions[1].blocks[0]
    columns = zip(op.operation.operands, body.arguments, yielded(body))
    invariant = {
        i: before_barriers(initial)
        for i, (initial, argument, value) in enumerate(columns)
        if value in (argument, initial)
    }
    return without_state(op, invariant) if 0 < len(invariant) < len(op.operation.operands) else None


@pattern(LOOP)
def equal_state(op: Any) -> Any:
    """Two parts of a loop's state that begin equal and are updated equally -> one. Exact.

    Parts with equal initial values are assumed to be equal. Groups are split where updates differ, until none does.
    """
    initial = [before_barriers(value) for value in op.operation.operands]
    if len(set(initial)) == len(initial):
        return None
    body = op.operation.regions[1].blocks[0]
    arguments, updates = list(body.arguments), yielded(body)
    classes: dict[Any, list[int]] = {}
    for i, value in enumerate(initial):
        classes.setdefault(value, []).append(i)
    groups: list[list[int]] = []
    found = list(classes.values())
    while len(found) != len(groups):
        groups, found = found, []
        same = Congruence({(arguments[i], arguments[j]) for group in groups for i in group for j in group})
        for group in groups:
            parts: list[list[int]] = []
            for i in group:
                part = next((p for p in parts if same(updates[p[0]], updates[i])), None)
                parts.append([i]) if part is None else part.append(i)
            found += parts
    duplicates = {i: group[0] for group in found for i in group[1:]}
    return without_state(op, duplicates) if duplicates else None


@pattern(LOOP)
def dead_state(op: Any) -> Any:
    """State that only its own update depends on -> none. Exact.

    Neither results that are read, nor the condition, nor calls of the host depend on it.
    """
    operation = op.operation
    arguments, unread = list(operation.regions[0].blocks[0].arguments), []
    for i, result in enumerate(operation.results):
        if not uses(result) and not uses(arguments[i]):
            unread.append(i)
    if all(_reaches_other_state(operation, i, unread) for i in unread):
        return None
    needed = _needed(operation)
    dead = [i for i in unread if operation.results[i] not in needed]
    if not dead or len(dead) == len(arguments):
        return None
    return without_state(op, {i: operation.operands[i] for i in dead})


@pattern(LOOP)
def reshaped_state(op: Any) -> Any:
    """State that the body reshapes, and reshapes back at its end -> state of that other shape. Exact.

    The rows of a flat array are axes then, which need no divisions of indices.
    """
    body, types = op.operation.regions[1].blocks[0], dict[int, Any]()
    for i, (argument, value) in enumerate(zip(body.arguments, yielded(body))):
        made = producer(value, "stablehlo.reshape")
        if made is None or made.operand.type == argument.type or not is_static(made.operand):
            continue
        if producer(made.operand, "stablehlo.reshape") is not None:
            # Two reshapes become one.
            continue
        users = [use.owner for use in argument.uses]
        if any(u.name == "stablehlo.reshape" and u.results[0].type == made.operand.type for u in users):
            types[i] = made.operand.type
    return with_types(op, types) if types else None


@pattern(LOOP)
def invariant_operations(op: Any) -> Any:
    """An op of a loop's body that depends on no state -> the op before the loop. Exact: it has no effects.

    Only where all rounds together take longer to compute its result than to store it. What it is computed from moves,
    too. What is read through an optimization barrier stays.
    """
    return _invariant(op, _HOISTED_ELEMENTS)


@pattern(LOOP, targets=("gpu", "spirv"))
def invariant_operations_on_a_gpu(op: Any) -> Any:
    """An op of a loop's body that depends on no state -> the op before the loop, however few elements it has. Exact.

    Each op that stays is a kernel to be launched in each round.
    """
    return _invariant(op, 0)


def _invariant(op: Any, least: int) -> Any:
    """Move invariant ops before a loop, which read and compute at least `least` elements in all rounds together."""
    body = op.operation.regions[1].blocks[0]
    inside, invariant = set(body.arguments), dict[int, Any]()
    for i, inner in enumerate(o.operation for o in body.operations):
        stays = any(v in inside for v in inner.operands) or inner.name == _BARRIER or not is_pure(inner)
        if not stays and not may_trap(inner):
            invariant[i] = inner
        else:
            inside.update(inner.results)
    if not invariant:
        return None
    count = trip_count(op.operation)
    rounds = _ROUNDS if count is None else count
    wanted = with_sources(invariant, lambda o: _is_costly(o) and rounds * _elements(o) >= least)
    return hoisted(op, wanted) if wanted else None


def _is_costly(operation: Any) -> bool:
    """Whether to compute an element of the results takes longer than to read it."""
    return operations.of(operation.name).cost > operations.Cost.CHEAP and all(map(is_static, operation.results))


def _elements(operation: Any) -> int:
    """How many elements an op reads and computes."""
    return sum(size_of(value) for value in (*operation.operands, *operation.results) if is_static(value))


def _reaches_other_state(loop: Any, i: int, unread: list[int]) -> bool:
    """Whether state that is read depends on a part of the state, by ops of the body without regions.

    A quick answer for what `_needed` finds out.
    """
    body = loop.regions[1].blocks[0]
    stack, seen = [body.arguments[i]], set()
    while stack:
        for use in stack.pop().uses:
            op = use.owner.operation
            if op in seen or op.block != body:
                continue
            if op.name == "stablehlo.return":
                if use.operand_number not in unread:
                    return True
                continue
            seen.add(op)
            stack.extend(op.results)
    return False


def _needed(loop: Any) -> set[Any]:
    """Return the values on which the effects, the condition and the used results of a loop depend."""
    inside = [loop, *operations_in(loop)]
    made = {result for op in inside for result in op.results}
    found: set[Any] = set()
    stack: list[Any] = []

    def need(*values: Any) -> None:
        new = [value for value in values if value not in found]
        found.update(new)
        stack.extend(new)

    def reach(op: Any) -> None:
        """Add the values that decide whether an op runs."""
        while op != loop:
            op = op.parent.operation
            if op.name == LOOP:
                need(*yielded(op.regions[0].blocks[0]))
            elif op.name in CONDITIONALS:
                need(*op.operands)

    need(*(result for result in loop.results if uses(result)), *yielded(loop.regions[0].blocks[0]))
    for op in inside:
        if has_effects(op):
            need(*op.operands, *captured_values(op))
            reach(op)
    while stack:
        value = stack.pop()
        owner = value.owner
        if isinstance(owner, bindings.ir.Block):
            if owner.owner.operation.name == LOOP:
                need(owner.owner.operation.results[value.arg_number])
        elif value in made:
            op, i = owner.operation, value.result_number
            if op.name == LOOP:
                need(op.operands[i], yielded(op.regions[1].blocks[0])[i], *yielded(op.regions[0].blocks[0]))
            elif op.name in CONDITIONALS:
                need(op.operands[0], *(yielded(region.blocks[0])[i] for region in op.regions))
            else:
                need(*op.operands, *captured_values(op))
    return found


# The most ops of an unrolled loop. A CPU runs a loop as one kernel. Only arithmetic gains, as elements stay in
# registers from round to round: 20 additions of 100,000 elements take a third of the time. Functions take longer.
_OPS = 32
# On a GPU, each round waits for the host.
_OPS_ON_GPU = 512


@pattern(LOOP)
def short_loop(op: Any) -> Any:
    """A loop of few rounds of elementwise arithmetic -> the ops of all rounds. Exact."""
    *inner, _ = [o.operation.name for o in op.operation.regions[1].blocks[0].operations]
    if len(inner) >= 2 * _OPS or not all(map(_is_arithmetic, inner)):
        return None
    return _unrolled(op, _OPS)


def _is_arithmetic(name: str) -> bool:
    row = operations.of(name)
    if name == "stablehlo.constant":
        return True
    return (row.layout and row.repeats) or (row.elementwise and row.precision is not operations.Precision.OPEN)


@pattern(LOOP, targets=("gpu", "spirv"))
def short_loop_on_a_gpu(op: Any) -> Any:
    """A loop of known length -> the ops of all rounds, where these are not many. Exact.

    The host need not wait for each round then.
    """
    return _unrolled(op, _OPS_ON_GPU)


def _unrolled(op: Any, most: int) -> Any:
    loop = op.operation
    count, body = rounds_of(loop), loop.regions[1].blocks[0]
    if count is None or not 1 < count <= most or len(body.operations) > 2 * most:
        return None
    inner = operations_of(body)
    if any(o.name == LOOP or has_effects(o) for o in inner):
        return None
    # Constants are shared by all rounds, and the ends of blocks have no results.
    if count * sum(o.name != "stablehlo.constant" and len(o.results) > 0 for o in inner) > most:
        return None
    values = [before_barriers(value) for value in loop.operands]
    for _ in range(count):
        values = inlined_region(op, 1, values)
    return values


PATTERNS = laws_of(globals())
