"""NumPy's arithmetic ufuncs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.promotion import promote, promote_floating, promote_inexact, promote_numeric
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.convert import as_array
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.typing import ArrayLike

__all__ = [
    "abs", "absolute", "add", "cbrt", "divide", "divmod", "fabs", "float_power", "floor_divide", "fmod", "mod",
    "multiply", "negative", "positive", "pow", "power", "reciprocal", "remainder", "sign", "sqrt", "square",
    "subtract", "true_divide",
]  # fmt: skip


def dtype_of(x: Operand) -> np.dtype[Any]:
    """The dtype of an operand."""
    return aval_of(x).dtype


def reject(name: str, dtype: np.dtype[Any], fix: str) -> errors.DtypeError:
    """The error for a dtype that a function does not accept."""
    return location.error(errors.DtypeError, f"{name} does not accept {dtype.name}", fix=fix)


def real_only(name: str, x: Operand) -> None:
    """Raise `DtypeError` for complex numbers."""
    if dtypes.is_complex(dtype_of(x)):
        raise reject(name, dtype_of(x), "take the parts with real() and imag() first")


def add(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 + x2`; logical or for bools.

    >>> round(float(add(2.0, 3.0)), 4)
    5.0
    """
    x, y = promote("add", x1, x2)
    return logic.bitwise_or(x, y) if dtype_of(x) == dtypes.bool_ else ar.add(x, y)


def subtract(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 - x2`.

    >>> round(float(subtract(2.0, 3.0)), 4)
    -1.0
    """
    x, y = promote("subtract", x1, x2)
    if dtype_of(x) == dtypes.bool_:
        raise reject("subtract", dtypes.bool_, "use logical_xor, or convert with astype(int)")
    return ar.sub(x, y)


def multiply(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 * x2`; logical and for bools.

    >>> round(float(multiply(2.0, 3.0)), 4)
    6.0
    """
    x, y = promote("multiply", x1, x2)
    return logic.bitwise_and(x, y) if dtype_of(x) == dtypes.bool_ else ar.mul(x, y)


def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 / x2` as floating numbers, whatever the dtypes.

    >>> round(float(true_divide(2.0, 3.0)), 4)
    0.6667
    """
    return ar.div(*promote_floating("divide", x1, x2))


divide = true_divide


def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The largest integer not above `x1 / x2`, in the operands' dtype.

    Signs of zeros, and results for infinities, follow the array API standard; NumPy returns NaN or -1 for some
    infinite operands.

    >>> int(floor_divide(-7, 2))
    -4
    """
    x, y = promote_numeric("floor_divide", x1, x2)
    dtype = dtype_of(x)
    real_only("floor_divide", x)
    if dtypes.is_float(dtype):
        return _float_divmod(x, y)[0]
    quotient = ar.div(x, y)
    if dtypes.is_unsigned(dtype):
        return quotient
    rounded_up = logic.bitwise_and(logic.ne(ar.sign(x), ar.sign(y)), logic.ne(ar.rem(x, y), 0))
    return logic.select(rounded_up, ar.sub(quotient, 1), quotient)


def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 - x2 * floor(x1 / x2)`: it has the sign of `x2`, zero included. An integer's remainder by 0 is 0.

    >>> int(remainder(-7, 2))
    1
    """
    x, y = promote_numeric("remainder", x1, x2)
    real_only("remainder", x)
    if dtypes.is_integer(dtype_of(x)):
        y = nonzero_divisor(y)
    left = ar.rem(x, y)
    if dtypes.is_unsigned(dtype_of(x)):
        return left
    if dtypes.is_float(dtype_of(x)):
        return _with_divisor_sign(left, y)
    wrong_side = logic.bitwise_and(logic.ne(logic.lt(left, 0), logic.lt(y, 0)), logic.ne(left, 0))
    return logic.select(wrong_side, ar.add(left, y), left)


mod = remainder


def nonzero_divisor(y: Operand) -> Array:
    """Return `y` with each 0 replaced by 1."""
    return logic.select(logic.eq(y, 0), 1, y)


def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of `x1 / x2` rounded toward zero: it has the sign of `x1`.

    >>> int(fmod(-7, 2))
    -1
    """
    x, y = promote_numeric("fmod", x1, x2)
    real_only("fmod", x)
    return ar.rem(x, nonzero_divisor(y) if dtypes.is_integer(dtype_of(x)) else y)


def _with_divisor_sign(left: Operand, y: Operand) -> Array:
    """Convert a remainder with the sign of the dividend to one with the sign of the divisor."""
    zero = logic.eq(left, 0)
    wrong_side = logic.ne(logic.lt(left, 0), logic.lt(y, 0))
    # The zero of the divisor's sign, with the derivative of `left`.
    signed = ar.sub(ar.mul(ar.sign(y), 0.0), ar.sub(stop_gradient(left), left))
    return logic.select(zero, signed, logic.select(wrong_side, ar.add(left, y), left))


def _float_divmod(x: Array, y: Array) -> tuple[Array, Array]:
    left, quotient = ar.rem(x, y), stop_gradient(ar.div(x, y))
    whole = ar.div(ar.sub(x, left), y)
    wrong_side = logic.bitwise_and(logic.ne(logic.lt(left, 0), logic.lt(y, 0)), logic.ne(left, 0))
    # The quotient is within much less than a half of an integer.
    whole = ar.round(logic.select(wrong_side, ar.sub(whole, 1.0), whole), ar.RoundingMethod.TO_NEAREST_EVEN)
    infinite = logic.bitwise_or(logic.eq(ar.abs(y), math.inf), logic.eq(ar.abs(quotient), math.inf))
    # Adding 0 makes -0 positive.
    return logic.select(logic.bitwise_or(infinite, logic.eq(x, 0)), quotient, ar.add(whole, 0.0)), _with_divisor_sign(
        left, y
    )


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """`(floor_divide(x1, x2), remainder(x1, x2))`.

    >>> [float(v) for v in divmod(-7, 2)]
    [-4.0, 1.0]
    """
    x, y = promote_numeric("divmod", x1, x2)
    real_only("divmod", x)
    if dtypes.is_integer(dtype_of(x)):
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 ** x2`.

    A Python integer as the exponent becomes repeated multiplication. An
    integer to a negative array element gives 0 or a wrapped value; to a
    negative Python integer it is an error.

    Raises:
      DtypeError: an integer to the power of a negative Python integer.

    >>> round(float(power(2.0, 3)), 4)
    8.0
    """
    if isinstance(x2, (int, np.integer)) and not isinstance(x2, (bool, np.bool_)):
        (x,) = promote_numeric("power", x1)
        return ar.integer_pow(x, int(x2))
    x, y = promote_numeric("power", x1, x2)
    if dtypes.is_integer(dtype_of(x)):
        return _integer_power(x, y)
    return ar.pow(x, y)


pow = power


def _integer_power(x: Array, y: Array) -> Array:
    # Six bits of the exponent suffice: powers of 64 and more overflow 64 bits, except those of -1, 0 and 1, for which
    # the lowest bit decides.
    zero_base = logic.bitwise_and(logic.eq(x, 0), logic.ne(y, 0))
    dtype = dtype_of(x)
    result = logic.select(zero_base, literal(0, dtype), literal(1, dtype))
    for step in range(6):
        odd = logic.ne(logic.bitwise_and(y, 1), 0)
        result = logic.select(odd, ar.mul(result, x), result)
        if step < 5:
            x, y = ar.mul(x, x), logic.shift_right_logical(y, 1)
    return result


def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 ** x2` in a floating or complex dtype.

    >>> round(float(float_power(2, 3)), 4)
    8.0
    """
    return ar.pow(*promote_floating("float_power", x1, x2))


def negative(x: ArrayLike, /) -> Array:
    """`-x`.

    >>> round(float(negative(2.5)), 4)
    -2.5
    """
    x = as_operand(x, "negative's argument")
    if dtype_of(x) == dtypes.bool_:
        raise reject("negative", dtypes.bool_, "use logical_not, or convert with astype(int)")
    return ar.neg(x)


def positive(x: ArrayLike, /) -> Array:
    """`x` itself.

    >>> round(float(positive(2.5)), 4)
    2.5
    """
    return as_array(as_operand(x, "positive's argument"))


def absolute(x: ArrayLike, /) -> Array:
    """The absolute value; real for complex numbers.

    >>> round(float(absolute(-2.5)), 4)
    2.5
    """
    x = as_operand(x, "absolute's argument")
    dtype = dtype_of(x)
    return as_array(x) if dtype == dtypes.bool_ or dtypes.is_unsigned(dtype) else ar.abs(x)


abs = absolute


def fabs(x: ArrayLike, /) -> Array:
    """The absolute value, as a floating number.

    >>> round(float(fabs(-2)), 4)
    2.0
    """
    (x,) = promote_inexact(x)
    real_only("fabs", x)
    return ar.abs(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 by the sign; `x / |x|` for complex numbers.

    >>> round(float(sign(-2.5)), 4)
    -1.0
    """
    x = as_operand(x, "sign's argument")
    if dtype_of(x) == dtypes.bool_:
        raise reject("sign", dtypes.bool_, "convert with astype(int)")
    return ar.sign(x)


def square(x: ArrayLike, /) -> Array:
    """`x * x`.

    >>> int(square(3))
    9
    """
    return ar.square(*promote_numeric("square", x))


def sqrt(x: ArrayLike, /) -> Array:
    """The square root; NaN for negative real numbers.

    >>> round(float(sqrt(9.0)), 4)
    3.0
    """
    return ar.sqrt(promote_inexact(x)[0])


def cbrt(x: ArrayLike, /) -> Array:
    """The real cube root.

    >>> round(float(cbrt(27.0)), 4)
    3.0
    """
    return ar.cbrt(promote_inexact(x)[0])


def reciprocal(x: ArrayLike, /) -> Array:
    """`1 / x`, as a floating number.

    >>> round(float(reciprocal(4)), 4)
    0.25
    """
    (x,) = promote_inexact(x)
    return ar.integer_pow(x, -1)
