"""Reads that are strided along the lanes but contiguous along another axis: squares are transposed in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from passes.kernels.builder import STEPS
from passes.kernels.linear import ZERO, Linear
from passes.kernels.record import NOWHERE, Recorder
from passes.kernels.straight.shares import Shares
from passes.kernels.sweep import Part, Sweep
from passes.kernels.values import Buffer, Index

# Lanes of a square, squares that are held at the same time, and squares of a strip.
_LANES, _SQUARES, _SIDE = 16, 4, 4


class TransposedReads(Shares):
    """A group whose strided reads may be loaded in squares and transposed."""

    def _square(self, parts: Sequence[Part], lane: int, width: int) -> tuple[int, int] | None:
        """The axis along which all strided reads are contiguous, and the lanes of a square; None if there is none."""
        if self.group.kept is not None or self.cuts:
            return None
        width = min(width, _LANES)
        recorder = self._in_vectors(parts, lane, width)
        reads = _strided_reads(recorder, width) if recorder is not None else {}
        if not 0 < len(reads) <= _SQUARES or any(self._is_computed(at) for _, at in reads):
            return None
        for axis in self.sizes:
            symbol = self.symbols[axis].terms[0][0] if self.symbols[axis].terms else None
            if axis == lane or symbol is None or any(abs(at.coefficient(symbol)) != 1 for _, at in reads):
                continue
            while width > self.sizes[axis]:
                width //= 2
            return (axis, width) if width > 1 else None
        return None

    def _is_computed(self, address: Linear) -> bool:
        """Whether an address depends on values that the kernel loads or divides, for which a recorder has no name."""
        return any(self.k.symbols.names[symbol] == NOWHERE for symbol, _ in address.terms)

    def _squares(self, parts: Sequence[Part], lane: int, axis: int, width: int) -> int:
        """Write the kernel, whose workgroups have strips of squares; returns the number of workgroups."""
        code, sizes = self.code, self.sizes
        # The remainder is done in squares that end with the array, so some elements are computed twice.
        self.own_elements = []
        outer = [a for a in sizes if a not in (lane, axis)]
        # Neighbouring squares are in the same pages of memory.
        strip = _SIDE * width
        strips = -(-sizes[axis] // strip)
        total = strips * math.prod(sizes[a] for a in outer)
        count = self._workgroups(total)
        sweep = Sweep(self.k, parts, {}, width, 1)

        def square(at: dict[int, Linear]) -> None:
            self._load_squares(parts, at, axis, width)
            for number in range(width):
                sweep.visit({**at, axis: at[axis] + number}, [])
            code.transposed_loads.clear()

        def squares(r: Linear, _: list[str]) -> None:
            r, number = code.divided(r, strips)
            at = self._unfolded(r, outer)
            low = number * strip
            high = self.code.at_most(low + strip, sizes[axis])

            def along(i: Linear, _: list[str]) -> None:
                def across(j: Linear, _: list[str]) -> None:
                    with code.lanes(width):
                        square({**at, axis: self.code.at_most(j, sizes[axis] - width), lane: i.lanes()})

                code.loop(low, high, width, across)

            whole = sizes[lane] // width * width
            code.loop(ZERO, Linear(whole), width, along)
            if whole < sizes[lane]:
                with code.scope():
                    along(Linear(sizes[lane] - width), [])

        code.loop(*self._part_of(total, 1, count), 1, squares)
        return count

    def _load_squares(self, parts: Sequence[Part], at: dict[int, Linear], axis: int, width: int) -> None:
        """Load and transpose the squares that begin at an element."""

        def read(number: int) -> list[tuple[Buffer, Linear]]:
            recorder = Recorder(self.k.symbols, width)
            for part in parts:
                index: Index = part.index({**at, axis: at[axis] + number}, range(len(part.node.axes)))
                for value in part.values:
                    recorder.get(value, index)
            return [(buffer, at) for buffer, at in _strided_reads(recorder, width) if not self._is_computed(at)]

        for (buffer, first), (_, second) in zip(read(0), read(1), strict=True):
            step = (second - first).constant
            self.code.load_transposed(buffer, first if step > 0 else first - (width - 1))


def _strided_reads(recorder: Recorder, width: int) -> dict[tuple[Buffer, Linear], None]:
    """The reads, by buffer and address, whose lanes are strided."""
    steps = (0, 1, *(step for step in STEPS if step <= width))
    return {(read.buffer, read.address): None for read in recorder.reads if abs(read.address.stride) not in steps}
