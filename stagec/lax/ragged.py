"""Products of an array whose rows are in groups, each group with a matrix of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.primitives.axes import canonical_axes, shape_error
from stagec.primitives.dot import DotDimensionNumbers, dot_general
from stagec.primitives.operand import aval_of
from stagec.primitives.precision import PrecisionLike
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes of a ragged product are what.

    Args:
      dot_dimension_numbers: `((lhs contracted, rhs contracted), (lhs batch, rhs batch))`.
      lhs_ragged_dimensions: the one axis of lhs that is in groups.
      rhs_group_dimensions: the axis of rhs that counts the groups, where the one in groups is not contracted.
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    group_offset: None = None,
) -> Array:
    """Matrix products of consecutive groups of rows, each with a matrix of its own.

    All groups are multiplied with all rows, masked: the cost is that of `groups` products.

    Args:
      lhs: (m, k), rows.
      rhs: (groups, k, n), matrices.
      group_sizes: (groups,) integers; how many rows belong to each. Rows after the last group give zeros.
      group_offset: None.

    >>> import stagec.numpy as snp
    >>> ragged_dot(snp.ones((3, 1)), snp.array([[[1.0]], [[5.0]]]), snp.array([1, 2])).tolist()
    [[1.0], [5.0], [5.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset)


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    group_offset: None = None,
) -> Array:
    """A product in which one axis of lhs is in consecutive groups.

    Where that axis is not contracted, each group meets its own part of rhs, as in `ragged_dot`. Where it is
    contracted, the result has one more axis, the first one, with the product of each group. A batch axis changes
    nothing: what it is multiplied with is known without groups.

    Args:
      group_sizes: (groups,) integers.
      group_offset: None.

    >>> import stagec.numpy as snp
    >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> ragged_dot_general(snp.arange(3.0), snp.ones(3), snp.array([1, 2]), numbers)
    Array([0., 3.], dtype=float32)
    """
    name = "ragged_dot_general"
    x, y, counts = (array_argument(v, name) for v in (lhs, rhs, group_sizes))
    if group_offset is not None or counts.ndim != 1:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: "
            + ("group_offset is given" if group_offset is not None else f"group_sizes is {aval_of(counts).long()}"),
            fix="give one size for each group, and no offset; stagec.vmap maps over lists of sizes",
        )
    if not dtypes.is_integer(aval_of(counts).dtype):
        raise location.error(
            errors.DtypeError,
            f"{name}: group_sizes must be integers, got {aval_of(counts).long()}",
            fix="convert them with astype('int32')",
        )
    dims = ragged_dot_dimension_numbers
    (x_contract, y_contract), (x_batch, y_batch) = (
        tuple(canonical_axes(tuple(axes), a.ndim, name) for axes, a in zip(pair, (x, y)))
        for pair in dims.dot_dimension_numbers
    )
    ragged = canonical_axes(tuple(dims.lhs_ragged_dimensions), x.ndim, name)
    groups = canonical_axes(tuple(dims.rhs_group_dimensions), y.ndim, name)
    free = bool(ragged) and ragged[0] not in (*x_contract, *x_batch)
    if len(ragged) != 1 or len(groups) != free:
        raise shape_error(
            name,
            f"ragged axes {ragged} of lhs, group axes {groups} of rhs",
            "name one ragged axis of lhs, and one group axis of rhs if the ragged one is neither contracted nor batch",
        )
    if free and y.shape[groups[0]] != counts.shape[0]:
        raise shape_error(
            name,
            f"{counts.shape[0]} group sizes, and {y.shape[groups[0]]} groups in {aval_of(y).long()}",
            "give a size for each group of rhs",
        )
    if ragged[0] in x_batch:
        numbers = ((x_contract, y_contract), (x_batch, y_batch))
        return dot_general(x, y, numbers, precision, preferred_element_type)
    # One more axis of lhs: the group, with zeros for what belongs to others.
    ends = snp.cumsum(counts)
    position = snp.arange(x.shape[ragged[0]])
    inside = (position >= (ends - counts)[:, None]) & (position < ends[:, None])
    shape = [counts.shape[0]] + [n if i == ragged[0] else 1 for i, n in enumerate(x.shape)]
    masked = snp.where(inside.reshape(shape), x[None], snp.zeros((), dtype=x.dtype))
    moved = tuple(i + 1 for i in x_contract), tuple(i + 1 for i in x_batch)
    if free:
        numbers = (((0, *moved[0]), (groups[0], *y_contract)), (moved[1], y_batch))
        return dot_general(masked, y, numbers, precision, preferred_element_type)
    out = dot_general(masked, y, ((moved[0], y_contract), (moved[1], y_batch)), precision, preferred_element_type)
    return snp.moveaxis(out, len(x_batch), 0)
