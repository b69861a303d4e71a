"""The shapes of products: three extents, batches, and the strides of each operand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

from passes import attributes as attrs
from passes.analysis.strided import row_strides
from passes.kernels.elements import ELEMENTS
from passes.match import before_barriers, element_name, is_static, producer, shape_of

# The type in which products are computed, by the type of operands and result.
_COMPUTED = {
    **{"f32": "f32", "f64": "f64", "bf16": "f32", "f16": "f32"},
    # Integers wrap around, so a narrow result is the lower part of any wider sum.
    **{sign + kind: wide for sign in ("", "u") for kind, wide in (("i8", "i16"), ("i16", "i16"), ("i32", "i32"))},
    **{"i64": "i64", "ui64": "i64"},
}
# The same for results of a wider type than the operands.
_WIDENED = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "ui8": "i32", "ui16": "i32"}


def computed(operand: str, result: str) -> str:
    """The type in which products of an element type are computed for a result type; empty if not supported."""
    if result == operand:
        return _COMPUTED.get(operand, "")
    wide = _WIDENED.get(operand, "")
    return wide if wide and ELEMENTS[result].stored == wide else ""


def computed_in(op: Any) -> str:
    """The type in which a product or a convolution is computed; empty if it is not supported."""
    values = (op.lhs, op.rhs, op.operation.results[0])
    if not all(is_static(value) for value in values):
        return ""
    left, right, result = map(element_name, values)
    return computed(left, result) if left == right else ""


@dataclasses.dataclass(frozen=True)
class Matrix:
    """An operand of a product: a batch of strided matrices in an array.

    Attributes:
      element: its element type, as the tensor has it.
      size: elements in memory.
      row, column: the strides of rows and columns, in elements.
      batch: the strides of the batch dimensions.
    """

    element: str
    size: int
    row: int
    column: int
    batch: tuple[int, ...] = ()

    @property
    def transposed(self) -> Matrix:
        """The transposed matrix in the same memory."""
        return dataclasses.replace(self, row=self.column, column=self.row)


@dataclasses.dataclass(frozen=True)
class Product:
    """`result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]`; the result is contiguous.

    Attributes:
      m, n, k: extents.
      batch: extents of the batch dimensions, as many as the matrices have strides for.
      element: the type that it is computed in.
      result: the element type of the result.
      exchanged: whether the operands have been exchanged (see `swapped`).
    """

    m: int
    n: int
    k: int
    batch: tuple[int, ...]
    lhs: Matrix
    rhs: Matrix
    element: str
    result: str
    exchanged: bool = False

    @property
    def batches(self) -> int:
        """How many products there are."""
        return math.prod(self.batch)

    @property
    def swapped(self) -> Product:
        """`transpose(rhs) @ transpose(lhs)`: the same memory where the result is a vector."""
        return dataclasses.replace(
            self, m=self.n, n=self.m, lhs=self.rhs.transposed, rhs=self.lhs.transposed, exchanged=not self.exchanged
        )


def read(op: Any) -> Product | None:
    """The product of a `stablehlo.dot_general`; None if kernels do not support it."""
    (result,) = op.operation.results
    element = computed_in(op)
    if not element:
        return None
    kinds = [element_name(value) for value in (*sources(op), result)]
    dims = attrs.dot_dimensions(op)
    left, right = shape_of(op.lhs), shape_of(op.rhs)
    if 0 in left or 0 in right:
        return None
    left_strides, right_strides = row_strides(left), row_strides(right)
    rows = merged((left[d], left_strides[d]) for d in free(left, dims.lhs_batch, dims.lhs_contract))
    columns = merged((right[d], right_strides[d]) for d in free(right, dims.rhs_batch, dims.rhs_contract))
    shared = [(left[i], left_strides[i], right_strides[j]) for i, j in zip(dims.lhs_contract, dims.rhs_contract)]
    # The order of a sum may change, so the contracted axes are sorted such that they may merge into one.
    depth = merged(sorted(shared, key=lambda axis: -axis[1])) if len(shared) > 1 else merged(shared)
    batch = merged((left[i], left_strides[i], right_strides[j]) for i, j in zip(dims.lhs_batch, dims.rhs_batch))
    if max(len(rows), len(columns), len(depth)) > 1:
        return None
    m, lhs_row = rows[0] if rows else (1, 0)
    n, rhs_column = columns[0] if columns else (1, 1)
    k, lhs_column, rhs_row = depth[0] if depth else (1, 1, 0)
    product = Product(
        *(m, n, k),
        tuple(size for size, _, _ in batch),
        Matrix(kinds[0], math.prod(left), lhs_row, lhs_column, tuple(stride for _, stride, _ in batch)),
        Matrix(kinds[1], math.prod(right), rhs_row, rhs_column, tuple(stride for _, _, stride in batch)),
        element,
        kinds[2],
    )
    return product.swapped if n == 1 else product


def sources(op: Any) -> tuple[Any, Any]:
    """The operands of a product before conversions to the type that it is computed in, since loads convert them."""
    result = element_name(op.operation.results[0])
    found = []
    for value in op.operation.operands:
        # Barriers only keep the compiler from fusing such conversions; kernels may ignore them.
        wide = element_name(value)
        conversion = producer(before_barriers(value), "stablehlo.convert")
        narrow = conversion.operation.operands[0] if conversion is not None else None
        exact = narrow is not None and _WIDENED.get(element_name(narrow)) == wide == computed(wide, result)
        found.append(narrow if exact else value)
    return found[0], found[1]


def free(shape: Sequence[int], *taken: Sequence[int]) -> list[int]:
    """The axes that are in none of the other groups."""
    return [d for d in range(len(shape)) if not any(d in dims for dims in taken)]


def merged(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Axes of `(size, stride, ...)`, where adjacent axes that are contiguous are merged."""
    found: list[tuple[int, ...]] = []
    for size, *steps in axes:
        if size == 1:
            continue
        if found and all(before == size * step for before, step in zip(found[-1][1:], steps)):
            found[-1] = (found[-1][0] * size, *steps)
        else:
            found.append((size, *steps))
    return found
