"""`x.at[index]`: updates of immutable arrays, as NumPy's assignments would make them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.control.loops import while_loop
from stagec.core import dtypes, errors, location, missing
from stagec.core.array import Array
from stagec.core.boundary import shorten
from stagec.core.graph import Literal
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument
from stagec.numpy.index_syntax import Parsed, parse
from stagec.numpy.indexing import advanced, getitem, index_columns, sliced, with_new_axes
from stagec.numpy.promotion import broadcast_to_shape, stretches_to
from stagec.numpy.values import array
from stagec.primitives import arithmetic, logic, scatter
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather import GatherScatterMode, ScatterDimensionNumbers
from stagec.primitives.iota import full_like
from stagec.primitives.operand import as_operand, aval_of, is_array_like, is_wide
from stagec.primitives.shape import expand_dims, reshape, rev
from stagec.primitives.slicing import dynamic_update_slice

# Larger than every axis.
_BEYOND = np.iinfo(np.int32).max


class At:
    """The helper behind `x.at`; index it, then call an update.

    >>> import stagec.numpy as snp
    >>> snp.zeros(3).at[1].set(5)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("_array",)

    def __init__(self, x: Any) -> None:
        self._array = x

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._array, index)

    def __repr__(self) -> str:
        return f"At({self._array!r})"


class AtIndex:
    """A place in an array, with the updates that can be made there.

    Every update returns a new array of the same shape and dtype. Indices out
    of range are dropped (`mode="drop"`, the default) or moved to the nearest
    end (`mode="clip"`). Where an index occurs twice, `add`, `multiply`, `min`
    and `max` count both; which of two values `set` keeps is not defined. With
    `wrap_negative_indices=False`, negative indices are out of range.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, x: Any, index: Any) -> None:
        self._array = x
        self._index = index

    def __getattr__(self, name: str) -> Any:
        raise missing.member_error(type(self), name, "x.at[i].")

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index]`, with a choice of what is read out of range.

        >>> import stagec.numpy as snp
        >>> snp.arange(3.0).at[7].get(mode="fill", fill_value=-1)
        Array(-1., dtype=float32)
        """
        if mode is None:
            mode = "clip" if fill_value is None else "fill"
        index = self._at(mode, wrap_negative_indices)._index
        return getitem(self._array, index, mode, fill_value, indices_are_sorted, unique_indices)

    def set(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] = values`

        >>> import stagec.numpy as snp
        >>> snp.zeros((2, 2)).at[:, 0].set(snp.array([1, 2]))
        Array([[1., 0.],
               [2., 0.]], dtype=float32)
        """
        here = self._at(mode, wrap_negative_indices)
        return here._update("set", values, indices_are_sorted, unique_indices, mode)

    def add(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] += values`, where repeated indices add up.

        >>> import stagec.numpy as snp
        >>> snp.zeros(2).at[snp.array([0, 0, 1])].add(1)
        Array([2., 1.], dtype=float32)
        """
        here = self._at(mode, wrap_negative_indices)
        return here._update("add", values, indices_are_sorted, unique_indices, mode)

    def subtract(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] -= values`, where repeated indices add up."""
        return self._at(mode, wrap_negative_indices)._update(
            "subtract", values, indices_are_sorted, unique_indices, mode
        )

    def multiply(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] *= values`, where repeated indices multiply."""
        return self._at(mode, wrap_negative_indices)._update(
            "multiply", values, indices_are_sorted, unique_indices, mode
        )

    mul = multiply

    def min(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] = minimum(x[index], values)`"""
        here = self._at(mode, wrap_negative_indices)
        return here._update("min", values, indices_are_sorted, unique_indices, mode)

    def max(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] = maximum(x[index], values)`"""
        here = self._at(mode, wrap_negative_indices)
        return here._update("max", values, indices_are_sorted, unique_indices, mode)

    def divide(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] /= values`

        >>> import stagec.numpy as snp
        >>> snp.ones(2).at[0].divide(4)
        Array([0.25, 1.  ], dtype=float32)
        """
        factors = AtIndex(full_like(self._array, 1), self._at(mode, wrap_negative_indices)._index)
        product = factors._update("multiply", values, indices_are_sorted, unique_indices, mode)
        return self._array / product

    def power(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """`x[index] **= values`

        >>> import stagec.numpy as snp
        >>> snp.arange(3).at[2].power(3)
        Array([0, 1, 8], dtype=int32)
        """
        exponents = AtIndex(full_like(self._array, 1), self._at(mode, wrap_negative_indices)._index)
        product = exponents._update("multiply", values, indices_are_sorted, unique_indices, mode)
        return self._array**product

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x[index] = func(x[index])`, once for each time that an index occurs, as `ufunc.at` does.

        Args:
          func: of arrays of any shape, each element alone. Where an index may occur twice, it runs in a loop.

        >>> import stagec.numpy as snp
        >>> snp.arange(3.0).at[1:].apply(lambda v: v * 10)
        Array([ 0., 10., 20.], dtype=float32)
        >>> snp.ones(2).at[snp.array([0, 0, 1])].apply(lambda v: v * 10)
        Array([100.,  10.], dtype=float32)
        """
        here = self._at(mode, wrap_negative_indices)
        old = getitem(self._array, here._index, "clip")
        if unique_indices or not here._may_repeat():
            values = func(old)
        else:
            counts = AtIndex(full_like(self._array, 0, dtypes.int32), here._index)
            times = getitem(counts._update("add", 1, False, False, mode), here._index, "clip")
            values = _applied(func, old, times)
        return here._update("set", values, indices_are_sorted, unique_indices, mode)

    def _at(self, mode: Any, wrap: bool) -> AtIndex:
        """The place, where negative numbers count from the end only if `wrap`."""
        if wrap:
            return self
        clips = GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP
        entries = self._index if isinstance(self._index, tuple) else (self._index,)
        return AtIndex(self._array, tuple([_without_negatives(e, clips) for e in entries]))

    def _may_repeat(self) -> bool:
        """Whether one place may be meant twice."""
        x = self._array
        parsed = parse(self._index, x.shape, True)
        if parsed.mask is not None and not isinstance(parsed.mask, list):
            return False
        arrays = [p for p in parsed.parts if p.kind == "array"]
        places = [p.value for p in arrays]
        if any(isinstance(p, Tracer) for p in places):
            return any(aval_of(p).size > 1 for p in places)
        # Different numbers beyond an end may be clipped to one.
        places = [np.clip(p.value, 0, x.shape[p.axis] - 1) for p in arrays]
        rows = np.stack([np.ravel(p) for p in np.broadcast_arrays(*places)]) if places else np.empty((1, 0))
        return np.unique(rows, axis=1).shape[1] < rows.shape[1]

    def _update(self, kind: str, values: Any, is_sorted: bool, unique: bool, mode: Any) -> Any:
        x = self._array
        values = _as_values(values, x)
        clips = GatherScatterMode.from_any(mode) == GatherScatterMode.CLIP
        parsed = parse(self._index, x.shape, clips)
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


def _without_negatives(entry: Any, clips: bool) -> Any:
    """Indices in which negative numbers are out of range: 0 where they are clipped, else beyond every end."""
    if isinstance(entry, (bool, np.bool_, slice)) or entry is None or entry is Ellipsis or not is_array_like(entry):
        return entry
    if isinstance(entry, (int, np.integer)):
        return entry if entry >= 0 else 0 if clips else _BEYOND
    if aval_of(as_operand(entry)).dtype.kind != "i":
        return entry
    if isinstance(entry, np.ndarray):
        return np.where(entry < 0, 0 if clips else _BEYOND, entry.astype(np.int64))
    places = array_argument(entry, "index")
    places = convert_element_type(places, dtypes.int32) if places.dtype.itemsize < 4 else places
    return logic.select(logic.lt(places, 0), full_like(places, 0 if clips else _BEYOND), places)


def _applied(func: Callable[[Any], Any], old: Any, times: Any) -> Any:
    """`func` applied to each element as often as `times` says."""

    def step(carry: Any) -> Any:
        done, value = carry
        new = broadcast_to_shape(convert_element_type(func(value), dtype), old.shape)
        return arithmetic.add(done, 1), logic.select(logic.lt(done, times), new, value)

    dtype = old.dtype
    start = (array(0, dtypes.int32), convert_element_type(old, dtype))
    most = times.max(initial=0)
    return while_loop(lambda carry: logic.lt(carry[0], most), step, start)[1]


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


def _as_values(values: Any, x: Any) -> Any:
    """The new values in the array's dtype."""
    if is_wide(values) or not is_array_like(values):
        values = array(values, x.dtype if is_wide(values) else None)
    else:
        values = array_argument(values, "values")
    have = values.aval
    if have.dtype != x.dtype or have.weak_type:
        joined, _ = dtypes.lattice_result([(x.dtype, False), (have.dtype, have.weak_type)])
        if joined != x.dtype:
            location.warn(
                f"scatter inputs have incompatible types: cannot safely cast value from dtype={have.dtype.name} to "
                f"dtype={x.dtype.name}; convert the values with astype",
                FutureWarning,
            )
        values = convert_element_type(values, x.dtype)
    return values


def _masked(kind: str, x: Any, mask: Any, values: Any) -> Any:
    """A traced mask as the whole index: a choice at each element."""
    rank = x.ndim - mask.ndim
    if values.ndim > rank or any(n not in (1, m) for n, m in zip(values.shape[::-1], x.shape[::-1])):
        # Which value goes where depends on how many are true before it.
        getitem(x, mask)
    wide = _spread_mask(mask, x.shape)
    values = broadcast_to_shape(values, x.shape)
    return logic.select(wide, _COMBINE[kind](x, values), x)


def _spread_mask(mask: Any, shape: tuple[int, ...]) -> Any:
    """A mask of the leading axes, spread over the others."""
    wide = expand_dims(mask, tuple(range(mask.ndim, len(shape))))
    return broadcast_to_shape(wide, shape)


def _contiguous(parsed: Parsed) -> bool:
    return all(p.kind != "slice" or p.value[2] in (1, -1) or p.value[1] <= 1 for p in parsed.parts)


def _broadcast_values(values: Any, shape: tuple[int, ...]) -> Any:
    """Values in the shape of the place; leading axes of size 1 may be too many, as in NumPy."""
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = reshape(values, values.shape[1:])
    if not stretches_to(values.shape, shape):
        raise location.error(
            errors.ShapeError,
            f"values of shape {values.shape} do not broadcast to the place's shape {tuple(shape)}",
            fix="pass a number, or an array that broadcasts to x[index]",
        )
    return broadcast_to_shape(values, shape)


def _written(kind: str, x: Any, parsed: Parsed, values: Any) -> Any:
    """A rectangle at a known place: read it where needed, combine, write it back."""
    parts = parsed.parts
    result = tuple([1 if p.kind == "new" else p.value[1] for p in parts if p.kind in ("new", "slice")])
    values = _broadcast_values(values, result)
    if 0 in result:
        return x
    sizes, starts, turned = [1] * x.ndim, [0] * x.ndim, []
    for part in parts:
        if part.kind == "int":
            starts[part.axis] = part.value
        elif part.kind == "slice":
            start, count, step = part.value
            sizes[part.axis] = count
            starts[part.axis] = start if step > 0 else start + (count - 1) * step
            if step < 0 and count > 1:
                turned.append(part.axis)
    values = reshape(values, tuple(sizes))
    if turned:
        values = rev(values, tuple(turned))
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


def _scattered(kind: str, x: Any, parsed: Parsed, values: Any, is_sorted: bool, unique: bool, mode: Any) -> Any:
    """Places that arrays give. Partial slices become arrays along an axis of their own."""
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
    # Axes of the updates without those that None added.
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


def at(x: Any) -> At:
    """The helper that `x.at` gives."""
    return At(array_argument(x, "x") if isinstance(x, (Literal, np.ndarray)) else x)


shorten(At, "__getitem__")
shorten(AtIndex, "get set add subtract multiply mul min max divide power apply")
