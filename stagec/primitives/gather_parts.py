"""The parameters of `gather` and of the scatters; the shape rule, evaluation and lowering of `gather`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, location
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.primitives.axes import shape_error
from stagec.primitives.checks import i64_array

__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers"]

Ints = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """The role of each axis in a gather; see StableHLO's `gather`.

    Args:
      offset_dims: axes of the result that run over a window.
      collapsed_slice_dims: axes of the operand where the window has size 1 and is dropped.
      start_index_map: the operand's axis that each component of an index is for.
      operand_batching_dims, start_indices_batching_dims: batch axes, which correspond to each other.

    The components of an index are along the last axis of the indices.
    """

    offset_dims: Ints
    collapsed_slice_dims: Ints
    start_index_map: Ints
    operand_batching_dims: Ints = ()
    start_indices_batching_dims: Ints = ()


class ScatterDimensionNumbers(NamedTuple):
    """The role of each axis in a scatter; see StableHLO's `scatter`.

    Args:
      update_window_dims: axes of the updates that run over a window.
      inserted_window_dims: axes of the operand where the window has size 1 and is absent from the updates.
      scatter_dims_to_operand_dims: the operand's axis that each component of an index is for.
      operand_batching_dims, scatter_indices_batching_dims: batch axes, which correspond to each other.
    """

    update_window_dims: Ints
    inserted_window_dims: Ints
    scatter_dims_to_operand_dims: Ints
    operand_batching_dims: Ints = ()
    scatter_indices_batching_dims: Ints = ()

    def as_gather(self) -> GatherDimensionNumbers:
        """The numbers of the gather that reads what this writes."""
        return GatherDimensionNumbers(*self)


class GatherScatterMode(str, enum.Enum):
    """The treatment of indices out of range: fill or drop, clamp, or a promise that there are none."""

    FILL_OR_DROP = "fill"
    CLIP = "clip"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """A mode from its name; `None` is fill-or-drop."""
        if mode is None or mode == "drop":
            return GatherScatterMode.FILL_OR_DROP
        try:
            return GatherScatterMode(mode)
        except ValueError:
            raise location.error(
                ValueError,
                f"unknown gather/scatter mode {mode!r}",
                fix="use 'clip', 'fill', 'drop' or 'promise_in_bounds'",
            ) from None


def check_index_type(name: str, indices: ShapedArray) -> None:
    """Raise `ShapeError` unless indices are integers with an axis of components."""
    is_integer = dtypes.is_integer(indices.dtype)
    if not is_integer or not indices.ndim:
        fix = "add an axis with indices[..., None]" if is_integer else "convert them with indices.astype(int)"
        raise shape_error(name, f"indices must be integers of rank 1 or more, got {indices.long()}", fix)


def gather_shape(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Ints,
    mode: str,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> ShapedArray:
    d = dimension_numbers
    check_index_type("gather", indices)
    if len(slice_sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(slice_sizes, x.shape)):
        raise shape_error(
            "gather",
            f"slice_sizes {slice_sizes} do not fit in {x.long()}",
            "give one size for each axis, at most the operand's",
        )
    if indices.shape[-1] != len(d.start_index_map):
        raise shape_error(
            "gather",
            f"indices {indices.long()} have {indices.shape[-1]} components, start_index_map {d.start_index_map}",
            "give the last axis of the indices one component for each axis in start_index_map",
        )
    dropped = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    if any(slice_sizes[i] > 1 for i in dropped):
        raise shape_error(
            "gather",
            f"axes {dropped} need slice size 1, got {slice_sizes}",
            "give them slice size 1, or name them in offset_dims",
        )
    window = [s for i, s in enumerate(slice_sizes) if i not in dropped]
    if len(window) != len(d.offset_dims):
        raise shape_error(
            "gather",
            f"offset_dims {d.offset_dims} do not match the window {window}",
            "name one offset dimension for each axis that is kept",
        )
    batch = iter(indices.shape[:-1])
    offsets = dict(zip(d.offset_dims, window))
    rank = len(window) + indices.ndim - 1
    return x.update(shape=[offsets[i] if i in offsets else next(batch) for i in range(rank)])


def index_grid(
    shape: Ints, indices: Any, rank: int, d: GatherDimensionNumbers, window_sizes: Ints, clip: bool
) -> tuple[list[Any], Any]:
    """NumPy index arrays for every window's elements, and which of them are in range.

    Args:
      shape: of the array that is indexed.
      indices: starts, components last.
      rank: of the result (or the updates).
      d: the dimension numbers.
      window_sizes: for each axis of `shape`.
      clip: whether to move windows into the array.

    Returns:
      Arrays that broadcast to the result, one for each axis of `shape`, and a
      mask that does, or `None` where every window is in range.
    """
    batch_axes = [i for i in range(rank) if i not in d.offset_dims]
    spread = [1] * rank
    for axis, n in zip(batch_axes, indices.shape[:-1]):
        spread[axis] = n
    dropped = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    offset_of = dict(zip([i for i in range(len(shape)) if i not in dropped], d.offset_dims))
    grid, valid = [], None
    for axis, (n, size) in enumerate(zip(shape, window_sizes)):
        index: Any = np.zeros([1] * rank, np.int64)
        if axis in d.start_index_map:
            start = indices[..., d.start_index_map.index(axis)]
            start = start.astype(np.int64) if start.dtype != np.uint64 else np.minimum(start, 2**62).astype(np.int64)
            inside = (start >= 0) & (start <= n - size)
            if not inside.all():
                start = np.clip(start, 0, max(n - size, 0))
                if not clip:
                    valid = inside if valid is None else valid & inside
            index = start.reshape(spread)
        elif axis in d.operand_batching_dims:
            along = batch_axes[d.start_indices_batching_dims[d.operand_batching_dims.index(axis)]]
            index = np.arange(n).reshape([-1 if i == along else 1 for i in range(rank)])
        if axis in offset_of:
            index = index + np.arange(size).reshape([-1 if i == offset_of[axis] else 1 for i in range(rank)])
        grid.append(index)
    return grid, None if valid is None else valid.reshape(spread)


def default_fill(dtype: np.dtype[Any]) -> Any:
    """The result of out-of-range reads: NaN, the least signed integer, the largest unsigned one, or True."""
    if dtypes.is_inexact(dtype):
        return np.nan
    if dtype == dtypes.bool_:
        return True
    if dtype == dtypes.KEY:
        return dtypes.integer_range(dtypes.uint32)[1]
    low, high = dtypes.integer_range(dtype)
    return low if dtypes.is_signed(dtype) else high


def gather_eval(
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Ints,
    mode: str,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    d = dimension_numbers
    rank = len(d.offset_dims) + indices.ndim - 1
    fills = mode == GatherScatterMode.FILL_OR_DROP
    axis = _taken_axis(x.shape, d, slice_sizes)
    if axis is not None:
        starts, count = indices[..., 0], x.shape[axis]
        if not fills or starts.size == 0 or (starts.min() >= 0 and starts.max() < count):
            # np.take converts indices to int64, where large ones of uint64 are negative.
            return np.take(x, np.minimum(starts, count) if starts.dtype == np.uint64 else starts, axis, mode="clip")
    grid, valid = index_grid(x.shape, indices, rank, d, slice_sizes, clip=not fills)
    out = x[tuple(grid)] if grid else np.array(x)
    if valid is None:
        return out
    return np.where(valid, out, np.asarray(default_fill(x.dtype) if fill_value is None else fill_value).astype(x.dtype))


def _taken_axis(shape: Ints, d: GatherDimensionNumbers, slice_sizes: Ints) -> int | None:
    """The axis along which whole slices are taken, if the gather has this form; else None."""
    if len(d.start_index_map) != 1 or d.collapsed_slice_dims != d.start_index_map or d.operand_batching_dims:
        return None
    (axis,) = d.start_index_map
    if any(s != n for i, (s, n) in enumerate(zip(slice_sizes, shape)) if i != axis):
        return None
    lead = d.offset_dims[:axis] == tuple(range(axis))
    tail = len(d.offset_dims) == axis or d.offset_dims[axis] > axis or axis == len(shape) - 1
    count = len(d.offset_dims) - axis
    after = d.offset_dims[axis:]
    return axis if lead and tail and after == tuple(range(after[0], after[0] + count) if count else ()) else None


def gather_lower(
    cx: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Ints,
    mode: str,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    d = dimension_numbers
    operand, index_aval = cx.in_avals
    (out,) = cx.out_avals
    limits = [operand.shape[i] - slice_sizes[i] for i in d.start_index_map]
    numbers = (
        f"#stablehlo.gather<offset_dims = {list(d.offset_dims)}, collapsed_slice_dims = {list(d.collapsed_slice_dims)}"
        f", operand_batching_dims = {list(d.operand_batching_dims)}"
        f", start_indices_batching_dims = {list(d.start_indices_batching_dims)}"
        f", start_index_map = {list(d.start_index_map)}, index_vector_dim = {index_aval.ndim - 1}>"
    )
    if cx.open_rules is not None:
        result = cx.open_rules.gather(cx, x, indices, d, slice_sizes, (operand, index_aval), out)
    else:
        # StableHLO clamps starts, so that windows lie within the operand.
        attributes = {
            "dimension_numbers": numbers,
            "slice_sizes": i64_array(slice_sizes),
            "indices_are_sorted": "true" if indices_are_sorted else "false",
        }
        result = cx.emit("stablehlo.gather", [x, indices], attributes)
    if mode != GatherScatterMode.FILL_OR_DROP or not limits:
        return result
    indices, index_aval = signed_indices(cx, indices, index_aval)
    mask = in_range(cx, indices, index_aval, limits)
    batch_axes = [i for i in range(out.ndim) if i not in d.offset_dims]
    mask = cx.broadcast(mask, out.update(dtype=dtypes.bool_), batch_axes)
    fill = cx.constant(default_fill(out.dtype) if fill_value is None else fill_value, out)
    return cx.emit("stablehlo.select", [mask, result, fill])


def signed_indices(cx: Any, indices: Any, aval: ShapedArray) -> tuple[Any, ShapedArray]:
    """Indices as int32 or int64, so that comparisons with 0 mean something."""
    if aval.dtype in (dtypes.int32, dtypes.int64):
        return indices, aval
    wide = aval.update(dtype=dtypes.int64 if aval.dtype.itemsize >= 4 else dtypes.int32)
    if aval.dtype == dtypes.uint64:
        top = cx.constant(np.iinfo(np.int64).max, aval)
        indices = cx.emit("stablehlo.minimum", [indices, top], avals=[aval])
    return cx.emit("stablehlo.convert", [indices], avals=[wide]), wide


def clamp_indices(cx: Any, indices: Any, aval: ShapedArray, limits: Sequence[int]) -> Any:
    """Each component of the indices moved into 0..limit."""
    if not limits:
        return indices
    low = cx.constant(0, aval)
    if len(set(limits)) == 1:
        high = cx.constant(limits[0], aval)
    elif any(is_open(n) for n in limits):
        part = aval.update(shape=(*aval.shape[:-1], 1))
        columns = [cx.constant(n, part) for n in limits]
        high = cx.emit("stablehlo.concatenate", columns, {"dimension": f"{aval.ndim - 1} : i64"}, [aval])
    else:
        high = cx.constant(np.broadcast_to(np.asarray(limits, aval.dtype), aval.shape))
    return cx.emit("stablehlo.clamp", [low, indices, high], avals=[aval])


def in_range(cx: Any, indices: Any, aval: ShapedArray, limits: Sequence[int]) -> Any:
    """Whether all components of an index are within 0..limit: a mask over the batch axes."""
    flat = ShapedArray.of(aval.shape[:-1], aval.dtype)
    truth = flat.update(dtype=dtypes.bool_)
    mask = None
    for k, limit in enumerate(limits):
        starts, ends = [0] * aval.ndim, list(aval.shape)
        starts[-1], ends[-1] = k, k + 1
        column = cx.emit(
            "stablehlo.slice",
            [indices],
            {
                "start_indices": i64_array(starts),
                "limit_indices": i64_array(ends),
                "strides": i64_array([1] * aval.ndim),
            },
            [aval.update(shape=(*aval.shape[:-1], 1))],
        )
        column = cx.emit("stablehlo.reshape", [column], avals=[flat])
        for bound, direction in ((0, "GE"), (limit, "LE")):
            attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
            ok = cx.emit("stablehlo.compare", [column, cx.constant(bound, flat)], attributes, [truth])
            mask = ok if mask is None else cx.emit("stablehlo.and", [mask, ok], avals=[truth])
    return mask
