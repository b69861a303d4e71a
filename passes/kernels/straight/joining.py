"""Concatenations of many parts: each is copied to its place. Those of a few parts are computed where they are read."""

from __future__ import annotations

import math

from passes import attributes as attrs
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.alone import Alone, flat
from passes.kernels.straight.nodes import MOST
from passes.kernels.values import Value, View


def concatenate(a: Alone) -> None:
    """Rows of the axes before that of the parts, in which these follow one another."""
    axis, size = attrs.integer(a.op, "dimension"), a.whole.buffer.size
    outer, width = math.prod(a.shape[:axis]), a.lanes(a.shape[-1])
    # A few rows are shared in so many pieces of each part.
    pieces = MOST if outer < MOST else 1
    low, high = a.share(pieces if pieces > 1 else outer, 2 * size // width)
    first, last = (ZERO, Linear(outer)) if pieces > 1 else (low, high)
    target, parts = View(a.whole.buffer, (1,)), [_flat(value) for value in a.values]
    row = size // outer

    def rows(r: Linear, _: list[str]) -> None:
        place = r * row
        for part in parts:
            length = part.size // outer
            begin, end = (a.code.divided(ends * length, pieces)[0] for ends in (low, high))
            begin, end = (begin, end) if pieces > 1 else (ZERO, Linear(length))
            _copy(a, part, r * length, target, place, begin, end)
            place = place + length

    a.code.loop(first, last, 1, rows)


def _copy(a: Alone, part: Value, start: Linear, target: View, place: Linear, begin: Linear, end: Linear) -> None:
    width = a.lanes(part.size)
    a.along(begin, end, lambda i: a.code.store(target, (place + i,), a.code.get(part, (start + i,))), width)


def _flat(value: Value) -> Value:
    return Value((value.size,), value.element, splat=value.splat) if value.splat is not None else flat(value)
