"""The blocked product: a register tile that walks over panels of rows and of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.epilogue import Epilogue
from passes.kernels.products.packing import Panels, batch_offset
from passes.kernels.products.shapes import Matrix, Product
from passes.kernels.products.tiles import Tiling
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Buffer, Index

# The distance, in steps of the sum, at which operands are prefetched.
_AHEAD_LHS, _AHEAD_RHS = 16, 8


class Tiled:
    """Writes the kernel of one product.

    Args:
      product, tiling: what is computed, and how it is cut.
      vectors: emits the code.
      epilogue: the operations on the sums before they are stored.
      lhs, rhs: the panels of an operand that was packed; None if it is read as it is.
    """

    def __init__(
        self,
        product: Product,
        tiling: Tiling,
        vectors: Vectors,
        epilogue: Epilogue,
        lhs: Panels | None,
        rhs: Panels | None,
    ) -> None:
        self.product, self.tiling, self.v, self.w = product, tiling, vectors, vectors.w
        self.epilogue, self.lhs_panels, self.rhs_panels = epilogue, lhs, rhs
        self.lhs = _operand("%lhs", product.lhs, lhs, product)
        self.rhs = _operand("%rhs", product.rhs, rhs, product)
        # The current panel of columns, if the workgroup packs panels itself.
        self.panel: Buffer | None = None
        # The sums of a register tile, if a loop over its rows applies the epilogue.
        self.sums: Buffer | None = None
        # Partial sums between blocks are stored in the result, or, if that cannot hold them, in additional memory.
        self.partial = self._partial()

    def _partial(self) -> Buffer | None:
        if self.tiling.depth >= self.product.k:
            return None
        for i, buffer in enumerate(self.epilogue.outputs):
            if self.epilogue.holds_sums(i):
                return buffer
        return Buffer("%sums", self.product.batches * self.product.m * self.product.n, self.v.element)

    def kernel(self, location: Any) -> Kernel:
        """The kernel; its inputs are the operands, then the epilogue's."""
        product, tiling, w = self.product, self.tiling, self.w
        row_panels, column_panels = -(-product.m // tiling.rows), -(-product.n // tiling.width)
        groups = (
            -(-row_panels // tiling.row_blocks),
            -(-column_panels // tiling.column_blocks),
            product.batches,
        )
        with w.at(location):
            row_group, column_group, number = (w.workgroup(axis, count) for axis, count in enumerate(groups))
            if tiling.pack_rhs == "here":
                self.panel = w.scratch(tiling.depth * tiling.width, self.v.element)
            if tiling.rows > 1 and self.epilogue.is_loop(self.v, product.k):
                self.sums = w.scratch(tiling.rows * tiling.width, self.v.element)
            self.epilogue.begin(w, number)
            self.result0 = w.mul(number, product.m * product.n)
            self.lhs0 = self._origin(number, product.lhs, self.lhs_panels)
            self.rhs0 = self._origin(number, product.rhs, self.rhs_panels)
            self.first_row = w.mul(row_group, tiling.row_blocks)
            self.last_row = w.least(w.add(self.first_row, tiling.row_blocks), row_panels)
            first = w.mul(column_group, tiling.column_blocks)
            last = w.least(w.add(first, tiling.column_blocks), column_panels)
            for start, stop, depth in self._ranges():
                begins, ends = start == 0, stop == product.k

                def block(k: Index, _: object, depth: int = depth, begins: bool = begins, ends: bool = ends) -> None:
                    w.loop(first, last, 1, lambda column, _: self._column(column, k, depth, begins, ends))

                w.loop(start, stop, depth, block)
        extra = [self.partial] if self.partial is not None and self.partial not in self.epilogue.outputs else []
        inputs = [self.lhs, self.rhs, *self.epilogue.inputs]
        return Kernel.written("product", w, inputs, [*self.epilogue.outputs, *extra], groups)

    def _ranges(self) -> list[tuple[int, int, int]]:
        """Ranges of the sum with separate code: the first block, those in between, and the last, which may be short."""
        k, depth = self.product.k, self.tiling.depth
        if depth >= k:
            return [(0, k, k)]
        last = (k - 1) // depth * depth
        middle = [(depth, last, depth)] if last > depth else []
        return [(0, depth, depth), *middle, (last, k, k - last)]

    def _origin(self, number: Index, matrix: Matrix, panels: Panels | None) -> Index:
        if panels is not None:
            return self.w.mul(number, panels.size)
        return batch_offset(self.w, number, self.product.batch, matrix.batch)

    def _column(self, column: Index, k: Index, depth: int, begins: bool, ends: bool) -> None:
        """One panel of columns; the last one may have fewer."""
        width, n = self.tiling.width, self.product.n
        w, left = self.w, n % width
        whole = w.compare("ult", column, n // width) if left else True
        if self.panel is not None:
            panels = Panels(self.product.rhs, n, depth, width)
            start = w.add(w.mul(k, panels.matrix.row), w.mul(column, width * panels.matrix.column))
            panels.fill(self.v, self.rhs, w.add(self.rhs0, start), self.panel, 0, column)
        parts = (k, depth, begins, ends)
        w.choose(whole, lambda: self._rows(column, width, *parts), lambda: self._rows(column, left, *parts))

    def _rows(self, column: Index, columns: int, k: Index, depth: int, begins: bool, ends: bool) -> None:
        """All rows of a panel of columns; the last panel of rows may have fewer."""
        w, rows = self.w, self.tiling.rows
        left, whole = self.product.m % rows, self.product.m // rows

        def panel(row: Index, _: object) -> None:
            place = (w.mul(row, rows), w.mul(column, self.tiling.width))
            parts = (row, *place, columns, k, depth, begins, ends)
            is_whole = w.compare("ult", row, whole) if left else True
            w.choose(is_whole, lambda: self._tile(rows, *parts), lambda: self._tile(left, *parts))
            if self.sums is not None and ends:
                count = w.least(rows, w.sub(self.product.m, place[0])) if left else rows
                partial = None if begins or self.v.processor.is_portable else self.partial
                axes = [(count, self.tiling.width, 1)]
                self.epilogue.finish_rows(self.v, self.sums, axes, self._at(*place), *place, columns, partial)

        w.loop(self.first_row, self.last_row, 1, panel)

    def _at(self, m: Index, n: Index) -> Index:
        """The address of a row and a column in the result."""
        return self.w.add(self.result0, self.w.add(self.w.mul(m, self.product.n), n))

    def _tile(
        self, rows: int, row: Index, m: Index, n: Index, columns: int, k: Index, depth: int, begins: bool, ends: bool
    ) -> None:
        w, v, product, tiling = self.w, self.v, self.product, self.tiling
        vectors = -(-columns // v.lanes)
        counts = [min(v.lanes, columns - j * v.lanes) for j in range(vectors)]
        start = self._at(m, n)
        target = self.partial or self.epilogue.outputs[0]
        if tiling.prefetch:
            for r in range(rows):
                for j in range(vectors):
                    w.prefetch(target, w.add(start, r * product.n + j * v.lanes), "write" if begins else "read")

        def before(at: Index, j: int) -> str:
            assert self.partial is not None, "a sum of several blocks has memory for partial sums"
            return v.load(self.partial, at, count=counts[j])

        # Where all programs must have the same bits, blocks make no difference.
        goes_on = not begins and v.processor.is_portable
        lhs, rhs = self._lhs(row, m, rows, k), self._rhs(n, vectors, counts, k)
        first = [
            before(w.add(start, r * product.n + j * v.lanes), j) if goes_on else v.zero()
            for r in range(rows)
            for j in range(vectors)
        ]
        sums = self._contract(lhs, rhs, first, vectors, depth)
        for number, value in enumerate(sums):
            r, j = divmod(number, vectors)
            if self.sums is not None and ends:
                v.store(value, self.sums, r * tiling.width + j * v.lanes)
                continue
            at = w.add(start, r * product.n + j * v.lanes)
            if not begins and not goes_on:
                value = v.add(value, before(at, j))
            if ends:
                self.epilogue.finish(v, value, at, w.add(m, r), w.add(n, j * v.lanes), counts[j])
            else:
                assert self.partial is not None, "a sum of several blocks has memory for partial sums"
                v.store(value, self.partial, at, count=counts[j])

    def _lhs(self, row: Index, m: Index, rows: int, k: Index) -> Callable[[Index], Iterator[str]]:
        """Reads one column of the left operand's panel: a vector of equal lanes for each row."""
        w, v = self.w, self.v
        if self.lhs_panels is not None:
            step, shift, element = self.lhs_panels.width, 1, v.element
            start = w.add(self.lhs0, w.mul(row, self.lhs_panels.depth * step))
            starts: list[Index] = [w.add(start, w.mul(k, step))] * rows
        else:
            matrix = self.product.lhs
            step, shift, element = matrix.column, 0, matrix.element
            start = w.add(self.lhs0, w.mul(k, step))
            starts = [w.add(start, w.mul(w.add(m, r), matrix.row)) for r in range(rows)]

        def read(index: Index) -> Iterator[str]:
            moved = w.mul(index, step)
            if self.tiling.prefetch and self.lhs_panels is not None:
                w.prefetch(self.lhs, w.add(w.add(starts[0], moved), _AHEAD_LHS * step), "read")
            for r, start in enumerate(starts):
                yield v.splat(v.scalar(self.lhs, w.add(w.add(start, moved), r * shift), element))

        return read

    def _rhs(self, n: Index, vectors: int, counts: list[int], k: Index) -> Callable[[Index], list[str]]:
        """Reads one row of the right operand's panel."""
        w, v, matrix, width = self.w, self.v, self.product.rhs, self.tiling.width
        memory, step, element = self.rhs, matrix.row, matrix.element
        start: Index = 0
        if self.panel is not None or self.rhs_panels is not None:
            step, element, counts = width, v.element, [v.lanes] * vectors
        if self.panel is not None:
            memory = self.panel
        elif self.rhs_panels is not None:
            # A panel begins at the address of its first column, if each column had `depth` elements.
            start = w.add(self.rhs0, w.add(w.mul(k, width), w.mul(n, self.rhs_panels.depth)))
        else:
            start = w.add(self.rhs0, w.add(w.mul(k, step), n))

        def read(index: Index) -> list[str]:
            moved = w.add(start, w.mul(index, step))
            if self.tiling.prefetch and self.panel is None:
                for j in range(vectors):
                    w.prefetch(self.rhs, w.add(moved, _AHEAD_RHS * step + j * v.lanes), "read")
            return [v.load(memory, w.add(moved, j * v.lanes), element, counts[j]) for j in range(vectors)]

        return read

    def _contract(
        self,
        lhs: Callable[[Index], Iterator[str]],
        rhs: Callable[[Index], list[str]],
        start: list[str],
        vectors: int,
        depth: int,
    ) -> list[str]:
        """The register tile: sums over a range of `k`, as many vectors as the tile has, which go on from `start`."""
        v = self.v

        def term(index: Index, sums: list[str]) -> list[str]:
            columns = rhs(index)
            found = []
            # Each value is loaded right before it is used: the generated code keeps this order, and there are too few
            # registers for all values.
            for r, value in enumerate(lhs(index)):
                found += [self._multiply_add(value, columns[j], sums[r * vectors + j]) for j in range(vectors)]
            return found

        return self.w.loop(0, self._terms(depth), 1, term, start, [v.type] * len(start))

    def _terms(self, depth: int) -> int:
        """The number of steps of a range of the sum."""
        return depth

    def _multiply_add(self, a: str, b: str, c: str) -> str:
        return self.v.multiply_add(a, b, c)


def _operand(name: str, matrix: Matrix, panels: Panels | None, product: Product) -> Buffer:
    if panels is not None:
        return Buffer(name, panels.size * product.batches, product.element)
    return Buffer(name, matrix.size, ELEMENTS[matrix.element].stored)
