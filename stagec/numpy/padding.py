"""pad, resize and trim_zeros."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.array import Array, Axis, Shape
from stagec.core.dims import Dim, is_open, maximum, open_error
from stagec.core.operators import ArrayOperators
from stagec.numpy.arguments import array_argument, concrete
from stagec.numpy.indexing import getitem
from stagec.numpy.joining import stack
from stagec.numpy.manipulation import ravel, reshape
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives import arithmetic, joining as _joining, shape as _shape
from stagec.primitives.axes import as_shape, canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import broadcasted_iota, full_like, iota
from stagec.primitives.logic import select
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike

__all__ = ["pad", "resize", "trim_zeros"]

_PARTS: dict[str, Callable[[Any, int], Any]] = {
    "maximum": lambda x, axis: x.max(axis, keepdims=True),
    "minimum": lambda x, axis: x.min(axis, keepdims=True),
    "mean": lambda x, axis: x.mean(axis, keepdims=True),
}


def pad(
    array: ArrayLike,
    pad_width: int | Sequence[Any] | Mapping[int, Any] | ArrayLike,
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """Pad an array.

    Args:
      array: an array.
      pad_width: how many elements to add at each end:
        a number, a pair (before, after), a pair for each axis, or a dict from axis to these.
      mode: `"constant"` (`constant_values=0`), `"edge"`, `"wrap"`, `"reflect"`
        and `"symmetric"` (`reflect_type="even"` or `"odd"`), `"linear_ramp"`
        (`end_values=0`), `"maximum"`, `"minimum"`, `"mean"` and `"median"`
        (`stat_length=None`), `"empty"`, or a function as in NumPy.
      kwargs: the mode's options.

    >>> import stagec.numpy as snp
    >>> pad(snp.array([1, 2, 3]), 2, "reflect")
    Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    x = array_argument(array, "array")
    width = _pairs(pad_width, x.ndim, "pad_width")
    if any(n < 0 for pair in width for n in pair):
        raise location.error(
            ValueError, "pad: pad_width can't contain negative values", fix="cut with a slice, as in x[1:]"
        )
    options: dict[str, dict[str, Any]] = {
        "constant": {"constant_values": 0},
        "linear_ramp": {"end_values": 0},
        "reflect": {"reflect_type": "even"},
        "symmetric": {"reflect_type": "even"},
        **{name: {"stat_length": None} for name in ("maximum", "minimum", "mean", "median")},
        **{name: {} for name in ("edge", "wrap", "empty")},
    }
    if callable(mode):
        return _pad_function(x, width, mode, kwargs)
    if mode not in options:
        raise location.error(ValueError, f"pad: unknown mode {mode!r}", fix=f"use one of {', '.join(sorted(options))}")
    unknown = set(kwargs) - set(options[mode])
    if unknown:
        raise location.error(
            ValueError,
            f"pad: mode {mode!r} has no option {', '.join(sorted(unknown))}",
            fix=f"its options are {', '.join(options[mode]) or 'none'}",
        )
    settings = {**options[mode], **kwargs}
    if mode == "empty":
        mode, settings = "constant", {"constant_values": 0}
    if mode == "constant" and not isinstance(settings["constant_values"], (tuple, list)):
        values = array_argument(settings["constant_values"], "constant_values")
        if not values.ndim:
            config = [(before, after, 0) for before, after in width]
            return _joining.pad(x, convert_element_type(values, x.dtype), config)
    for axis, (before, after) in enumerate(width):
        if before or after:
            x = _pad_axis(x, axis, before, after, mode, settings)
    return x


def _pairs(value: Any, ndim: int, name: str) -> list[tuple[int, int]]:
    if isinstance(value, dict):
        out = [(0, 0)] * ndim
        for axis, pair in value.items():
            out[canonical_axis(axis, ndim, "pad")] = _pairs(pair, 1, name)[0]
        return out
    numbers = np.asarray(concrete(value, "pad", name) if isinstance(value, ArrayOperators) else value)
    if any(isinstance(number, Dim) for number in numbers.flat):
        raise open_error("pad", f"{name} is {value!r}")
    if numbers.dtype.kind not in "iu":
        raise location.error(
            TypeError,
            f"pad: {name} must be integers, got {value!r}",
            fix="widths are integers; use // instead of / to compute them",
        )
    try:
        return [(int(a), int(b)) for a, b in np.broadcast_to(numbers, (ndim, 2))]
    except ValueError:
        raise shape_error(
            "pad", f"{name} {value!r} does not fit {ndim} axes", "give one number, one pair, or a pair for each axis"
        ) from None


def _side(values: Any, axis: int, ndim: int, side: int, dtype: Any) -> Array:
    """Return the value for one end of one axis from an option that broadcasts to (axes, 2)."""
    if isinstance(values, (tuple, list)):
        rows = [v if isinstance(v, (tuple, list)) else [v] for v in values]
        flat = not any(isinstance(v, (tuple, list)) for v in values)
        row = list(values) if flat else rows[axis % len(rows)]
        chosen = row[side % len(row)]
        return convert_element_type(array_argument(chosen, "constant_values"), dtype)
    values = array_argument(values, "constant_values")
    return convert_element_type(getitem(broadcast_to_shape(values, (ndim, 2)), (axis, side)), dtype)


def _pad_axis(x: Array, axis: int, before: int, after: int, mode: str, settings: dict[str, Any]) -> Array:
    size = x.shape[axis]
    if not size and mode not in ("constant", "linear_ramp"):
        raise location.error(
            ValueError,
            f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'",
            fix="pad with mode='constant'",
        )
    ends: list[Any] = []
    for side, count in enumerate((before, after)):
        if not count:
            continue
        shape = tuple([count if i == axis else n for i, n in enumerate(x.shape)])
        edge = slice_in_dim(x, 0, 1, 1, axis) if side == 0 else slice_in_dim(x, size - 1, size, 1, axis)
        if mode == "constant":
            value = _side(settings["constant_values"], axis, x.ndim, side, x.dtype)
            end = broadcast_to_shape(value, shape)
        elif mode == "edge":
            end = broadcast_to_shape(edge, shape)
        elif mode == "linear_ramp":
            end = _ramp(x, edge, axis, shape, side, _side(settings["end_values"], axis, x.ndim, side, x.dtype))
        elif mode in _PARTS or mode == "median":
            end = broadcast_to_shape(_statistic(x, axis, side, mode, settings["stat_length"]), shape)
        else:
            continue
        ends.append((side, end))
    if mode in ("wrap", "reflect", "symmetric"):
        return _mirrored(x, axis, before, after, mode, settings)
    lead = [end for side, end in ends if side == 0]
    tail = [end for side, end in ends if side == 1]
    return _joining.concatenate([*lead, x, *tail], axis)


def _ramp(x: Array, edge: Array, axis: int, shape: tuple[int, ...], side: int, value: Any) -> Array:
    count = shape[axis]
    kind = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
    step = (
        broadcasted_iota(kind, shape, axis)
        if not dtypes.is_complex(kind)
        else convert_element_type(broadcasted_iota(dtypes.real_dtype(kind), shape, axis), kind)
    )
    fraction = arithmetic.div(step if side == 0 else arithmetic.sub(count - 1, step), count)
    start = broadcast_to_shape(convert_element_type(value, kind), shape)
    stop = broadcast_to_shape(convert_element_type(edge, kind), shape)
    out = arithmetic.add(start, arithmetic.mul(arithmetic.sub(stop, start), fraction))
    return convert_element_type(arithmetic.floor(out) if dtypes.is_integer(x.dtype) else out, x.dtype)


def _statistic(x: Array, axis: int, side: int, mode: str, stat_length: Any) -> Array:
    size = x.shape[axis]
    if stat_length is not None:
        length = min(_pairs(stat_length, x.ndim, "stat_length")[axis][side], size)
        x = slice_in_dim(x, 0, length, 1, axis) if side == 0 else slice_in_dim(x, size - length, size, 1, axis)
    if mode == "median":
        ordered = x.sort(axis)
        size = x.shape[axis]
        low = slice_in_dim(ordered, (size - 1) // 2, (size - 1) // 2 + 1, 1, axis)
        high = slice_in_dim(ordered, size // 2, size // 2 + 1, 1, axis)
        out = (low + high) / 2
    else:
        out = _PARTS[mode](x, axis)
    if dtypes.is_integer(x.dtype) and dtypes.is_inexact(out.dtype):
        out = arithmetic.round(out, 1)
    return convert_element_type(out, x.dtype)


def _mirrored_positions(size: int, before: int, after: int, mode: str) -> Any:
    """The index of the source of each element of a padded axis."""
    positions: Any
    where: Callable[..., Any]
    if is_open(size):
        positions, where = arithmetic.sub(iota(np.int32, before + size + after), before), select
    else:
        positions, where = np.arange(-before, size + after), np.where
    if mode == "wrap":
        return positions % size
    period, last = (maximum(2 * size - 2, 1), 2 * size - 2) if mode == "reflect" else (2 * size, 2 * size - 1)
    turn = positions % period
    return where(turn < size, turn, last - turn)


def _mirrored(x: Array, axis: int, before: int, after: int, mode: str, settings: dict[str, Any]) -> Array:
    """Pad one axis with the array itself, repeated (wrap) or mirrored."""
    reflect_type = settings.get("reflect_type", "even")
    odd = reflect_type == "odd"
    if reflect_type not in ("even", "odd"):
        raise location.error(
            ValueError, f"pad: reflect_type is {reflect_type!r}", fix="use reflect_type='even' or 'odd'"
        )
    size = x.shape[axis]
    if not odd:
        # One gather: the index of the source of each element of the result.
        source = _mirrored_positions(size, before, after, mode)
        return getitem(x, (*[slice(None)] * axis, source.astype(np.int32)))
    if is_open(size):
        raise open_error(f"pad with mode={mode!r} and reflect_type='odd'", x.aval.long())
    while before or after:
        size = x.shape[axis]
        skip = 1 if mode == "reflect" and size > 1 else 0
        most = max(size - skip, 1)
        lead, tail = min(before, most), min(after, most)
        parts = [x]
        if lead:
            edge = slice_in_dim(x, 0, 1, 1, axis)
            piece = _shape.rev(slice_in_dim(x, skip, skip + lead, 1, axis), (axis,))
            parts.insert(0, arithmetic.sub(broadcast_to_shape(edge * 2, piece.shape), piece))
        if tail:
            edge = slice_in_dim(x, size - 1, size, 1, axis)
            piece = _shape.rev(slice_in_dim(x, size - skip - tail, size - skip, 1, axis), (axis,))
            parts.append(arithmetic.sub(broadcast_to_shape(edge * 2, piece.shape), piece))
        x = _joining.concatenate(parts, axis)
        before, after = before - lead, after - tail
    return x


def _pad_function(x: Array, width: Sequence[tuple[int, int]], function: Callable[..., Any], kwargs: Any) -> Array:
    """Pad with a user's function, as in NumPy; here the function returns the new vector."""
    x = _joining.pad(x, np.zeros((), x.dtype), [(a, b, 0) for a, b in width])
    for axis in range(x.ndim):
        order = [i for i in range(x.ndim) if i != axis]
        lines = _shape.transpose(x, [*order, axis])
        flat = reshape(lines, (math.prod(lines.shape[:-1]), lines.shape[-1]))
        new = [function(getitem(flat, i), width[axis], axis, kwargs) for i in range(flat.shape[0])]
        lines = reshape(stack([getitem(flat, i) if n is None else n for i, n in enumerate(new)]), lines.shape)
        x = _shape.transpose(lines, [[*order, axis].index(i) for i in range(x.ndim)])
    return x


def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """Repeat the elements to fill another shape.

    >>> import stagec.numpy as snp
    >>> resize(snp.array([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)
    """
    a = ravel(array_argument(a, "a"))
    shape = as_shape(new_shape, "resize")
    count = math.prod(shape)
    if not a.size or not count:
        return full_like(a, 0, shape=shape)
    repeats = -(-count // a.size)
    many = ravel(_shape.broadcast(a, (repeats,)))
    return reshape(getitem(many, slice(count)), shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """An array without the leading (`"f"`) and trailing (`"b"`) slices that are all zeros; its values must be known.

    Args:
      filt: an array.
      trim: which ends: `"f"`, `"b"` or both.
      axis: an axis, or several, along which to trim; all by default.

    >>> import stagec.numpy as snp
    >>> trim_zeros(snp.array([0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    x = array_argument(filt, "filt")
    found = np.nonzero(concrete(x, "trim_zeros", "the array"))
    ends = trim.lower()
    parts = []
    for i, n in enumerate(x.shape):
        if i not in canonical_axes(axis, x.ndim, "trim_zeros"):
            parts.append(slice(None))
        elif not len(found[i]):
            parts.append(slice(0))
        else:
            parts.append(slice(found[i].min() if "f" in ends else 0, found[i].max() + 1 if "b" in ends else n))
    return getitem(x, tuple(parts))
