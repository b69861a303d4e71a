"""Parts of floating-point numbers: signs, exponents, fractions, neighbors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import iinfo
from stagec.numpy.arguments import refuse_out
from stagec.numpy.arithmetic import dtype_of, reject
from stagec.numpy.promotion import broadcast_together, promote_floating, promote_inexact
from stagec.numpy.rounding import trunc
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim
from stagec.typing import ArrayLike

__all__ = ["copysign", "frexp", "ldexp", "modf", "nextafter", "signbit", "spacing"]


def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit is set; true for -0.0.

    >>> bool(signbit(-0.0))
    True
    """
    x = as_operand(x, "signbit's argument")
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("signbit", dtype, "take the parts with real() and imag() first")
    if dtypes.is_float(dtype):
        x, dtype = _wide(x), dtypes.COMPUTED_IN.get(dtype, dtype)
        x = bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
        return logic.lt(x, literal(0, dtype_of(x)))
    if dtype == dtypes.bool_ or dtypes.is_unsigned(dtype):
        return broadcast_in_dim(np.False_, aval_of(x).shape, ())
    return logic.lt(x, literal(0, dtype))


def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`|x1|` with the sign of `x2`.

    >>> f"{float(copysign(2.0, -0.0)):.4f}"
    '-2.0000'
    """
    x, y = promote_floating("copysign", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        raise reject("copysign", dtype_of(x), "take the parts with real() and imag() first")
    size = ar.abs(x)
    return logic.select(signbit(y), ar.neg(size), size)


def nextafter(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The next floating number after `x1` toward `x2`.

    >>> float(nextafter(1.0, 2.0))
    1.0000001192092896
    """
    return ar.nextafter(*promote_floating("nextafter", x1, x2))


def spacing(x: ArrayLike, /) -> Array:
    """The distance from `x` to the next floating number away from zero, with the sign of `x`.

    As in NumPy, the result for float16 is the distance to the next larger number, without a sign.

    >>> float(spacing(1.0))
    1.1920928955078125e-07
    """
    (x,) = promote_inexact(x)
    if dtypes.is_complex(dtype_of(x)):
        raise reject("spacing", dtype_of(x), "take abs(x) first")
    infinity = literal(math.inf, dtype_of(x))
    outward = infinity if dtype_of(x) == dtypes.float16 else copysign(infinity, x)
    return ar.sub(ar.nextafter(x, outward), x)


def _wide(x: Operand) -> Operand:
    """Convert small floats to the dtype in which they are computed."""
    return convert_element_type(x, dtypes.COMPUTED_IN.get(dtype_of(x), dtype_of(x)))


# dtype -> bits of the mantissa, largest exponent
_LAYOUT = {
    dtypes.bfloat16: (7, 127),
    dtypes.float16: (10, 15),
    dtypes.float32: (23, 127),
    dtypes.float64: (52, 1023),
}


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """`(m, e)` with `x == m * 2**e` and `0.5 <= |m| < 1`; `e` is int32.

    >>> [float(v) for v in frexp(6.0)]
    [0.75, 3.0]
    """
    (x,) = promote_inexact(x)
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("frexp", dtype, "take the parts with real() and imag() first")
    if dtype in dtypes.SMALL:
        part, power = frexp(_wide(x))
        return convert_element_type(part, dtype), power
    mantissa, bias = _LAYOUT[dtype]
    integer = np.dtype(f"int{8 * dtype.itemsize}")

    def constant(value: int) -> Operand:
        return literal(value, integer)

    subnormal = logic.lt(ar.abs(x), 2.0 ** (1 - bias))
    bits = bitcast_convert_type(logic.select(subnormal, ar.mul(x, 2.0**mantissa), x), integer)
    field = logic.bitwise_and(logic.shift_right_logical(bits, constant(mantissa)), constant(2 * bias + 1))
    start = logic.select(subnormal, constant(bias - 1 + mantissa), constant(bias - 1))
    special = logic.bitwise_or(logic.eq(x, 0), logic.bitwise_not(logic.is_finite(x)))
    exponent = convert_element_type(logic.select(special, constant(0), ar.sub(field, start)), dtypes.int32)
    # The bits have no derivative, the product does.
    return _scaled(x, ar.neg(exponent)), exponent


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 * 2**x2` for integers `x2`, exact where it is representable.

    >>> f"{float(ldexp(3.0, 2)):.4f}"
    '12.0000'
    """
    exponent = as_operand(x2, "ldexp's second argument")
    if dtype_of(exponent) == dtypes.bool_:
        exponent = convert_element_type(exponent, dtypes.int32)
    if not dtypes.is_integer(dtype_of(exponent)):
        raise reject("ldexp's second argument", dtype_of(exponent), "convert it with astype(int)")
    (x,) = promote_inexact(x1)
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("ldexp", dtype, "scale the parts, x.real and x.imag")
    if dtype in dtypes.SMALL:
        return convert_element_type(ldexp(_wide(x), exponent), dtype)
    # Beyond this, every result is zero or infinite.
    limit, info = 4 * sum(_LAYOUT[dtype]), iinfo(dtype_of(exponent))
    wanted = logic.clamp(max(-limit, info.min), exponent, min(limit, info.max))
    return _scaled(*broadcast_together("ldexp", [x, convert_element_type(wanted, dtypes.int32)]))


def _scaled(x: Array, exponent: Array) -> Array:
    """`x * 2**exponent`, rounded once, as three products with powers of two."""
    dtype = dtype_of(x)
    mantissa, bias = _LAYOUT[dtype]
    # An intermediate product that is subnormal, and so inexact, is followed by one that makes it zero.
    lowest, low, high = 1 - bias, 2 - bias + mantissa, bias
    for _ in range(2):
        below, above = logic.lt(exponent, lowest), logic.gt(exponent, high)
        step = logic.select(below, low, logic.select(above, high, exponent))
        x, exponent = ar.mul(x, _power_of_two(step, dtype)), ar.sub(exponent, step)
    return ar.mul(x, _power_of_two(logic.clamp(lowest, exponent, high), dtype))


def _power_of_two(exponent: Array, dtype: np.dtype[Any]) -> Array:
    mantissa, bias = _LAYOUT[dtype]
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    field = ar.add(convert_element_type(exponent, integer), literal(bias, integer))
    return bitcast_convert_type(logic.shift_left(field, literal(mantissa, integer)), dtype)


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """`(fraction, whole)`: both have the sign of `x`.

    >>> [float(v) for v in modf(-2.5)]
    [-0.5, -2.0]
    """
    refuse_out(out, "modf")
    (x,) = promote_inexact(x)
    whole, negative = trunc(x), signbit(x)
    # A difference of equal numbers is 0.0, so that of a negative number is negated.
    fraction = logic.select(negative, ar.neg(ar.sub(whole, x)), ar.sub(x, whole))
    zero = copysign(0.0, x)
    return logic.select(logic.eq(ar.abs(x), math.inf), zero, fraction), whole
