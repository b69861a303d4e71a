"""The batched forms of dynamic slices: with a start for each element of the batch, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.primitive import Primitive
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.gather_parts import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from stagec.primitives.gather_scatter import gather_p, scatter_p
from stagec.primitives.joining import concatenate_p
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import broadcast_in_dim


def _stacked(indices: Sequence[Any], dims: Sequence[int | None], size: int) -> Any:
    """Starts as the rows of a matrix, one for each element of the batch."""
    columns = [broadcast_in_dim(i, (size, 1), () if d is None else (0,)) for i, d in zip(indices, dims)]
    return concatenate_p(*columns, dimension=1)


def _first(indices: Sequence[Any]) -> Literal:
    """The start of the batch axis."""
    dtype = aval_of(indices[0]).dtype if indices else dtypes.int32
    return Literal(np.zeros((), dtype), ShapedArray.of((), dtype))


def dynamic_slice_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """With one start for all, a larger slice; else a gather, which clamps as well."""
    (x, *indices), sizes = args, params["slice_sizes"]
    if all(d is None for d in dims[1:]):
        return primitive(moveaxis_to_front(x, dims[0]), _first(indices), *indices, slice_sizes=(size, *sizes)), 0
    axes = tuple(range(len(sizes)))
    gathered = {
        "dimension_numbers": GatherDimensionNumbers(axes, (), axes),
        "slice_sizes": sizes,
        "mode": GatherScatterMode.CLIP.value,
        "fill_value": None,
        "indices_are_sorted": True,
        "unique_indices": True,
    }
    return gather_p.batch(gather_p, [x, _stacked(indices, dims[1:], size)], [dims[0], 0], size, gathered)


def dynamic_update_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """With one start for all, a larger update; else a scatter, which clamps as well."""
    x, update, *indices = args
    if all(d is None for d in dims[2:]):
        return primitive(
            moveaxis_to_front(x, dims[0], size), moveaxis_to_front(update, dims[1], size), _first(indices), *indices
        ), 0
    axes = tuple(range(len(indices)))
    scattered = {
        "dimension_numbers": ScatterDimensionNumbers(axes, (), axes),
        "mode": GatherScatterMode.CLIP.value,
        "indices_are_sorted": True,
        "unique_indices": True,
    }
    starts = _stacked(indices, dims[2:], size)
    return scatter_p.batch(scatter_p, [x, starts, update], [dims[0], 0, dims[1]], size, scattered)
