"""A group as a kernel: the rows or strips of columns of a workgroup, and their sweeps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from passes.analysis.strided import row_strides
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.elements import RefusedError
from passes.kernels.linear import ZERO, Linear
from passes.kernels.order import sets_of
from passes.kernels.straight.groups import BINDINGS
from passes.kernels.straight.nodes import SHORT
from passes.kernels.straight.short_rows import ShortRows
from passes.kernels.sweep import COSTLY, STRIP, Part, Span, Sweep, spread, starts_of, strands_of, strip_of
from passes.kernels.values import Buffer, Index, Item, Value, View

# The fewest rows that workgroups share, instead of sharing each row.
_FEW = 4
# The most elements of arrays of which some may be computed twice, so that costly code is written once.
_MOST_REPEATED = 1 << 14
# Numbers of rows that cost as much are computed in vectors, after the rows.
_COSTLY = 20


class Writing(ShortRows):
    """A group as a kernel."""

    def write(self) -> int:
        """Write the kernel; returns the number of workgroups.

        Raises:
          RefusedError: the compiler has faster code for it.
        """
        group = self.group
        with self.k.writer.at(group.nodes[0].op.location):
            self._lower()
            self._measure()
            self._choose_memory()
            with self.code.scope():
                if group.kept is None or (not group.kept and self.group.is_shared):
                    return self._flat()
                return self._columns() if self.lanes_kept else self._rows()

    # Kernels without rows: one sweep over all axes.

    def _flat(self) -> int:
        parts = list(self.parts.values())
        lane = list(self.sizes)[-1]
        as_lanes = self._rows_as_lanes(parts)
        if as_lanes is not None:
            return self._interleaved(parts, as_lanes)
        width = self._width(self._longest(lane))
        square = self._square(parts, lane, width)
        if square is not None:
            return self._squares(parts, lane, *square)
        # Strided elements are computed one by one, unless gathering vectors is cheaper.
        is_flat = self.group.kept is None
        if not self._takes_vectors(parts, lane, width, is_flat):
            is_free = is_flat and self._in_vectors(parts, lane, width) is not None
            if not is_free and width > 1 and self.sizes[lane] > SHORT and not self._is_little():
                raise RefusedError("elements that are computed one by one")
            if not is_free or self.cost <= COSTLY:
                width = 1
        reduces = any(part.kinds for part in parts)
        strands = strands_of(self.processor, self.cost, self.sizes[lane], width, reduces)
        # Results of few elements then do not take an operand's memory.
        is_costly = self.cost > COSTLY and math.prod(self.sizes.values()) <= _MOST_REPEATED
        repeats = is_costly and not reduces and any((b - a) % width for a, b in self._ranges(lane))
        if repeats:
            self.own_elements = []
        uncut = [a for a in self.sizes if a not in self.cuts]
        axis = next((a for a in uncut if a != lane and self.sizes[a] >= 2 * MAX_WORKGROUPS), None)
        if axis is None:
            # The parts of short rows would be strided in memory.
            rows = [a for a in uncut if a != lane and self.sizes[a] >= _FEW]
            is_short = self.sizes[lane] < MAX_WORKGROUPS * width * strands
            axis = max((rows if is_short else None) or uncut or self.sizes, key=lambda a: self.sizes[a])
        step = width * strands if axis == lane else 1
        count = self._workgroups(self.sizes[axis] // step)
        sums: list[str] = []
        for piece in self._pieces():
            span = self._span(axis, *piece[axis], step, count, repeats) if count > 1 else None
            sums += Sweep(self.k, parts, piece, width, strands, repeats).rows({}, span)
        index = self.number if count > 1 else ZERO
        for part in parts:
            for number in range(len(part.kinds)):
                _, buffer = self.outputs[self._output_of(part, number)]
                buffer.size = count
                self.code.store(View(buffer, (1,)), (index,), Item(sums.pop(0)))
        return count

    def _longest(self, axis: int) -> int:
        """The longest piece of an axis; shorter ones are computed in narrower vectors."""
        return max(stop - start for start, stop in self._ranges(axis))

    def _ranges(self, axis: int) -> list[tuple[int, int]]:
        ends = [*self.cuts.get(axis, ()), self.sizes[axis]]
        return list(zip([0, *ends], ends))

    def _pieces(self) -> list[dict[int, tuple[int, int]]]:
        """The pieces of the space, each of which reads one part of joined arrays."""
        found = itertools.product(*(self._ranges(axis) for axis in self.sizes))
        return [dict(zip(self.sizes, ranges)) for ranges in found]

    def _span(self, axis: int, start: int, stop: int, step: int, count: int, repeats: bool) -> Span:
        """The range of an axis of the current workgroup: whole steps, and for the last workgroup also the remainder.

        Args:
          repeats: whether the remainder is a step, which begins earlier.
        """
        units = (stop - start) // step
        if repeats and units:
            units = -(-(stop - start) // step)
        low, high = self._part_of(units, step, count)
        end = start + units * step
        if end >= stop:
            return Span(axis, low + start, high + start, Linear(stop))
        is_last = self.code.op(
            "arith.cmpi", (self.code.position(self.number), self.code.position(Linear(count - 1))), "index", "eq"
        )
        ends = [self.code.position(Linear(n)) for n in (stop, end)]
        last = self.code.op("arith.select", (is_last, ends[0], ends[1]), "index")
        return Span(axis, low + start, high + start, self.k.symbols.new(last, end, stop))

    def _output_of(self, part: Part, number: int) -> int:
        target = part.targets[number]
        assert target is not None, "partial results are in memory"
        return next(i for i, (_, buffer) in enumerate(self.outputs) if buffer is target.buffer)

    # Rows.

    def _rows(self) -> int:
        kept = [axis for axis in self.sizes if axis in (self.group.kept or ())]
        total = math.prod(self.sizes[axis] for axis in kept)
        inner = {axis: (0, size) for axis, size in self.sizes.items() if axis not in kept}
        sweeps = [self._row_sweep(level, inner) for level in range(self.group.levels)]
        count = self._workgroups(total)
        low, high = self._part_of(total, 1, count)
        last = self._last_of_rows(sweeps[-1], kept, total, count)

        def row(r: Linear, _: list[str]) -> None:
            at = self._unfolded(r, kept)
            for level, sweep in enumerate(sweeps[:-1] if last else sweeps):
                self._row_nodes(level, at)
                if sweep is None:
                    continue
                sums = sweep.rows(at)
                for part in sweep.parts:
                    if not part.kinds:
                        target = part.targets[0]
                        if target is not None:
                            part.stands[0].view = target
                        continue
                    for number, stand in enumerate(part.stands):
                        self._set(part, number, stand, Item(sums.pop(0)), at)

        self.code.loop(low, high, 1, row)
        self.code.registers.clear()
        if last:
            self._after_rows(last, kept[0], total, low, high)
        return count

    def _last_of_rows(self, sweep: Sweep | None, kept: Sequence[int], total: int, count: int) -> list[Part]:
        """The costly nodes of one number for each row that nothing else reads, if they can be computed in vectors.

        The numbers that they read get memory. So `logsumexp` of rows of 16 numbers takes 0.62 of the time.
        """
        width = self._width(total)
        shortest = total - (count - 1) * -(-total // count)
        if sweep is not None or len(kept) != 1 or width == 1 or shortest < width:
            return []
        level = self.group.levels - 1
        found = [part for part in self.parts.values() if part.node.level == level]
        if sum(part.node.cost for part in found) < _COSTLY or not self._takes_vectors(found, kept[0], width, True):
            return []
        read = {buffer for part in found for buffer, _ in part.node.reads}
        missing = [
            (part, number)
            for part in self.parts.values()
            for number, buffer in enumerate(part.node.buffers)
            if buffer in read and part not in found and part.targets[number] is None
        ]
        if len(self.k.operands) + len(self.outputs) + len(self.spilled) + len(missing) > BINDINGS:
            return []
        for part, number in missing:
            stand = part.stands[number]
            memory = Buffer(f"%spilled{len(self.spilled)}", stand.size, stand.element)
            self.spilled.append(memory)
            part.targets[number] = View(memory, row_strides(stand.shape))
        return found

    def _after_rows(self, parts: Sequence[Part], axis: int, total: int, low: Linear, high: Linear) -> None:
        """Nodes of one number for each row, for as many rows at a time as a vector has lanes."""
        code, width, kept = self.code, self._width(total), self.group.kept or ()
        for part in self.parts.values():
            for stand, target in zip(part.stands, part.targets):
                stand.view = target if part not in parts else None

        def rows(r: Linear, _: list[str]) -> None:
            # The last vector begins earlier, so some numbers are computed twice.
            first = code.op("arith.minsi", (code.position(r), code.position(high - width)), "index")
            at = {axis: self.k.symbols.new(first, 0, total - width).lanes()}
            with code.lanes(width):
                code.forget()
                for part in parts:
                    index = part.index(at, kept)
                    item = code.get(part.values[0], index)
                    code.remember(part.stands[0], index, item)
                    if part.targets[0] is not None:
                        code.store(part.targets[0], self._kept_index(part.stands[0], at, kept), item)

        code.loop(low, high, width, rows)

    def _set(self, part: Part, number: int, stand: Value, item: Item, at: dict[int, Linear]) -> None:
        """Keep an element of a row in a register, and store it if it has memory."""
        self.code.registers[stand] = item
        target = part.targets[number]
        if target is not None:
            kept = self.group.kept or ()
            self.code.store(target, self._kept_index(stand, at, kept), item)

    def _kept_index(self, stand: Value, at: dict[int, Linear], kept: Sequence[int]) -> Index:
        return spread([at.get(axis, ZERO) for axis in kept], stand.shape)

    def _row_nodes(self, level: int, at: dict[int, Linear]) -> None:
        for part in self.parts.values():
            if part.node.level == level and not part.kinds and not self.group.is_full(part.node):
                self.code.forget()
                item = self.code.get(part.values[0], part.index(at, self.group.kept or ()))
                self._set(part, 0, part.stands[0], item, at)

    def _row_sweep(self, level: int, inner: dict[int, tuple[int, int]]) -> Sweep | None:
        parts = [p for n, p in self.parts.items() if n.level == level and self.group.is_full(n)]
        if not parts:
            return None
        lane = list(inner)[-1]
        size = inner[lane][1]
        width = self._width(size)
        if not self._takes_vectors(parts, lane, width):
            if size > SHORT and not self._is_little():
                raise RefusedError("elements that are computed one by one")
            width = 1
        cost = sum(part.node.cost for part in parts)
        reduces = any(part.kinds for part in parts)
        return Sweep(self.k, parts, inner, width, strands_of(self.processor, cost, size, width, reduces), True)

    # Columns.

    def _columns(self) -> int:
        kept = [axis for axis in self.sizes if axis in (self.group.kept or ())]
        *lead, lane = kept
        size = self.sizes[lane]
        inner = {axis: (0, n) for axis, n in self.sizes.items() if axis not in kept}
        width = self._width(size)
        for level in range(self.group.levels):
            parts = [p for n, p in self.parts.items() if n.level == level]
            if not self._takes_vectors(parts, lane, width, not self.group.lanes_kept):
                if self._is_little():
                    return self._rows()
                raise RefusedError("elements that are computed one by one")
        most = STRIP if self.cost < 40 else 2
        strands, strip = strip_of(size, width, most)
        strips = -(-size // strip)
        total = strips * math.prod(self.sizes[a] for a in lead)
        count = self._workgroups(total)
        low, high = self._part_of(total, 1, count)
        sweeps: list[Sweep | None] = []
        if self.lane_bytes:
            most = sets_of(strands, self.lanes, math.prod(self.group.kept_sizes))
        for level in range(self.group.levels):
            full = [p for n, p in self.parts.items() if n.level == level and self.group.is_full(n)]
            sweeps.append(Sweep(self.k, full, inner, width, most, True) if full else None)

        def body(r: Linear, _: list[str]) -> None:
            outer: dict[int, Linear] = {}
            if lead:
                r, number = self.code.divided(r, strips)
                outer = self._unfolded(r, lead)
            else:
                number = r
            starts = starts_of(self.k, number, size, width, strands, strip)
            columns = [{**outer, lane: start.lanes()} for start in starts]
            self._strip(columns, sweeps, width)

        self.code.loop(low, high, 1, body)
        return count

    def _strip(self, columns: Sequence[dict[int, Linear]], sweeps: Sequence[Sweep | None], width: int) -> None:
        kept = self.group.kept or ()
        seeds: list[list[tuple[Value, Index, Item]]] = [[] for _ in columns]
        with self.code.lanes(width):
            for level, sweep in enumerate(sweeps):
                for part in self.parts.values():
                    if part.node.level == level and not part.kinds and not self.group.is_full(part.node):
                        for at, known in zip(columns, seeds):
                            self.code.forget()
                            for seed in known:
                                self.code.remember(*seed)
                            item = self.code.get(part.values[0], part.index(at, kept))
                            self._column(part, 0, at, item, known)
                if sweep is None:
                    continue
                found = sweep.columns(columns, seeds)
                for part in sweep.parts:
                    if not part.kinds:
                        if part.targets[0] is not None:
                            part.stands[0].view = part.targets[0]
                        continue
                    for number in range(len(part.stands)):
                        for at, sums, known in zip(columns, found, seeds):
                            self._column(part, number, at, Item(sums.pop(0), True), known)

    def _column(self, part: Part, number: int, at: dict[int, Linear], item: Item, known: list[Any]) -> None:
        stand, kept = part.stands[number], self.group.kept or ()
        index = self._kept_index(stand, at, kept)
        known.append((stand, index, item))
        target = part.targets[number]
        if target is not None:
            self.code.store(target, index, item)
