"""Products with few rows or columns, whose operands are contiguous along the sum: vectors run along the sum.

A matrix times a vector is the common case: each row is read once, in its own order.
"""

from __future__ import annotations

from typing import Any

from passes.kernels.dispatch import Kernel
from passes.kernels.elements import ELEMENTS
from passes.kernels.products.epilogue import Epilogue
from passes.kernels.products.packing import batch_offset
from passes.kernels.products.shapes import Product
from passes.kernels.products.tiles import Tiling
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Buffer, Index


def kernel(product: Product, tiling: Tiling, vectors: Vectors, epilogue: Epilogue, location: Any) -> Kernel:
    """The kernel; its inputs are the operands, then the epilogue's."""
    w = vectors.w
    lhs = Buffer("%lhs", product.lhs.size, ELEMENTS[product.lhs.element].stored)
    rhs = Buffer("%rhs", product.rhs.size, ELEMENTS[product.rhs.element].stored)
    # Adjacent results are stored together, so the longer axis is the columns if possible.
    along_columns = product.n > product.m
    many = product.n if along_columns else product.m
    panels = -(-many // tiling.rows)
    groups = (-(-panels // tiling.row_blocks), product.batches)
    with w.at(location):
        group, number = w.workgroup(0, groups[0]), w.workgroup(1, groups[1])
        epilogue.begin(w, number)
        lhs0 = batch_offset(w, number, product.batch, product.lhs.batch)
        rhs0 = batch_offset(w, number, product.batch, product.rhs.batch)
        result0 = w.mul(number, product.m * product.n)
        # The sums of a panel, if a loop over its rows applies the epilogue.
        loops = (product.m if along_columns else tiling.rows) > 1 and epilogue.is_loop(vectors, product.k)
        tile = w.scratch(tiling.rows * min(product.m, product.n), vectors.element) if loops else None
        first = w.mul(group, tiling.row_blocks)
        last = w.least(w.add(first, tiling.row_blocks), panels)

        def address(row: Index, column: Index) -> Index:
            return w.add(w.add(result0, w.mul(row, product.n)), column)

        def panel(index: Index, count: int) -> None:
            start = w.mul(index, tiling.rows)
            many_here: list[Index] = [w.add(start, i) for i in range(count)]
            few: list[Index] = list(range(min(product.m, product.n)))
            m, n = (few, many_here) if along_columns else (many_here, few)
            rows = [w.add(lhs0, w.mul(i, product.lhs.row)) for i in m]
            columns = [w.add(rhs0, w.mul(j, product.rhs.column)) for j in n]
            sums = _sums(vectors, product, lhs, rhs, rows, columns)
            narrow = Vectors(w, vectors.element, len(n), vectors.processor)
            for i, row in enumerate(m):
                values = sums[i * len(n) : (i + 1) * len(n)]
                value = w.op("vector.from_elements", values, narrow.type)
                if tile is not None:
                    narrow.store(value, tile, i * len(n))
                else:
                    epilogue.finish(narrow, value, address(row, n[0]), row, n[0], len(n))
            if tile is not None:
                axes = [(len(m), len(n), 1)]
                epilogue.finish_rows(narrow, tile, axes, address(m[0], n[0]), m[0], n[0], len(n))

        left, whole = many % tiling.rows, many // tiling.rows
        w.loop(first, w.least(last, whole), 1, lambda index, _: panel(index, tiling.rows))
        if left:
            w.choose(w.compare("eq", last, panels), lambda: panel(whole, left))
    return Kernel.written("product", w, [lhs, rhs, *epilogue.inputs], epilogue.outputs, groups)


def _sums(v: Vectors, product: Product, lhs: Buffer, rhs: Buffer, rows: list[Index], columns: list[Index]) -> list[str]:
    """The sums of every row with every column."""
    w, k = v.w, product.k
    whole = k // v.lanes * v.lanes

    def term(index: Index, sums: list[str], count: int | None = None) -> list[str]:
        right = [v.load(rhs, w.add(column, index), product.rhs.element, count) for column in columns]
        found = []
        for i, row in enumerate(rows):
            left = v.load(lhs, w.add(row, index), product.lhs.element, count)
            found += [v.multiply_add(left, value, sums[i * len(columns) + j]) for j, value in enumerate(right)]
        return found

    start = [v.zero()] * (len(rows) * len(columns))
    sums = w.loop(0, whole, v.lanes, term, start, [v.type] * len(start))
    if k % v.lanes:
        # The remaining lanes are zero in both operands.
        sums = term(whole, sums, k % v.lanes)
    return [v.total(value) for value in sums]
