"""Reading windows of an array at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core.array import Array
from stagec.primitives.axes import as_shape, shape_error
from stagec.primitives.broadcast import reshape_p, zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather_checks import as_dimensions, check_dimensions
from stagec.primitives.gather_parts import GatherDimensionNumbers, GatherScatterMode
from stagec.primitives.gather_scatter import gather_p
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.typing import ArrayLike

Ints = tuple[int, ...]


def along_axis(x: Any, positions: Any, axis: int) -> Operand:
    """The elements of `x` at `positions` along an axis, which are in range and distinct; other axes have equal
    sizes.
    """
    aval = aval_of(positions)
    if not aval.size:  # a gather's window of one element does not fit in an operand without any
        return zeros(aval_of(x).update(shape=aval.shape))
    others = tuple([i for i in range(aval.ndim) if i != axis])
    return gather_p(
        x,
        reshape_p(positions, new_sizes=(*aval.shape, 1)),
        dimension_numbers=GatherDimensionNumbers((), (axis,), (axis,), others, others),
        slice_sizes=(1,) * aval.ndim,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS.value,
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=True,
    )


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: GatherScatterMode | str | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Read a window of `operand` at each index.

    Args:
      operand: the array to read.
      start_indices: integers; the last axis holds the components of an index.
      dimension_numbers: the role of each axis.
      slice_sizes: the window, a size for each axis of the operand.
      unique_indices, indices_are_sorted: promises that may save work.
      mode: `"clip"`, `"fill"` or `"promise_in_bounds"` (the default), for windows that reach out of the array. What
        breaks the promise is clipped.
      fill_value: for `"fill"`; NaN, the least integer, or True without it.

    >>> import stagec.numpy as snp
    >>> numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> gather(snp.array([5, 6, 7]), snp.array([[2], [0]]), numbers, (1,))
    Array([7, 5], dtype=int32)
    """
    x, indices = as_operand(operand), as_operand(start_indices)
    if aval_of(indices).weak_type:
        indices = convert_element_type(indices, aval_of(indices).dtype)
    if fill_value is not None:
        if np.ndim(fill_value):
            raise shape_error("gather", f"fill_value has shape {np.shape(fill_value)}", "give one number")
        fill_value = np.asarray(fill_value).astype(aval_of(x).dtype).item()
    numbers = as_dimensions("gather", GatherDimensionNumbers, dimension_numbers)
    rank = len(numbers.offset_dims) + max(aval_of(indices).ndim - 1, 0)
    check_dimensions("gather", numbers, aval_of(x), aval_of(indices), "offset_dims", rank)
    return gather_p(
        x,
        indices,
        dimension_numbers=numbers,
        slice_sizes=as_shape(tuple(slice_sizes), "gather"),
        mode=GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode).value,
        fill_value=fill_value,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
    )
