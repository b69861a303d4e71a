"""Loops whose rounds workgroups share: each round writes rows of its own, and reads nothing that another one writes.

Such are `lax.map`, and loops over the lanes of a batch, whose rounds are loops themselves.
"""

from __future__ import annotations

from typing import Any

from passes.analysis.counters import compared, counter, trip_count
from passes.match import before_barriers, has_one_use, producer, shape_of, yielded

_UPDATE = "stablehlo.dynamic_update_slice"


def rounds_of(loop: Any) -> int | None:
    """How many rounds a loop has, if they may run at the same time; else None.

    Its results are then whole arrays, of which round `i` writes row `i` along some axis.
    """
    count = trip_count(loop)
    test = compared(loop)
    if count is None or count < 2 or test is None:
        return None
    first = counter(loop, test)
    if first is None or (first.start, first.step) != (0, 1):
        return None
    body = loop.regions[1].blocks[0]
    columns = enumerate(zip(body.arguments, yielded(body)))
    kinds = [_kind(loop, i, argument, value, test, count) for i, (argument, value) in columns]
    return count if "rows" in kinds and None not in kinds else None


def _kind(loop: Any, i: int, argument: Any, value: Any, test: int, count: int) -> str | None:
    """What a part of the state is: the same in all rounds, a counter, or rows that the rounds write; else None."""
    value = before_barriers(value)
    if value == argument:
        return "fixed"
    if counter(loop, i) is not None:
        return "counter"
    update = producer(value, _UPDATE)
    if update is None or not has_one_use(argument) or before_barriers(update.operation.operands[0]) != argument:
        return None
    _, rows, *starts = update.operation.operands
    whole, part = shape_of(argument), shape_of(rows)
    number = loop.regions[1].blocks[0].arguments[test]
    moving = [axis for axis, start in enumerate(starts) if before_barriers(start) == number]
    if len(moving) != 1 or (whole[moving[0]], part[moving[0]]) != (count, 1):
        return None
    others = all(n == m for axis, (n, m) in enumerate(zip(whole, part)) if axis != moving[0])
    return "rows" if others else None
