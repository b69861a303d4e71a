"""Sums of exponentials, safe from overflow."""

from __future__ import annotations

import math
from typing import Literal, overload

from stagec.core import dtypes
from stagec.core.array import Array, Axis
from stagec.numpy.arithmetic import divide, dtype_of, multiply, reject, subtract
from stagec.numpy.conditionals import where as choose
from stagec.numpy.logical import isfinite
from stagec.numpy.promotion import promote_floating, promote_inexact
from stagec.numpy.reductions import mask_like
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.axes import canonical_axes
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.operand import aval_of
from stagec.primitives.reduce import reduce_max, reduce_sum
from stagec.primitives.shape import expand_dims
from stagec.typing import ArrayLike


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """`log(sum(b * exp(a)))`, without overflow on the way.

    Args:
      a: real numbers.
      axis: the axes to sum over; by default all.
      b: weights, which broadcast with `a`.
      keepdims: leave the axes in, with size 1.
      return_sign: also return the sign of the sum.
      where: bool array; elements where it is false are left out.

    Returns:
      The logarithm of the absolute value of the sum, and its sign if `return_sign`;
      without it, a negative sum gives NaN.

    >>> import numpy as np
    >>> round(float(logsumexp(np.array([1000.0, 1000.0]))), 4)
    1000.6932
    """
    (x,) = promote_floating("logsumexp", a)
    if dtypes.is_complex(dtype_of(x)):
        raise reject("logsumexp", dtype_of(x), "take the parts with real() and imag() first")
    weights = None
    if b is not None:
        x, weights = promote_floating("logsumexp", x, b)
        x = choose(logic.eq(weights, 0.0), -math.inf, x)
    if where is not None:
        x = choose(mask_like(x, where, "logsumexp"), x, -math.inf)
    axes = canonical_axes(axis, aval_of(x).ndim, "logsumexp")
    top = expand_dims(reduce_max(x, axes), axes)
    top = stop_gradient(choose(isfinite(top), top, 0.0))
    terms = tr.exp(subtract(x, top))
    if weights is not None:
        terms = multiply(terms, weights)
    total = reduce_sum(terms, axes)
    if keepdims:
        total = expand_dims(total, axes)
    shift = top if keepdims else reduce_max(top, axes)
    if return_sign:
        return ar.add(tr.log(ar.abs(total)), shift), ar.sign(total)
    return ar.add(tr.log(total), shift)


def softmax(x: ArrayLike, axis: Axis = None) -> Array:
    """`exp(x) / sum(exp(x))` along the axes; by default over all elements.

    >>> import numpy as np
    >>> softmax(np.array([0.0, 0.0])).round(3).tolist()
    [0.5, 0.5]
    """
    (x,) = promote_inexact(x)
    return _shares(x, canonical_axes(axis, aval_of(x).ndim, "softmax"))


def log_softmax(x: ArrayLike, axis: Axis = None) -> Array:
    """`log(softmax(x))`, accurate where it is far below 0.

    >>> import numpy as np
    >>> np.asarray(log_softmax(np.array([0.0, 0.0]))).round(3).astype(float).round(3).tolist()
    [-0.693, -0.693]
    """
    (x,) = promote_inexact(x)
    return _log_shares(x, canonical_axes(axis, aval_of(x).ndim, "log_softmax"))


def _shares(x: Array, axes: tuple[int, ...]) -> Array:
    top = expand_dims(reduce_max(x, axes), axes)
    terms = tr.exp(subtract(x, stop_gradient(top)))
    return divide(terms, expand_dims(reduce_sum(terms, axes), axes))


def _log_shares(x: Array, axes: tuple[int, ...]) -> Array:
    top = expand_dims(reduce_max(x, axes), axes)
    shifted = subtract(x, stop_gradient(top))
    return subtract(shifted, tr.log(expand_dims(reduce_sum(tr.exp(shifted), axes), axes)))
