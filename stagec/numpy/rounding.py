"""Rounding functions, and the parts of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import iinfo
from stagec.numpy.arguments import array_argument, refuse_out
from stagec.numpy.arithmetic import dtype_of, reject
from stagec.numpy.promotion import promote_dtypes
from stagec.primitives import arithmetic as ar, complex as cplx, logic, transcendental as tr
from stagec.primitives.axes import as_int
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, literal
from stagec.primitives.shape import broadcast_in_dim
from stagec.typing import ArrayLike

__all__ = ["angle", "around", "ceil", "conj", "conjugate", "fix", "floor", "imag", "real", "rint", "round", "trunc"]


def _round_with(name: str, x: Any, function: Callable[[Any], Array]) -> Array:
    x = array_argument(x, f"{name}'s argument")
    dtype = dtype_of(x)
    check_dtype(name, dtype, dtypes.ALL)
    if not dtypes.is_inexact(dtype):
        return as_array(x)
    if dtypes.is_complex(dtype):
        raise reject(name, dtype, "round the parts, x.real and x.imag")
    return function(x)


def floor(x: ArrayLike, /) -> Array:
    """The largest integer not above each element; integers stay as they are.

    >>> f"{float(floor(-1.5)):.4f}"
    '-2.0000'
    """
    return _round_with("floor", x, ar.floor)


def ceil(x: ArrayLike, /) -> Array:
    """The smallest integer not below each element; integers stay as they are.

    >>> f"{float(ceil(-1.5)):.4f}"
    '-1.0000'
    """
    return _round_with("ceil", x, ar.ceil)


def trunc(x: ArrayLike, /) -> Array:
    """Each element rounded toward zero; integers stay as they are.

    >>> f"{float(trunc(-1.5)):.4f}"
    '-1.0000'
    """
    return _round_with("trunc", x, _trunc)


def fix(x: ArrayLike, out: None = None) -> Array:
    """Each element rounded toward zero; integers stay as they are.

    >>> f"{float(fix(-1.5)):.4f}"
    '-1.0000'
    """
    refuse_out(out, "fix")
    return trunc(x)


def _trunc(x: Array) -> Array:
    return logic.select(logic.lt(x, 0), ar.ceil(x), ar.floor(x))


def rint(x: ArrayLike, /) -> Array:
    """The nearest integer, as a floating number; halves go to the even one.

    >>> f"{float(rint(2.5)):.4f}"
    '2.0000'
    """
    return _each_part(_default_inexact(x), lambda v: ar.round(v, ar.RoundingMethod.TO_NEAREST_EVEN))


def _default_inexact(x: ArrayLike) -> Array:
    """Convert an operand to a floating or complex dtype; integers of any size become the default float."""
    (operand,) = promote_dtypes(x)
    if dtypes.is_inexact(dtype_of(operand)):
        return operand
    return convert_element_type(operand, dtypes.default_float())


def _each_part(x: Operand, function: Callable[[Any], Array]) -> Array:
    if dtypes.is_complex(dtype_of(x)):
        return cplx.complex(function(cplx.real(x)), function(cplx.imag(x)))
    return function(x)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Each element rounded to `decimals` places; halves go to the even one.

    Args:
      a: any number; integers are unchanged unless `decimals` is negative.
      decimals: places after the point; negative ones are left of it.
      out: not supported.

    >>> float(round(2.345, 1))
    2.299999952316284
    """
    refuse_out(out, "round")
    decimals = as_int(decimals, "round", "decimals")
    x = as_operand(a, "round's argument")
    dtype = dtype_of(x)
    if dtype == dtypes.bool_ or (dtypes.is_integer(dtype) and decimals >= 0):
        return as_array(x)
    if dtypes.is_integer(dtype):
        return _round_integer(x, 10**-decimals)
    even = ar.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return _each_part(x, lambda v: ar.round(v, even))

    def rounded_part(v: Operand) -> Operand:
        work = dtypes.float32 if dtype_of(v) in (dtypes.float16, dtypes.bfloat16) else dtype_of(v)
        wide = convert_element_type(v, work, aval_of(v).weak_type)
        factor = literal(10.0 ** abs(decimals), work)
        scaled = ar.mul(wide, factor) if decimals > 0 else ar.div(wide, factor)
        rounded = ar.round(scaled, even)
        # Numbers so large that scaling overflows have no such decimal places.
        rounded = ar.div(rounded, factor) if decimals > 0 else ar.mul(rounded, factor)
        result = logic.select(logic.is_finite(scaled), rounded, wide)
        return convert_element_type(result, dtype_of(v), aval_of(v).weak_type)

    return _each_part(x, rounded_part)


around = round


def _round_integer(x: Array, unit: int) -> Array:
    dtype = dtype_of(x)
    if unit > 2 * iinfo(dtype).max:
        return ar.mul(x, 0)
    if unit > iinfo(dtype).max:
        raise reject("round to more digits than the dtype has", dtype, "give fewer digits")
    whole = ar.mul(ar.div(x, unit), unit)
    remainder = ar.abs(ar.sub(x, whole))
    odd = logic.ne(ar.rem(ar.div(x, unit), 2), 0)
    half = ar.sub(unit, remainder)
    away = logic.bitwise_or(logic.gt(remainder, half), logic.bitwise_and(logic.eq(remainder, half), odd))
    step = ar.mul(ar.sign(x), unit)
    return logic.select(away, ar.add(whole, step), whole)


def real(val: ArrayLike, /) -> Array:
    """The real part.

    >>> f"{float(real(1 + 2j)):.4f}"
    '1.0000'
    """
    x = as_operand(val, "real's argument")
    return cplx.real(x) if dtypes.is_complex(dtype_of(x)) else as_array(x)


def imag(val: ArrayLike, /) -> Array:
    """The imaginary part; zeros for real numbers.

    >>> f"{float(imag(1 + 2j)):.4f}"
    '2.0000'
    """
    x = as_operand(val, "imag's argument")
    if dtypes.is_complex(dtype_of(x)):
        return cplx.imag(x)
    aval = aval_of(x)
    return broadcast_in_dim(literal(0, aval.dtype, aval.weak_type), aval.shape, ())


def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate.

    >>> complex(conjugate(1 + 2j))
    (1-2j)
    """
    x = as_operand(x, "conjugate's argument")
    return cplx.conj(x) if dtypes.is_complex(dtype_of(x)) else as_array(x)


conj = conjugate


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of complex numbers, in radians or in degrees.

    >>> f"{float(angle(1j, deg=True)):.4f}"
    '90.0000'
    """
    x = _default_inexact(z)
    if dtypes.is_complex(dtype_of(x)):
        out = tr.atan2(cplx.imag(x), cplx.real(x))
    else:
        out = tr.atan2(0.0, x)
    return ar.mul(out, 180 / math.pi) if deg else out
