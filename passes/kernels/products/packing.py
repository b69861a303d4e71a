"""Packing: an operand copied into panels, in the order in which the product reads it.

A panel has as many rows (of the left operand) or columns (of the right one)
as the register tile; `packed[batch][panel][k][width]`. Elements beyond the
operand's edge are zero. Transposed operands are transposed back in squares that
fit the registers, and narrow elements are widened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.shapes import Matrix
from passes.kernels.products.vectors import Vectors
from passes.kernels.weights import Layout
from passes.kernels.writer import Buffer, Index, Writer


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


def packing(panels: Panels, batch: Sequence[int], batches: int, vectors: Vectors, location: object) -> Kernel:
    """The kernel that packs an operand; a workgroup has one panel of one matrix."""
    w, step = vectors.w, panels.matrix.column
    source = Buffer("%source", panels.matrix.size, ELEMENTS[panels.matrix.element].stored)
    packed = Buffer("%packed", panels.size * batches, vectors.element)
    with w.at(location):
        panel = w.workgroup(0, panels.count)
        number = w.workgroup(1, batches)
        start = w.add(batch_offset(w, number, batch, panels.matrix.batch), w.mul(panel, panels.width * step))
        to = w.add(w.mul(number, panels.size), w.mul(panel, panels.depth * panels.width))
        left = panels.extent % panels.width

        def part(columns: int) -> None:
            fill(vectors, panels, source, start, packed, to, columns)

        whole = w.compare("ult", panel, panels.count - 1) if left else True
        w.choose(whole, lambda: part(panels.width), lambda: part(left))
    return Kernel.written("pack", w, [source], [packed], [panels.count, batches])


def fill(
    vectors: Vectors, panels: Panels, source: Buffer, start: Index, packed: Buffer, to: Index, columns: int
) -> None:
    """Copy one panel.

    Args:
      start, to: its offsets in the operand and in the packed memory.
      columns: its number of columns; the remainder of the panel is zero.
    """
    copy = _transpose if panels.matrix.column != 1 and panels.matrix.row == 1 else _copy
    for first in range(0, panels.width, vectors.lanes):
        copy(vectors, panels, source, start, packed, to, first, columns)


def batch_offset(w: Writer, number: Index, batch: Sequence[int], steps: Sequence[int]) -> Index:
    """The offset of a matrix of a batch, by its index."""
    offset: Index = 0
    for size, step in reversed(list(zip(batch, steps))):
        index = w.rem(number, size) if size != batch[0] or len(batch) > 1 else number
        offset = w.add(offset, w.mul(index, step))
        number = w.div(number, size)
    return offset


def _copy(
    v: Vectors, panels: Panels, source: Buffer, start: Index, packed: Buffer, to: Index, first: int, columns: int
) -> None:
    """Copy rows of up to one vector; if columns are not contiguous, element by element."""
    w, matrix = v.w, panels.matrix
    inside = max(0, min(v.lanes, columns - first))
    written = min(v.lanes, panels.width - first)

    def row(k: Index, _: object) -> None:
        begin = w.add(w.add(start, w.mul(k, matrix.row)), first * matrix.column)
        if inside == 0:
            value = v.zero()
        elif matrix.column == 1 or inside == 1:
            value = v.load(source, begin, matrix.element, inside)
        else:
            value = _gathered(v, source, begin, matrix.column, inside, matrix.element)
        v.store_first(value, packed, w.add(w.add(to, w.mul(k, panels.width)), first), written)

    w.loop(0, panels.depth, 1, row)


def _gathered(v: Vectors, source: Buffer, begin: Index, step: int, count: int, element: str) -> str:
    zero = v.code.constant(0, v.kind)
    items = [v.scalar(source, v.w.add(begin, i * step), element) if i < count else zero for i in range(v.lanes)]
    return v.w.op(f"vector.from_elements {', '.join(items)} : {v.type}")


def _transpose(
    v: Vectors, panels: Panels, source: Buffer, start: Index, packed: Buffer, to: Index, first: int, columns: int
) -> None:
    """Copy contiguous columns, in squares that are transposed in registers."""
    w, matrix, lanes = v.w, panels.matrix, v.lanes
    inside = max(0, min(lanes, columns - first))
    written = min(lanes, panels.width - first)
    begin = w.add(start, first * matrix.column)
    squares = panels.depth // lanes * lanes

    def put(value: str, k: Index) -> None:
        v.store_first(value, packed, w.add(w.add(to, w.mul(k, panels.width)), first), written)

    def square(k: Index, _: object) -> None:
        rows = [
            v.load(source, w.add(w.add(begin, i * matrix.column), k), matrix.element) if i < inside else v.zero()
            for i in range(lanes)
        ]
        for i, value in enumerate(v.transposed(rows) if inside else rows):
            put(value, w.add(k, i))

    def single(k: Index, _: object) -> None:
        put(_gathered(v, source, w.add(begin, k), matrix.column, inside, matrix.element) if inside else v.zero(), k)

    w.loop(0, squares, lanes, square)
    w.loop(squares, panels.depth, 1, single)
