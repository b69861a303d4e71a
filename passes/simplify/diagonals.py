"""Diagonals that a mask selects, as in derivatives of `diag` and sums with `eye`. Exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.strided import View, box, row_strides
from passes.match import dtype_of, is_splat, is_static, producer, shape_of, single_op, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.gathers import taken
from passes.simplify.moves import cloned, is_static_op


class Diagonal(NamedTuple):
    """The elements (i, i + offset) of two dimensions."""

    row: int
    column: int
    offset: int


def diagonal(mask: Any) -> Diagonal | None:
    """Return the diagonal where a mask is true: iota == iota, one of them with a number added; None for other masks."""
    spread = producer(mask, "stablehlo.broadcast_in_dim")
    compare = producer(mask if spread is None else spread.operand, "stablehlo.compare")
    if compare is None or attrs.word(compare, "comparison_direction") != "EQ" or not is_static(compare.lhs):
        return None
    left, right = _counted(compare.lhs), _counted(compare.rhs)
    if left is None or right is None or left[0] == right[0]:
        return None
    dims = attrs.ints(spread, "broadcast_dimensions") if spread is not None else range(len(shape_of(mask)))
    if any(shape_of(compare.lhs)[d] != shape_of(mask)[dims[d]] for d in (left[0], right[0])):
        return None
    return Diagonal(dims[left[0]], dims[right[0]], left[1] - right[1])


def _counted(value: Any) -> tuple[int, int] | None:
    """Return the dimension along which a value counts, and the number that it begins with."""
    number = np.int64(0)
    if dtype_of(value) not in (np.int32, np.int64):
        return None
    add = producer(value, "stablehlo.add")
    if add is not None:
        added = splat_of(add.rhs)
        if added is None or abs(int(added)) > 2**30:
            return None
        number, value = added, add.lhs
    iota = producer(value, "stablehlo.iota")
    if iota is None or max(shape_of(value)) > 2**30:
        return None
    return attrs.integer(iota, "iota_dimension"), int(number)


@pattern("stablehlo.reduce", of="stablehlo.select")
def sum_of_selected_diagonal(op: Any) -> Any:
    """sum(select(eye, x, 0)) -> the diagonal of x, or its sum. Exact: the other elements are zeros."""
    operation = op.operation
    if not is_static_op(op) or len(operation.operands) != 2 or single_op(operation.regions[0]) != "stablehlo.add":
        return None
    value, initial = operation.operands
    select = producer(value, "stablehlo.select")
    if select is None or not (is_splat(select.on_false, 0.0) and is_splat(initial, 0.0)):
        return None
    found, x, reduced = diagonal(select.pred), select.on_true, attrs.ints(op, "dimensions")
    if found is None or not {found.row, found.column} & set(reduced):
        return None
    dropped = found.column if found.column in reduced else found.row
    kept = found.row + found.column - dropped
    shape = shape_of(x)
    skipped = {found.row: max(0, -found.offset), found.column: max(0, found.offset)}
    count = min(shape[d] - skip for d, skip in skipped.items())
    if count < 1:
        return None
    strides, others = row_strides(shape), [d for d in range(len(shape)) if d != dropped]
    start = sum(strides[d] * skip for d, skip in skipped.items())
    steps = tuple(strides[d] + (strides[dropped] if d == kept else 0) for d in others)
    view = View(start, steps, tuple(count if d == kept else shape[d] for d in others))
    cut = box(shape, view)
    if cut is None:
        return None
    elements, at = taken(x, view, cut), others.index(kept)
    elements = build.op("stablehlo.add", [elements, build.full(0, elements)])  # a sum of -0.0 and zeros is 0.0
    rest = [others.index(d) for d in reduced if d != dropped]
    if at not in rest:
        low = [skipped[kept] if d == at else 0 for d in range(len(others))]
        high = [shape[kept] - count - skipped[kept] if d == at else 0 for d in range(len(others))]
        elements = build.pad(elements, initial, low, high)
    if not rest:
        return build.reshape(elements, shape_of(operation.results[0]))
    (result,) = cloned(op, [elements, initial], [operation.results[0].type])
    result.owner.operation.attributes["dimensions"] = build.i64_array(rest)
    return result


PATTERNS = laws_of(globals())
