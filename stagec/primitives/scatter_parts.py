"""The shape rule, evaluation and lowering of the scatters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dims, dtypes
from stagec.core.aval import ShapedArray
from stagec.primitives.axes import shape_error
from stagec.primitives.checks import check_dtype, same_dtype
from stagec.primitives.gather_parts import (
    GatherScatterMode,
    Ints,
    ScatterDimensionNumbers,
    check_index_type,
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
    check_index_type(name, indices)
    window = x.ndim - len(d.inserted_window_dims) - len(d.operand_batching_dims)
    batch = tuple([n for i, n in enumerate(updates.shape) if i not in d.update_window_dims])
    if (
        indices.shape[-1] != len(d.scatter_dims_to_operand_dims)
        or len(d.update_window_dims) != window
        or batch != indices.shape[:-1]
        or any(
            s > n and i not in d.operand_batching_dims
            for i, (s, n) in enumerate(zip(window_sizes(d, x.ndim, updates.shape), x.shape))
        )
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
            # One window after the other, as in compiled code: where two overlap, the later one is written.
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


def scatter_lower(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`stablehlo.scatter`, whose indices are changed so that windows out of bounds are clamped or dropped."""

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
        scalar = ShapedArray.of((), aval.dtype)
        region = cx.region([scalar, scalar], lambda old, new: [combine(old, new)])

        def emit(d: Any, x: Any, indices: Any, updates: Any, aval: ShapedArray, window: Any, axis: int) -> Any:
            numbers = (
                f"#stablehlo.scatter<update_window_dims = {list(window)}"
                f", inserted_window_dims = {list(d.inserted_window_dims)}"
                f", input_batching_dims = {list(d.operand_batching_dims)}"
                f", scatter_indices_batching_dims = {list(d.scatter_indices_batching_dims)}"
                f", scatter_dims_to_operand_dims = {list(d.scatter_dims_to_operand_dims)}"
                f", index_vector_dim = {axis}>"
            )
            attributes = {
                "scatter_dimension_numbers": numbers,
                "indices_are_sorted": "true" if hints.get("indices_are_sorted") else "false",
                "unique_indices": "true" if hints.get("unique_indices") else "false",
            }
            return cx.emit("stablehlo.scatter", [x, indices, updates], attributes, [aval], [region])

        drops = mode == GatherScatterMode.FILL_OR_DROP
        if cx.open_rules is not None:
            indices, index_aval = signed_indices(cx, indices, index_aval)
            found = (aval, index_aval, update_aval)
            return cx.open_rules.scatter(cx, (x, indices, updates), found, d, sizes, drops, emit)
        limits = [aval.shape[i] - sizes[i] for i in d.scatter_dims_to_operand_dims]
        if not drops:
            # StableHLO drops updates that are out of range; for a promise that there are none, a clamp is enough.
            indices, index_aval = signed_indices(cx, indices, index_aval)
            indices = clamp_indices(cx, indices, index_aval, limits)
        elif any(sizes[i] > 1 for i in d.scatter_dims_to_operand_dims):
            # StableHLO drops single elements, stagec whole windows: they are moved until all elements are out of range.
            indices, index_aval = signed_indices(cx, indices, index_aval)
            mask = in_range(cx, indices, index_aval, limits)
            mask = cx.broadcast(mask, index_aval.update(dtype=dtypes.bool_), range(index_aval.ndim - 1))
            beyond = cx.constant(functools.reduce(dims.maximum, aval.shape), index_aval)
            indices = cx.emit("stablehlo.select", [mask, indices, beyond], avals=[index_aval])
        return emit(d, x, indices, updates, aval, d.update_window_dims, index_aval.ndim - 1)

    return lower
