"""Products whose axes are not in the order of matrices: their operands are transposed and reshaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings, build
from passes.kernels.products.shapes import computed_in, free
from passes.match import shape_of


def matrices(op: Any) -> Any:
    """Replace a product by one of matrices, and return that; None if kernels do not support it, or it is empty."""
    left, right = op.operands
    if not computed_in(op.opview) or 0 in (*shape_of(left), *shape_of(right)):
        return None
    numbers = attrs.dot_dimensions(op)
    rows = free(shape_of(left), numbers.lhs_batch, numbers.lhs_contract)
    columns = free(shape_of(right), numbers.rhs_batch, numbers.rhs_contract)
    with bindings.ir.InsertionPoint(op), op.location:
        lhs = _moved(left, numbers.lhs_batch, rows, numbers.lhs_contract)
        rhs = _moved(right, numbers.rhs_batch, numbers.rhs_contract, columns)
        others = {name: value for name, value in attrs.copied(op).items() if name != "dot_dimension_numbers"}
        element = op.results[0].type.element_type
        made = build.dot_general(
            lhs, rhs, contracting=([2], [1]), batching=([0], [0]), attributes=others, element=element
        )
        op.results[0].replace_all_uses_with(build.reshape(made, shape_of(op.results[0])))
    op.erase()
    return made.owner


def _moved(value: Any, *groups: Sequence[int]) -> Any:
    """An array, transposed and reshaped to one axis for each group of axes."""
    shape, order = shape_of(value), [d for group in groups for d in group]
    turned = build.transpose(value, order) if order != sorted(order) else value
    return build.reshape(turned, [math.prod(shape[d] for d in group) for group in groups])
