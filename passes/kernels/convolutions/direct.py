"""The direct convolution: a register tile of pixels and columns that iterates over the window.

It is a product whose rows overlap, without a copy into a matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from passes.kernels.convolutions.shapes import Axis, Convolution
from passes.kernels.convolutions.tiles import Tiling, tiles_of
from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.epilogue import Epilogue
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Buffer, Index

_Term: TypeAlias = Callable[[Index, Index, list[str]], list[str]]


def kernel(convolution: Convolution, tiling: Tiling, vectors: Vectors, epilogue: Epilogue, location: Any) -> Kernel:
    """The kernel; its inputs are the operands, then the epilogue's."""
    direct = _Direct(convolution, tiling, vectors, epilogue)
    w = vectors.w
    inputs = [direct.lhs, direct.rhs, *epilogue.inputs]
    with w.at(location):
        groups = direct.write()
    return Kernel.written("convolution", w, inputs, epilogue.outputs, groups)


class _Direct:
    def __init__(self, convolution: Convolution, tiling: Tiling, vectors: Vectors, epilogue: Epilogue) -> None:
        self.convolution, self.tiling, self.v, self.w = convolution, tiling, vectors, vectors.w
        self.epilogue = epilogue
        # The columns of a tile, and its sums, if a loop over its pixels applies the epilogue.
        self.width = tiling.vectors * tiling.lanes or convolution.columns
        self.sums: Buffer | None = None
        self.lhs = Buffer("%lhs", convolution.lhs, ELEMENTS[convolution.kind].stored)
        self.rhs = Buffer("%rhs", convolution.rhs, ELEMENTS[convolution.kind].stored)

    def write(self) -> tuple[int, int, int]:
        """Write the kernel's body; returns the workgroups' counts.

        The workgroups of one part follow those of another.
        """
        convolution, tiling, w = self.convolution, self.tiling, self.w
        tiles, panels = tiles_of(convolution, tiling)
        counts = [math.prod(tall) for tall in tiles]
        groups = (sum(counts), panels, convolution.groups.extent)
        terms = max(math.prod(axis.extent for axis in part.window) for part in convolution.parts)
        pixels = max(map(math.prod, tiling.pixels))
        if pixels > 1 and self.epilogue.is_loop(self.v, terms):
            self.sums = w.scratch(pixels * self.width, self.v.element)
        self.epilogue.begin(w, 0)
        tile, panel, self.group = (w.workgroup(axis, size) for axis, size in enumerate(groups))

        def parts(number: int, first: int) -> None:
            def this() -> None:
                self._part(number, w.sub(tile, first), tiles[number], panel, panels)

            if number == len(counts) - 1:
                this()
                return
            end = first + counts[number]
            w.choose(w.compare("ult", tile, end), this, lambda: parts(number + 1, end))

        parts(0, 0)
        return groups

    def _part(self, number: int, tile: Index, tiles: list[int], panel: Index, panels: int) -> None:
        w, columns, width = self.w, self.convolution.columns, self.width
        self.part, self.sizes = self.convolution.parts[number], self.tiling.pixels[number]
        starts: list[Index] = [0] * len(tiles)
        for i in reversed(range(len(tiles))):
            starts[i] = w.mul(w.rem(tile, tiles[i]) if i else tile, self.sizes[i])
            tile = w.div(tile, tiles[i])
        left = columns % width
        inner, size = self.part.pixels[-1].extent, self.sizes[-1]

        def part(count: int) -> None:
            w.loop(0, inner, size, lambda start, _: self._tile([*starts, start], w.mul(panel, width), count))

        whole = w.compare("ult", panel, panels - 1) if left else True
        w.choose(whole, lambda: part(width), lambda: part(left))

    def _tile(self, starts: list[Index], column: Index, count: int) -> None:
        """A tile of pixels, of which those at the end of an axis may be smaller."""
        w, convolution, part = self.w, self.convolution, self.part
        first = w.add(w.mul(self.group, convolution.groups.second), column)
        rhs = w.add(w.add(w.mul(self.group, convolution.group_rhs), column), part.rhs)
        lhs = w.add(w.mul(self.group, convolution.groups.first), part.lhs)
        result = w.add(first, part.result)
        for start, axis in zip(starts, part.pixels):
            lhs, result = w.add(lhs, w.mul(start, axis.first)), w.add(result, w.mul(start, axis.second))
        if convolution.channelwise:
            lhs = w.add(lhs, column)
        row = w.div(result, convolution.features)

        def sized(extents: list[int]) -> None:
            """Code for each size of the tile."""
            if len(extents) == len(starts):
                self._sums(extents, lhs, rhs, first, result, row, count)
                return
            number = len(extents)
            start, axis, size = starts[number], part.pixels[number], self.sizes[number]
            left = axis.extent % size
            inside = w.compare("ult", start, axis.extent - left) if left else True
            w.choose(inside, lambda: sized([*extents, size]), lambda: sized([*extents, left]))

        sized([])
        if self.sums is not None:
            v = self._narrow(count)
            axes: list[tuple[Index, int, int]] = []
            for i, (start, axis, size) in enumerate(zip(starts, part.pixels, self.sizes)):
                extent = w.least(size, w.sub(axis.extent, start)) if axis.extent % size else size
                step = math.prod(self.sizes[i + 1 :]) * self.width
                axes.append((extent, step, axis.second // convolution.features))
            self.epilogue.finish_rows(v, self.sums, axes, result, row, first, count)

    def _narrow(self, count: int) -> Vectors:
        """The vectors of the sums: whole ones of columns, or one of all columns."""
        return self.v if self.tiling.vectors else Vectors(self.w, self.v.element, count, self.v.processor)

    def _sums(
        self, extents: list[int], lhs: Index, rhs: Index, first: Index, result: Index, row: Index, count: int
    ) -> None:
        """Compute the sums of a tile, and apply the epilogue to them or store them for the loop that does it."""
        w, part = self.w, self.part
        pixels = list(itertools.product(*map(range, extents)))
        reads = [sum(i * axis.first for i, axis in zip(pixel, part.pixels)) for pixel in pixels]
        v = self._narrow(count)
        counts = [min(v.lanes, count - j) for j in range(0, count, v.lanes)]
        if self.tiling.vectors:
            sums = self._across(lhs, rhs, reads, counts)
        else:
            sums = self._along(v, lhs, part.rhs, reads)
        for r, pixel in enumerate(pixels):
            place = 0
            for i, size in zip(pixel, self.sizes):
                place = place * size + i
            write = sum(i * axis.second for i, axis in zip(pixel, part.pixels))
            for j, lanes in enumerate(counts):
                value, column = sums[r * len(counts) + j], j * v.lanes
                if self.sums is not None:
                    v.store(value, self.sums, place * self.width + column)
                    continue
                at = w.add(result, write + column)
                row_here = w.add(row, write // self.convolution.features)
                self.epilogue.finish(v, value, at, row_here, w.add(first, column), lanes)

    def _across(self, lhs: Index, rhs: Index, reads: list[int], counts: list[int]) -> list[str]:
        """The sums of a tile, in vectors of neighbouring columns of a pixel."""
        w, v, convolution = self.w, self.v, self.convolution
        kind, vectors = convolution.kind, len(counts)

        def term(a: Index, b: Index, sums: list[str]) -> list[str]:
            columns = [v.load(self.rhs, w.add(b, j * v.lanes), kind, counts[j]) for j in range(vectors)]
            found = []
            # Each value is loaded right before it is used, as in a product.
            for r, read in enumerate(reads):
                value = "" if convolution.channelwise else v.splat(v.scalar(self.lhs, w.add(a, read), kind))
                for j in range(vectors):
                    if convolution.channelwise:
                        value = v.load(self.lhs, w.add(a, read + j * v.lanes), kind, counts[j])
                    found.append(v.multiply_add(value, columns[j], sums[r * vectors + j]))
            return found

        return self._walk(self.part.window, lhs, rhs, [v.zero()] * (len(reads) * vectors), term)

    def _along(self, narrow: Vectors, lhs: Index, rhs: Index, reads: list[int]) -> list[str]:
        """The sums of a tile, added in vectors along the input features: a vector of all columns for each pixel."""
        w, v, convolution = self.w, self.v, self.convolution
        kind, columns = convolution.kind, convolution.columns
        *window, features = self.part.window
        whole, left = features.extent // v.lanes * v.lanes, features.extent % v.lanes

        def piece(a: Index, b: Index, sums: list[str], count: int) -> list[str]:
            right = [v.load(self.rhs, w.add(b, j * convolution.column_stride), kind, count) for j in range(columns)]
            found = []
            for r, read in enumerate(reads):
                value = v.load(self.lhs, w.add(a, read), kind, count)
                found += [v.multiply_add(value, right[j], sums[r * columns + j]) for j in range(columns)]
            return found

        def term(a: Index, b: Index, sums: list[str]) -> list[str]:
            def step(i: Index, values: list[str]) -> list[str]:
                return piece(w.add(a, i), w.add(b, i), values, v.lanes)

            sums = w.loop(0, whole, v.lanes, step, sums, [v.type] * len(sums))
            return piece(w.add(a, whole), w.add(b, whole), sums, left) if left else sums

        sums = self._walk(tuple(window), lhs, rhs, [v.zero()] * (len(reads) * columns), term)
        totals = [v.total(value) for value in sums]
        return [
            w.op("vector.from_elements", totals[i : i + columns], narrow.type) for i in range(0, len(totals), columns)
        ]

    def _walk(self, axes: tuple[Axis, ...], lhs: Index, rhs: Index, sums: list[str], term: _Term) -> list[str]:
        """Loops over axes of the window, around a term of the sums."""
        w = self.w
        if not axes:
            return term(lhs, rhs, sums)
        axis = axes[0]

        def step(i: Index, values: list[str]) -> list[str]:
            a, b = w.add(lhs, w.mul(i, axis.first)), w.add(rhs, w.mul(i, axis.second))
            return self._walk(axes[1:], a, b, values, term)

        return w.loop(0, axis.extent, 1, step, sums, [self.v.type] * len(sums))
