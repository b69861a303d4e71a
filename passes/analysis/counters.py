"""Loop counters, which begin at a known number and grow by a known step, and trip counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, bindings
from passes.match import before_barriers, dtype_of, is_static, other_operand, producer, splat_of, yielded

LOOP = "stablehlo.while"


class Counter(NamedTuple):
    """A part of a loop's state that is `start`, then `start + step`, and so on."""

    start: int
    step: int


def counter(loop: Any, number: int) -> Counter | None:
    """The counter at index `number` of a loop's state; None if that part of the state is not a counter."""
    initial = loop.operands[number]
    if not is_static(initial) or dtype_of(initial).kind not in "iu":
        return None
    start, step = splat_of(before_barriers(initial)), _step(loop.regions[1].blocks[0], number)
    return None if start is None or not step else Counter(int(start), step)


def _step(body: Any, number: int) -> int:
    """The constant that the body adds to a part of the state; 0 if there is none."""
    argument = body.arguments[number]
    following = yielded(body)[number]
    total, difference = producer(following, "stablehlo.add"), producer(following, "stablehlo.subtract")
    if total is not None:
        added = other_operand(total, argument)
        step = splat_of(added) if added is not None else None
        return 0 if step is None else int(step)
    step = splat_of(difference.rhs) if difference is not None and difference.lhs == argument else None
    return 0 if step is None else -int(step)


def trip_count(loop: Any) -> int | None:
    """How often a loop's body runs, if its condition compares a counter with a known number."""
    condition = loop.regions[0].blocks[0]
    compared = producer(yielded(condition)[0], "stablehlo.compare")
    if compared is None:
        return None
    lhs, rhs = compared.operation.operands
    direction = attrs.word(compared, "comparison_direction")
    if not _is_argument(lhs, condition):
        lhs, rhs, direction = rhs, lhs, attrs.EXCHANGED[direction]
    bound = splat_of(rhs)
    if direction in ("EQ", "NE") or bound is None or not _is_argument(lhs, condition):
        return None
    found = counter(loop, lhs.arg_number)
    if found is None:
        return None
    # A counter that decreases is negated, so that what follows sees one that increases.
    upwards = direction in ("LT", "LE")
    start, step, limit = (found.start, found.step, int(bound)) if upwards else (-found.start, -found.step, -int(bound))
    limit += direction in ("LE", "GE")
    if start >= limit:
        return 0
    count = -(-(limit - start) // step) if step > 0 else 0
    return count if step > 0 and _fits(found, count, lhs) else None


def bounds(value: Any) -> tuple[int, int] | None:
    """The least and the greatest value of an argument of a loop's body, if it is a counter; else None.

    An argument of the condition has no bounds: otherwise the comparison in the condition, which determines the trip
    count, would be folded.
    """
    block = value.owner
    loop = block.owner.operation if isinstance(block, bindings.ir.Block) else None
    if loop is None or loop.name != LOOP or loop.regions[1].blocks[0] != block:
        return None
    found = counter(loop, value.arg_number)
    count = trip_count(loop) if found is not None else None
    if found is None or not count or not _fits(found, count, value):
        return None
    ends = found.start, found.start + found.step * (count - 1)
    return min(ends), max(ends)


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
