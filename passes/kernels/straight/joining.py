"""Concatenations of many parts, each of which is copied. Those of few parts are computed where they are read."""

from __future__ import annotations

import math

from passes import attributes as attrs
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.own_kernel import OwnKernel, flat
from passes.kernels.values import Value, View


def concatenate(a: OwnKernel) -> None:
    """Copy the parts for each index of the axes before the concatenated one."""
    axis, size = attrs.integer(a.op, "dimension"), a.whole.buffer.size
    outer, width = math.prod(a.shape[:axis]), a.lanes(a.shape[-1])
    # If there are few such indices, workgroups share each part in this many pieces.
    pieces = MAX_WORKGROUPS if outer < MAX_WORKGROUPS else 1
    low, high = a.share(pieces if pieces > 1 else outer, 2 * size // width)
    first, last = (ZERO, Linear(outer)) if pieces > 1 else (low, high)
    target, parts = View(a.whole.buffer, (1,)), [_flat(value) for value in a.values]
    row = size // outer

    def rows(r: Linear, _: list[str]) -> None:
        offset = r * row
        for part in parts:
            length = part.size // outer
            begin, end = (a.code.divided(ends * length, pieces)[0] for ends in (low, high))
            begin, end = (begin, end) if pieces > 1 else (ZERO, Linear(length))
            _copy(a, part, r * length, target, offset, begin, end)
            offset = offset + length

    a.code.loop(first, last, 1, rows)


def _copy(a: OwnKernel, part: Value, start: Linear, target: View, offset: Linear, begin: Linear, end: Linear) -> None:
    width = a.lanes(part.size)
    a.along(begin, end, lambda i: a.code.store(target, (offset + i,), a.code.get(part, (start + i,))), width)


def _flat(value: Value) -> Value:
    return Value((value.size,), value.element, splat=value.splat) if value.splat is not None else flat(value)
