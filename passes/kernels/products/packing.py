"""Packing: an operand copied into panels, in the order in which the product reads it.

A panel has as many rows (of the left operand) or columns (of the right one)
as the register tile; `packed[batch][panel][k][width]`. Columns beyond the
operand's edge are zero or repeat the last one: no result depends on them.
Transposed operands are transposed back in squares, and narrow elements are
widened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.groups import Groups
from passes.kernels.products.shapes import Matrix
from passes.kernels.products.vectors import Vectors
from passes.kernels.weights import Layout
from passes.kernels.writer import Buffer, Index, Writer

# Columns and rows of a square that is transposed in registers. The compiler takes three times as long for one of 16.
_SQUARE = 8


@dataclasses.dataclass(frozen=True)
class Panels:
    """An operand's panels.

    Attributes:
      matrix: the operand, whose rows run along the sum, and whose columns are cut into panels.
      extent: its number of columns.
      depth: its number of rows.
      width: the columns of a panel.
    """

    matrix: Matrix
    extent: int
    depth: int
    width: int

    @property
    def count(self) -> int:
        """How many panels a matrix has."""
        return -(-self.extent // self.width)

    @property
    def size(self) -> int:
        """Elements of one packed matrix."""
        return self.count * self.depth * self.width

    def layout(self, batch: Sequence[int]) -> Layout:
        """The description of the copy, for making it before the first call."""
        matrix = self.matrix
        return Layout((*batch, self.depth, self.extent), (*matrix.batch, matrix.row, matrix.column), self.width)

    def fill(self, v: Vectors, source: Buffer, start: Index, packed: Buffer, to: Index, panel: Index) -> None:
        """Copy one panel."""
        w, width, parts = v.w, self.width, (v, self, source, start, packed, to)
        left = self.extent % width
        if _is_transposed(self, v):
            _transpose(*parts, w.least(w.sub(self.extent, w.mul(panel, width)), width) if left else width)
            return
        whole = w.compare("ult", panel, self.count - 1) if left else True
        w.choose(whole, lambda: _copy(*parts, width), lambda: _copy(*parts, left))


def packing(copy: Panels | Groups, batch: Sequence[int], batches: int, vectors: Vectors, location: object) -> Kernel:
    """The kernel that packs an operand; a workgroup has one panel of one matrix."""
    w, matrix = vectors.w, copy.matrix
    source = Buffer("%source", matrix.size, ELEMENTS[matrix.element].stored)
    packed = Buffer("%packed", copy.size * batches, vectors.element)
    with w.at(location):
        panel, number = w.workgroup(0, copy.count), w.workgroup(1, batches)
        start = w.add(batch_offset(w, number, batch, matrix.batch), w.mul(panel, copy.width * matrix.column))
        to = w.add(w.mul(number, copy.size), w.mul(panel, copy.size // copy.count))
        copy.fill(vectors, source, start, packed, to, panel)
    return Kernel.written("pack", w, [source], [packed], [copy.count, batches])


def _is_transposed(panels: Panels, v: Vectors) -> bool:
    """Whether columns are contiguous, and long enough for a square."""
    return panels.matrix.column != 1 and panels.matrix.row == 1 and panels.depth >= min(_SQUARE, v.lanes)


def batch_offset(w: Writer, number: Index, batch: Sequence[int], steps: Sequence[int]) -> Index:
    """The offset of a matrix of a batch, by its index."""
    offset: Index = 0
    for size, step in reversed(list(zip(batch, steps))):
        index = w.rem(number, size) if size != batch[0] or len(batch) > 1 else number
        offset = w.add(offset, w.mul(index, step))
        number = w.div(number, size)
    return offset


def _copy(v: Vectors, panels: Panels, source: Buffer, start: Index, packed: Buffer, to: Index, columns: int) -> None:
    """Copy rows, in vectors; if columns are not contiguous, element by element."""
    w, matrix = v.w, panels.matrix

    def row(k: Index, _: object) -> None:
        for first in range(0, panels.width, v.lanes):
            inside = max(0, min(v.lanes, columns - first))
            begin = w.add(w.add(start, w.mul(k, matrix.row)), first * matrix.column)
            if inside == 0:
                value = v.zero()
            elif matrix.column == 1 or inside == 1:
                value = v.load(source, begin, matrix.element, inside)
            else:
                value = _gathered(v, source, begin, matrix.column, inside, matrix.element)
            at = w.add(w.add(to, w.mul(k, panels.width)), first)
            v.store_first(value, packed, at, min(v.lanes, panels.width - first))

    w.loop(0, panels.depth, 1, row)


def _gathered(v: Vectors, source: Buffer, begin: Index, step: int, count: int, element: str) -> str:
    zero = v.code.constant(0, v.kind)
    items = [v.scalar(source, v.w.add(begin, i * step), element) if i < count else zero for i in range(v.lanes)]
    return v.w.op("vector.from_elements", items, v.type)


def _transpose(
    vectors: Vectors, panels: Panels, source: Buffer, start: Index, packed: Buffer, to: Index, columns: Index
) -> None:
    """Copy contiguous columns, in squares that are transposed in registers.

    The code is that of one square. The last squares of a panel begin earlier, so that they end with it, and columns
    from index `columns` on repeat the one before.
    """
    w, matrix, lanes = vectors.w, panels.matrix, min(_SQUARE, vectors.lanes)
    v = Vectors(w, vectors.element, lanes, vectors.processor)
    written = min(lanes, panels.width)

    def ending(index: Index, extent: int, size: int) -> Index:
        return w.least(index, extent - size) if extent % size else index

    def square(k: Index, first: Index) -> None:
        first, k = ending(first, panels.width, written), ending(k, panels.depth, lanes)
        inside = [w.add(first, i) for i in range(written)]
        if columns != panels.width:
            inside = [w.least(i, w.sub(columns, 1)) for i in inside]
        begin = w.add(start, k)
        rows = [v.load(source, w.add(begin, w.mul(i, matrix.column)), matrix.element) for i in inside]
        rows += rows[-1:] * (lanes - written)
        for i, value in enumerate(v.transposed(rows)):
            at = w.add(w.add(to, first), w.mul(w.add(k, i), panels.width))
            v.store_first(value, packed, at, written)

    def strip(begin: Index, _: object) -> None:
        # Two squares side by side write whole lines of the cache.
        end = w.least(w.add(begin, 2 * written), panels.width)
        w.loop(0, panels.depth, lanes, lambda k, _: w.loop(begin, end, written, lambda first, _: square(k, first)))

    w.loop(0, panels.width, 2 * written, strip)
