"""Cumulative sums and products, differences of neighbors, trapezoid and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Axis
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_dtypes, promote_inexact, truth
from stagec.numpy.reductions import integer_sum_dtype, strong, sum
from stagec.primitives import arithmetic as ar, cumulative as cu
from stagec.primitives.axes import as_int, canonical_axes, canonical_axis
from stagec.primitives.iota import full
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import bitwise_xor, ne, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import slice_in_dim
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "nancumprod",
    "nancumsum", "trapezoid",
]  # fmt: skip


def _running(
    name: str, row: Callable[..., Array], a: Any, axis: int | None, dtype: Any, nan_as: int | None = None
) -> Array:
    x = array_argument(a, name)
    found = aval_of(x).dtype if dtype is None else requested_dtype(dtype, name)
    if nan_as is not None and dtypes.is_inexact(aval_of(x).dtype):
        x = select(ne(x, x), literal(nan_as, aval_of(x).dtype), x)
    as_bools = dtype is not None and dtypes.is_bool(found)
    if dtypes.is_bool(found):
        x, found = truth(x), dtypes.default_int()
    x = strong(x, found)
    if axis is None:
        out = row(reshape(x, (aval_of(x).size,)), 0)
    else:
        out = row(x, canonical_axis(axis, aval_of(x).ndim, name))
    return truth(out) if as_bools else out


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Array:
    """The sums of the elements up to each position along `axis`, or of the flat array.

    Args:
      a: an array; bools are counted, integers keep their dtype.
      axis: the axis to run along.
      dtype: dtype to add in.

    >>> import stagec.numpy as snp
    >>> snp.cumsum(snp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    refuse_out(out, "cumsum")
    return _running("cumsum", cu.cumsum, a, axis, dtype)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Array:
    """The products of the elements up to each position; arguments as for `cumsum`.

    >>> import stagec.numpy as snp
    >>> snp.cumprod(snp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    refuse_out(out, "cumprod")
    return _running("cumprod", cu.cumprod, a, axis, dtype)


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Array:
    """`cumsum`, with NaN counted as 0.

    >>> import stagec.numpy as snp
    >>> snp.nancumsum(snp.array([1.0, snp.nan, 2.0]))
    Array([1., 1., 3.], dtype=float32)
    """
    refuse_out(out, "nancumsum")
    return _running("nancumsum", cu.cumsum, a, axis, dtype, nan_as=0)


def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Array:
    """`cumprod`, with NaN counted as 1.

    >>> import stagec.numpy as snp
    >>> snp.nancumprod(snp.array([2.0, snp.nan, 2.0]))
    Array([2., 2., 4.], dtype=float32)
    """
    refuse_out(out, "nancumprod")
    return _running("nancumprod", cu.cumprod, a, axis, dtype, nan_as=1)


def _cumulative(name: str, row: Any, x: Any, axis: int | None, dtype: Any, include_initial: bool, start: int) -> Array:
    x = array_argument(x, name)
    rank = aval_of(x).ndim
    if axis is None:
        if rank != 1:
            raise location.error(
                errors.AxisError,
                f"{name}: axis must be given for {aval_of(x).long()}",
                fix="name the axis to run along, axis=0",
            )
        axis = 0
    axis = canonical_axis(axis, rank, name)
    out = _running(name, row, x, axis, integer_sum_dtype(aval_of(x).dtype) if dtype is None else dtype)
    if not include_initial:
        return out
    shape = list(aval_of(out).shape)
    shape[axis] = 1
    return concatenate([full(shape, start, aval_of(out).dtype), out], axis)


def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None, include_initial: bool = False
) -> Array:
    """The array API's running sum: small integers are added in at least 32 bits.

    Args:
      x: an array.
      axis: the axis to run along; needed unless the array has one axis.
      dtype: dtype to add in.
      include_initial: begin with 0, so that the axis is one element longer.

    Raises:
      AxisError: `axis` is missing.

    >>> import stagec.numpy as snp
    >>> snp.cumulative_sum(snp.array([1, 2]), include_initial=True)
    Array([0, 1, 3], dtype=int32)
    """
    return _cumulative("cumulative_sum", cu.cumsum, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None, include_initial: bool = False
) -> Array:
    """The array API's running product; arguments as for `cumulative_sum`.

    >>> import stagec.numpy as snp
    >>> snp.cumulative_prod(snp.array([3, 2]), include_initial=True)
    Array([1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", cu.cumprod, x, axis, dtype, include_initial, 1)


def _cut(x: Any, start: int | None, stop: int | None, axis: int) -> Array:
    return slice_in_dim(x, start, stop, 1, axis)


def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None
) -> Array:
    """The differences of neighbors along `axis`, taken `n` times.

    Args:
      a: an array of rank 1 or more; for bools, whether neighbors differ.
      n: how often to take differences.
      axis: the axis to run along.
      prepend, append: values that are put before or after the elements before differences are taken.

    Raises:
      ShapeError: `n` is negative.

    >>> import stagec.numpy as snp
    >>> snp.diff(snp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = array_argument(a, "diff")
    n = as_int(n, "diff", "n")
    axis = canonical_axis(axis, aval_of(x).ndim, "diff")
    if n < 0:
        raise location.error(errors.ShapeError, f"diff: n must not be negative, got {n}", fix="give n of 0 or more")
    if n == 0:
        return x
    parts: list[Any] = [v for v in (prepend, x, append) if v is not None]
    if len(parts) > 1:
        parts = promote_dtypes(*parts)
        edge = list(aval_of(x).shape)
        edge[axis] = 1
        x = concatenate([p if aval_of(p).ndim else broadcast_to_shape(p, edge) for p in parts], axis)
    for _ in range(n):
        if aval_of(x).shape[axis] == 0:
            return x
        after, before = _cut(x, 1, None, axis), _cut(x, None, -1, axis)
        x = bitwise_xor(after, before) if dtypes.is_bool(aval_of(x).dtype) else ar.sub(after, before)
    return x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """The differences of neighbors of the flat array, with optional values at the ends.

    >>> import stagec.numpy as snp
    >>> snp.ediff1d(snp.array([1, 4, 9]), to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    x = array_argument(ary, "ediff1d")
    dtype = aval_of(x).dtype
    parts = [diff(reshape(x, (aval_of(x).size,)))]
    if to_begin is not None:
        parts.insert(0, _flat(to_begin, dtype))
    if to_end is not None:
        parts.append(_flat(to_end, dtype))
    return parts[0] if len(parts) == 1 else concatenate(parts, 0)


def _flat(value: Any, dtype: np.dtype[Any]) -> Any:
    x = strong(array_argument(value, "ediff1d's ends"), dtype)
    return reshape(x, (aval_of(x).size,))


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """The integral of samples along `axis` by the trapezoidal rule.

    Args:
      y: samples.
      x: coordinates of the samples, of rank 1 or of the shape of `y`.
      dx: the distance of samples, if there is no `x`.
      axis: the axis to integrate along.

    >>> import stagec.numpy as snp
    >>> float(snp.trapezoid(snp.array([1.0, 2.0, 3.0])))
    4.0
    """
    if x is None:
        values, step = promote_inexact(array_argument(y, "trapezoid"), dx)
        axis = canonical_axis(axis, aval_of(values).ndim, "trapezoid")
        if not aval_of(values).shape[axis]:
            return sum(values, axis)  # without samples there is no area
        pairs = ar.add(_cut(values, 1, None, axis), _cut(values, None, -1, axis))
        area = ar.mul(pairs, broadcast_to_shape(step, aval_of(pairs).shape) if aval_of(step).ndim else step)
    else:
        values, coordinates = promote_inexact(array_argument(y, "trapezoid"), array_argument(x, "trapezoid's x"))
        axis = canonical_axis(axis, aval_of(values).ndim, "trapezoid")
        gaps = diff(coordinates) if aval_of(coordinates).ndim == 1 else diff(coordinates, axis=axis)
        if aval_of(gaps).ndim == 1:
            shape = [1] * aval_of(values).ndim
            shape[axis] = aval_of(gaps).size
            gaps = reshape(gaps, shape)
        pairs = ar.add(_cut(values, 1, None, axis), _cut(values, None, -1, axis))
        shape = list(broadcast_shapes(aval_of(pairs).shape, aval_of(gaps).shape))
        area = ar.mul(broadcast_to_shape(pairs, shape), broadcast_to_shape(gaps, shape))
    return ar.mul(sum(area, axis), literal(0.5, aval_of(area).dtype))


def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None) -> Any:
    """The slope along each axis: central differences inside, one-sided ones at the ends.

    Args:
      f: samples, at least two along each axis.
      varargs: the distance of samples, one for all axes or one for each: a
        number, or the samples' coordinates.
      axis: an axis, or several; all by default.
      edge_order: 1; second-order ends are not supported.

    Returns:
      An array, or a list of arrays if there are several axes.

    Raises:
      ShapeError: an axis has fewer than two samples, or the distances do not fit.

    >>> import stagec.numpy as snp
    >>> snp.gradient(snp.array([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise location.error(errors.UnsupportedError, f"gradient: edge_order={edge_order}", fix="use edge_order=1")
    (x,) = promote_inexact(array_argument(f, "gradient"))
    axes = canonical_axes(axis, aval_of(x).ndim, "gradient")
    if len(varargs) not in (0, 1, len(axes)):
        raise _gradient_error(
            f"{len(varargs)} distances for {len(axes)} axes", "give one distance, or one for each axis"
        )
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    out = [
        _slope(x, a, strong(array_argument(h, "gradient's distance"), aval_of(x).dtype)) for a, h in zip(axes, steps)
    ]
    return out[0] if len(out) == 1 else out


def _gradient_error(text: str, fix: str) -> errors.ShapeError:
    return location.error(errors.ShapeError, f"gradient: {text}", fix=fix)


def _slope(x: Array, axis: int, step: Array) -> Array:
    shape, dtype = aval_of(x).shape, aval_of(x).dtype
    n = shape[axis]
    if n < 2:
        raise _gradient_error(
            f"axis {axis} of {aval_of(x).long()} has {n} samples",
            "give two samples or more, or name other axes with axis=",
        )
    first = ar.sub(_cut(x, 1, 2, axis), _cut(x, 0, 1, axis))
    last = ar.sub(_cut(x, n - 1, n, axis), _cut(x, n - 2, n - 1, axis))
    if aval_of(step).ndim == 0:
        inner = ar.sub(_cut(x, 2, None, axis), _cut(x, None, -2, axis))
        inner = ar.mul(inner, literal(0.5, dtype))
        return ar.div(concatenate([first, inner, last], axis), step)
    if aval_of(step).shape != (n,):
        raise _gradient_error(
            f"coordinates of shape {aval_of(step).shape} for {n} samples", "give one coordinate for each sample"
        )
    unit = [1] * len(shape)
    unit[axis] = n - 1
    gaps = reshape(diff(step), unit)
    before, after = _cut(gaps, None, -1, axis), _cut(gaps, 1, None, axis)

    def spread(v: Array, like: Array) -> Any:
        return broadcast_to_shape(v, aval_of(like).shape)

    left = ar.sub(_cut(x, 1, -1, axis), _cut(x, None, -2, axis))
    right = ar.sub(_cut(x, 2, None, axis), _cut(x, 1, -1, axis))
    # The slope on each side, weighted by the distance on the other side.
    total = ar.add(before, after)
    inner = ar.add(
        ar.mul(left, spread(ar.div(after, ar.mul(before, total)), left)),
        ar.mul(right, spread(ar.div(before, ar.mul(after, total)), right)),
    )
    first = ar.div(first, spread(_cut(gaps, 0, 1, axis), first))
    last = ar.div(last, spread(_cut(gaps, n - 2, n - 1, axis), last))
    return concatenate([first, inner, last], axis)
