"""Small dtypes in compiled code, which holds a byte for each element: reading and writing their bits.

Compiled programs hold the bytes as int8. This is enough for operations that move elements. A conversion reads and
writes them by integer arithmetic, rounding to nearest, ties to even, as `ml_dtypes` does.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.operand import Operand, aval_of

_BYTE = np.dtype(np.int8)
_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


def lower_conversion(cx: Any, x: Any, aval: ShapedArray, new_dtype: np.dtype[Any]) -> Any:
    """`astype` from or to a small dtype, or both."""

    def convert(value: Operand) -> Operand:
        if aval.small:
            read = _read_float if aval.dtype in dtypes.SMALL_FLOAT else _read_integer
            value = read(value, aval.dtype)
        if new_dtype not in dtypes.SMALL:
            return convert_element_type(value, new_dtype)
        if new_dtype in dtypes.SMALL_INTEGER:
            return _write_integer(value, new_dtype)
        write = _write_exponent if new_dtype == _E8M0 else _write_float
        return write(convert_element_type(value, dtypes.float32), new_dtype)

    given = aval.update(dtype=_BYTE, weak_type=False) if aval.small else aval
    return cx.apply(convert, x, avals=[given])


def _read_integer(bits: Operand, dtype: np.dtype[Any]) -> Operand:
    """Bytes as int8."""
    width = dtypes.itemsize_bits(dtype)
    bits = logic.bitwise_and(bits, np.int8(2**width - 1))
    if dtypes.is_unsigned(dtype):
        return bits
    sign = np.int8(2 ** (width - 1))
    return ar.sub(logic.bitwise_xor(bits, sign), sign)


def _read_float(byte: Operand, dtype: np.dtype[Any]) -> Operand:
    """Bytes as float32."""
    width, mantissa, least = _layout(dtype)
    signed = dtype != _E8M0
    sign = 1 << (width - 1) if signed else 0
    code = logic.bitwise_and(convert_element_type(byte, dtypes.int32), np.int32(2**width - 1))
    size = logic.bitwise_and(code, np.int32(2**width - 1 - sign))
    bits = logic.shift_left(size, np.int32(23 - mantissa))
    if signed:
        bits = ar.add(bits, np.int32((126 + least) << 23))
        subnormal = ar.mul(convert_element_type(size, dtypes.float32), np.float32(2.0 ** (least - mantissa)))
        value = logic.select(
            logic.lt(size, np.int32(1 << mantissa)), subnormal, bitcast_convert_type(bits, dtypes.float32)
        )
    else:  # the exponents are float32's; 2**-127 is one of its subnormal numbers
        bits = logic.select(logic.eq(size, np.int32(0)), np.int32(1 << 22), bits)
        value = bitcast_convert_type(bits, dtypes.float32)
    every = np.arange(2**width, dtype=np.uint8).view(dtype).astype(np.float32)
    if np.isinf(every).any():
        infinite = int(np.argmax(np.isinf(every)))
        value = logic.select(logic.eq(size, np.int32(infinite)), np.float32(np.inf), value)
    if signed:
        value = logic.select(logic.ge(code, np.int32(sign)), ar.neg(value), value)
    (nan,) = np.nonzero(np.isnan(every))
    if nan.size:
        # One code with either sign, all above the infinities, or the one that would be -0.
        alone = nan.size == 1
        is_nan = logic.eq(code, np.int32(nan[0])) if alone else logic.ge(size, np.int32(nan[0]))
        value = logic.select(is_nan, np.float32(np.nan), value)
    return value


def _layout(dtype: np.dtype[Any]) -> tuple[int, int, int]:
    """The bits of an element and of its mantissa, and the exponent of the smallest normal number."""
    limits: Any = ml_dtypes.finfo
    info = limits(dtype)
    return dtypes.itemsize_bits(dtype), int(info.nmant), int(info.minexp)


def _write_integer(value: Operand, dtype: np.dtype[Any]) -> Operand:
    """Numbers as bytes: floats are truncated and clamped, integers wrap around."""
    width = dtypes.itemsize_bits(dtype)
    whole = convert_element_type(value, dtypes.int32)
    if dtypes.is_float(aval_of(value).dtype):
        low, high = dtypes.integer_range(dtype)
        whole = ar.min(ar.max(whole, np.int32(low)), np.int32(high))
    return convert_element_type(logic.bitwise_and(whole, np.int32(2**width - 1)), _BYTE)


def _write_exponent(x: Operand, dtype: np.dtype[Any]) -> Operand:
    """float8_e8m0fnu: powers of two and NaN. Half way between two, the upper one is taken."""
    bits = bitcast_convert_type(x, dtypes.int32)
    # Below float32's normal numbers, `ml_dtypes` rounds all above 2**-127 up.
    half = logic.select(logic.lt(bits, np.int32(1 << 23)), np.int32((1 << 22) - 1), np.int32(1 << 22))
    code = logic.shift_right_logical(ar.add(bits, half), np.int32(23))
    nan = logic.bitwise_or(logic.le(bits, np.int32(0)), logic.gt(bits, np.int32(0x7F7FFFFF)))
    return convert_element_type(logic.select(nan, np.int32(255), ar.min(code, np.int32(255))), _BYTE)


def _write_float(x: Operand, dtype: np.dtype[Any]) -> Operand:
    width, mantissa, least = _layout(dtype)
    sign = 1 << (width - 1)
    bits = bitcast_convert_type(x, dtypes.int32)
    size = logic.bitwise_and(bits, np.int32(0x7FFFFFFF))
    exponent = ar.max(ar.sub(logic.shift_right_logical(size, np.int32(23)), np.int32(127)), np.int32(least))
    # How many of the smallest steps at this exponent: scaling by a power of two is exact.
    scale = logic.shift_left(ar.sub(np.int32(127 + mantissa), exponent), np.int32(23))
    steps = ar.mul(bitcast_convert_type(size, dtypes.float32), bitcast_convert_type(scale, dtypes.float32))
    whole = convert_element_type(ar.round(steps, ar.RoundingMethod.TO_NEAREST_EVEN), dtypes.int32)
    code = ar.add(logic.shift_left(ar.sub(exponent, np.int32(least)), np.int32(mantissa)), whole)
    largest, infinite, nan = (int(np.asarray(n, dtype).view(np.uint8)) for n in (finfo(dtype).max, np.inf, np.nan))
    # Overflow gives infinity, or NaN if the dtype has no infinity, or the largest number if it has neither.
    too_large = logic.bitwise_or(logic.gt(code, np.int32(largest)), logic.ge(size, np.int32(0x7F800000)))
    code = logic.select(too_large, np.int32(infinite), code)
    code = logic.select(logic.gt(size, np.int32(0x7F800000)), np.int32(nan), code)
    negative = logic.lt(bits, np.int32(0))
    if dtype.name.endswith("fnuz"):  # no negative zero: its code is NaN's
        zero = logic.eq(logic.bitwise_and(code, np.int32(sign - 1)), np.int32(0))
        negative = logic.bitwise_and(negative, logic.bitwise_not(zero))
    code = logic.select(negative, logic.bitwise_xor(code, np.int32(sign)), code)
    return convert_element_type(code, _BYTE)
