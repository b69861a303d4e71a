"""Activations, and functions of the values along an axis."""

from __future__ import annotations

import math
from typing import Any

from stagec.core import dtypes, errors, location
from stagec.numpy.arithmetic import (
    absolute,
    add,
    as_array,
    clip,
    divide,
    dtype_of,
    logaddexp,
    maximum,
    minimum,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
)
from stagec.numpy.axes import normalize_axes, normalize_axis
from stagec.numpy.choice import where as choose
from stagec.numpy.elementary import exp, expm1, log
from stagec.numpy.elementary import tanh as tanh
from stagec.numpy.logical import greater_equal, truth
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact
from stagec.primitives import arithmetic as ar
from stagec.primitives import logic, special
from stagec.primitives import transcendental as tr
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import broadcasted_iota
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.reduce import reduce_max, reduce_sum
from stagec.primitives.shape import broadcast_in_dim, expand_dims
from stagec.primitives.slicing import slice_in_dim
from stagec.scipy.special import logsumexp as logsumexp


def identity(x: Any) -> Any:
    """`x` itself."""
    return as_array(as_operand(x, "identity's argument"))


def relu(x: Any) -> Any:
    """`max(x, 0)`; its derivative at 0 is 0."""
    x = as_operand(x, "relu's argument")
    return logic.select(logic.le(x, 0), 0, x)


def relu6(x: Any) -> Any:
    """`min(max(x, 0), 6)`; its derivative at 0 and at 6 is 0."""
    (x,) = promote_inexact(x)
    return logic.select(logic.le(x, 0.0), 0.0, logic.select(logic.ge(x, 6.0), 6.0, x))


def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return tr.logistic(*promote_inexact(x))


def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`, without overflow on the way."""
    return logaddexp(x, 0.0)


def sparse_plus(x: Any) -> Any:
    """0 below -1, `x` above 1, and `(x + 1)**2 / 4` between."""
    (x,) = promote_inexact(x)
    between = ar.mul(ar.square(ar.add(x, 1.0)), 0.25)
    return logic.select(logic.le(x, -1.0), 0.0, logic.select(logic.ge(x, 1.0), x, between))


def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, and `(x + 1) / 2` between."""
    (x,) = promote_inexact(x)
    return ar.mul(clip(ar.add(x, 1.0), 0.0, 2.0), 0.5)


def squareplus(x: Any, b: Any = 4) -> Any:
    """`(x + sqrt(x**2 + b)) / 2`, a smooth relu."""
    return divide(add(x, sqrt(add(square(x), b))), 2)


def soft_sign(x: Any) -> Any:
    """`x / (|x| + 1)`."""
    return divide(x, add(absolute(x), 1))


def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    (x,) = promote_inexact(x)
    return ar.mul(x, tr.logistic(x))


swish = silu


def mish(x: Any) -> Any:
    """`x * tanh(softplus(x))`."""
    (x,) = promote_inexact(x)
    return ar.mul(x, tr.tanh(softplus(x)))


def log_sigmoid(x: Any) -> Any:
    """`log(sigmoid(x))`, accurate far below 0."""
    return negative(softplus(negative(x)))


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """`x` above 0, and `alpha * (exp(x) - 1)` below."""
    (x,) = promote_inexact(x)
    positive = logic.gt(x, 0.0)
    # The exponential of large numbers is kept out of the branch that is not taken, and out of its derivative.
    return choose(positive, x, multiply(alpha, tr.expm1(logic.select(positive, 0.0, x))))


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """`x` above 0, and `negative_slope * x` below."""
    return choose(greater_equal(x, 0), x, multiply(negative_slope, x))


def hard_tanh(x: Any) -> Any:
    """`x` limited to [-1, 1]."""
    x = as_operand(x, "hard_tanh's argument")
    return logic.select(logic.gt(x, 1), 1, logic.select(logic.lt(x, -1), -1, x))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """`max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)`."""
    return add(maximum(x, 0.0), multiply(alpha, expm1(divide(minimum(x, 0.0), alpha))))


def selu(x: Any) -> Any:
    """The self-normalizing `scale * elu(x, alpha)` of Klambauer et al. (2017)."""
    return multiply(1.0507009873554804934193349852946, elu(x, 1.6732632423543772848170429916717))


def gelu(x: Any, approximate: bool = True) -> Any:
    """`x` times the normal distribution at `x`.

    Args:
      x: real numbers.
      approximate: use the formula with `tanh` (Hendrycks and Gimpel, 2016),
        which is off by up to 5e-4; otherwise the error function.
    """
    (x,) = promote_inexact(x)
    if not approximate:
        return ar.mul(ar.mul(x, 0.5), special.erfc(ar.mul(x, -math.sqrt(0.5))))
    inner = ar.mul(ar.add(x, ar.mul(ar.integer_pow(x, 3), 0.044715)), math.sqrt(2 / math.pi))
    return ar.mul(x, ar.mul(ar.add(tr.tanh(inner), 1.0), 0.5))


def hard_sigmoid(x: Any) -> Any:
    """`relu6(x + 3) / 6`."""
    return divide(relu6(add(x, 3.0)), 6.0)


def hard_silu(x: Any) -> Any:
    """`x * hard_sigmoid(x)`."""
    return multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


def log1mexp(x: Any) -> Any:
    """`log(1 - exp(-x))` for positive `x`, accurate for small and for large ones."""
    (x,) = promote_inexact(x)
    small = logic.lt(x, math.log(2))
    # Maechler, "Accurately computing log(1 - exp(-|a|))", 2012.
    near = tr.log(ar.neg(tr.expm1(ar.neg(x))))
    return logic.select(small, near, tr.log1p(ar.neg(tr.exp(ar.neg(x)))))


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along `axis` times the sigmoid of the second.

    Raises:
      ShapeError: the axis has an odd size.
    """
    (x,) = promote_inexact(x)
    aval = aval_of(x)
    axis = normalize_axis(axis, aval.ndim, "glu")
    size = aval.shape[axis]
    if size % 2:
        raise errors.ShapeError(
            errors.message(
                f"glu: axis {axis} of {aval.long()} has odd size {size}",
                str(location.capture()),
                fix="choose an axis of even size; its halves are the values and the gates",
            )
        )
    values = slice_in_dim(x, 0, size // 2, axis=axis)
    return ar.mul(values, tr.logistic(slice_in_dim(x, size // 2, size, axis=axis)))


def _kept(reduce: Any, x: Operand, axes: tuple[int, ...]) -> Any:
    return expand_dims(reduce(x, axes), axes)


def _masked(x: Operand, where: Any) -> Operand:
    return x if where is None else choose(where, x, -math.inf)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`exp(x) / sum(exp(x))` along `axis`.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      where: bool array; elements where it is false take no part and get 0.
    """
    (x,) = promote_inexact(x)
    x = _masked(x, where)
    axes = normalize_axes(axis, aval_of(x).ndim, "softmax")
    terms = exp(subtract(x, stop_gradient(_kept(reduce_max, x, axes))))
    out = divide(terms, _kept(reduce_sum, terms, axes))
    return out if where is None else choose(where, out, 0.0)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`log(softmax(x, axis))`, accurate where it is far below 0.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      where: bool array; elements where it is false take no part and get minus infinity.
    """
    (x,) = promote_inexact(x)
    x = _masked(x, where)
    axes = normalize_axes(axis, aval_of(x).ndim, "log_softmax")
    shifted = subtract(x, stop_gradient(_kept(reduce_max, x, axes)))
    out = subtract(shifted, log(_kept(reduce_sum, exp(shifted), axes)))
    return out if where is None else choose(where, out, -math.inf)


def _count(x: Operand, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    aval = aval_of(x)
    if where is None:
        return float(math.prod([aval.shape[a] for a in axes]))
    mask = broadcast_to_shape(truth(as_operand(where)), aval.shape)
    total = reduce_sum(convert_element_type(mask, dtype_of(x)), axes)
    return expand_dims(total, axes) if keepdims else total


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """`log(mean(exp(x)))` over `axis`, without overflow on the way."""
    (x,) = promote_inexact(x)
    axes = normalize_axes(axis, aval_of(x).ndim, "logmeanexp")
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return subtract(total, log(_count(x, axes, where, keepdims)))


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """`(x - mean) / sqrt(variance + epsilon)` along `axis`.

    Args:
      x: real numbers.
      axis: one axis, several, or `None` for all.
      mean, variance: computed from `x` where absent.
      epsilon: keeps the divisor away from 0.
      where: bool array; elements where it is false do not count.
      algorithm: `"fast"` computes the variance as `mean(x**2) - mean(x)**2`,
        `"stable"` as `mean((x - mean(x))**2)`.

    Raises:
      UnsupportedError: no such algorithm.
    """
    if algorithm not in ("fast", "stable"):
        raise errors.UnsupportedError(
            errors.message(
                f"standardize: unknown algorithm {algorithm!r}",
                str(location.capture()),
                fix="use 'fast' or 'stable'",
            )
        )
    (x,) = promote_inexact(x)
    axes = normalize_axes(axis, aval_of(x).ndim, "standardize")
    count = _count(x, axes, where, True)

    def average(value: Any) -> Any:
        value = value if where is None else choose(where, value, 0.0)
        return divide(_kept(reduce_sum, value, axes), count)

    if mean is None:
        mean = average(x)
    if variance is None:
        if algorithm == "fast":
            # Rounding may push it below 0.
            variance = maximum(subtract(average(ar.square(x)), square(mean)), 0.0)
        else:
            variance = average(square(subtract(x, mean)))
    return multiply(subtract(x, mean), ar.rsqrt(add(variance, epsilon)))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """1 at the class of each element, 0 at the others.

    Args:
      x: integers; those outside of 0..num_classes-1 give zeros only.
      num_classes: size of the new axis.
      dtype: of the result; by default the default float.
      axis: where the new axis goes.
    """
    x = as_operand(x, "one_hot's argument")
    aval = aval_of(x)
    position = normalize_axis(axis, aval.ndim + 1, "one_hot")
    shape = (*aval.shape[:position], int(num_classes), *aval.shape[position:])
    classes = broadcasted_iota(aval.dtype, shape, position)
    kept = tuple(a for a in range(len(shape)) if a != position)
    same = logic.eq(broadcast_in_dim(x, shape, kept), classes)
    return convert_element_type(same, dtypes.default_float() if dtype is None else dtype)
