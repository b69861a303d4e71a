"""What rewritten functions call: operators that run as Python does where they can, else as parts of the program."""

from __future__ import annotations

import builtins
import contextlib
import functools
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stagec.core import errors, location
from stagec.core.config import state
from stagec.core.operators import ArrayOperators
from stagec.primitives.operand import as_operand
from stagec.python_flow import branches, checks, values
from stagec.python_flow.calls import called as called
from stagec.python_flow.loops import CarryChanged, Loop, Pure, as_condition
from stagec.python_flow.sequences import indexed
from stagec.python_flow.states import Region, Undefined, restore
from stagec.python_flow.values import Buffer, Value, index_of, unwrapped, wrapped

slice = builtins.slice
# Loops of at most so many rounds become straight code, and nested ones of so many rounds together, where those inside
# count as two each.
_SHORT, _COPIES = 8, 32
# Straight code is at most so long.
_MOST = 20_000
_MOST_ROUNDS = 1_000_000


def defined(value: Any) -> Any:
    """The value of a name, unless it may have none."""
    if type(value) is Undefined:
        raise value.error()
    return value


def result(returned: Any, value: Any = None) -> Any:
    return defined(value)


def decided(value: Any) -> Any:
    """A condition as a bool, or as a traced boolean where Python does not know it."""
    if isinstance(value, (Value, ArrayOperators)):
        return as_condition(value)
    return bool(value)


def if_(about: Any, reads: Any, put: Any, others: Any, test: Any, then: Callable[[], Any], orelse: Any) -> None:
    chosen = decided(test)
    if isinstance(chosen, bool):
        (then if chosen else orelse)()
    else:
        branches.branch(Region(about, reads, put, others), chosen, then, orelse)


class _Straight:
    """Counts what a loop that runs while tracing has recorded."""

    def __init__(self) -> None:
        self.start, self.rounds = self._length(), 0

    def _length(self) -> int:
        return len(getattr(state.trace, "equations", ()))

    def check(self, cause: Exception | None) -> None:
        self.rounds += 1
        if self._length() - self.start > _MOST or self.rounds > _MOST_ROUNDS:
            what = f"a loop became straight code of more than {_MOST} operations in {self.rounds} rounds"
            why = str(cause).splitlines()[0] if cause else "its rounds are known while tracing"
            raise location.error(
                errors.UnsupportedError,
                f"{what}, as the program cannot run its rounds: {why}",
                fix="write the round so that shapes, slices and indices of lists do not depend on its number",
            ) from cause


class _Unrolled(threading.local):
    """How many copies of the code that is traced the loops around it make, in the innermost loop of the program."""

    copies = 1

    @contextlib.contextmanager
    def become(self, copies: int) -> Iterator[None]:
        before, self.copies = self.copies, copies
        try:
            yield
        finally:
            self.copies = before


_unrolled = _Unrolled()


def while_(about: Any, reads: Any, put: Any, others: Any, test: Callable[[], Any], body: Callable[[], None]) -> None:
    region = Region(about, reads, put, others)
    straight, cause, tries = _Straight(), None, True
    while True:
        entry = region.get()
        going = decided(test())
        if going is False:
            return
        if going is not True:
            region.put(entry)
            _staged(region, Loop(region, body, lambda: decided(test()), None, False))
            return
        if tries:
            region.put(entry)
            cause = _tried(region, Loop(region, body, lambda: decided(test()), None, True))
            if cause is None:
                return
            tries = isinstance(cause, CarryChanged) and straight.rounds == 0
            decided(test())  # what it assigns
        straight.check(cause)
        body()


def _tried(region: Region, loop: Loop) -> Exception | None:
    """Let the program run a loop; returns why it cannot."""
    stale, containers = len(values.marked.arrays), region.snapshot()
    before = region.get()
    try:
        with _unrolled.become(1):
            loop.run()
        return None
    except (errors.StagecError, TypeError, ValueError, LookupError, NameError, Pure) as error:
        values.restore(stale)
        restore(containers)
        region.put(before)
        return error


def _staged(region: Region, loop: Loop) -> None:
    error = _tried(region, loop)
    if error is not None:
        raise error


def for_(
    about: Any,
    reads: Any,
    put: Any,
    others: Any,
    items: Any,
    body: Callable[[Any], None],
    stop: Callable[[], Any] | None,
    depth: int,
) -> None:
    region = Region(about, reads, put, others)
    many = indexed(items)
    start, cause, copies = 0, None, _unrolled.copies
    if many is not None:
        known = isinstance(many.length, int)
        copies *= max(many.length, 1) if known else 1
        if not known or many.length > _SHORT or (many.length > 1 and copies << depth > _COPIES):
            test = None if stop is None else lambda: not_(stop())
            for start in (0, 1):
                rest = many.after(start)
                if start:
                    body(many.item(0))
                certain = isinstance(rest.length, int) and rest.length > 0
                loop = Loop(region, lambda i, rest=rest: body(rest.item(i)), test, rest.rounds, certain, known)
                cause = _tried(region, loop)
                if cause is None:
                    return
                if not known:
                    raise cause
                if not isinstance(cause, CarryChanged) or stop is not None:
                    break
            items = many.after(1) if start else many
    with _unrolled.become(copies):
        _straight(about, reads, put, others, items, body, stop, cause)


def _straight(
    about: Any,
    reads: Any,
    put: Any,
    others: Any,
    items: Any,
    body: Callable[[Any], None],
    stop: Callable[[], Any] | None,
    cause: Exception | None,
) -> None:
    """A loop whose rounds Python runs while tracing."""
    straight = _Straight()
    for item in items:
        if stop is not None and straight.rounds:
            stopped = decided(stop())
            if stopped is True:
                return
            if stopped is not False:
                if_(about, reads, put, others, not_(wrapped(stopped)), functools.partial(body, item), lambda: None)
                straight.check(cause)
                continue
        straight.check(cause)
        body(item)


def any_of(*flags: Any) -> Any:
    def test(flag: Any) -> Callable[[], Any]:
        return lambda: flag

    return or_(*map(test, flags))


def and_(*tests: Callable[[], Any]) -> Any:
    """`a and b`; with traced values, a boolean."""
    return _logical(tests, True)


def or_(*tests: Callable[[], Any]) -> Any:
    return _logical(tests, False)


def _logical(tests: Sequence[Callable[[], Any]], neutral: bool) -> Any:
    first = tests[0]()
    if len(tests) == 1:
        return first
    known = decided(first)
    if isinstance(known, bool):
        return _logical(tests[1:], neutral) if known is neutral else first
    rest = lambda: _logical(tests[1:], neutral)  # noqa: E731
    return choose(first, rest, lambda: first) if neutral else choose(first, lambda: first, rest)


def not_(value: Any) -> Any:
    known = decided(value)
    return not known if isinstance(known, bool) else wrapped(~known)


def chain(left: Any, *steps: tuple[Callable[[Any, Any], Any], Callable[[], Any]]) -> Any:
    """`a < b < c`, where each operand is computed once."""
    compare, operand = steps[0]
    right = operand()
    if len(steps) == 1:
        return compare(left, right)
    return and_(lambda: compare(left, right), lambda: chain(right, *steps[1:]))


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`a if test else b`."""
    chosen = decided(test)
    if isinstance(chosen, bool):
        return then() if chosen else orelse()
    found: list[Any] = [None]

    def put(new: list[Any]) -> None:
        found[:] = new

    def assign(value: Callable[[], Any]) -> Callable[[], None]:
        return lambda: put([value()])

    region = Region((0, ("the value of a conditional expression",), (), None), lambda: (lambda: found[0],), put, tuple)
    branches.branch(region, chosen, assign(then), assign(orelse))
    return defined(found[0])


def assert_(test: Any, message: Callable[[], Any]) -> None:
    known = decided(test)
    if known is False:
        text = message()
        raise AssertionError() if text is None else AssertionError(text)
    if known is not True:
        text = message()
        checks.require(known, AssertionError() if text is None else AssertionError(text))


def raise_(exception: Any, cause: Any) -> None:
    raised = exception() if isinstance(exception, type) else exception
    if checks.is_certain():
        raise raised from cause
    checks.require(as_operand(False), raised)


def item(value: Any, index: Any) -> Any:
    """`value[index]`; where the index is traced, tables of numbers are arrays."""
    if isinstance(value, (np.ndarray, list, tuple)) and _is_traced(index):
        try:
            table = np.asarray(value)
        except Exception:
            return value[index]
        if table.dtype.kind in "biufc":
            return Buffer(table)[index]
    if isinstance(value, ArrayOperators):
        return wrapped(value[unwrapped(index)])
    return value[index]


def _is_traced(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_is_traced, index))
    if isinstance(index, slice):
        return any(map(_is_traced, (index.start, index.stop, index.step)))
    return isinstance(index, (Value, ArrayOperators))


def update(target: Any, index: Any, name: str, value: Any) -> None:
    """`target[index] += value` and the like."""
    change = _IN_PLACE[name]
    if isinstance(target, Buffer):
        index = index_of(index)
    if isinstance(target, Buffer) and Buffer.is_selection(index):
        target[index] = _PLAIN[name](target[index], value)
    elif isinstance(target, Buffer):
        old = target.value[index]
        target[index] = _PLAIN[name](old, unwrapped(value))
    else:
        target[index] = change(target[index], value)


_NAMES = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor", "LShift": "lshift", "RShift": "rshift",
}  # fmt: skip
_IN_PLACE = {name: getattr(operator, f"__i{short}__") for name, short in _NAMES.items()}
_PLAIN = {name: getattr(operator, f"__{short}__") for name, short in _NAMES.items()}
