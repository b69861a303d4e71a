"""Packing for instructions that multiply groups: four bytes of elements that are consecutive along the sum.

Such an instruction reads a group as one lane: two elements of 16 bits, or four of 8. For one that takes only pairs,
8-bit integers are widened. Elements beyond an operand's edge are zero, along the sum too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from passes.kernels.elements import ELEMENTS
from passes.kernels.products.shapes import Matrix
from passes.kernels.products.vectors import Vectors
from passes.kernels.squares import transposed
from passes.kernels.weights import Layout
from passes.kernels.writer import Buffer, Index, Writer

# Bytes of a group, and groups in a vector.
GROUP, LANES = 4, 16
# Rows of the left operand that a workgroup packs.
ROWS = 32
_VECTOR = f"vector<{LANES}xi32>"


@dataclasses.dataclass(frozen=True)
class Groups:
    """An operand in groups.

    Attributes:
      matrix: the operand, whose rows run along the sum.
      extent: its number of columns.
      depth: its number of rows.
      width: the columns of a panel, a multiple of `LANES`; a workgroup packs one panel.
      unit: bytes of an element in the copy: as in the operand, or more for integers that are widened.
      lines: whether the groups of each column are consecutive; otherwise, those of a panel's columns are:
        `packed[batch][panel][group][width]`.
    """

    matrix: Matrix
    extent: int
    depth: int
    width: int
    unit: int
    lines: bool

    @property
    def each(self) -> int:
        """Elements of a group."""
        return GROUP // self.unit

    @property
    def count(self) -> int:
        """How many panels a matrix has."""
        return -(-self.extent // self.width)

    @property
    def length(self) -> int:
        """The number of groups along the sum, rounded up to whole vectors."""
        return -(-self.depth // (self.each * LANES)) * LANES

    @property
    def size(self) -> int:
        """Groups of one packed matrix."""
        return self.count * self.width * self.length

    def layout(self, batch: Sequence[int]) -> Layout:
        """The description of the copy, for making it before the first call."""
        matrix, shape = self.matrix, (*batch, self.depth, self.extent)
        return Layout(shape, (*matrix.batch, matrix.row, matrix.column), self.width, self.each, self.lines)

    def fill(self, v: Vectors, source: Buffer, start: Index, packed: Buffer, to: Index, panel: Index) -> None:
        """Copy one panel."""
        _Squares(self, v, source, start, packed, to).write(panel)


class _Squares:
    """Writes one panel, in squares of `LANES` columns and `LANES` groups of each."""

    def __init__(
        self, groups: Groups, vectors: Vectors, source: Buffer, start: Index, packed: Buffer, to: Index
    ) -> None:
        self.groups, self.source, self.start, self.packed, self.to = groups, source, start, packed, to
        self.w: Writer = vectors.w
        element = ELEMENTS[groups.matrix.element]
        self.widened = groups.unit > element.size
        self.extend = "extsi" if self.widened and element.kind == "i" else "extui"
        # Columns that are contiguous along the sum are read as groups; otherwise groups are made of rows.
        self.along = groups.matrix.row == 1
        lanes = LANES * groups.each if self.along else LANES
        self.v = Vectors(vectors.w, source.element, lanes, vectors.processor)

    def write(self, panel: Index) -> None:
        """Write all squares of a panel; columns beyond the operand's edge are zero."""
        w, width, extent = self.w, self.groups.width, self.groups.extent
        whole = extent // LANES * LANES
        end = w.least(width, w.sub(whole, w.mul(panel, width))) if extent % width else width
        w.loop(0, end, LANES, lambda first, _: self._column(first, LANES))

        def last() -> None:
            left = extent % width
            first = left // LANES * LANES
            if left % LANES:
                self._column(first, left % LANES)
            w.loop(-(-left // LANES) * LANES, width, LANES, lambda first, _: self._column(first, 0))

        if extent % width:
            w.choose(w.compare("eq", panel, self.groups.count - 1), last)

    def _column(self, first: Index, inside: int) -> None:
        """Write the squares of `LANES` columns, of which only the first ones are inside the operand."""
        step = LANES * self.groups.each
        whole = self.groups.depth // step * step
        self.w.loop(0, whole, step, lambda k, _: self._square(k, step, first, inside))
        if whole < self.groups.depth:
            self._square(whole, self.groups.depth - whole, first, inside)

    def _square(self, k: Index, depth: int, first: Index, inside: int) -> None:
        w, groups, matrix = self.w, self.groups, self.groups.matrix
        zero = w.constant("dense<0>", _VECTOR)
        begin = w.add(w.add(self.start, w.mul(first, matrix.column)), w.mul(k, matrix.row))
        if not inside:
            found = [zero] * LANES
        elif self.along:
            found = [self._line(w.add(begin, i * matrix.column), depth) if i < inside else zero for i in range(LANES)]
        else:
            found = [self._lanes(begin, i * groups.each, depth, inside) for i in range(LANES)]
        if inside and self.along != groups.lines:
            found = transposed(w, found, _VECTOR)
        group = w.div(k, groups.each)
        for i, value in enumerate(found):
            if groups.lines:
                at = w.add(w.mul(w.add(first, i), groups.length), group)
            else:
                at = w.add(w.mul(w.add(group, i), groups.width), first)
            at = w.add(self.to, at)
            w.store(value, self.packed, at, _VECTOR)

    def _line(self, at: Index, depth: int) -> str:
        """Consecutive groups of one column."""
        value, kind = self.v.load(self.source, at, count=min(depth, self.v.lanes)), self.v.type
        if self.widened:
            kind, narrow = f"vector<{self.v.lanes}xi{8 * self.groups.unit}>", kind
            value = self.w.op(f"arith.{self.extend}", (value,), (narrow, kind))
        return self.w.op("vector.bitcast", (value,), (kind, _VECTOR))

    def _lanes(self, begin: Index, k: int, depth: int, inside: int) -> str:
        """One group of each column, made of rows."""
        w, bits = self.w, 32 // self.groups.each
        found = ""
        for i in range(self.groups.each):
            if k + i < depth:
                row = self.v.load(self.source, w.add(begin, (k + i) * self.groups.matrix.row), count=inside)
                part = w.op(f"arith.{self.extend}", (row,), (self.v.type, _VECTOR))
                if self.extend == "extsi" and i + 1 < self.groups.each:
                    mask = w.constant(f"dense<{(1 << bits) - 1}>", _VECTOR)
                    part = w.op("arith.andi", (part, mask), _VECTOR)
                if i:
                    shift = w.constant(f"dense<{i * bits}>", _VECTOR)
                    part = w.op("arith.shli", (part, shift), _VECTOR)
                found = w.op("arith.ori", (found, part), _VECTOR) if found else part
        return found or w.constant("dense<0>", _VECTOR)
