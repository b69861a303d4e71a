"""Functions along an axis: softmax, logmeanexp, standardize, one_hot."""

from __future__ import annotations

import math
from typing import Any

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Axis
from stagec.numpy.arguments import array_argument
from stagec.numpy.arithmetic import add, divide, dtype_of, multiply, square, subtract
from stagec.numpy.conditionals import where as choose
from stagec.numpy.elementary import exp, log, tanh as tanh
from stagec.numpy.extremes import maximum
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact, truth
from stagec.numpy.reductions import amax
from stagec.numpy.values import array
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.axes import as_shape, canonical_axes, canonical_axis
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import broadcasted_iota
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.primitives.reduce import reduce_max, reduce_sum
from stagec.primitives.shape import broadcast_in_dim, expand_dims
from stagec.scipy.sums import logsumexp as logsumexp
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


def _kept(reduce: Any, x: Operand, axes: tuple[int, ...]) -> Array:
    return expand_dims(reduce(x, axes), axes)


def _masked(x: Array, where: Any) -> Array:
    return x if where is None else choose(where, x, -math.inf)


def _peak(x: Array, axes: tuple[int, ...]) -> Array:
    """The largest number along axes, without derivatives."""
    return stop_gradient(amax(x, axes, keepdims=True) if dtypes.is_complex(x.dtype) else _kept(reduce_max, x, axes))


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """`exp(x) / sum(exp(x))` along `axis`.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      where: bool array; elements where it is false are ignored, and give 0.

    >>> import numpy as np
    >>> softmax(np.array([0.0, 0.0])).round(3).tolist()
    [0.5, 0.5]
    """
    (x,) = promote_inexact(x)
    x = _masked(x, where)
    axes = canonical_axes(axis, aval_of(x).ndim, "softmax")
    terms = exp(subtract(x, _peak(x, axes)))
    out = divide(terms, _kept(reduce_sum, terms, axes))
    return out if where is None else choose(where, out, 0.0)


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """`log(softmax(x, axis))`, accurate where it is far below 0.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      where: bool array; elements where it is false are ignored, and give minus infinity.

    >>> import numpy as np
    >>> np.asarray(log_softmax(np.array([0.0, 0.0]))).round(3).astype(float).round(3).tolist()
    [-0.693, -0.693]
    """
    (x,) = promote_inexact(x)
    x = _masked(x, where)
    axes = canonical_axes(axis, aval_of(x).ndim, "log_softmax")
    shifted = subtract(x, _peak(x, axes))
    out = subtract(shifted, log(_kept(reduce_sum, exp(shifted), axes)))
    return out if where is None else choose(where, out, -math.inf)


def _count(x: Operand, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    aval = aval_of(x)
    if where is None:
        return literal(math.prod([aval.shape[a] for a in axes]), dtype_of(x))
    mask = broadcast_to_shape(truth(as_operand(where)), aval.shape)
    total = reduce_sum(convert_element_type(mask, dtype_of(x)), axes)
    return expand_dims(total, axes) if keepdims else total


def logmeanexp(x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """`log(mean(exp(x)))` over `axis`, without intermediate overflow.

    >>> import numpy as np
    >>> round(float(logmeanexp(np.array([1000.0, 1000.0]))), 4)
    1000.0
    """
    (x,) = promote_inexact(x)
    axes = canonical_axes(axis, aval_of(x).ndim, "logmeanexp")
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return subtract(total, log(_count(x, axes, where, keepdims)))


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """`(x - mean) / sqrt(variance + epsilon)` along `axis`.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      mean, variance: computed from `x` by default.
      epsilon: keeps the divisor away from 0.
      where: bool array; elements where it is false are ignored.
      algorithm: `"fast"` computes the variance as `mean(x**2) - mean(x)**2`,
        `"stable"` as `mean((x - mean(x))**2)`.

    Raises:
      UnsupportedError: no such algorithm.

    >>> import numpy as np
    >>> standardize(np.array([1.0, 3.0])).round(3).tolist()
    [-1.0, 1.0]
    """
    if algorithm not in ("fast", "stable"):
        raise location.error(
            errors.UnsupportedError, f"standardize: unknown algorithm {algorithm!r}", fix="use 'fast' or 'stable'"
        )
    (x,) = promote_inexact(x)
    axes = canonical_axes(axis, aval_of(x).ndim, "standardize")
    count = _count(x, axes, where, True)

    def average(value: Any) -> Array:
        value = value if where is None else choose(where, value, 0.0)
        return divide(_kept(reduce_sum, value, axes), count)

    if mean is None:
        mean = average(x)
    if variance is None:
        if algorithm == "fast":
            # Rounding may make it negative.
            variance = maximum(subtract(average(ar.square(x)), square(mean)), 0.0)
        else:
            variance = average(square(subtract(x, mean)))
    return multiply(subtract(x, mean), ar.rsqrt(add(variance, epsilon)))


def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike = None, axis: int = -1) -> Array:
    """1 at the class of each element, 0 at the others.

    Args:
      x: integers; those outside of 0..num_classes-1 give only zeros.
      num_classes: size of the new axis.
      dtype: dtype of the result; the default float by default.
      axis: position of the new axis.

    >>> import numpy as np
    >>> one_hot(np.array([0, 2]), 3).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x = array(x) if isinstance(x, (list, tuple)) else array_argument(x, "one_hot's argument")
    aval = aval_of(x)
    position = canonical_axis(axis, aval.ndim + 1, "one_hot")
    (count,) = as_shape((num_classes,), "one_hot")
    shape = (*aval.shape[:position], count, *aval.shape[position:])
    classes = broadcasted_iota(aval.dtype, shape, position)
    kept = tuple(a for a in range(len(shape)) if a != position)
    same = logic.eq(broadcast_in_dim(x, shape, kept), classes)
    return convert_element_type(same, dtypes.default_float() if dtype is None else dtype)
