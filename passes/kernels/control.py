"""Loops and conditionals: state in place, counters as `scf.for`, and the write-back at the end of an iteration.

Array state is memory that the body updates; scalar state is carried in registers. New state is computed from old
state, so the writes at the end of an iteration are ordered: arrays of one shape that read one another at the same index
are written together, an array that another one still reads is written later, and a copy breaks a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from passes import attributes as attrs
from passes.analysis.counters import trip_count
from passes.kernels import inner_products
from passes.kernels.elements import RefusedError
from passes.kernels.hazards import Order
from passes.kernels.kernel import Lowering, Rule, element_type
from passes.kernels.linear import Linear
from passes.kernels.nests import Write
from passes.kernels.scalars import limits
from passes.kernels.values import Buffer, Value, View
from passes.match import before_barriers, captured_values, is_uninitialized, operations_in, producer, splat_of
from passes.operations import CONTROL, Memory, Operation, of

# How many rounds a loop is taken to have whose number is not known.
_MANY = 100
# Loop-invariant values that cost more are computed once, before the loop.
_INVARIANT = 3


class _Counter(NamedTuple):
    """State that increases by `step` until it reaches `bound`, which is loop-invariant."""

    number: int
    bound: Value
    step: int


def _terminator(block: Any) -> Any:
    return list(block.operations)[-1].operation


def _while(k: Lowering, op: Any) -> None:
    cond, body = (region.blocks[0] for region in op.regions)
    end = _terminator(body)
    initial = [k.env[v] for v in op.operands]
    fixed = [before_barriers(v) == a for v, a in zip(end.operands, body.arguments)]
    loose = [i for i, is_fixed in enumerate(fixed) if not is_fixed]
    scalar = [i for i in loose if initial[i].size == 1]
    arrays = [i for i in loose if initial[i].size > 1]

    is_shared = k.share is not None and k.depth == 0
    if is_shared:
        views = {i: k.result(initial[i].shape, initial[i].element) for i in arrays}
    else:
        views = _state(k, op, initial, arrays, fixed)
    for block in (cond, body):
        for i, argument in enumerate(block.arguments):
            if fixed[i]:
                k.env[argument] = initial[i]
            elif i in views:
                k.env[argument] = Value(initial[i].shape, initial[i].element, view=views[i])

    inner_products.prepare(k, op, [block.arguments[i] for block in (cond, body) for i in loose])
    counter = _counted(k, op, cond, body, end, initial)
    if k.depth == 0:
        k.joins = k.processor.joins and _is_counted(op)
    repeats, k.repeats = k.repeats, k.repeats * (trip_count(op) or _MANY)
    k.depth += 1
    if counter is not None and counter.number in scalar:
        found = _for(k, body, end, initial, scalar, views, counter, is_shared)
    else:
        assert not is_shared, "rounds that are shared are counted"
        found = _scf_while(k, cond, body, end, initial, scalar, views)
    k.depth -= 1
    k.repeats = repeats

    for i, result in enumerate(op.results):
        if fixed[i]:
            k.env[result] = initial[i]
        elif i in views:
            k.env[result] = Value(initial[i].shape, initial[i].element, view=views[i])
        else:
            k.env[result] = found[i]


def _is_counted(loop: Any) -> bool:
    """Whether a loop is not in another one or in a conditional, has none but loops in it, and all rounds are known."""
    inner = [op for op in operations_in(loop) if op.name in CONTROL]
    is_counted = all(op.name == "stablehlo.while" and trip_count(op) is not None for op in (loop, *inner))
    return is_counted and loop.parent.name not in CONTROL


def _state(k: Lowering, op: Any, initial: list[Value], arrays: list[int], fixed: list[bool]) -> dict[int, View]:
    """The memory of the loop's array state, with its initial contents, which no other needed value shares."""
    claimed: set[Buffer] = set()
    views: dict[int, View] = {}
    for i in arrays:
        view = initial[i].view
        if view is not None and k.is_writable(initial[i]) and view.buffer not in claimed and _is_dense(initial[i]):
            views[i] = view
            claimed.add(view.buffer)
    captured = set(captured_values(op))
    for i in list(views):
        k.store_overwritten(views[i], initial[i].shape, captured)
    buffers = [view.buffer for view in views.values()]
    for i, value in enumerate(initial):
        computed = value.function is not None and value.size > 1
        if (
            fixed[i]
            and not value.is_scalar
            and (k.reads(value, buffers) or (computed and k.record(value).cost > _INVARIANT))
        ):
            k.store(value)
    for i in arrays:
        if i not in views:
            views[i] = k.temporary(initial[i].shape, initial[i].element)
            if not is_uninitialized(op.operands[i]):
                k.write([Write(initial[i], views[i])])
    return views


def _is_dense(value: Value) -> bool:
    """Whether a value occupies all of its buffer."""
    return value.view is not None and value.view.buffer.size == value.size


def _enter(k: Lowering, block: Any, initial: list[Value], scalar: list[int], names: Sequence[str]) -> None:
    for i, name in zip(scalar, names):
        k.env[block.arguments[i]] = Value(initial[i].shape, initial[i].element, scalar=name)


def _counted(k: Lowering, op: Any, cond: Any, body: Any, end: Any, initial: list[Value]) -> _Counter | None:
    """The counter of a loop whose condition is `counter < bound`."""
    operations = [o.operation for o in cond.operations]
    test = operations[-2] if len(operations) > 1 else None
    if test is None or test.name != "stablehlo.compare" or attrs.word(test, "comparison_direction") != "LT":
        return None
    if any(o.name != "stablehlo.constant" for o in operations[:-2]):
        return None
    if list(operations[-1].operands) != [test.results[0]]:
        return None
    arguments = list(cond.arguments)
    counter, bound = test.operands
    if counter not in arguments or element_type(counter.type)[1].kind != "i":
        return None
    number = arguments.index(counter)
    step = _step(end.operands[number], body.arguments[number])
    if step is None or step <= 0:
        return None
    if bound in arguments:
        i = arguments.index(bound)
        return _Counter(number, initial[i], step) if before_barriers(end.operands[i]) == body.arguments[i] else None
    constant = splat_of(bound)
    if constant is not None:
        return _Counter(number, Value((), initial[number].element, splat=constant.item()), step)
    return _Counter(number, k.env[bound], step) if bound in k.env and k.env[bound].is_scalar else None


def _step(following: Any, argument: Any) -> int | None:
    """The constant by which state increases in each iteration; None if there is none."""
    sum_ = producer(before_barriers(following), "stablehlo.add")
    if sum_ is None:
        return None
    for a, b in ((sum_.lhs, sum_.rhs), (sum_.rhs, sum_.lhs)):
        constant = splat_of(b)
        if before_barriers(a) == argument and constant is not None and element_type(argument.type)[1].kind == "i":
            return int(constant)
    return None


def _bound(k: Lowering, value: Value) -> Linear:
    """A scalar as a linear form, whose range is at most that of its type."""
    if value.splat is not None:
        return Linear(int(value.splat))
    if value.linear is not None:
        return value.linear
    name = k.code.op("arith.index_cast", (k.item(value).name,), (value.element.text, "index"))
    return k.symbols.new(name, *limits(value.element))


def _for(
    k: Lowering,
    body: Any,
    end: Any,
    initial: list[Value],
    scalar: list[int],
    views: dict[int, View],
    counter: _Counter,
    is_shared: bool,
) -> dict[int, Value]:
    """A loop with a known trip count, as `scf.for`; returns the scalar state after it.

    Args:
      is_shared: whether each workgroup runs a part of the rounds.
    """
    code = k.code
    start, stop = _bound(k, initial[counter.number]), _bound(k, counter.bound)
    follows = {i: step for i in scalar if (step := _follows(k, i, body, end, initial, counter)) is not None}
    carried = [i for i in scalar if i not in follows]
    types = [initial[i].element.text for i in carried]
    firsts = {i: start if i == counter.number else _bound(k, initial[i]) for i in follows}

    def state(i: int, number: Linear) -> Value:
        """A counter as a linear form of the loop's symbol, if it fits its type; else as a scalar."""
        shape, element = initial[i].shape, initial[i].element
        rounds = number - start
        form = firsts[i] + (rounds if follows[i] == counter.step else rounds * follows[i])
        bounds, (low, high) = k.symbols.bounds(form), limits(element)
        if bounds is not None and low <= bounds[0] and bounds[1] <= high:
            return Value(shape, element, linear=form)
        return Value(shape, element, scalar=code.number(form, element))

    def iteration(i: Linear, names: list[str]) -> list[str]:
        with k.region([view.buffer for view in views.values()]):
            for number in follows:
                k.env[body.arguments[number]] = state(number, i)
            _enter(k, body, initial, carried, names)
            with k.block(body) as values:
                scalars = [k.item(values[j]).name for j in carried]
                write_back(k, [Write(values[j], view) for j, view in views.items()])
        return scalars

    low, high = (start, stop) if not is_shared or k.share is None else code.portion(*k.share, stop.constant)
    names = code.loop(low, high, counter.step, iteration, [k.item(initial[i]).name for i in carried], types)
    found = {i: Value(initial[i].shape, initial[i].element, scalar=name) for i, name in zip(carried, names)}
    # After the loop, a counter is the first value of its sequence that is not below the bound.
    last = _after(k, start, stop, counter.step)
    for i in follows:
        found[i] = state(i, last)
    return found


def _follows(k: Lowering, i: int, body: Any, end: Any, initial: list[Value], counter: _Counter) -> int | None:
    """The step of state that is the counter, or a linear function of it; None for other state."""
    step = _step(end.operands[i], body.arguments[i])
    if step is None or i == counter.number:
        return step
    # The number of iterations is the counter divided by its step; only a step of 1 needs no division.
    return step if step == counter.step or counter.step == 1 else None


def _after(k: Lowering, start: Linear, stop: Linear, step: int) -> Linear:
    if start.is_constant and stop.is_constant:
        rounds = max(0, -((start.constant - stop.constant) // step))
        return Linear(start.constant + rounds * step)
    if step != 1:
        raise RefusedError("a counter with a step other than 1 and unknown bounds")
    first, last = k.code.position(start), k.code.position(stop)
    name = k.code.op("arith.maxsi", (first, last), "index")
    a, b = k.symbols.bounds(start), k.symbols.bounds(stop)
    if a is None or b is None:
        return k.symbols.new(name)
    return k.symbols.new(name, max(a[0], b[0]), max(a[1], b[1]))


def _scf_while(
    k: Lowering, cond: Any, body: Any, end: Any, initial: list[Value], scalar: list[int], views: dict[int, View]
) -> dict[int, Value]:
    """A loop with another condition, as `scf.while`; returns the scalar state after it."""
    writer = k.writer
    types = tuple(initial[i].element.text for i in scalar)
    outer, before, after = (writer.fresh(prefix) for prefix in "wbc")
    first = tuple(k.item(initial[i]).name for i in scalar)
    numbers = range(len(scalar))
    results, given, passed = (tuple(f"{name}{n}" for n in numbers) for name in (f"{outer}#", f"{before}_", f"{after}_"))
    buffers = [view.buffer for view in views.values()]
    with writer.region("scf.while", first, types, given, results=results, ends=False), k.region(buffers):
        _enter(k, cond, initial, scalar, list(given))
        with k.block(cond) as values:
            writer.do("scf.condition", (k.item(values[0]).name, *given), types)
    with writer.region("do", (), types, passed), k.region(buffers):
        _enter(k, body, initial, scalar, list(passed))
        with k.block(body) as values:
            scalars = [k.item(values[i]).name for i in scalar]
            write_back(k, [Write(values[i], view) for i, view in views.items()])
            writer.do("scf.yield", scalars, types)
    return {i: Value(initial[i].shape, initial[i].element, scalar=name) for i, name in zip(scalar, results)}


def write_back(k: Lowering, writes: Sequence[Write]) -> None:
    """Write new contents to memory that they are computed from, in an order without hazards."""
    todo = [w for w in writes if not _is_there(w)]
    while todo:
        group = next((g for g in _groups(todo) if _is_safe(k, g, [w for w in todo if w not in g])), None)
        if group is not None:
            k.write(group)
            todo = [w for w in todo if w not in group]
            continue
        # Each remaining value reads memory that another one, or an earlier element of itself, overwrites.
        stored = any(k.store_hazards(w.value, [(t.target, t is w) for t in todo]) for w in todo)
        assert stored, "a write without a safe order reads memory that is overwritten"


def _is_there(write: Write) -> bool:
    """Whether the memory holds the value already."""
    view = write.value.view
    steps = [(a, b) for a, b, n in zip(view.strides, write.target.strides, write.value.shape) if n > 1] if view else []
    return (
        view is not None
        and view.buffer is write.target.buffer
        and view.offset == write.target.offset
        and all(a == b for a, b in steps)
    )


def _groups(todo: Sequence[Write]) -> list[list[Write]]:
    """Writes that may share a nest: all of one shape, or a single one."""
    shapes = dict.fromkeys(w.value.shape for w in todo)
    together = [[w for w in todo if w.value.shape == shape] for shape in shapes]
    return [group for group in together if len(group) > 1] + [[w] for w in todo]


def _is_safe(k: Lowering, group: Sequence[Write], others: Sequence[Write]) -> bool:
    """Whether a group overwrites nothing that others read, and its own nest reads before it overwrites."""
    goals = [w.target.buffer for w in group]
    if any(k.reads(w.value, goals) for w in others):
        return False
    allowed = (Order.DISJOINT, Order.SAME) if len(group) > 1 else (Order.DISJOINT, Order.SAME, Order.AHEAD)
    return all(k.order(w.value, other.target) in allowed for w in group for other in group)


# Conditionals.


def _if(k: Lowering, op: Any) -> None:
    _conditional(k, op, [k.item(k.env[op.operands[0]]).name])


def _case(k: Lowering, op: Any) -> None:
    index = k.env[op.operands[0]]
    count = len(op.regions)
    if index.splat is not None:
        number = int(index.splat)
        return _conditional(k, op, [], number if 0 <= number < count else count - 1)
    name, element = k.item(index).name, index.element
    tests = [
        k.code.op("arith.cmpi", (name, k.code.constant(number, element)), element.text, "eq")
        for number in range(count - 1)
    ]
    return _conditional(k, op, tests)


def _conditional(k: Lowering, op: Any, tests: Sequence[str], chosen: int | None = None) -> None:
    """The results of the first region whose test holds, else of the last one."""
    results = [element_type(result.type) for result in op.results]
    if not tests:
        chosen = 0 if chosen is None else chosen
        with k.block(op.regions[chosen].blocks[0]) as values:
            found = list(values)
        for result, value in zip(op.results, found):
            k.env[result] = value
        return
    arrays = [i for i, (shape, _) in enumerate(results) if math.prod(shape) > 1]
    scalar = [i for i in range(len(results)) if i not in arrays]
    views = _results(k, op, arrays)
    types = tuple(results[i][1].text for i in scalar)
    writer = k.writer

    def branch(number: int) -> None:
        with k.region([view.buffer for view in views.values()]), k.block(op.regions[number].blocks[0]) as values:
            names = [k.item(values[i]).name for i in scalar]
            write_back(k, [Write(values[i], view) for i, view in views.items()])
        if scalar:
            writer.do("scf.yield", names, types)

    def chain(number: int) -> tuple[str, ...]:
        name = writer.fresh("v")
        made = tuple(f"{name}#{n}" for n in range(len(scalar)))
        with writer.region("scf.if", (tests[number],), types, results=made):
            branch(number)
            writer.do("else")
            if number + 2 == len(op.regions):
                branch(number + 1)
            else:
                with k.code.scope():
                    inner = chain(number + 1)
                    if scalar:
                        writer.do("scf.yield", inner, types)
        return made

    names = chain(0)
    for i, name in zip(scalar, names):
        k.env[op.results[i]] = Value(*results[i], scalar=name)
    for i, view in views.items():
        k.env[op.results[i]] = Value(*results[i], view=view)


def _results(k: Lowering, op: Any, arrays: Sequence[int]) -> dict[int, View]:
    """The memory of the arrays that a conditional returns: that of an array which a branch updates, or new memory."""
    views: dict[int, View] = {}
    claimed: set[Buffer] = set()
    for i in arrays:
        shape, element = element_type(op.results[i].type)
        for region in op.regions:
            origin = _origin(_terminator(region.blocks[0]).operands[i])
            value = k.env.get(origin)
            if value is None or value.view is None or value.shape != shape or value.view.buffer in claimed:
                continue
            if k.is_writable(value) and _is_dense(value) and not k.is_needed(origin):
                views[i] = value.view
                claimed.add(value.view.buffer)
                break
        if i not in views:
            views[i] = k.temporary(shape, element)
    for i, view in views.items():
        if view.buffer in claimed:
            k.store_overwritten(view, element_type(op.results[i].type)[0])
    return views


def _origin(value: Any) -> Any:
    """The array at the start of a chain of updates."""
    while (op := producer(value)) is not None and _updates(of(op.operation.name)):
        value = op.operation.operands[0]
    return value


def _updates(row: Operation) -> bool:
    """Whether a result is the first operand with some elements replaced, added or dropped."""
    return row.joins or row.memory in (Memory.SAME, Memory.PART, Memory.UPDATED)


RULES: dict[str, Rule] = {"stablehlo.while": _while, "stablehlo.if": _if, "stablehlo.case": _case}
