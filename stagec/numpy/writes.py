"""Implementation of the updates of `x.at[index]`: by slices, selects or scatters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.dynamic_slices import windowed
from stagec.numpy.index_syntax import Parsed, parse
from stagec.numpy.indexing import advanced, getitem, index_columns, sliced, with_new_axes
from stagec.numpy.promotion import broadcast_to_shape, check_dtypes, stretches_to
from stagec.numpy.values import array
from stagec.primitives import arithmetic, logic, scatter
from stagec.primitives.convert import convert_element_type_p
from stagec.primitives.gather_parts import GatherScatterMode, ScatterDimensionNumbers
from stagec.primitives.operand import aval_of, is_array_like, is_wide
from stagec.primitives.shape import expand_dims, reshape, rev
from stagec.primitives.slicing import dynamic_update_slice

location.assists(__file__)


def updated(kind: str, x: Any, index: Any, values: Any, is_sorted: bool, unique: bool, mode: Any) -> Array:
    """Return `x` with `values` written at `index`, combined with the old values as `kind` says."""
    window = windowed(x, index)
    if window is not None:
        part = updated(kind, window.part, window.entries, values, is_sorted, unique, mode)
        return dynamic_update_slice(x, part, window.starts)
    values = _as_values(values, x)
    clips = GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP
    parsed = parse(index, x.shape, clips)
    if parsed.mask is not None and not isinstance(parsed.mask, list):
        return _masked(kind, x, parsed.mask, values)
    shape = x.shape
    if parsed.mask is not None:
        x, parsed = with_new_axes(x, parsed)
    if any(p.kind == "array" for p in parsed.parts) or not _contiguous(parsed):
        out = _scattered(kind, x, parsed, values, is_sorted, unique, mode)
    else:
        out = _written(kind, x, parsed, values)
    return reshape(out, shape)


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": arithmetic.add,
    "subtract": arithmetic.sub,
    "multiply": arithmetic.mul,
    "min": arithmetic.min,
    "max": arithmetic.max,
}
_SCATTER: dict[str, Callable[..., Any]] = {
    "set": scatter.scatter,
    "add": scatter.scatter_add,
    "subtract": scatter.scatter_sub,
    "multiply": scatter.scatter_mul,
    "min": scatter.scatter_min,
    "max": scatter.scatter_max,
}


def _as_values(values: Any, x: Array) -> Any:
    """Convert the new values to the dtype of the array."""
    if is_wide(values) or not is_array_like(values):
        values = array(values, x.dtype if is_wide(values) else None)
    else:
        values = array_argument(values, "values")
    have = values.aval
    check_dtypes([(x.dtype, False), (have.dtype, have.weak_type)])
    if have.dtype != x.dtype or have.weak_type:
        joined, _ = dtypes.lattice_result([(x.dtype, False), (have.dtype, have.weak_type)])
        if joined != dtypes.canonicalize(x.dtype):
            location.warn(
                f"scatter inputs have incompatible types: cannot safely cast value from dtype={have.dtype.name} to "
                f"dtype={x.dtype.name}; convert the values with astype",
                FutureWarning,
            )
        values = convert_element_type_p(values, new_dtype=x.dtype, weak_type=False)
    return values


def _masked(kind: str, x: Array, mask: Array, values: Any) -> Array:
    """Update by a traced mask that is the whole index: a select for each element."""
    rank = x.ndim - mask.ndim
    if values.ndim > rank or any(n not in (1, m) for n, m in zip(values.shape[::-1], x.shape[::-1])):
        # The values would be written one by one where the mask is true, which `getitem` refuses for a traced mask.
        getitem(x, mask)
    full_mask = _broadcast_mask(mask, x.shape)
    values = broadcast_to_shape(values, x.shape)
    return logic.select(full_mask, _COMBINE[kind](x, values), x)


def _broadcast_mask(mask: Array, shape: tuple[int, ...]) -> Any:
    """Broadcast a mask of the leading axes over the others."""
    full_mask = expand_dims(mask, tuple(range(mask.ndim, len(shape))))
    return broadcast_to_shape(full_mask, shape)


def _contiguous(parsed: Parsed) -> bool:
    return all(p.kind != "slice" or p.value[2] in (1, -1) or p.value[1] <= 1 for p in parsed.parts)


def _broadcast_values(values: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast values to the indexed shape; excess leading axes of size 1 are dropped, as in NumPy."""
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = reshape(values, values.shape[1:])
    if not stretches_to(values.shape, shape):
        raise location.error(
            errors.ShapeError,
            f"values of shape {values.shape} do not broadcast to the indexed shape {tuple(shape)}",
            fix="pass a number, or an array that broadcasts to x[index]",
        )
    return broadcast_to_shape(values, shape)


def _written(kind: str, x: Array, parsed: Parsed, values: Any) -> Any:
    """Update a contiguous part at known indices by a dynamic_update_slice."""
    parts = parsed.parts
    result = tuple([1 if p.kind == "new" else p.value[1] for p in parts if p.kind in ("new", "slice")])
    values = _broadcast_values(values, result)
    if 0 in result:
        return x
    sizes, starts, reversed_axes = [1] * x.ndim, [0] * x.ndim, []
    for part in parts:
        if part.kind == "int":
            starts[part.axis] = part.value
        elif part.kind == "slice":
            start, count, step = part.value
            sizes[part.axis] = count
            starts[part.axis] = start if step > 0 else start + (count - 1) * step
            if step < 0 and count > 1:
                reversed_axes.append(part.axis)
    values = reshape(values, tuple(sizes))
    if reversed_axes:
        values = rev(values, tuple(reversed_axes))
    if kind != "set":
        straight = [
            p._replace(value=(starts[p.axis], p.value[1], 1)) if p.kind == "slice" else p
            for p in parts
            if p.kind != "new"
        ]
        values = _COMBINE[kind](sliced(x, straight), values)
    if tuple(sizes) == x.shape:
        return values
    return dynamic_update_slice(x, values, starts)


def _scattered(kind: str, x: Array, parsed: Parsed, values: Any, is_sorted: bool, unique: bool, mode: Any) -> Any:
    """Update by a scatter. Partial slices become index arrays along an axis of their own."""
    parts = parsed.parts
    has_arrays = any(p.kind == "array" for p in parts)
    if has_arrays:
        joined = advanced(parts)
        chosen, batch, position = joined.axes, joined.batch_shape, joined.position
        components = dict(zip(chosen, joined.arrays))
    else:
        components = {p.axis: p.value for p in parts if p.kind == "int"}
        batch, position = (), 0
    kept = [p for p in parts if p.kind in ("new", "slice")]
    layout: list[Any] = [*kept[:position], *[None] * len(batch), *kept[position:]]
    result = (
        *[1 if p.kind == "new" else p.value[1] for p in kept[:position]],
        *batch,
        *[1 if p.kind == "new" else p.value[1] for p in kept[position:]],
    )
    values = _broadcast_values(values, result)
    if 0 in result:
        return x
    # Axes of the updates, without the new ones of None.
    layout_real = [p for p in layout if p is None or p.kind == "slice"]
    update_shape = tuple([n for n, p in zip(result, layout) if p is None or p.kind == "slice"])
    values = reshape(values, update_shape)
    whole = [i for i, p in enumerate(layout_real) if p is not None and p.value == (0, x.shape[p.axis], 1)]
    batch_axes = [i for i in range(len(layout_real)) if i not in whole]
    batch_shape = tuple([update_shape[i] for i in batch_axes])
    first = layout_real.index(None) if batch else 0
    columns: dict[int, Any] = {}
    for axis, value in components.items():
        have = np.shape(value) if isinstance(value, int) else aval_of(value).shape
        spread = [1] * len(batch_axes)
        lead = len(batch) - len(have)
        for k, n in enumerate(have):
            spread[batch_axes.index(first + lead + k)] = n
        columns[axis] = value if isinstance(value, int) else _reshaped(value, tuple(spread))
    for i in batch_axes:
        part = layout_real[i]
        if part is not None:
            start, count, step = part.value
            spread = [-1 if j == i else 1 for j in batch_axes]
            columns[part.axis] = (start + step * np.arange(count, dtype=np.int32)).reshape(spread)
    axes = sorted(columns)
    if math.prod(x.shape) == 0:
        return x
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(whole),
        inserted_window_dims=tuple(axes),
        scatter_dims_to_operand_dims=tuple(axes),
    )
    arrays = [columns[a] for a in axes]
    known = all(isinstance(a, (int, np.ndarray)) for a in arrays)
    inside = known and all(
        np.min(a, initial=0) >= 0 and np.max(a, initial=0) < x.shape[axis] for a, axis in zip(arrays, axes)
    )
    return _SCATTER[kind](
        x,
        index_columns(arrays, batch_shape),
        values,
        numbers,
        indices_are_sorted=is_sorted,
        unique_indices=unique,
        mode="promise_in_bounds" if inside else mode,
    )


def _reshaped(value: Any, shape: tuple[int, ...]) -> Any:
    return value.reshape(shape) if isinstance(value, np.ndarray) else reshape(value, shape)
