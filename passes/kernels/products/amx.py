"""Products by the matrix unit of x86 processors, AMX.

It has eight registers of 16 rows by 64 bytes, called tiles. One instruction multiplies 16 rows of the left operand by
16 columns of the right one, for 64 bytes along the sum, and adds the products to a tile of float32 or int32. Four tiles
hold sums here, of 32 rows and 32 columns, and each of the others is used twice.
"""

from __future__ import annotations

from typing import Any

from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.epilogue import Epilogue
from passes.kernels.products.groups import GROUP, LANES, Groups
from passes.kernels.products.packing import batch_offset
from passes.kernels.products.shapes import Product
from passes.kernels.products.tiles import AMX_ROWS, AMX_WIDTH, Tiling
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Buffer, Index

_TILES, _LINE = 8, 64
# Palette 1, the start row, 14 reserved bytes, 16 row sizes of two bytes each, and 16 row counts.
_CONFIGURATION = [1, 0, *[0] * 14, *[_LINE, 0] * _TILES, *[0] * 16, *[LANES] * _TILES, *[0] * 8]
# The instruction for operands of these types.
_INSTRUCTIONS = {
    **{("bf16", "bf16"): "tdpbf16ps", ("i8", "i8"): "tdpbssd", ("ui8", "ui8"): "tdpbuud"},
    **{("i8", "ui8"): "tdpbsud", ("ui8", "i8"): "tdpbusd"},
}
_LHS, _RHS = 4, 6  # the first tiles of the operands; the sums have those before


class Tiles:
    """Writes the kernel of one product.

    Args:
      product, tiling: what is computed, and how it is cut.
      vectors: emits the code of the epilogue.
      epilogue: what is done with the sums before they are stored.
      lhs: the groups of the left operand if it was packed; None if it is read as it is.
      rhs: the groups of the right operand.
    """

    def __init__(
        self, product: Product, tiling: Tiling, vectors: Vectors, epilogue: Epilogue, lhs: Groups | None, rhs: Groups
    ) -> None:
        self.product, self.tiling, self.v, self.w = product, tiling, vectors, vectors.w
        self.epilogue, self.lhs_groups, self.rhs_groups = epilogue, lhs, rhs
        if lhs is None:
            self.lhs = Buffer("%lhs", product.lhs.size, ELEMENTS[product.lhs.element].stored)
        else:
            self.lhs = Buffer("%lhs", lhs.size * product.batches, "i32")
        self.rhs = Buffer("%rhs", rhs.size * product.batches, "i32")
        # With at most 16 rows, the second half of each block would be empty.
        self.halves = range(2 if product.m > LANES else 1)
        self.instruction = _INSTRUCTIONS[product.lhs.element, product.rhs.element]

    def kernel(self, location: Any) -> Kernel:
        """The kernel; its inputs are the operands, then the epilogue's."""
        product, tiling, w = self.product, self.tiling, self.w
        row_panels, column_panels = -(-product.m // AMX_ROWS), -(-product.n // AMX_WIDTH)
        groups = (-(-row_panels // tiling.row_blocks), -(-column_panels // tiling.column_blocks), product.batches)
        with w.at(location):
            row_group, column_group, number = (w.workgroup(axis, count) for axis, count in enumerate(groups))
            configuration = w.scratch(len(_CONFIGURATION), "i8")
            self.sums = w.scratch(AMX_ROWS * AMX_WIDTH, self.v.element)
            self.lhs_start, self.rhs_start, self.sums_start = map(self._start, (self.lhs, self.rhs, self.sums))
            type_ = f"vector<{len(_CONFIGURATION)}xi8>"
            value = w.constant(f"dense<{_CONFIGURATION}>", type_)
            w.store(value, configuration, 0, type_)
            self._call("ldtilecfg", [], self._pointer(self._start(configuration), 0))
            self.epilogue.begin(w, number)
            self.result0 = w.mul(number, product.m * product.n)
            self.rhs0 = w.mul(number, self.rhs_groups.size)
            if self.lhs_groups is None:
                self.lhs0 = batch_offset(w, number, product.batch, product.lhs.batch)
            else:
                self.lhs0 = w.mul(number, self.lhs_groups.size)
            first, first_row = w.mul(column_group, tiling.column_blocks), w.mul(row_group, tiling.row_blocks)
            last = w.least(w.add(first, tiling.column_blocks), column_panels)
            last_row = w.least(w.add(first_row, tiling.row_blocks), row_panels)

            def column(n: Index, _: object) -> None:
                w.loop(first_row, last_row, 1, lambda m, _: self._panel(m, n))

            w.loop(first, last, 1, column)
            self._call("tilerelease", [])
        inputs = [self.lhs, self.rhs, *self.epilogue.inputs]
        return Kernel.written("product", w, inputs, self.epilogue.outputs, groups)

    def _panel(self, row: Index, column: Index) -> None:
        """Compute and finish the sums of 32 rows with 32 columns."""
        w, product, length = self.w, self.product, self.rhs_groups.length
        m, n = w.mul(row, AMX_ROWS), w.mul(column, AMX_WIDTH)
        if self.lhs_groups is None:
            unit, step = ELEMENTS[product.lhs.element].size, product.lhs.row
        else:
            unit, step = GROUP, length
        lhs = w.mul(w.add(self.lhs0, w.mul(m, step)), unit)
        rhs = w.mul(w.add(self.rhs0, w.mul(n, length)), GROUP)
        for i in range(2 * len(self.halves)):
            self._call("tilezero", [i])

        def term(group: Index, _: object) -> None:
            for i in self.halves:
                at = w.add(w.add(lhs, w.mul(group, GROUP)), i * LANES * step * unit)
                self._move("tileloadd64", _LHS + i, self.lhs_start, at, step * unit)
            for j in range(2):
                at = w.add(w.add(rhs, w.mul(group, AMX_WIDTH * GROUP)), j * _LINE)
                self._move("tileloadd64", _RHS + j, self.rhs_start, at, AMX_WIDTH * GROUP)
            for i in self.halves:
                for j in range(2):
                    self._call(self.instruction, [2 * i + j, _LHS + i, _RHS + j])

        w.loop(0, length, LANES, term)
        for i in self.halves:
            for j in range(2):
                at = i * LANES * AMX_WIDTH * GROUP + j * _LINE
                self._move("tilestored64", 2 * i + j, self.sums_start, at, AMX_WIDTH * GROUP)
        left = product.n % AMX_WIDTH
        whole = w.compare("ult", column, product.n // AMX_WIDTH) if left else True
        w.choose(whole, lambda: self._finish(m, n, AMX_WIDTH), lambda: self._finish(m, n, left))

    def _finish(self, m: Index, n: Index, columns: int) -> None:
        w, product = self.w, self.product
        rows = w.least(AMX_ROWS, w.sub(product.m, m)) if product.m % AMX_ROWS else AMX_ROWS
        start = w.add(self.result0, w.add(w.mul(m, product.n), n))
        self.epilogue.finish_rows(self.v, self.sums, [(rows, AMX_WIDTH, 1)], start, m, n, columns)

    def _start(self, memory: Buffer) -> str:
        """The address of memory."""
        return self.w.op("memref.extract_aligned_pointer_as_index", (memory.name,), (memory.type, "index"))

    def _pointer(self, start: str, at: Index) -> str:
        w = self.w
        address = w.op("arith.index_cast", (w.index(w.add(start, at)),), ("index", "i64"))
        return w.op("llvm.inttoptr", (address,), ("i64", "!llvm.ptr"))

    def _move(self, name: str, tile: int, start: str, at: Index, stride: int) -> None:
        """Load or store a tile, whose rows are `stride` bytes apart."""
        self._call(name, [tile], self._pointer(start, at), self.w.constant(stride, "i64"))

    def _call(self, name: str, tiles: list[int], pointer: str = "", stride: str = "") -> None:
        w = self.w
        operands = [w.constant(tile, "i8") for tile in tiles] + [value for value in (pointer, stride) if value]
        types = ["i8"] * len(tiles) + ["!llvm.ptr"] * bool(pointer) + ["i64"] * bool(stride)
        w.do("llvm.call_intrinsic", operands, tuple(types), f"llvm.x86.{name}")
