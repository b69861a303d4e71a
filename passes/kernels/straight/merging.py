"""Merge sort of rows: runs of a few elements are sorted by insertion, and then merged in pairs.

The elements alternate between the two halves of a buffer, which is on the stack if it fits there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.sorted_rows import Rows
from passes.kernels.values import Buffer, Item

# The elements of a run that is sorted by insertion.
_RUN = 8
# The most bytes of a buffer on the stack, and of the buffers of all workgroups otherwise.
_STACK, _MEMORY = 128 << 10, 64 << 20


def merge(rows: Rows) -> None:
    """Sort all rows, one after the other."""
    a, n = rows.a, rows.count
    size = 2 * n * sum(element.size for element in rows.elements)
    most = max(1, min(MAX_WORKGROUPS, _MEMORY // size))
    low, high = a.share(rows.number, 10 * rows.number * n * n.bit_length(), most)
    if size <= _STACK:
        buffers, base = rows.scratch(2 * n), ZERO
    else:
        buffers = [Buffer(f"%runs{i}", 2 * n * a.groups, element) for i, element in enumerate(rows.elements)]
        a.spilled, base = buffers, a.group * (2 * n)
    # Along the last axis, rows follow one another; along another axis, they begin at adjacent elements.
    inner = rows.inner

    def row(r: Linear, _: list[str]) -> None:
        outer, within = rows.code.divided(r, inner)
        _Merging(rows, buffers, base).row(outer * (n * inner) + within)

    rows.code.loop(low, high, 1, row)


class _Merging:
    """The sort of one row.

    Args:
      base: where the first half of the buffer begins.
    """

    def __init__(self, rows: Rows, buffers: Sequence[Buffer], base: Linear) -> None:
        self.rows, self.code, self.n = rows, rows.code, rows.count
        self.buffers, self.base = buffers, base
        self.symbols = rows.a.k.symbols

    def row(self, start: Linear) -> None:
        """Sort the row that begins there."""
        code, n = self.code, self.n

        def run(r: Linear, _: list[str]) -> None:
            first = r * _RUN
            length = self.code.at_most(first * -1 + n, _RUN)
            self.rows.insert(
                lambda k: self.rows.loaded(start, first + k), length, self.buffers, lambda k: self.base + first + k
            )

        runs = -(-n // _RUN)
        code.loop(ZERO, Linear(runs), 1, run)
        halves = [code.position(ZERO), code.position(Linear(n))]
        state = [code.position(Linear(_RUN)), *halves]
        state = code.loop(ZERO, Linear(math.ceil(math.log2(runs))), 1, self._level, state, ["index"] * 3)
        source = self.symbols.new(state[1], 0, n)

        def write(k: Linear, _: list[str]) -> None:
            self.rows.store(start, k, self.rows.kept(self.buffers, self.base + source + k))

        code.loop(ZERO, Linear(n), 1, write)

    def _level(self, level: Linear, state: list[str]) -> list[str]:
        """Merge pairs of runs into runs of twice the length, in the other half of the buffer."""
        code, n = self.code, self.n
        size, source, target = (self.symbols.new(name, 0, 2 * n) for name in state)
        double = size * 2
        pairs = code.op("arith.ceildivui", (code.position(Linear(n)), code.position(double)), "index")

        def pair(p: Linear, _: list[str]) -> None:
            name = code.op("arith.muli", (code.position(p), code.position(double)), "index", "overflow<nsw>")
            start = self.symbols.new(name, 0, n)
            self._pair(start, self.code.at_most(start + size, n), self.code.at_most(start + double, n), source, target)

        code.loop(ZERO, self.symbols.new(pairs, 1, n), 1, pair)
        return [code.position(double), state[2], state[1]]

    def _pair(self, start: Linear, middle: Linear, end: Linear, source: Linear, target: Linear) -> None:
        """Merge two runs; of equal elements, those of the first run come first."""
        code, rows = self.code, self.rows

        def step(k: Linear, state: list[str]) -> list[str]:
            code.forget()
            # The element after the end of a run is read, but not taken.
            left, right = (self.code.at_most(self.symbols.new(name, 0, self.n), self.n - 1) for name in state)
            first, second = (rows.kept(self.buffers, self.base + source + k) for k in (left, right))
            more = code.op("arith.cmpi", (state[1], code.position(end)), "index", "ult")
            none = code.op("arith.cmpi", (state[0], code.position(middle)), "index", "uge")
            later = code.op("arith.ori", (none, rows.is_before(second, first).name), "i1")
            later = code.op("arith.andi", (more, later), "i1")
            rows.keep(self.buffers, self.base + target + k, rows.chosen(Item(later), second, first))
            one = code.position(Linear(1))
            moved = [code.op("arith.addi", (name, one), "index", "overflow<nsw>") for name in state]
            return [
                code.op("arith.select", (later, state[0], moved[0]), "index"),
                code.op("arith.select", (later, moved[1], state[1]), "index"),
            ]

        code.loop(start, end, 1, step, [code.position(start), code.position(middle)], ["index"] * 2)
