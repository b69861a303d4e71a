"""The shape rule, evaluation and lowering of the scatters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.primitives.axes import shape_error
from stagec.primitives.checks import check_dtype, i64_array, same_dtype
from stagec.primitives.gather_parts import (
    GatherScatterMode,
    Ints,
    ScatterDimensionNumbers,
    clamp_indices,
    in_range,
    index_grid,
    signed_indices,
)


def window_sizes(d: ScatterDimensionNumbers, rank: int, updates: Ints) -> Ints:
    """The window's size along each axis of the operand."""
    dropped = (*d.inserted_window_dims, *d.operand_batching_dims)
    sizes = iter([updates[i] for i in d.update_window_dims])
    return tuple([1 if i in dropped else next(sizes) for i in range(rank)])


def scatter_shape(
    name: str,
    accepts: frozenset[Any],
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    dimension_numbers: ScatterDimensionNumbers,
) -> ShapedArray:
    d = dimension_numbers
    check_dtype(name, same_dtype(name, (x, updates)), accepts)
    if not dtypes.is_integer(indices.dtype) or not indices.ndim:
        raise shape_error(
            name,
            f"indices must be integers of rank 1 or more, got {indices.long()}",
            "add an axis with indices[..., None]"
            if dtypes.is_integer(indices.dtype)
            else "convert them with indices.astype(int)",
        )
    window = x.ndim - len(d.inserted_window_dims) - len(d.operand_batching_dims)
    batch = tuple([n for i, n in enumerate(updates.shape) if i not in d.update_window_dims])
    if (
        indices.shape[-1] != len(d.scatter_dims_to_operand_dims)
        or len(d.update_window_dims) != window
        or batch != indices.shape[:-1]
        or any(s > n for s, n in zip(window_sizes(d, x.ndim, updates.shape), x.shape))
    ):
        raise shape_error(
            name,
            f"updates {updates.long()} do not fit indices {indices.long()} and operand {x.long()}",
            f"give updates the indices' axes but the last, and a window within the operand, as {d} says",
        )
    return x.update(weak_type=x.weak_type and updates.weak_type)


def write_at(x: Any, index: Any, updates: Any) -> None:
    x[index] = updates


def written_by(function: Any) -> Callable[[Any, Any, Any], None]:
    return lambda x, index, updates: function.at(x, index, updates)


def scatter_eval(write: Callable[[Any, Any, Any], None]) -> Callable[..., Any]:
    def evaluate(
        x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers, mode: str, **hints: Any
    ) -> Any:
        d = dimension_numbers
        out = np.array(x)
        if updates.size == 0 or x.size == 0:
            return out
        sizes = window_sizes(d, x.ndim, updates.shape)
        clip = mode == GatherScatterMode.CLIP
        grid, valid = index_grid(x.shape, indices, updates.ndim, d.as_gather(), sizes, clip)
        index = tuple(np.broadcast_arrays(*grid)) if grid else ()
        valid = None if valid is None else np.broadcast_to(valid, updates.shape)
        order = [*(i for i in range(updates.ndim) if i not in d.update_window_dims), *d.update_window_dims]
        if grid and order != sorted(order):
            # One window after the other, as compiled: where two meet, the later one is what is written.
            index = tuple([i.transpose(order).ravel() for i in index])
            valid = None if valid is None else valid.transpose(order).ravel()
            updates = updates.transpose(order).ravel()
        if not grid:
            write(out, (), updates)
        elif valid is None:
            write(out, index, updates)
        else:
            write(out, tuple([i[valid] for i in index]), updates[valid])
        return out

    return evaluate


def _no_summand(dtype: np.dtype[Any]) -> Any:
    # 0.0 would turn -0.0 into 0.0.
    return complex(-0.0, -0.0) if dtypes.is_complex(dtype) else -0.0 if dtypes.is_float(dtype) else 0


# The update that changes nothing, by operation; writing has none.
_IDENTITY: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "scatter_add": _no_summand,
    "scatter_sub": lambda dtype: 0,
    "scatter_mul": lambda dtype: 1,
    "scatter_min": lambda dtype: _extreme(dtype, 1),
    "scatter_max": lambda dtype: _extreme(dtype, -1),
}


def _extreme(dtype: np.dtype[Any], sign: int) -> Any:
    if dtypes.is_float(dtype):
        return sign * np.inf
    if dtype == dtypes.bool_:
        return sign > 0
    return dtypes.integer_range(dtype)[sign > 0]


def scatter_lower(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The one form that the compiler takes: rows of a matrix, one index a row.

    Axes that an index runs over are moved to the front and flattened to the
    matrix's rows, whole axes to its columns. Out-of-range updates are replaced
    by the operation's identity, or go to an extra row that is cut off again.
    """

    def lower(
        cx: Any,
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: str,
        **hints: Any,
    ) -> Any:
        d = dimension_numbers
        aval, index_aval, update_aval = cx.in_avals
        sizes = window_sizes(d, aval.ndim, update_aval.shape)
        indices, index_aval = signed_indices(cx, indices, index_aval)
        limits = [aval.shape[i] - sizes[i] for i in d.scatter_dims_to_operand_dims]
        clamped = clamp_indices(cx, indices, index_aval, limits)
        drops = mode == GatherScatterMode.FILL_OR_DROP and bool(limits)
        mask = in_range(cx, indices, index_aval, limits) if drops else None

        rows = [
            i
            for i in range(aval.ndim)
            if i in d.scatter_dims_to_operand_dims or i in d.operand_batching_dims or sizes[i] != aval.shape[i]
        ]
        columns = [i for i in range(aval.ndim) if i not in rows]
        row_shape = [aval.shape[i] for i in rows]
        row_count, width = math.prod(row_shape), math.prod([aval.shape[i] for i in columns])

        # Updates: batch axes and windows along row axes first, whole axes last.
        dropped = (*d.inserted_window_dims, *d.operand_batching_dims)
        update_axis = dict(zip([i for i in range(aval.ndim) if i not in dropped], d.update_window_dims))
        batch_axes = [i for i in range(update_aval.ndim) if i not in d.update_window_dims]
        partial = [i for i in rows if i in update_axis]
        order = [*batch_axes, *[update_axis[i] for i in (*partial, *columns) if i in update_axis]]
        lead = [update_aval.shape[i] for i in order[: len(batch_axes) + len(partial)]]
        count = math.prod(lead)
        spread = ShapedArray.of(tuple(lead), index_aval.dtype)

        linear = cx.constant(0, spread)
        for position, axis in enumerate(rows):
            stride = math.prod(row_shape[position + 1 :])
            for part in _row_parts(cx, axis, d, clamped, index_aval, spread, partial, len(batch_axes)):
                scaled = cx.emit("stablehlo.multiply", [part, cx.constant(stride, spread)], avals=[spread])
                linear = cx.emit("stablehlo.add", [linear, scaled], avals=[spread])

        values = _reordered(cx, updates, update_aval, order, (count, width))
        matrix = _reordered(cx, x, aval, [*rows, *columns], (row_count, width))
        matrix_aval = aval.update(shape=(row_count, width))
        value_aval = update_aval.update(shape=(count, width))
        flat_aval = spread.update(shape=(count,))
        if mask is not None:
            bits = spread.update(dtype=dtypes.bool_)
            mask = cx.broadcast(mask, bits, range(len(batch_axes)))
            mask = cx.emit("stablehlo.reshape", [mask], avals=[flat_aval.update(dtype=dtypes.bool_)])
        linear = cx.emit("stablehlo.reshape", [linear], avals=[flat_aval])
        if mask is not None and name in _IDENTITY:
            wide = cx.broadcast(mask, value_aval.update(dtype=dtypes.bool_), (0,))
            identity = cx.constant(_IDENTITY[name](aval.dtype), value_aval)
            values = cx.emit("stablehlo.select", [wide, values, identity], avals=[value_aval])
        elif mask is not None:
            linear = cx.emit("stablehlo.select", [mask, linear, cx.constant(row_count, flat_aval)], avals=[flat_aval])
        if flat_aval.dtype != dtypes.int32 and row_count < np.iinfo(np.int32).max:
            # The compiler narrows 64-bit places itself, but fails where two scatters share them.
            flat_aval = flat_aval.update(dtype=dtypes.int32)
            linear = cx.emit("stablehlo.convert", [linear], avals=[flat_aval])
        places = cx.emit("stablehlo.reshape", [linear], avals=[flat_aval.update(shape=(count, 1))])
        # The compiler crashes on some scatters to a single row, such as one of a larger array.
        spare = row_count == 1 or (mask is not None and name not in _IDENTITY)
        out = _scatter_rows(cx, combine, matrix, places, values, matrix_aval, value_aval, spare, hints)
        moved = [*rows, *columns]
        out = cx.emit("stablehlo.reshape", [out], avals=[aval.update(shape=[aval.shape[i] for i in moved])])
        back = [moved.index(i) for i in range(aval.ndim)]
        if back != list(range(aval.ndim)):
            out = cx.emit("stablehlo.transpose", [out], {"permutation": i64_array(back)}, [aval])
        return out

    return lower


def _row_parts(
    cx: Any,
    axis: int,
    d: ScatterDimensionNumbers,
    indices: Any,
    index_aval: ShapedArray,
    spread: ShapedArray,
    partial: list[int],
    batch_rank: int,
) -> list[Any]:
    """The summands of the index along one row axis, each of the shape `spread`."""
    parts = []
    if axis in d.scatter_dims_to_operand_dims:
        k = d.scatter_dims_to_operand_dims.index(axis)
        starts, ends = [0] * index_aval.ndim, list(index_aval.shape)
        starts[-1], ends[-1] = k, k + 1
        attributes = {
            "start_indices": i64_array(starts),
            "limit_indices": i64_array(ends),
            "strides": i64_array([1] * index_aval.ndim),
        }
        column = cx.emit(
            "stablehlo.slice", [indices], attributes, [index_aval.update(shape=(*index_aval.shape[:-1], 1))]
        )
        flat = index_aval.update(shape=index_aval.shape[:-1])
        column = cx.emit("stablehlo.reshape", [column], avals=[flat])
        parts.append(cx.broadcast(column, spread, range(batch_rank)))
    along = None
    if axis in d.operand_batching_dims:
        along = d.scatter_indices_batching_dims[d.operand_batching_dims.index(axis)]
    elif axis in partial:
        along = batch_rank + partial.index(axis)
    if along is not None and spread.shape[along] > 1:
        parts.append(cx.emit("stablehlo.iota", [], {"iota_dimension": f"{along} : i64"}, [spread]))
    return parts


def _reordered(cx: Any, x: Any, aval: ShapedArray, order: list[int], shape: tuple[int, ...]) -> Any:
    if order != list(range(aval.ndim)):
        moved = aval.update(shape=[aval.shape[i] for i in order])
        x = cx.emit("stablehlo.transpose", [x], {"permutation": i64_array(order)}, [moved])
    return cx.emit("stablehlo.reshape", [x], avals=[aval.update(shape=shape)])


def _scatter_rows(
    cx: Any,
    combine: Callable[[Any, Any], Any],
    matrix: Any,
    places: Any,
    values: Any,
    aval: ShapedArray,
    value_aval: ShapedArray,
    spare: bool,
    hints: dict[str, Any],
) -> Any:
    scalar = ShapedArray.of((), aval.dtype)
    numbers = (
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    )
    attributes = {
        "scatter_dimension_numbers": numbers,
        "indices_are_sorted": "true" if hints.get("indices_are_sorted") else "false",
        "unique_indices": "true" if hints.get("unique_indices") else "false",
    }
    region = cx.region([scalar, scalar], lambda old, new: [combine(old, new)])
    if not spare:
        return cx.emit("stablehlo.scatter", [matrix, places, values], attributes, [aval], [region])
    zero = cx.constant(np.zeros((), aval.dtype))
    padding = {
        "edge_padding_low": i64_array((0, 0)),
        "edge_padding_high": i64_array((1, 0)),
        "interior_padding": i64_array((0, 0)),
    }
    longer = aval.update(shape=(aval.shape[0] + 1, aval.shape[1]))
    matrix = cx.emit("stablehlo.pad", [matrix, zero], padding, [longer])
    out = cx.emit("stablehlo.scatter", [matrix, places, values], attributes, [longer], [region])
    bounds = {
        "start_indices": i64_array((0, 0)),
        "limit_indices": i64_array(aval.shape),
        "strides": i64_array((1, 1)),
    }
    return cx.emit("stablehlo.slice", [out], bounds, [aval])
