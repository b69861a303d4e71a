"""Exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtypes import FLOATING, INEXACT, NUMERIC
from stagec.core.primitive import NOT_LINEAR, SinglePrimitive
from stagec.primitives import arithmetic as ar
from stagec.primitives.arithmetic import log_p
from stagec.primitives.checks import HALF
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import as_operand, promote_weak_scalars
from stagec.primitives.precision import Accuracy, check_accuracy
from stagec.primitives.rules import each
from stagec.primitives.table import computed_in_float32, elementwise, spread
from stagec.typing import ArrayLike

__all__ = [
    "acos", "acos_p", "acosh", "acosh_p", "asin", "asin_p", "asinh", "asinh_p", "atan", "atan2", "atan2_p",
    "atan_p", "atanh", "atanh_p", "cos", "cos_p", "cosh", "cosh_p", "exp", "exp2", "exp2_p", "exp_p", "expm1",
    "expm1_p", "log", "log1p", "log1p_p", "logistic", "logistic_p", "one_minus_square", "one_minus_square_p", "sin",
    "sin_p", "sinh", "sinh_p", "tan", "tan_p", "tanh", "tanh_p",
]  # fmt: skip


def _function(
    name: str,
    evaluate: Callable[..., Any],
    lower: Any,
    slope: Callable[..., Any],
    result: bool = False,
    numpy_ns: float = 1,
    of_real: np.ufunc | None = None,
) -> SinglePrimitive:
    """A row whose derivative is `slope(x)`, or `slope(result, x)`; `of_real` computes real dtypes."""
    jvp = (lambda out, x, t: ar.mul(t, slope(out, x))) if result else (lambda x, t: ar.mul(t, slope(x)))
    evaluate = computed_in_float32(evaluate)
    return elementwise(
        name,
        accepts=INEXACT,
        eval=evaluate,
        lower=lower,
        jvp=each(jvp, result=result),
        transpose=NOT_LINEAR,
        numpy_ns=(numpy_ns, 50),
        ufunc=of_real and (lambda dtype: None if dtypes.is_complex(dtype) else of_real),
    )


def _expm1_eval(x: Any) -> Any:
    if not dtypes.is_complex(x.dtype):
        return np.expm1(x)
    # NumPy's is NaN where a zero is multiplied by an infinity.
    turn, power, out = np.where(np.isneginf(x.real) & ~np.isfinite(x.imag), 0, x.imag), np.exp(x), np.empty_like(x)
    level, half = np.expm1(x.real), np.sin(turn * x.real.dtype.type(0.5))
    out.real = np.where(np.isfinite(level), level * np.cos(turn) - 2 * half * half, power.real - 1)
    out.imag = power.imag
    return out


def _log1p_eval(x: Any) -> Any:
    if not dtypes.is_complex(x.dtype):
        return np.log1p(x)
    far, out = np.log1p(x), np.empty_like(x)
    small = np.maximum(np.abs(x.real), np.abs(x.imag)) < 0.5
    # NumPy's takes the logarithm of |1 + x|, which loses the digits of a small x.
    safe = np.where(small, x, 0)
    near = np.log1p(safe.real * (safe.real + 2) + safe.imag * safe.imag) / 2
    out.real, out.imag = np.where(small, near, far.real), far.imag
    return out


exp_p = _function("exp", np.exp, "stablehlo.exponential", lambda out, x: out, result=True)
expm1_p = _function(
    "expm1",
    _expm1_eval,
    "stablehlo.exponential_minus_one",
    lambda out, x: ar.add(out, 1),
    result=True,
    of_real=np.expm1,
)
log1p_p = _function("log1p", _log1p_eval, "stablehlo.log_plus_one", lambda x: ar.div(1, ar.add(x, 1)), of_real=np.log1p)


def _exp2_lower(cx: Any, x: Any) -> Any:
    (aval,) = cx.in_avals
    if not dtypes.is_complex(aval.dtype):
        return cx.emit("stablehlo.power", [cx.constant(2, aval), x])
    # Part by part: a product of complex numbers is NaN where an infinity meets the zero of log(2) + 0j.
    part = aval.update(dtype=dtypes.real_dtype(aval.dtype))
    log2 = cx.constant(np.log(2), part)
    parts = [
        cx.emit("stablehlo.multiply", [cx.emit(name, [x], avals=[part]), log2], avals=[part])
        for name in ("stablehlo.real", "stablehlo.imag")
    ]
    return cx.emit("stablehlo.exponential", [cx.emit("stablehlo.complex", parts)])


def _exp2_eval(x: Any) -> Any:
    if not dtypes.is_complex(x.dtype):
        return np.exp2(x)
    scaled, log2 = np.empty_like(x), x.real.dtype.type(np.log(2))
    scaled.real, scaled.imag = x.real * log2, x.imag * log2
    return np.exp(scaled)


exp2_p = _function(
    "exp2", _exp2_eval, _exp2_lower, lambda out, x: ar.mul(out, math.log(2)), result=True, of_real=np.exp2
)


def _logistic_eval(x: Any) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


logistic_p = _function(
    "logistic", _logistic_eval, "stablehlo.logistic", lambda out, x: ar.mul(out, ar.sub(1, out)), result=True
)


def _product_of_factors(x: Array) -> Array:
    wide = convert_element_type(x, dtypes.float32) if x.dtype in HALF else x  # rounded once
    return convert_element_type(ar.mul(ar.add(1, wide), ar.sub(1, wide)), x.dtype)


one_minus_square_p = elementwise(
    "one_minus_square",
    accepts=NUMERIC,
    eval=computed_in_float32(lambda x: (x.dtype.type(1) + x) * (x.dtype.type(1) - x)),
    lower=lambda cx, x: cx.apply(_product_of_factors, x),
    jvp=each(lambda x, t: ar.mul(t, ar.mul(x, -2))),
    transpose=NOT_LINEAR,
)
sin_p = _function("sin", np.sin, "stablehlo.sine", lambda x: cos(x))
cos_p = _function("cos", np.cos, "stablehlo.cosine", lambda x: ar.neg(sin(x)))
tan_p = _function("tan", np.tan, "stablehlo.tan", lambda out, x: ar.add(1, ar.square(out)), result=True)
tanh_p = _function("tanh", np.tanh, "stablehlo.tanh", lambda out, x: ar.sub(1, ar.square(out)), result=True)
asin_p = _function("asin", np.arcsin, "chlo.asin", lambda x: ar.rsqrt(one_minus_square(x)))
acos_p = _function("acos", np.arccos, "chlo.acos", lambda x: ar.neg(ar.rsqrt(one_minus_square(x))))
atan_p = _function("atan", np.arctan, "chlo.atan", lambda x: ar.div(1, ar.add(1, ar.square(x))))
sinh_p = _function("sinh", np.sinh, "chlo.sinh", lambda x: cosh(x))
cosh_p = _function("cosh", np.cosh, "chlo.cosh", lambda x: sinh(x))
asinh_p = _function("asinh", np.arcsinh, "chlo.asinh", lambda x: ar.rsqrt(ar.add(ar.square(x), 1)))
acosh_p = _function(
    "acosh",
    np.arccosh,  # has no vectors
    "chlo.acosh",
    lambda x: ar.mul(ar.rsqrt(ar.sub(x, 1)), ar.rsqrt(ar.add(x, 1))),
    numpy_ns=5,
)
atanh_p = _function("atanh", np.arctanh, "chlo.atanh", lambda x: ar.div(1, one_minus_square(x)))


def _atan2_lower(cx: Any, x: Any, y: Any) -> Any:
    return cx.emit("stablehlo.atan2", spread(cx, [x, y]))


atan2_p = elementwise(
    "atan2",
    accepts=FLOATING,
    eval=computed_in_float32(np.arctan2),
    numpy_ns=1.8,
    lower=_atan2_lower,
    jvp=each(
        lambda x, y, t: ar.mul(t, ar.div(y, ar.add(ar.square(x), ar.square(y)))),
        lambda x, y, t: ar.mul(t, ar.div(ar.neg(x), ar.add(ar.square(x), ar.square(y)))),
    ),
    transpose=NOT_LINEAR,
)


def exp(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """e to the power of each element."""
    check_accuracy("exp", accuracy)
    return exp_p(as_operand(x))


def exp2(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """2 to the power of each element."""
    check_accuracy("exp2", accuracy)
    return exp2_p(as_operand(x))


def log(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The natural logarithm of each element; NaN for negative real numbers."""
    check_accuracy("log", accuracy)
    return log_p(as_operand(x))


def expm1(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """`exp(x) - 1` for each element, accurate near 0."""
    check_accuracy("expm1", accuracy)
    return expm1_p(as_operand(x))


def log1p(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """`log(1 + x)` for each element, accurate near 0."""
    check_accuracy("log1p", accuracy)
    return log1p_p(as_operand(x))


def logistic(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The logistic function `1 / (1 + exp(-x))` of each element."""
    check_accuracy("logistic", accuracy)
    return logistic_p(as_operand(x))


def sin(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The sine of each element, in radians."""
    check_accuracy("sin", accuracy)
    return sin_p(as_operand(x))


def cos(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The cosine of each element, in radians."""
    check_accuracy("cos", accuracy)
    return cos_p(as_operand(x))


def tan(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The tangent of each element, in radians."""
    check_accuracy("tan", accuracy)
    return tan_p(as_operand(x))


def tanh(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The hyperbolic tangent of each element."""
    check_accuracy("tanh", accuracy)
    return tanh_p(as_operand(x))


def one_minus_square(x: ArrayLike) -> Array:
    """`1 - x * x` for each element, accurate near 1 and -1."""
    return one_minus_square_p(as_operand(x))


def asin(x: ArrayLike) -> Array:
    """The angle in radians whose sine is each element; NaN outside [-1, 1]."""
    return asin_p(as_operand(x))


def acos(x: ArrayLike) -> Array:
    """The angle in radians whose cosine is each element; NaN outside [-1, 1]."""
    return acos_p(as_operand(x))


def atan(x: ArrayLike) -> Array:
    """The angle in radians whose tangent is each element."""
    return atan_p(as_operand(x))


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angle in radians of the point with ordinate `x` and abscissa `y`."""
    return atan2_p(*promote_weak_scalars(x, y))


def sinh(x: ArrayLike) -> Array:
    """The hyperbolic sine of each element."""
    return sinh_p(as_operand(x))


def cosh(x: ArrayLike) -> Array:
    """The hyperbolic cosine of each element."""
    return cosh_p(as_operand(x))


def asinh(x: ArrayLike) -> Array:
    """The inverse hyperbolic sine of each element."""
    return asinh_p(as_operand(x))


def acosh(x: ArrayLike) -> Array:
    """The inverse hyperbolic cosine of each element; NaN below 1."""
    return acosh_p(as_operand(x))


def atanh(x: ArrayLike) -> Array:
    """The inverse hyperbolic tangent of each element; NaN outside [-1, 1]."""
    return atanh_p(as_operand(x))
