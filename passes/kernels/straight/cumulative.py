"""Cumulative reductions: those over windows as long as the axis, which end or begin at each element."""

from __future__ import annotations

import math
from typing import Any

from passes.kernels.conversions import rounded
from passes.kernels.linear import ZERO, Linear
from passes.kernels.regions import region
from passes.kernels.straight.own_kernel import OwnKernel
from passes.kernels.values import Index, Item, View

# The vectors of a strip of columns.
_STRIP = 4


def cumulative(a: OwnKernel, axis: int, neutral: Any, is_reversed: bool) -> None:
    """Combine the elements of an axis up to each one, or from each one on, beginning with a neutral number."""
    n, inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
    assert a.values[0].view is not None, "the array is in memory"
    source = View(a.values[0].view.buffer, (1,))
    if inner > 1:
        _columns(a, source, n, inner, neutral, is_reversed)
    else:
        _rows(a, source, n, neutral, is_reversed)


def _combined(a: OwnKernel, left: Item, right: Item) -> Item:
    """Two numbers combined, narrow floats in a wider type."""
    return region(a.k, a.code, a.op.regions[0].blocks[0], [left, right], [a.element.wide] * 2, True)[0]


def _store(a: OwnKernel, target: View, at: Index, item: Item) -> None:
    a.code.store(target, at, Item(rounded(a.code, item.name, a.element, item.is_vector), item.is_vector))


def _columns(a: OwnKernel, source: View, n: int, inner: int, neutral: Any, is_reversed: bool) -> None:
    """Each lane accumulates a column."""
    code, element = a.code, a.element
    target = View(a.whole.buffer, (1,))
    width = a.lanes(inner)
    strands = min(_STRIP, inner // width)
    strip = width * strands
    strips = -(-inner // strip)
    units = a.whole.buffer.size // (n * inner) * strips
    low, high = a.share(units, 2 * a.whole.buffer.size // width)

    def column(r: Linear, _: list[str]) -> None:
        outer, number = code.divided(r, strips)
        # The last strip begins earlier, so some of its columns are computed twice, with the same result.
        first = outer * (n * inner) + a.clamped(number * strip, 0, inner - strip)
        type_ = element.of(width)
        start = [code.vector(Item(code.constant(neutral, element)), element)]

        def step(j: Linear, state: list[str]) -> list[str]:
            found = []
            here = first + (j * -1 + (n - 1) if is_reversed else j) * inner
            for strand, old in enumerate(state):
                address = (here + strand * width).lanes() if width > 1 else here + strand
                made = _combined(a, Item(old, width > 1), code.load(source, (address,)))
                _store(a, target, (address,), made)
                found.append(made.name)
            return found

        code.loop(ZERO, Linear(n), 1, step, start * strands, [type_] * strands)

    with code.lanes(width):
        code.loop(low, high, 1, column)


def _rows(a: OwnKernel, source: View, n: int, neutral: Any, is_reversed: bool) -> None:
    """Lanes are neighbours: a prefix sum within each vector, to which the total before it is added."""
    code, element = a.code, a.element
    target = View(a.whole.buffer, (1,))
    width = 1 if element.kind in "bc" else a.lanes(n)
    rows = a.whole.buffer.size // n
    low, high = a.share(rows, 8 * rows * n // width)
    first = code.constant(neutral, element)

    def row(r: Linear, _: list[str]) -> None:
        begin = r * n

        def vector(i: Linear, state: list[str]) -> list[str]:
            with code.lanes(width):
                at = (begin - i + (n - 1)).lanes(-1) if is_reversed else (begin + i).lanes()
                item = code.load(source, (at,))
                step, type_ = 1, element.of(width)
                while step < width:
                    order = [max(0, j - step) for j in range(width)]
                    name = code.op("vector.shuffle", (item.name, item.name), type_, *order)
                    added = _combined(a, Item(name, True), item)
                    lanes = ", ".join("true" if j >= step else "false" for j in range(width))
                    mask = code.writer.constant(f"dense<[{lanes}]>", f"vector<{width}xi1>")
                    name = code.op("arith.select", (mask, added.name, item.name), (f"vector<{width}xi1>", type_))
                    item, step = Item(name, True), step * 2
                whole = _combined(a, Item(code.vector(Item(state[0]), element), True), item)
                last = code.op("vector.extract", (item.name,), (element.text, type_), width - 1)
                if is_reversed:
                    order = list(range(width))[::-1]
                    name = code.op("vector.shuffle", (whole.name, whole.name), type_, *order)
                    _store(a, target, ((begin - i + (n - width)).lanes(),), Item(name, True))
                else:
                    _store(a, target, (at,), whole)
            return [_combined(a, Item(state[0]), Item(last)).name]

        def single(i: Linear, state: list[str]) -> list[str]:
            at = begin - i + (n - 1) if is_reversed else begin + i
            made = _combined(a, Item(state[0]), code.load(source, (at,)))
            _store(a, target, (at,), made)
            return [made.name]

        types, state, whole = [element.text], [first], 0
        if width > 1:
            whole = n // width * width
            state = code.loop(ZERO, Linear(whole), width, vector, state, types)
        code.loop(Linear(whole), Linear(n), 1, single, state, types)

    code.loop(low, high, 1, row)
