"""Means, variances, and weighted averages."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Axis
from stagec.core.dims import is_open
from stagec.numpy import reductions as rd
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype, requested_dtype_of
from stagec.numpy.promotion import broadcast_to_shape, promote_dtypes, truth
from stagec.numpy.reductions import count_over, mask_like, strong, with_axes
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import canonical_axes
from stagec.primitives.checks import HALF
from stagec.primitives.complex import conj, real
from stagec.primitives.convert import as_array
from stagec.primitives.logic import select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.reduce import reduce_sum
from stagec.primitives.shape import broadcast_in_dim, reshape, transpose
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["average", "mean", "std", "var"]


def mean_dtypes(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype in which means of `dtype` are computed, and the dtype of the result."""
    result = dtypes.to_inexact(dtype)
    return (np.dtype(np.float32) if result in HALF else result), result


def counted(x: Any, axes: tuple[int, ...], where: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Return the number of elements of each result, as `dtype`, keeping reduced axes with size 1."""
    if where is None:
        return literal(count_over(aval_of(x).shape, axes), dtype)
    return with_axes(strong(reduce_sum(strong(mask_like(x, where, name), dtype), axes)), axes, True)


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The average of the elements along `axis`; NaN where there are none.

    Args:
      a: an array; integers are averaged as floats, half precision in float32.
      axis: an axis, or several; all by default.
      dtype: dtype of the result.
      keepdims: keep reduced axes, with size 1.
      where: bools that broadcast to `a`; only these elements count.

    >>> import stagec.numpy as snp
    >>> float(snp.mean(snp.array([1, 2, 4, 5])))
    3.0
    """
    refuse_out(out, "mean")
    x = array_argument(a, "mean")
    axes = canonical_axes(axis, aval_of(x).ndim, "mean")
    work, result = mean_dtypes(aval_of(x).dtype if dtype is None else requested_dtype(dtype, "mean"))
    x = strong(x, work)
    total = rd.sum(x, axes, keepdims=keepdims, where=where)
    count = counted(x, axes, where, work, "mean")
    average = ar.div(total, count if where is None else _drop(count, axes, keepdims))
    if dtype is not None:
        result = requested_dtype(dtype, "mean")
    return strong(average, result)


def _drop(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    if keepdims or not axes:
        return x
    return reshape(x, [n for i, n in enumerate(aval_of(x).shape) if i not in axes])


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The average squared distance from the mean along `axis`.

    Args:
      a: an array; for complex numbers, the squared magnitude of the distance.
      axis: an axis, or several; all by default.
      dtype: dtype of the result.
      ddof: what to subtract from the number of elements to divide by.
      keepdims: keep reduced axes, with size 1.
      where: bools that broadcast to `a`; only these elements count.
      mean: the means, if they are known, with axes of size 1.
      correction: the array API's name of `ddof`.

    >>> import stagec.numpy as snp
    >>> float(snp.var(snp.array([1.0, 3.0])))
    1.0
    """
    refuse_out(out, "var")
    ddof = ddof if correction is None else correction
    x = array_argument(a, "var")
    shape = aval_of(x).shape
    axes = canonical_axes(axis, len(shape), "var")
    work, result = mean_dtypes(aval_of(x).dtype if dtype is None else requested_dtype(dtype, "var"))
    if dtypes.is_complex(aval_of(x).dtype) and not dtypes.is_complex(work):
        work = dtypes.complex_dtype(work)
    x = strong(x, work)
    count = counted(x, axes, where, work, "var")
    if mean is None:
        center = ar.div(rd.sum(x, axes, keepdims=True, where=where), count)
    else:
        center = strong(array_argument(mean, "var's mean"), work)
    gap = ar.sub(x, broadcast_to_shape(center, shape))
    square = real(ar.mul(gap, conj(gap))) if dtypes.is_complex(work) else ar.mul(gap, gap)
    total = rd.sum(square, axes, keepdims=True, where=where)
    width = aval_of(total).dtype
    if where is None and not (ddof and is_open(count_over(shape, axes))):
        freedom = count_over(shape, axes) - ddof
        divisor = literal(freedom if freedom > 0 else math.nan, width)
    else:
        divisor = ar.sub(counted(x, axes, where, width, "var"), literal(ddof, width))
        positive = ar.max(divisor, literal(0, width))
        divisor = select(truth(positive), positive, literal(math.nan, width))
    return strong(_drop(ar.div(total, divisor), axes, keepdims), dtypes.real_dtype(result))


def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """The square root of the variance along `axis`; arguments as for `var`.

    >>> import stagec.numpy as snp
    >>> float(snp.std(snp.array([1.0, 3.0])))
    1.0
    """
    refuse_out(out, "std")
    if dtype is not None:
        dtype = requested_dtype_of("an inexact", dtype, "std")
    return ar.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
@overload
def average(
    a: ArrayLike, axis: Axis, weights: ArrayLike | None, returned: Literal[True], keepdims: bool = False
) -> tuple[Array, Array]: ...
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False, keepdims: bool = False
) -> Array | tuple[Array, Array]:
    """The weighted average along `axis`.

    Args:
      a: an array.
      axis: an axis, or several; all by default.
      weights: an array of the shape of `a`, or of rank 1 along the one axis.
      returned: also return the sums of the weights.
      keepdims: keep reduced axes, with size 1.

    Raises:
      ShapeError: the weights do not fit.

    >>> import stagec.numpy as snp
    >>> float(snp.average(snp.array([1.0, 4.0]), weights=snp.array([2.0, 1.0])))
    2.0
    """
    x = array_argument(a, "average")
    shape = aval_of(x).shape
    axes = canonical_axes(axis, len(shape), "average")
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        if not returned:
            return result
        count = literal(count_over(shape, axes), aval_of(result).dtype)
        return result, as_array(strong(broadcast_to_shape(count, aval_of(result).shape)))
    w = array_argument(weights, "average's weights")
    dtype = dtypes.to_inexact(aval_of(promote_dtypes(x, w)[0]).dtype)
    if aval_of(w).shape != shape:
        if axis is None or aval_of(w).shape != tuple([shape[i] for i in axes]):
            raise location.error(
                errors.ShapeError,
                f"average: weights {aval_of(w).long()} do not fit {aval_of(x).long()}",
                fix="give weights the shape of the array, or name the axis that they run along",
            )
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        from_axes = tuple([axes[i] for i in order])
        w = broadcast_in_dim(transpose(w, order), shape, from_axes)
    x, w = strong(x, dtype), strong(w, dtype)
    scale = rd.sum(w, axes, keepdims=keepdims)
    result = ar.div(rd.sum(ar.mul(x, w), axes, keepdims=keepdims), scale)
    return (result, scale) if returned else result
