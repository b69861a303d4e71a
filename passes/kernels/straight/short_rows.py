"""Elementwise kernels whose last axes are short: lanes are rows, whose columns are interleaved when they are stored."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from passes.kernels.linear import ZERO, Linear
from passes.kernels.record import Recorder
from passes.kernels.straight.transposed_reads import TransposedReads
from passes.kernels.sweep import Part, Sweep
from passes.kernels.values import Item, NotVectorsError

# The most columns, where parts are joined and elsewhere; the most operations that are written for all of them, and the
# fewest elements of a result. Narrower vectors, of one row each, are quicker for more columns, and for more than
# _TAKEN_APART that lie as the result does; they do not go together with parts.
_COLUMNS_OF_PARTS, _COLUMNS, _TAKEN_APART = 12, 7, 3
_OPERATIONS, _LEAST = 400, 1 << 12


class Lanes(NamedTuple):
    """How rows become lanes: the axis of the rows, the lanes along it, and the indices of each column."""

    row: int
    width: int
    columns: list[dict[int, Linear]]


class ShortRows(TransposedReads):
    """A group whose rows may be shorter than a vector."""

    def _rows_as_lanes(self, parts: Sequence[Part]) -> Lanes | None:
        """The rows that become lanes, if their columns can be computed in vectors."""
        *outer, row = self.sizes
        tail: list[int] = []
        while outer and (self.sizes[row] < self.lanes or not tail):
            tail.insert(0, row)
            row = outer.pop()
        width, count = self._width(self.sizes[row]), math.prod(self.sizes[axis] for axis in tail)
        if (
            self.group.kept is not None
            or width == 1
            or not 1 < count <= min(_COLUMNS_OF_PARTS if self.cuts else _COLUMNS, width)
        ):
            return None
        length = count * sum(part.node.length for part in parts)
        size = math.prod(self.sizes.values())
        if {*self.cuts}.difference(tail) or length > _OPERATIONS or size < _LEAST:
            return None
        places = itertools.product(*(range(self.sizes[axis]) for axis in tail))
        columns = [dict(zip(tail, map(Linear, place))) for place in places]
        recorder = Recorder(self.k.symbols, width)
        at = {axis: self.symbols[axis] for axis in outer}
        at[row] = self.k.symbols.new("", 0, max(self.sizes[row] - width, 1)).lanes()
        try:
            for column in columns:
                for part in parts:
                    recorder.get(part.values[0], part.index({**at, **column}, range(len(part.node.axes))))
        except NotVectorsError:
            return None
        is_apart = count > _TAKEN_APART and not self.cuts
        if is_apart and any(abs(read.address.stride) == count for read in recorder.reads):
            return None
        return None if recorder.gathers or recorder.undecided_parts else Lanes(row, width, columns)

    def _interleaved(self, parts: Sequence[Part], lanes: Lanes) -> int:
        """Write the kernel; returns the number of workgroups."""
        code, sizes, (row, width, columns) = self.code, self.sizes, lanes
        outer = [axis for axis in sizes if axis < row]
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
                        self._block(parts, {**at, row: at[row].lanes()}, columns)
                        return
                    for column in columns:
                        sweep.visit({**at, **column}, [])

            total = units * math.prod(sizes[axis] for axis in outer)
            code.loop(*self._part_of(total, 1, count), 1, body)

        shared(blocks, 0, width, width)
        if rest:
            shared(rest, blocks * width, 1, 1)
        return count

    def _block(self, parts: Sequence[Part], at: dict[int, Linear], columns: Sequence[dict[int, Linear]]) -> None:
        """All columns of as many rows as a vector has lanes, which are stored when all of them are computed."""
        code, made = self.code, [(part, list[Item]()) for part in parts]
        code.forget()
        for column in columns:
            for part, items in made:
                index = part.index({**at, **column}, range(len(part.node.axes)))
                items.append(code.get(part.values[0], index))
                code.remember(part.stands[0], index, items[-1])
        for part, items in made:
            if part.targets[0] is not None:
                with code.located(part.values[0].location):
                    index = part.index({**at, **columns[0]}, range(len(part.node.axes)))
                    code.store_interleaved(part.targets[0], index, items)
