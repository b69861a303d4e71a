"""Activation functions."""

from __future__ import annotations

import math

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arithmetic import absolute, add, divide, multiply, negative, sqrt, square
from stagec.numpy.conditionals import where as choose
from stagec.numpy.elementary import expm1, tanh as tanh
from stagec.numpy.extremes import clip, logaddexp, maximum, minimum
from stagec.numpy.logical import greater_equal
from stagec.numpy.promotion import promote_inexact, promote_numeric
from stagec.primitives import arithmetic as ar, logic, special, transcendental as tr
from stagec.primitives.axes import canonical_axis
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.slicing import slice_in_dim
from stagec.scipy.sums import logsumexp as logsumexp
from stagec.typing import ArrayLike

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu",
    "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus",
    "sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh",
]  # fmt: skip


def identity(x: ArrayLike) -> Array:
    """`x` itself.

    >>> round(float(identity(0.5)), 4)
    0.5
    """
    return as_array(as_operand(x, "identity's argument"))


def relu(x: ArrayLike) -> Array:
    """`max(x, 0)`; its derivative at 0 is 0.

    >>> round(float(relu(-2.0)), 4)
    0.0
    """
    (x,) = promote_numeric("relu", as_operand(x, "relu's argument"))
    return logic.select(logic.le(x, 0), 0, x)


def relu6(x: ArrayLike) -> Array:
    """`min(max(x, 0), 6)`; its derivative at 0 and at 6 is 0.

    >>> round(float(relu6(8.0)), 4)
    6.0
    """
    (x,) = promote_inexact(x)
    return logic.select(logic.le(x, 0.0), 0.0, logic.select(logic.ge(x, 6.0), 6.0, x))


def sigmoid(x: ArrayLike) -> Array:
    """`1 / (1 + exp(-x))`.

    >>> round(float(sigmoid(0.5)), 4)
    0.6225
    """
    return tr.logistic(promote_inexact(x)[0])


def softplus(x: ArrayLike) -> Array:
    """`log(1 + exp(x))`, without intermediate overflow.

    >>> round(float(softplus(0.5)), 4)
    0.9741
    """
    return logaddexp(x, 0.0)


def sparse_plus(x: ArrayLike) -> Array:
    """0 below -1, `x` above 1, and `(x + 1)**2 / 4` between.

    >>> round(float(sparse_plus(0.0)), 4)
    0.25
    """
    (x,) = promote_inexact(x)
    between = ar.mul(ar.square(ar.add(x, 1.0)), 0.25)
    return logic.select(logic.le(x, -1.0), 0.0, logic.select(logic.ge(x, 1.0), x, between))


def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 below -1, 1 above 1, and `(x + 1) / 2` between.

    >>> round(float(sparse_sigmoid(0.5)), 4)
    0.75
    """
    (x,) = promote_inexact(x)
    return ar.mul(clip(ar.add(x, 1.0), 0.0, 2.0), 0.5)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """`(x + sqrt(x**2 + b)) / 2`, a smooth relu.

    >>> round(float(squareplus(0.5)), 4)
    1.2808
    """
    return divide(add(x, sqrt(add(square(x), b))), 2)


def soft_sign(x: ArrayLike) -> Array:
    """`x / (|x| + 1)`.

    >>> round(float(soft_sign(0.5)), 4)
    0.3333
    """
    return divide(x, add(absolute(x), 1))


def silu(x: ArrayLike) -> Array:
    """`x * sigmoid(x)`.

    >>> round(float(silu(0.5)), 4)
    0.3112
    """
    (x,) = promote_inexact(x)
    return ar.mul(x, tr.logistic(x))


swish = silu


def mish(x: ArrayLike) -> Array:
    """`x * tanh(softplus(x))`.

    >>> round(float(mish(0.5)), 4)
    0.3752
    """
    (x,) = promote_inexact(x)
    return ar.mul(x, tr.tanh(softplus(x)))


def log_sigmoid(x: ArrayLike) -> Array:
    """`log(sigmoid(x))`, accurate for very negative `x`.

    >>> round(float(log_sigmoid(0.5)), 4)
    -0.4741
    """
    return negative(softplus(negative(x)))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """`x` above 0, and `alpha * (exp(x) - 1)` below.

    >>> round(float(elu(0.5)), 4)
    0.5
    """
    (x,) = promote_inexact(x)
    positive = logic.gt(x, 0.0)
    # The exponential is computed of nonpositive numbers only, so that neither it nor its derivative overflows.
    return choose(positive, x, multiply(alpha, tr.expm1(logic.select(positive, 0.0, x))))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """`x` above 0, and `negative_slope * x` below.

    >>> round(float(leaky_relu(-2.0)), 4)
    -0.02
    """
    return choose(greater_equal(x, 0), x, multiply(negative_slope, x))


def hard_tanh(x: ArrayLike) -> Array:
    """`x` limited to [-1, 1].

    >>> round(float(hard_tanh(3.0)), 4)
    1.0
    """
    (x,) = promote_numeric("hard_tanh", x)
    low = 0 if dtypes.is_unsigned(aval_of(x).dtype) else -1
    return logic.select(logic.gt(x, 1), 1, logic.select(logic.lt(x, low), low, x))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """`max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)`.

    >>> round(float(celu(0.5)), 4)
    0.5
    """
    return add(maximum(x, 0.0), multiply(alpha, expm1(divide(minimum(x, 0.0), alpha))))


def selu(x: ArrayLike) -> Array:
    """The self-normalizing `scale * elu(x, alpha)` of Klambauer et al. (2017).

    >>> round(float(selu(0.5)), 4)
    0.5254
    """
    return multiply(1.0507009873554804934193349852946, elu(x, 1.6732632423543772848170429916717))


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """`x` times the normal distribution function at `x`.

    Args:
      x: real numbers.
      approximate: use the formula with `tanh` (Hendrycks and Gimpel, 2016),
        whose error is up to 5e-4; otherwise the error function.

    >>> round(float(gelu(0.5)), 4)
    0.3457
    """
    (x,) = promote_inexact(x)
    if not approximate:
        return ar.mul(ar.mul(x, 0.5), special.erfc(ar.mul(x, -math.sqrt(0.5))))
    inner = ar.mul(ar.add(x, ar.mul(ar.integer_pow(x, 3), 0.044715)), math.sqrt(2 / math.pi))
    return ar.mul(x, ar.mul(ar.add(tr.tanh(inner), 1.0), 0.5))


def hard_sigmoid(x: ArrayLike) -> Array:
    """`relu6(x + 3) / 6`.

    >>> round(float(hard_sigmoid(0.5)), 4)
    0.5833
    """
    return divide(relu6(add(x, 3.0)), 6.0)


def hard_silu(x: ArrayLike) -> Array:
    """`x * hard_sigmoid(x)`.

    >>> round(float(hard_silu(0.5)), 4)
    0.2917
    """
    return multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


def log1mexp(x: ArrayLike) -> Array:
    """`log(1 - exp(-x))` for positive `x`, accurate for small and for large ones.

    >>> round(float(log1mexp(1.0)), 4)
    -0.4587
    """
    (x,) = promote_inexact(x)
    small = logic.lt(x, math.log(2))
    # Maechler, "Accurately computing log(1 - exp(-|a|))", 2012.
    near = tr.log(ar.neg(tr.expm1(ar.neg(logic.select(small, x, 1.0)))))
    return logic.select(small, near, tr.log1p(ar.neg(tr.exp(ar.neg(logic.select(small, 1.0, x))))))


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along `axis` times the sigmoid of the second.

    Raises:
      ShapeError: the axis has an odd size.

    >>> import numpy as np
    >>> glu(np.array([3.0, 0.0])).round(3).tolist()
    [1.5]
    """
    (x,) = promote_inexact(x)
    aval = aval_of(x)
    axis = canonical_axis(axis, aval.ndim, "glu")
    size = aval.shape[axis]
    if size % 2:
        raise location.error(
            errors.ShapeError,
            f"glu: axis {axis} of {aval.long()} has odd size {size}",
            fix="choose an axis of even size; its halves are the values and the gates",
        )
    values = slice_in_dim(x, 0, size // 2, axis=axis)
    return ar.mul(values, tr.logistic(slice_in_dim(x, size // 2, size, axis=axis)))
