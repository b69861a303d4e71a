"""Arithmetic on each element: sums, products, powers, roots, rounding."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from passes.numeric import elementwise as meaning
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtypes import FLOATING, INEXACT, NUMERIC, SMALL
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MissingRule, Primitive, SinglePrimitive
from stagec.core.zero import zero_of
from stagec.primitives.axes import as_int
from stagec.primitives.broadcast import spread_to, zeros
from stagec.primitives.checks import HALF, check_dtype
from stagec.primitives.complex import complex_p, conj_p, real_p
from stagec.primitives.complex_order import extreme
from stagec.primitives.convert import convert_element_type
from stagec.primitives.logic import ORDERED, eq_p, lt_p, select_n_p
from stagec.primitives.operand import as_operand, aval_of, literal, promote_weak_scalars
from stagec.primitives.precision import Accuracy, check_accuracy
from stagec.primitives.rules import add_p, cotangents, each, neg_p
from stagec.primitives.table import batch_elementwise, computed_in_float32, elementwise, spread
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "RoundingMethod", "abs", "abs_p", "add", "cbrt", "cbrt_p", "ceil", "ceil_p", "div", "div_p", "floor", "floor_p",
    "integer_pow", "integer_pow_p", "log_p", "max", "max_p", "min", "min_p", "mul", "mul_p", "neg", "nextafter",
    "nextafter_p", "pow", "pow_p", "reciprocal", "rem", "rem_p", "round", "round_p", "rsqrt", "rsqrt_p", "sign",
    "sign_p", "sqrt", "sqrt_p", "square", "square_p", "sub", "sub_p",
]  # fmt: skip

REAL = NUMERIC - dtypes.COMPLEX


sub_p = elementwise(
    "sub",
    accepts=NUMERIC,
    eval=computed_in_float32(np.subtract),
    lower="stablehlo.subtract",
    jvp=each(lambda x, y, t: t, lambda x, y, t: neg(t)),
    transpose=cotangents(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
)
mul_p = elementwise(
    "mul",
    accepts=NUMERIC,
    eval=computed_in_float32(np.multiply),
    lower="stablehlo.multiply",
    jvp=each(lambda x, y, t: mul(t, y), lambda x, y, t: mul(x, t)),
    transpose=cotangents(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
)


def _truncated(x: Any) -> Any:
    return mul(sign(x), floor(abs(x)))


def _share(x: Any, other: Any, out: Any, t: Any) -> Any:
    """The part of a tangent that passes `max` or `min`: all of the selected operand's, half of each for equal ones."""
    chosen, tied = eq_p(x, out), eq_p(other, out)
    half = select_n_p(tied, t, mul(t, 0.5))
    return select_n_p(chosen, zeros(aval_of(t)), half)


_extreme_jvp = each(
    lambda out, x, y, t: _share(x, y, out, spread_to(t, aval_of(out).shape)),
    lambda out, x, y, t: _share(y, x, out, spread_to(t, aval_of(out).shape)),
    result=True,
)

div_p = elementwise(
    "div",
    accepts=NUMERIC,
    eval=computed_in_float32(meaning.divide),
    ufunc=lambda dtype: None if dtypes.is_integer(dtype) else np.divide,
    lower="stablehlo.divide",
    jvp=each(lambda x, y, t: div(t, y), lambda x, y, t: mul(mul(neg(t), x), integer_pow(y, -2))),
    transpose=cotangents(lambda ct, x, y: div(ct, y), None),
)
rem_p = elementwise(
    "rem",
    accepts=REAL,
    eval=computed_in_float32(meaning.remainder),
    ufunc=lambda dtype: None if dtypes.is_integer(dtype) else np.fmod,
    lower="stablehlo.remainder",
    jvp=each(lambda x, y, t: t, lambda x, y, t: mul(neg(t), _truncated(div(x, y)))),
    transpose=NOT_LINEAR,
    numpy_ns=12,
)
max_p = elementwise(
    "max",
    accepts=ORDERED,
    eval=computed_in_float32(np.maximum),
    lower="stablehlo.maximum",
    jvp=_extreme_jvp,
    transpose=NOT_LINEAR,
)
min_p = elementwise(
    "min",
    accepts=ORDERED,
    eval=computed_in_float32(np.minimum),
    lower="stablehlo.minimum",
    jvp=_extreme_jvp,
    transpose=NOT_LINEAR,
)


def _sign_lower(cx: Any, x: Any) -> Any:
    (aval,) = cx.in_avals
    if not dtypes.is_unsigned(aval.dtype):
        return cx.emit("stablehlo.sign", [x])
    return cx.emit("stablehlo.minimum", [x, cx.constant(1, aval)])


def _abs_lower(cx: Any, x: Any) -> Any:
    return x if dtypes.is_unsigned(cx.in_avals[0].dtype) else cx.emit("stablehlo.abs", [x])


def _abs_jvp(x: Any, t: Any) -> Any:
    if not dtypes.is_complex(aval_of(x).dtype):
        # 1 at zero, as to its right.
        below = lt_p(*promote_weak_scalars(x, 0))
        return select_n_p(below, t, neg(t))
    return real_p(mul(t, conj_p(sign(x))))


def _sign_jvp(primitive: Primitive, primals: Any, tangents: Any, params: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = sign(x)
    if not dtypes.is_complex(aval_of(x).dtype):
        return out, zero_of(aval_of(out))
    # The part of t / |x| at a right angle to x.
    magnitude = complex_p(abs(x), mul(abs(x), 0.0))
    turned = div(t, magnitude)
    along = real_p(mul(turned, conj_p(out)))
    return out, sub(turned, mul(out, complex_p(along, mul(along, 0.0))))


sign_p = elementwise(
    "sign",
    accepts=NUMERIC,
    eval=computed_in_float32(meaning.sign),
    lower=_sign_lower,
    jvp=_sign_jvp,
    transpose=NOT_LINEAR,
    numpy_ns=0.9,
)
abs_p = elementwise(
    "abs",
    accepts=NUMERIC,
    result=dtypes.real_dtype,
    eval=np.abs,
    lower=_abs_lower,
    jvp=each(_abs_jvp),
    transpose=NOT_LINEAR,
)


def _square_lower(cx: Any, x: Any) -> Any:
    return cx.emit("stablehlo.multiply", [x, x])


def _rsqrt_eval(x: Any) -> Any:
    return (1 / np.sqrt(x)).astype(x.dtype)


def _power_base(out: Any, x: Any, y: Any, t: Any) -> Any:
    # x**(y-1) * y, which at y = 0 is 0 whatever x is.
    exponent = select_n_p(eq_zero(y), sub(y, 1), ones_like(y))
    return mul(t, mul(y, pow(x, exponent)))


def _power_exponent(out: Any, x: Any, y: Any, t: Any) -> Any:
    # log(x) * x**y, whose limit at x = 0 is 0.
    safe = select_n_p(eq_zero(x), x, ones_like(x))
    return mul(t, mul(log_p(safe), out))


def eq_zero(x: Any) -> Any:
    """Whether each element is 0."""
    return eq_p(*promote_weak_scalars(x, 0))


def ones_like(x: Any) -> Any:
    """Ones of an operand's shape and dtype."""
    aval = aval_of(x)
    return spread_to(literal(1, aval.dtype), aval.shape)


square_p = elementwise(
    "square",
    accepts=NUMERIC,
    eval=computed_in_float32(np.square),
    lower=_square_lower,
    jvp=each(lambda x, t: mul(t, mul(x, 2))),
    transpose=NOT_LINEAR,
)
sqrt_p = elementwise(
    "sqrt",
    accepts=INEXACT,
    eval=computed_in_float32(np.sqrt),
    lower="stablehlo.sqrt",
    jvp=each(lambda out, x, t: div(t, mul(out, 2)), result=True),
    transpose=NOT_LINEAR,
    numpy_ns=(1, 25),
)
rsqrt_p = elementwise(
    "rsqrt",
    accepts=INEXACT,
    eval=computed_in_float32(_rsqrt_eval),
    lower="stablehlo.rsqrt",
    jvp=each(lambda out, x, t: mul(t, mul(div(out, x), -0.5)), result=True),
    transpose=NOT_LINEAR,
    numpy_ns=(1, 25),
)
cbrt_p = elementwise(
    "cbrt",
    accepts=FLOATING,
    eval=computed_in_float32(np.cbrt),
    lower="stablehlo.cbrt",
    jvp=each(lambda out, x, t: mul(t, mul(integer_pow(out, -2), 1 / 3)), result=True),
    transpose=NOT_LINEAR,
)
log_p = elementwise(
    "log",
    accepts=INEXACT,
    eval=computed_in_float32(np.log),
    lower="stablehlo.log",
    jvp=each(lambda x, t: mul(t, div(1, x))),
    transpose=NOT_LINEAR,
    numpy_ns=(1, 50),
)
pow_p = elementwise(
    "pow",
    accepts=INEXACT,
    eval=computed_in_float32(meaning.float_power),
    lower="stablehlo.power",
    jvp=each(_power_base, _power_exponent, result=True),
    transpose=NOT_LINEAR,
    numpy_ns=(3, 100),
)


def _integer_pow_shape(x: ShapedArray, *, y: int) -> ShapedArray:
    check_dtype("integer_pow", x.dtype, NUMERIC)
    if y < 0 and not dtypes.is_inexact(x.dtype):
        raise location.error(
            errors.DtypeError,
            f"integer_pow: integers cannot be raised to the negative power {y}",
            fix="convert the base to a floating dtype with astype(float)",
        )
    return x


def _magnitude(n: int) -> int:
    return n if n >= 0 else -n  # this module's own `abs` is of arrays


def _power_by_squaring(one: Any, x: Any, n: int, multiply: Any) -> Any:
    result = None
    while n:
        if n & 1:
            result = x if result is None else multiply(result, x)
        n >>= 1
        if n:
            x = multiply(x, x)
    return one if result is None else result


def _integer_pow_eval(x: Any, *, y: int) -> Any:
    out = _power_by_squaring(np.ones_like(x) if y == 0 else None, x, _magnitude(y), np.multiply)
    return np.divide(x.dtype.type(1), out) if y < 0 else out


def _integer_pow_lower(cx: Any, x: Any, *, y: int) -> Any:
    (aval,) = cx.in_avals
    # Several operations on half precision are rounded once, at the end.
    wide = aval.dtype in HALF and y not in (-1, 0, 1, 2)
    work = aval.update(dtype=np.float32) if wide else aval
    if wide:
        x = cx.emit("stablehlo.convert", [x], avals=[work])
    one = cx.constant(1, work) if y <= 0 else None
    out = _power_by_squaring(one, x, _magnitude(y), lambda a, b: cx.emit("stablehlo.multiply", [a, b], avals=[work]))
    if y < 0:
        out = cx.emit("stablehlo.divide", [one, out], avals=[work])
    return cx.emit("stablehlo.convert", [out]) if wide else out


integer_pow_p = SinglePrimitive(
    "integer_pow",
    shape=_integer_pow_shape,
    eval=computed_in_float32(_integer_pow_eval),
    lower=_integer_pow_lower,
    jvp=each(lambda x, t, *, y: mul(t, mul(integer_pow(x, y - 1), y)) if y else mul(t, 0.0)),
    transpose=NOT_LINEAR,
    batch=batch_elementwise,
    numpy_ns=0.35,
)

floor_p = elementwise(
    "floor",
    accepts=FLOATING,
    eval=computed_in_float32(np.floor),
    lower="stablehlo.floor",
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)
ceil_p = elementwise(
    "ceil",
    accepts=FLOATING,
    eval=computed_in_float32(np.ceil),
    lower="stablehlo.ceil",
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
)


class RoundingMethod(enum.IntEnum):
    """What `lax.round` does with halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round_eval(x: Any, *, rounding_method: int) -> Any:
    return np.rint(x) if rounding_method == RoundingMethod.TO_NEAREST_EVEN else meaning.round_away(x)


def _round_lower(cx: Any, x: Any, *, rounding_method: int) -> Any:
    even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
    return cx.emit("stablehlo.round_nearest_even" if even else "stablehlo.round_nearest_afz", [x])


round_p = elementwise(
    "round",
    accepts=FLOATING,
    eval=computed_in_float32(_round_eval),
    ufunc=lambda dtype, rounding_method: np.rint if rounding_method == RoundingMethod.TO_NEAREST_EVEN else None,
    lower=_round_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    numpy_ns=0.9,
)


def _nextafter_lower(cx: Any, x: Any, y: Any) -> Any:
    return cx.emit("chlo.next_after", spread(cx, [x, y]))


def _nextafter_eval(x: Any, y: Any) -> Any:
    return np.nextafter(x, y).astype(x.dtype)


nextafter_p = elementwise(
    "nextafter",
    accepts=FLOATING - SMALL,
    eval=_nextafter_eval,
    lower=_nextafter_lower,
    jvp=MissingRule("its derivative exists almost nowhere"),
    transpose=NOT_LINEAR,
    numpy_ns=2.4,
)


def neg(x: ArrayLike) -> Array:
    """`-x` for each element; unsigned integers wrap around."""
    return neg_p(as_operand(x))


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + y` for each element; integers wrap around."""
    return add_p(*promote_weak_scalars(x, y))


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """`x - y` for each element; integers wrap around."""
    return sub_p(*promote_weak_scalars(x, y))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike = None) -> Array:
    """`x * y` for each element; integers wrap around.

    Args:
      out_dtype: the dtype that both are converted to first.
    """
    operands = promote_weak_scalars(x, y)
    return mul_p(*operands) if out_dtype is None else mul_p(*[convert_element_type(o, out_dtype) for o in operands])


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """`x / y` for each element.

    Integers round toward zero; an integer divided by 0 gives -1 (all bits set).
    """
    return div_p(*promote_weak_scalars(x, y))


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder of `x / y` rounded toward zero: it has the sign of `x`.

    An integer's remainder by 0 is the integer itself.
    """
    return rem_p(*promote_weak_scalars(x, y))


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of `x` and `y` for each element; NaN where either is NaN. Complex numbers compare by real part."""
    x, y = promote_weak_scalars(x, y)
    return extreme(x, y, True) if dtypes.is_complex(aval_of(x).dtype) else max_p(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of `x` and `y` for each element; NaN where either is NaN. Complex numbers compare by real part."""
    x, y = promote_weak_scalars(x, y)
    return extreme(x, y, False) if dtypes.is_complex(aval_of(x).dtype) else min_p(x, y)


def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1 by the sign of each element; `x / |x|` for complex numbers."""
    return sign_p(as_operand(x))


def abs(x: ArrayLike) -> Array:
    """The absolute value of each element; real for complex numbers."""
    return abs_p(as_operand(x))


def square(x: ArrayLike) -> Array:
    """`x * x` for each element."""
    return square_p(as_operand(x))


def sqrt(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The square root of each element; NaN for negative real numbers."""
    check_accuracy("sqrt", accuracy)
    return sqrt_p(as_operand(x))


def rsqrt(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """`1 / sqrt(x)` for each element."""
    check_accuracy("rsqrt", accuracy)
    return rsqrt_p(as_operand(x))


def cbrt(x: ArrayLike, accuracy: Accuracy = None) -> Array:
    """The real cube root of each element."""
    check_accuracy("cbrt", accuracy)
    return cbrt_p(as_operand(x))


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """`x ** y` for each element; `y` is of the same dtype, or of an integer dtype, or a Python integer."""
    if isinstance(y, int) and not isinstance(y, bool):
        return integer_pow(x, y)
    base, exponent = aval_of(as_operand(x)), aval_of(as_operand(y))
    if (
        dtypes.is_inexact(base.dtype)
        and dtypes.is_integer(exponent.dtype)
        and not (base.weak_type or exponent.weak_type)
    ):
        y = convert_element_type(y, base.dtype)
    return pow_p(*promote_weak_scalars(x, y))


def integer_pow(x: ArrayLike, y: int) -> Array:
    """`x ** y` for each element and a Python integer `y`, by repeated multiplication."""
    return integer_pow_p(as_operand(x), y=as_int(y, "integer_pow", "y"))


def reciprocal(x: ArrayLike) -> Array:
    """`1 / x` for each element."""
    return integer_pow(x, -1)


def floor(x: ArrayLike) -> Array:
    """The largest integer not above each element, as a float."""
    return floor_p(as_operand(x))


def ceil(x: ArrayLike) -> Array:
    """The smallest integer not below each element, as a float."""
    return ceil_p(as_operand(x))


def round(x: ArrayLike, rounding_method: RoundingMethod | int = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integer to each element, as a float; `rounding_method` says where halves go."""
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        what = f"round: rounding_method is {rounding_method!r}"
        raise location.error(ValueError, what, fix="use a member of stagec.lax.RoundingMethod") from None
    return round_p(as_operand(x), rounding_method=int(method))


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after each `x1` in the direction of `x2`."""
    return nextafter_p(*promote_weak_scalars(x1, x2))
