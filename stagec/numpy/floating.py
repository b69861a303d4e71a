"""NumPy's rounding, and the parts of floating and complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.numpy.arithmetic import as_array, dtype_of, reject
from stagec.numpy.logical import isnan
from stagec.numpy.promotion import broadcast_together, promote_floating, promote_inexact
from stagec.primitives import arithmetic as ar
from stagec.primitives import complex as cplx
from stagec.primitives import logic
from stagec.primitives import transcendental as tr
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim


def _round_with(name: str, x: Any, function: Any) -> Any:
    x = as_operand(x, f"{name}'s argument")
    dtype = dtype_of(x)
    if not dtypes.is_inexact(dtype):
        return as_array(x)
    if dtypes.is_complex(dtype):
        raise reject(name, dtype, "round the parts: real() and imag()")
    return function(x)


def floor(x: Any, /) -> Any:
    """The largest integer not above each element; integers stay as they are."""
    return _round_with("floor", x, ar.floor)


def ceil(x: Any, /) -> Any:
    """The smallest integer not below each element; integers stay as they are."""
    return _round_with("ceil", x, ar.ceil)


def trunc(x: Any, /) -> Any:
    """Each element rounded toward zero; integers stay as they are."""
    return _round_with("trunc", x, _trunc)


def fix(x: Any, out: None = None) -> Any:
    """Each element rounded toward zero; integers stay as they are."""
    no_out("fix", out)
    return trunc(x)


def _trunc(x: Operand) -> Operand:
    return logic.select(logic.lt(x, 0), ar.ceil(x), ar.floor(x))


def no_out(name: str, out: Any) -> None:
    """Refuse NumPy's `out` argument."""
    if out is not None:
        raise errors.UnsupportedError(
            errors.message(
                f"{name} cannot write to `out`: arrays are immutable",
                str(location.capture()),
                fix=f"use the result: y = {name}(...)",
            )
        )


def rint(x: Any, /) -> Any:
    """The nearest integer, as a floating number; halves go to the even one."""
    (x,) = promote_inexact(x)
    return _each_part(x, lambda v: ar.round(v, ar.RoundingMethod.TO_NEAREST_EVEN))


def _each_part(x: Operand, function: Any) -> Any:
    if dtypes.is_complex(dtype_of(x)):
        return cplx.complex(function(cplx.real(x)), function(cplx.imag(x)))
    return function(x)


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Each element rounded to `decimals` places; halves go to the even one.

    Args:
      a: any number; integers are unchanged unless `decimals` is negative.
      decimals: places after the point; negative ones are left of it.
      out: not supported.
    """
    no_out("round", out)
    decimals = int(decimals)
    x = as_operand(a, "round's argument")
    dtype = dtype_of(x)
    if dtype == dtypes.bool_ or (dtypes.is_integer(dtype) and decimals >= 0):
        return as_array(x)
    if dtypes.is_integer(dtype):
        return _round_integer(x, 10**-decimals)
    even = ar.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return _each_part(x, lambda v: ar.round(v, even))

    def places(v: Operand) -> Operand:
        work = dtypes.float32 if dtype_of(v) in (dtypes.float16, dtypes.bfloat16) else dtype_of(v)
        wide = convert_element_type(v, work, aval_of(v).weak_type)
        factor = literal(10.0 ** abs(decimals), work)
        scaled = ar.mul(wide, factor) if decimals > 0 else ar.div(wide, factor)
        rounded = ar.round(scaled, even)
        # Where scaling overflows there are no such places to round.
        rounded = ar.div(rounded, factor) if decimals > 0 else ar.mul(rounded, factor)
        result = logic.select(logic.is_finite(scaled), rounded, wide)
        return convert_element_type(result, dtype_of(v), aval_of(v).weak_type)

    return _each_part(x, places)


around = round


def _round_integer(x: Operand, unit: int) -> Any:
    dtype = dtype_of(x)
    if unit > 2 * dtypes.iinfo(dtype).max:
        return ar.mul(x, 0)
    if unit > dtypes.iinfo(dtype).max:
        raise reject("round to more digits than the dtype has", dtype, "use a wider dtype")
    whole = ar.mul(ar.div(x, unit), unit)
    left = ar.abs(ar.sub(x, whole))
    odd = logic.ne(ar.rem(ar.div(x, unit), 2), 0)
    half = ar.sub(unit, left)
    away = logic.bitwise_or(logic.gt(left, half), logic.bitwise_and(logic.eq(left, half), odd))
    step = ar.mul(ar.sign(x), unit)
    return logic.select(away, ar.add(whole, step), whole)


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set; true for -0.0."""
    x = as_operand(x, "signbit's argument")
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("signbit", dtype, "take the parts with real() and imag() first")
    if dtypes.is_float(dtype):
        x = bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
        return logic.lt(x, literal(0, dtype_of(x)))
    if dtype == dtypes.bool_ or dtypes.is_unsigned(dtype):
        return broadcast_in_dim(np.False_, aval_of(x).shape, ())
    return logic.lt(x, 0)


def copysign(x1: Any, x2: Any, /) -> Any:
    """`|x1|` with the sign of `x2`."""
    x, y = promote_floating("copysign", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        raise reject("copysign", dtype_of(x), "take the parts with real() and imag() first")
    size = ar.abs(x)
    return logic.select(signbit(y), ar.neg(size), size)


def nextafter(x1: Any, x2: Any, /) -> Any:
    """The next floating number after `x1` toward `x2`."""
    return ar.nextafter(*promote_floating("nextafter", x1, x2))


def spacing(x: Any, /) -> Any:
    """The distance from `x` to the next floating number away from zero, with the sign of `x`.

    As in NumPy, float16 has its distances upward, without a sign.
    """
    (x,) = promote_inexact(x)
    if dtypes.is_complex(dtype_of(x)):
        raise reject("spacing", dtype_of(x), "take abs() first")
    infinity = literal(math.inf, dtype_of(x))
    outward = infinity if dtype_of(x) == dtypes.float16 else copysign(infinity, x)
    return ar.sub(ar.nextafter(x, outward), x)


# dtype -> bits of the mantissa, largest exponent
_LAYOUT = {
    dtypes.bfloat16: (7, 127),
    dtypes.float16: (10, 15),
    dtypes.float32: (23, 127),
    dtypes.float64: (52, 1023),
}


def frexp(x: Any, /) -> tuple[Any, Any]:
    """`(m, e)` with `x == m * 2**e` and `0.5 <= |m| < 1`; `e` is int32."""
    (x,) = promote_inexact(x)
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("frexp", dtype, "take the parts with real() and imag() first")
    mantissa, bias = _LAYOUT[dtype]
    integer = np.dtype(f"int{8 * dtype.itemsize}")

    def constant(value: int) -> Operand:
        return literal(value, integer)

    smallest = 2.0 ** (1 - bias)
    subnormal = logic.lt(ar.abs(x), smallest)
    normal = logic.select(subnormal, ar.mul(x, 2.0**mantissa), x)
    bits = bitcast_convert_type(normal, integer)
    mask = 2 * bias + 1
    exponent = logic.bitwise_and(logic.shift_right_logical(bits, constant(mantissa)), constant(mask))
    exponent = ar.sub(exponent, constant(bias - 1))
    exponent = ar.sub(exponent, logic.select(subnormal, constant(mantissa), constant(0)))
    field = mask << mantissa
    bits = logic.bitwise_or(logic.bitwise_and(bits, constant(~field)), constant((bias - 1) << mantissa))
    special = logic.bitwise_or(logic.eq(x, 0), logic.bitwise_not(logic.is_finite(x)))
    part = logic.select(special, x, bitcast_convert_type(bits, dtype))
    return part, convert_element_type(logic.select(special, constant(0), exponent), dtypes.int32)


def ldexp(x1: Any, x2: Any, /) -> Any:
    """`x1 * 2**x2` for integers `x2`, exact where it is representable."""
    exponent = as_operand(x2, "ldexp's second argument")
    if not dtypes.is_integer(dtype_of(exponent)) and dtype_of(exponent) != dtypes.bool_:
        raise reject("ldexp's second argument", dtype_of(exponent), "convert it with astype(int)")
    (x,) = promote_inexact(x1)
    dtype = dtype_of(x)
    if dtypes.is_complex(dtype):
        raise reject("ldexp", dtype, "scale the parts: real() and imag()")
    mantissa, bias = _LAYOUT[dtype]
    part, start = frexp(x)
    # Beyond this every result is zero or infinite; adding cannot overflow then.
    limit = 4 * (bias + mantissa)
    wanted = logic.clamp(-limit, convert_element_type(exponent, dtypes.int32), limit)
    part, start, wanted = broadcast_together("ldexp", [part, start, wanted])
    total = logic.clamp(2 - bias, ar.add(start, wanted), 2 * bias)
    below = ar.min(ar.add(ar.add(start, wanted), bias - 2), 0)
    # The first product is exact, so that a subnormal result is rounded once.
    first = ar.min(total, bias)
    rest = ar.max(ar.add(ar.sub(total, first), below), 1 - bias)
    out = ar.mul(ar.mul(part, _power_of_two(first, dtype)), _power_of_two(rest, dtype))
    special = logic.bitwise_or(logic.eq(x, 0), logic.bitwise_not(logic.is_finite(x)))
    return logic.select(special, *broadcast_together("ldexp", [x, out]))


def _power_of_two(exponent: Operand, dtype: np.dtype[Any]) -> Operand:
    mantissa, bias = _LAYOUT[dtype]
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    field = ar.add(convert_element_type(exponent, integer), literal(bias, integer))
    return bitcast_convert_type(logic.shift_left(field, literal(mantissa, integer)), dtype)


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """`(fraction, whole)`: both have the sign of `x`."""
    no_out("modf", out)
    (x,) = promote_inexact(x)
    whole = _trunc(x)
    finite = logic.is_finite(x)
    fraction = logic.select(finite, ar.sub(x, whole), logic.select(isnan(x), x, 0.0))
    return copysign(fraction, x), whole


def real(val: Any, /) -> Any:
    """The real part."""
    x = as_operand(val, "real's argument")
    return cplx.real(x) if dtypes.is_complex(dtype_of(x)) else as_array(x)


def imag(val: Any, /) -> Any:
    """The imaginary part; zeros for real numbers."""
    x = as_operand(val, "imag's argument")
    if dtypes.is_complex(dtype_of(x)):
        return cplx.imag(x)
    return broadcast_in_dim(literal(0, dtype_of(x)), aval_of(x).shape, ())


def conjugate(x: Any, /) -> Any:
    """The complex conjugate."""
    x = as_operand(x, "conjugate's argument")
    return cplx.conj(x) if dtypes.is_complex(dtype_of(x)) else as_array(x)


conj = conjugate


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers, in radians or in degrees."""
    (x,) = promote_inexact(z)
    if dtypes.is_complex(dtype_of(x)):
        out = tr.atan2(cplx.imag(x), cplx.real(x))
    else:
        straight = logic.select(logic.lt(x, 0), *(literal(v, dtype_of(x)) for v in (math.pi, 0.0)))
        out = logic.select(isnan(x), x, straight)
    return ar.mul(out, 180 / math.pi) if deg else out
