"""Elementwise kernels whose last axis is short: lanes are rows, whose columns are interleaved when they are stored."""

from __future__ import annotations

import math
from collections.abc import Sequence

from passes.kernels.linear import ZERO, Linear
from passes.kernels.record import Recorder
from passes.kernels.straight.transposed_reads import TransposedReads
from passes.kernels.sweep import Part, Sweep
from passes.kernels.values import Item, NotVectorsError

# The most columns, the most operations that are written for all of them, and the fewest elements of a result.
_COLUMNS, _OPERATIONS, _LEAST = 7, 400, 1 << 12
# Rows of more columns are not taken apart: narrower vectors, of one row each, are quicker.
_TAKEN_APART = 3


class ShortRows(TransposedReads):
    """A group whose rows may be shorter than a vector."""

    def _rows_as_lanes(self, parts: Sequence[Part], lane: int) -> tuple[int, int] | None:
        """The axis of the rows and the lanes along it, if the columns of so many rows can be computed in vectors."""
        *before, row = [axis for axis in self.sizes if axis != lane] or [lane]
        count = self.sizes[lane]
        width = self._width(self.sizes[row])
        if row == lane or width == 1 or not 1 < count <= min(_COLUMNS, width) or {*self.cuts} - {lane}:
            return None
        length = count * sum(part.node.length for part in parts)
        if self.group.kept is not None or length > _OPERATIONS or math.prod(self.sizes.values()) < _LEAST:
            return None
        recorder = Recorder(self.k.symbols, width)
        at = {axis: self.symbols[axis] for axis in before}
        at[row] = self.k.symbols.new("", 0, max(self.sizes[row] - width, 1)).lanes()
        try:
            for column in range(count):
                for part in parts:
                    index = part.index({**at, lane: Linear(column)}, range(len(part.node.axes)))
                    recorder.get(part.values[0], index)
        except NotVectorsError:
            return None
        if count > _TAKEN_APART and any(abs(read.address.stride) == count for read in recorder.reads):
            return None
        return None if recorder.gathers or recorder.undecided_parts else (row, width)

    def _interleaved(self, parts: Sequence[Part], lane: int, row: int, width: int) -> int:
        """Write the kernel; returns the number of workgroups."""
        code, sizes = self.code, self.sizes
        outer = [axis for axis in sizes if axis not in (row, lane)]
        blocks, rest = divmod(sizes[row], width)
        sweep = Sweep(self.k, parts, {}, 1, 1)
        count = self._workgroups(blocks * math.prod(sizes[axis] for axis in outer))

        def shared(units: int, first: int, step: int, lanes: int) -> None:
            """A loop over `units` places along the rows, for each index of the outer axes."""

            def body(r: Linear, _: list[str]) -> None:
                r, number = code.divided(r, units) if outer else (ZERO, r)
                at = {**self._unfolded(r, outer), row: number * step + first}
                with code.lanes(lanes):
                    if lanes > 1:
                        self._block(parts, {**at, row: at[row].lanes()}, lane)
                        return
                    for column in range(sizes[lane]):
                        sweep.visit({**at, lane: Linear(column)}, [])

            total = units * math.prod(sizes[axis] for axis in outer)
            code.loop(*self._part_of(total, 1, count), 1, body)

        shared(blocks, 0, width, width)
        if rest:
            shared(rest, blocks * width, 1, 1)
        return count

    def _block(self, parts: Sequence[Part], at: dict[int, Linear], lane: int) -> None:
        """All columns of as many rows as a vector has lanes, which are stored when all of them are computed."""
        code, made = self.code, [(part, list[Item]()) for part in parts]
        code.forget()
        for column in range(self.sizes[lane]):
            for part, items in made:
                index = part.index({**at, lane: Linear(column)}, range(len(part.node.axes)))
                items.append(code.get(part.values[0], index))
                code.remember(part.stands[0], index, items[-1])
        for part, items in made:
            if part.targets[0] is not None:
                with code.located(part.values[0].location):
                    index = part.index({**at, lane: ZERO}, range(len(part.node.axes)))
                    code.store_interleaved(part.targets[0], index, items)
