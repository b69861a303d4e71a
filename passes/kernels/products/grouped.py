"""The blocked product by instructions that multiply pairs: two terms of each sum at a time.

`vdpbf16ps` multiplies pairs of bfloat16 and adds them up in float32; `vpdpwssd`, or `vpmaddwd` and an addition, do it
for pairs of 16-bit integers in int32, to which narrower ones are widened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from passes.kernels.elements import ELEMENTS
from passes.kernels.products.epilogue import Epilogue
from passes.kernels.products.groups import Groups
from passes.kernels.products.packing import batch_offset
from passes.kernels.products.shapes import Matrix, Product
from passes.kernels.products.tiled import Tiled
from passes.kernels.products.tiles import Tiling
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Buffer, Index


class Grouped(Tiled):
    """Writes the kernel of one product.

    Args:
      product, tiling, vectors, epilogue: as for `Tiled`.
      left: the groups of the left operand if it was packed; None if it is read as it is.
      right: the groups of the right operand.
    """

    def __init__(
        self,
        product: Product,
        tiling: Tiling,
        vectors: Vectors,
        epilogue: Epilogue,
        left: Groups | None,
        right: Groups,
    ) -> None:
        super().__init__(product, tiling, vectors, epilogue, None, None)
        self.left, self.right = left, right
        if left is not None:
            self.lhs = Buffer("%lhs", left.size * product.batches, "i32")
        self.rhs = Buffer("%rhs", right.size * product.batches, "i32")
        # Pairs are stored as 32-bit integers.
        self.pairs = f"vector<{vectors.lanes}xi32>"

    def _origin(self, number: Index, matrix: Matrix, panels: object) -> Index:
        groups = self.left if matrix is self.product.lhs else self.right
        if groups is None:
            return batch_offset(self.w, number, self.product.batch, matrix.batch)
        return self.w.mul(number, groups.size)

    def _terms(self, depth: int) -> int:
        return -(-depth // self.right.each)

    def _lhs(self, row: Index, m: Index, rows: int, k: Index) -> Callable[[Index], Iterator[str]]:
        w, matrix, each = self.w, self.product.lhs, self.right.each
        step = self.left.length if self.left is not None else matrix.row
        starts = [w.add(self.lhs0, w.mul(w.add(m, r), step)) for r in range(rows)]
        kind = f"vector<{each}x{ELEMENTS[matrix.element].stored}>"

        def read(term: Index) -> Iterator[str]:
            for start in starts:
                if self.left is not None:
                    value = w.load(self.lhs, w.add(start, term))
                else:
                    at = w.index(w.add(start, w.mul(term, each)))
                    value = w.load(self.lhs, at, kind)
                    value = w.op("vector.bitcast", (value,), (kind, "vector<1xi32>"))
                    value = w.op("vector.extract", (value,), ("i32", "vector<1xi32>"), 0)
                yield w.op("vector.broadcast", (value,), ("i32", self.pairs))

        return read

    def _rhs(self, n: Index, vectors: int, counts: list[int], k: Index) -> Callable[[Index], list[str]]:
        w, v, width = self.w, self.v, self.tiling.width
        # A panel begins at the address of its first column, if each column had `length` groups.
        start = w.add(self.rhs0, w.mul(n, self.right.length))

        def read(term: Index) -> list[str]:
            at = w.add(start, w.mul(term, width))
            addresses = [w.index(w.add(at, j * v.lanes)) for j in range(vectors)]
            return [w.load(self.rhs, p, self.pairs) for p in addresses]

        return read

    def _multiply_add(self, a: str, b: str, c: str) -> str:
        w, v = self.w, self.v
        kind = f"vector<{2 * v.lanes}x{'bf16' if v.kind.is_float else 'i16'}>"
        a, b = (w.op("vector.bitcast", (value,), (self.pairs, kind)) for value in (a, b))
        if v.kind.is_float or v.processor.sums_pairs:
            name = "avx512bf16.dpbf16ps" if v.kind.is_float else "avx512.vpdpwssd"
            return w.op("llvm.call_intrinsic", (c, a, b), (v.type, kind, kind, v.type), f"llvm.x86.{name}.512")
        name = "llvm.x86.avx512.pmaddw.d.512"
        return v.add(w.op("llvm.call_intrinsic", (a, b), (kind, kind, v.type), name), c)
