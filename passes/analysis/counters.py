"""Loop counters, which begin at a known number and grow by a known step, and trip counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, bindings, operations
from passes.match import (
    before_barriers,
    dtype_of,
    is_static,
    other_operand,
    producer,
    remembered,
    size_of,
    splat_of,
    yielded,
)

LOOP = "stablehlo.while"
# How many operations back from a number `line` goes.
_DEPTH = 8


class Counter(NamedTuple):
    """A part of a loop's state that is `start`, then `start + step`, and so on."""

    start: int
    step: int


def counter(loop: Any, number: int) -> Counter | None:
    """The counter at index `number` of a loop's state; None if that part of the state is not a counter."""
    initial = loop.operands[number]
    if not is_static(initial) or dtype_of(initial).kind not in "iu":
        return None
    start, step = splat_of(before_barriers(initial)), step_of(loop.regions[1].blocks[0], number)
    return None if start is None or not step else Counter(int(start), step)


def step_of(body: Any, number: int) -> int:
    """The constant that a loop's body adds to a part of the state; 0 if there is none."""
    argument = body.arguments[number]
    following = yielded(body)[number]
    total, difference = producer(following, "stablehlo.add"), producer(following, "stablehlo.subtract")
    if total is not None:
        added = other_operand(total, argument)
        step = splat_of(added) if added is not None else None
        return 0 if step is None else int(step)
    step = splat_of(difference.rhs) if difference is not None and difference.lhs == argument else None
    return 0 if step is None else -int(step)


class _Test(NamedTuple):
    """The comparison of a part of a loop's state with a value, in the condition."""

    number: int
    direction: str
    limit: Any


def _test(loop: Any) -> _Test | None:
    """What a loop's condition compares, if that decides alone."""
    condition = loop.regions[0].blocks[0]
    compared = producer(yielded(condition)[0], "stablehlo.compare")
    if compared is None:
        return None
    lhs, rhs = compared.operation.operands
    direction = attrs.word(compared, "comparison_direction")
    if not _is_argument(lhs, condition):
        lhs, rhs, direction = rhs, lhs, attrs.EXCHANGED[direction]
    return _Test(lhs.arg_number, direction, rhs) if _is_argument(lhs, condition) else None


def compared(loop: Any) -> int | None:
    """The index of the part of the state that the condition compares with a value; None if it does something else."""
    test = _test(loop)
    return None if test is None else test.number


def trip_count(loop: Any) -> int | None:
    """How often a loop's body runs, if its condition compares a counter with a known number."""
    known = remembered.splats
    if known is None:
        return _trip_count(loop)
    if loop not in known:
        known[loop] = _trip_count(loop)
    return known[loop]


def _trip_count(loop: Any) -> int | None:
    test = _test(loop)
    bound = splat_of(test.limit) if test is not None else None
    if test is None or bound is None or test.direction in ("EQ", "NE"):
        return None
    found = counter(loop, test.number)
    if found is None:
        return None
    # A counter that decreases is negated, so that what follows sees one that increases.
    upwards = test.direction in ("LT", "LE")
    start, step, limit = (found.start, found.step, int(bound)) if upwards else (-found.start, -found.step, -int(bound))
    limit += test.direction in ("LE", "GE")
    if start >= limit:
        return 0
    count = -(-(limit - start) // step) if step > 0 else 0
    return count if step > 0 and _fits(found, count, loop.operands[test.number]) else None


def bounds(value: Any) -> tuple[int, int] | None:
    """The least and the greatest value of an argument of a loop's body, if it is a counter; else None.

    If the trip count is not known, a counter that grows by one while it is less than a limit still never wraps around.

    An argument of the condition has no bounds: otherwise the comparison in the condition, which determines the trip
    count, would be folded.
    """
    block = value.owner
    loop = block.owner.operation if isinstance(block, bindings.ir.Block) else None
    if loop is None or loop.name != LOOP or loop.regions[1].blocks[0] != block:
        return None
    found = counter(loop, value.arg_number)
    count = trip_count(loop) if found is not None else None
    if found is None:
        return None
    if count is None:
        info, test = np.iinfo(dtype_of(value)), _test(loop)
        if test is None or test.number != value.arg_number or (test.direction, found.step) not in _STRICT:
            return None
        return (found.start, int(info.max) - 1) if found.step > 0 else (int(info.min) + 1, found.start)
    if not count or not _fits(found, count, value):
        return None
    ends = found.start, found.start + found.step * (count - 1)
    return min(ends), max(ends)


# Directions of a comparison that holds for no counter whose next step would wrap around.
_STRICT = (("LT", 1), ("GT", -1))


def line(value: Any, loop: Any, count: int) -> Counter | None:
    """The integer `start + step * round` that a scalar of a loop's body is, for `count` rounds; None for others.

    No number on the way wraps around.
    """
    return _line(value, loop, count, _DEPTH)


def _line(value: Any, loop: Any, count: int, depth: int) -> Counter | None:
    if not depth or not is_static(value) or dtype_of(value).kind not in "iu" or size_of(value) != 1:
        return None
    number = splat_of(value)
    if number is not None:
        return Counter(int(number), 0)
    if value.owner == loop.regions[1].blocks[0]:
        found = counter(loop, value.arg_number)
    else:
        op = producer(value)
        found = None if op is None else _combined(op.operation, lambda v: _line(v, loop, count, depth - 1))
    return found if found is not None and _fits(found, 0, value) and _fits(found, count - 1, value) else None


def _combined(op: Any, ask: Callable[[Any], Counter | None]) -> Counter | None:
    """The line that an operation computes of lines, in integers of any size."""
    rule = _LINES.get(op.name)
    if rule is None:
        return None
    found = [ask(operand) for operand in op.operands]
    known = [counter for counter in found if counter is not None]
    return rule(*known) if len(known) == len(found) else None


def _product(first: Counter, second: Counter) -> Counter | None:
    if first.step and second.step:
        return None
    constant, other = (first, second) if not first.step else (second, first)
    return Counter(constant.start * other.start, constant.start * other.step)


_LINES: dict[str, Callable[..., Counter | None]] = {
    **dict.fromkeys((*operations.where(layout=True), "stablehlo.convert"), lambda x: x),
    "stablehlo.add": lambda x, y: Counter(x.start + y.start, x.step + y.step),
    "stablehlo.multiply": _product,
    "stablehlo.negate": lambda x: Counter(-x.start, -x.step),
    "stablehlo.subtract": lambda x, y: Counter(x.start - y.start, x.step - y.step),
}


def final(loop: Any, number: int) -> int | None:
    """The value of a counter after the loop; None if it is not known."""
    found, count = counter(loop, number), trip_count(loop)
    if found is None or count is None or not _fits(found, count, loop.results[number]):
        return None
    return found.start + found.step * count


def _fits(found: Counter, count: int, value: Any) -> bool:
    """Whether a counter's type holds all of its numbers, so that it does not wrap around."""
    info = np.iinfo(dtype_of(value))
    return bool(info.min <= found.start + found.step * count <= info.max)


def _is_argument(value: Any, block: Any) -> bool:
    return isinstance(value.owner, bindings.ir.Block) and value.owner == block
