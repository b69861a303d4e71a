"""NumPy's arithmetic ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.operators import ArrayOperators
from stagec.numpy.promotion import (
    broadcast_together,
    promote,
    promote_dtypes,
    promote_floating,
    promote_inexact,
    promote_numeric,
)
from stagec.primitives import arithmetic as ar
from stagec.primitives import complex as cplx
from stagec.primitives import logic
from stagec.primitives import transcendental as tr
from stagec.primitives.convert import convert_element_type_p
from stagec.primitives.gcd import gcd_p
from stagec.primitives.operand import Operand, as_operand, aval_of, literal


def as_array(x: Operand) -> Any:
    """The operand as an Array or a tracer; NumPy arrays and literals are taken in."""
    if isinstance(x, ArrayOperators):
        return x
    aval = aval_of(x)
    return convert_element_type_p(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


def dtype_of(x: Operand) -> np.dtype[Any]:
    """The dtype of an operand."""
    return aval_of(x).dtype


def reject(name: str, dtype: np.dtype[Any], fix: str) -> errors.DtypeError:
    """The error for a dtype that a function does not accept."""
    return errors.DtypeError(errors.message(f"{name} does not accept {dtype.name}", str(location.capture()), fix=fix))


def _real_only(name: str, x: Operand) -> None:
    if dtypes.is_complex(dtype_of(x)):
        raise reject(name, dtype_of(x), "take the parts with real() and imag() first")


def add(x1: Any, x2: Any, /) -> Any:
    """`x1 + x2`; logical or for bools."""
    x, y = promote("add", x1, x2)
    return logic.bitwise_or(x, y) if dtype_of(x) == dtypes.bool_ else ar.add(x, y)


def subtract(x1: Any, x2: Any, /) -> Any:
    """`x1 - x2`."""
    x, y = promote("subtract", x1, x2)
    if dtype_of(x) == dtypes.bool_:
        raise reject("subtract", dtypes.bool_, "use logical_xor, or convert with astype(int)")
    return ar.sub(x, y)


def multiply(x1: Any, x2: Any, /) -> Any:
    """`x1 * x2`; logical and for bools."""
    x, y = promote("multiply", x1, x2)
    return logic.bitwise_and(x, y) if dtype_of(x) == dtypes.bool_ else ar.mul(x, y)


def true_divide(x1: Any, x2: Any, /) -> Any:
    """`x1 / x2` as floating numbers, whatever the dtypes."""
    return ar.div(*promote_floating("divide", x1, x2))


divide = true_divide


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The largest integer not above `x1 / x2`, in the operands' dtype."""
    x, y = promote_numeric("floor_divide", x1, x2)
    dtype = dtype_of(x)
    _real_only("floor_divide", x)
    if dtypes.is_float(dtype):
        return _float_divmod(x, y)[0]
    quotient = ar.div(x, y)
    if dtypes.is_unsigned(dtype):
        return quotient
    rounded_up = logic.bitwise_and(logic.ne(ar.sign(x), ar.sign(y)), logic.ne(ar.rem(x, y), 0))
    return logic.select(rounded_up, ar.sub(quotient, 1), quotient)


def remainder(x1: Any, x2: Any, /) -> Any:
    """`x1 - x2 * floor(x1 / x2)`: it has the sign of `x2`. An integer's remainder by 0 is 0."""
    x, y = promote_numeric("remainder", x1, x2)
    _real_only("remainder", x)
    if dtypes.is_integer(dtype_of(x)):
        y = _nonzero(y)
    left = ar.rem(x, y)
    if dtypes.is_unsigned(dtype_of(x)):
        return left
    wrong_side = logic.bitwise_and(logic.ne(logic.lt(left, 0), logic.lt(y, 0)), logic.ne(left, 0))
    return logic.select(wrong_side, ar.add(left, y), left)


mod = remainder


def _nonzero(y: Operand) -> Operand:
    return logic.select(logic.eq(y, 0), 1, y)


def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of `x1 / x2` rounded toward zero: it has the sign of `x1`."""
    x, y = promote_numeric("fmod", x1, x2)
    _real_only("fmod", x)
    return ar.rem(x, _nonzero(y) if dtypes.is_integer(dtype_of(x)) else y)


def _float_divmod(x: Operand, y: Operand) -> tuple[Any, Any]:
    left = ar.rem(x, y)
    # Where y is 0 the remainder is NaN, but the quotient is infinite.
    whole = ar.div(logic.select(logic.eq(y, 0), x, ar.sub(x, left)), y)
    wrong_side = logic.bitwise_and(logic.ne(left, 0), logic.ne(ar.sign(y), ar.sign(left)))
    left = logic.select(wrong_side, ar.add(left, y), left)
    return ar.round(logic.select(wrong_side, ar.sub(whole, 1.0), whole)), left


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """`(floor_divide(x1, x2), remainder(x1, x2))`."""
    x, y = promote_numeric("divmod", x1, x2)
    _real_only("divmod", x)
    if dtypes.is_integer(dtype_of(x)):
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def power(x1: Any, x2: Any, /) -> Any:
    """`x1 ** x2`.

    A Python integer as the exponent becomes repeated multiplication. An
    integer to a negative array element gives 0 or a wrapped value; to a
    negative Python integer it is an error.

    Raises:
      DtypeError: an integer to the power of a negative Python integer.
    """
    if isinstance(x2, (int, np.integer)) and not isinstance(x2, (bool, np.bool_)):
        (x,) = promote_numeric("power", x1)
        return ar.integer_pow(x, int(x2))
    x, y = promote_numeric("power", x1, x2)
    if dtypes.is_integer(dtype_of(x)):
        return _integer_power(x, y)
    return ar.pow(x, y)


pow = power


def _integer_power(x: Operand, y: Operand) -> Any:
    # Six bits suffice: a larger power of anything but -1, 0 and 1 has left 64 bits, and -1 needs the lowest only.
    zero_base = logic.bitwise_and(logic.eq(x, 0), logic.ne(y, 0))
    dtype = dtype_of(x)
    result = logic.select(zero_base, literal(0, dtype), literal(1, dtype))
    for step in range(6):
        odd = logic.ne(logic.bitwise_and(y, 1), 0)
        result = logic.select(odd, ar.mul(result, x), result)
        if step < 5:
            x, y = ar.mul(x, x), logic.shift_right_logical(y, 1)
    return result


def float_power(x1: Any, x2: Any, /) -> Any:
    """`x1 ** x2` in a floating or complex dtype."""
    return ar.pow(*promote_floating("float_power", x1, x2))


def negative(x: Any, /) -> Any:
    """`-x`."""
    x = as_operand(x, "negative's argument")
    if dtype_of(x) == dtypes.bool_:
        raise reject("negative", dtypes.bool_, "use logical_not, or convert with astype(int)")
    return ar.neg(x)


def positive(x: Any, /) -> Any:
    """`x` itself."""
    return as_array(as_operand(x, "positive's argument"))


def absolute(x: Any, /) -> Any:
    """The absolute value; real for complex numbers."""
    x = as_operand(x, "absolute's argument")
    dtype = dtype_of(x)
    return as_array(x) if dtype == dtypes.bool_ or dtypes.is_unsigned(dtype) else ar.abs(x)


abs = absolute


def fabs(x: Any, /) -> Any:
    """The absolute value, as a floating number."""
    (x,) = promote_inexact(x)
    _real_only("fabs", x)
    return ar.abs(x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1 by the sign; `x / |x|` for complex numbers."""
    x = as_operand(x, "sign's argument")
    if dtype_of(x) == dtypes.bool_:
        raise reject("sign", dtypes.bool_, "convert with astype(int)")
    return ar.sign(x)


def square(x: Any, /) -> Any:
    """`x * x`."""
    return ar.square(*promote_numeric("square", x))


def sqrt(x: Any, /) -> Any:
    """The square root; NaN for negative real numbers."""
    return ar.sqrt(*promote_inexact(x))


def cbrt(x: Any, /) -> Any:
    """The real cube root."""
    return ar.cbrt(*promote_inexact(x))


def reciprocal(x: Any, /) -> Any:
    """`1 / x`, as a floating number."""
    return ar.integer_pow(*promote_inexact(x), -1)


def maximum(x1: Any, x2: Any, /) -> Any:
    """The larger of both; NaN where either is NaN. Complex numbers compare by real part first."""
    x, y = promote("maximum", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        return logic.select(_keeps(logic.gt, logic.ge, x, y), x, y)
    return ar.max(x, y)


def minimum(x1: Any, x2: Any, /) -> Any:
    """The smaller of both; NaN where either is NaN. Complex numbers compare by real part first."""
    x, y = promote("minimum", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        return logic.select(_keeps(logic.lt, logic.le, x, y), x, y)
    return ar.min(x, y)


def _keeps(strict: Any, loose: Any, x: Operand, y: Operand) -> Any:
    """Whether the first of two complex numbers wins: by order, or because it is NaN."""
    a, b = cplx.real(x), cplx.real(y)
    first = logic.bitwise_and(logic.eq(a, b), loose(cplx.imag(x), cplx.imag(y)))
    return logic.bitwise_or(logic.ne(x, x), logic.bitwise_or(strict(a, b), first))


def fmax(x1: Any, x2: Any, /) -> Any:
    """The larger of both; the other where one is NaN."""
    x, y = promote("fmax", x1, x2)
    first = _keeps(logic.gt, logic.ge, x, y) if dtypes.is_complex(dtype_of(x)) else logic.ge(x, y)
    take_x = logic.bitwise_or(logic.ne(y, y), logic.bitwise_and(first, logic.eq(x, x)))
    return logic.select(take_x, x, y)


def fmin(x1: Any, x2: Any, /) -> Any:
    """The smaller of both; the other where one is NaN."""
    x, y = promote("fmin", x1, x2)
    first = _keeps(logic.lt, logic.le, x, y) if dtypes.is_complex(dtype_of(x)) else logic.le(x, y)
    take_x = logic.bitwise_or(logic.ne(y, y), logic.bitwise_and(first, logic.eq(x, x)))
    return logic.select(take_x, x, y)


def clip(a: Any, /, min: Any = None, max: Any = None) -> Any:
    """`a` limited to the interval from `min` to `max`, either of which may be absent.

    Raises:
      DtypeError: an operand is complex.
    """
    out = as_operand(a, "clip's argument")
    _real_only("clip", out)
    for bound, limit in ((min, ar.max), (max, ar.min)):
        if bound is not None:
            x, y = promote("clip", out, bound)
            _real_only("clip", x)
            out = limit(x, y)
    return as_array(out)


def hypot(x1: Any, x2: Any, /) -> Any:
    """`sqrt(x1**2 + x2**2)`, without overflow on the way."""
    x, y = promote_floating("hypot", x1, x2)
    _real_only("hypot", x)
    x, y = ar.abs(x), ar.abs(y)
    large, small = ar.max(x, y), ar.min(x, y)
    empty = logic.eq(large, 0)
    ratio = ar.div(small, logic.select(empty, 1.0, large))
    length = ar.mul(large, ar.sqrt(ar.add(ar.square(ratio), 1.0)))
    length = logic.select(empty, large, length)
    infinite = logic.bitwise_or(logic.eq(x, float("inf")), logic.eq(y, float("inf")))
    return logic.select(infinite, float("inf"), length)


def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where `x1` is negative, `x2` where it is 0, 1 where it is positive."""
    x, y = promote_floating("heaviside", x1, x2)
    _real_only("heaviside", x)
    step = ar.max(ar.sign(x), 0.0)
    return logic.select(logic.eq(x, 0), y, step)


def gcd(x1: Any, x2: Any, /) -> Any:
    """The greatest common divisor of integers, never negative.

    Raises:
      DtypeError: an operand is not an integer.
    """
    return gcd_p(*_integers("gcd", x1, x2))


def lcm(x1: Any, x2: Any, /) -> Any:
    """The least common multiple of integers, never negative; 0 where either is 0.

    Raises:
      DtypeError: an operand is not an integer.
    """
    x, y = _integers("lcm", x1, x2)
    divisor = gcd_p(x, y)
    return ar.mul(absolute(x), ar.div(absolute(y), _nonzero(divisor)))


def _integers(name: str, x1: Any, x2: Any) -> list[Operand]:
    operands = promote_dtypes(x1, x2)
    if not dtypes.is_integer(dtype_of(operands[0])):
        raise reject(name, dtype_of(operands[0]), "convert with astype(int)")
    return broadcast_together(name, operands)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """`log(exp(x1) + exp(x2))`, without overflow on the way."""
    x, y = promote_floating("logaddexp", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        return _complex_logaddexp(x, y)
    top, gap = ar.max(x, y), ar.sub(x, y)
    smooth = ar.add(top, tr.log1p(tr.exp(ar.neg(ar.abs(gap)))))
    # The gap of two equal infinities is NaN; their sum is right.
    return logic.select(logic.ne(gap, gap), ar.add(x, y), smooth)


def _complex_logaddexp(x: Operand, y: Operand) -> Any:
    first = _keeps(logic.gt, logic.ge, x, y)
    top, low = logic.select(first, x, y), logic.select(first, y, x)
    return ar.add(top, tr.log1p(tr.exp(ar.sub(low, top))))


def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """`log2(2**x1 + 2**x2)`, without overflow on the way."""
    x, y = promote_floating("logaddexp2", x1, x2)
    _real_only("logaddexp2", x)
    top, gap = ar.max(x, y), ar.sub(x, y)
    log_2e = 1.4426950408889634
    smooth = ar.add(top, ar.mul(tr.log1p(tr.exp2(ar.neg(ar.abs(gap)))), log_2e))
    return logic.select(logic.ne(gap, gap), ar.add(x, y), smooth)
