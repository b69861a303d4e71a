"""Dtypes of storage, float8 and int4: how compiled code reads and writes their bits, a byte for each element.

Compiled programs hold the bytes as int8. Operations that move elements need to know no more; a conversion reads a byte
by a table or by arithmetic, and rounds to nearest, ties to even, as `ml_dtypes` does.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.primitives import arithmetic as ar, logic
from stagec.primitives.convert import bitcast_convert_type, convert_element_type
from stagec.primitives.gather import GatherDimensionNumbers, gather
from stagec.primitives.operand import Operand, aval_of
from stagec.primitives.shape import reshape

_BYTE = np.dtype(np.int8)


def lower_conversion(cx: Any, x: Any, aval: ShapedArray, new_dtype: np.dtype[Any]) -> Any:
    """`astype` from or to a dtype of storage, or both."""

    def convert(value: Operand) -> Operand:
        if aval.dtype in dtypes.STORED:
            value = _read(value, aval.dtype)
        if new_dtype not in dtypes.STORED:
            return convert_element_type(value, new_dtype)
        return _write(value, new_dtype)

    given = aval.update(dtype=_BYTE, weak_type=False) if aval.dtype in dtypes.STORED else aval
    return cx.apply(convert, x, avals=[given])


def _read(bits: Operand, dtype: np.dtype[Any]) -> Operand:
    """Bytes as float32, or as int8."""
    if dtype == dtypes.int4:
        return ar.sub(logic.bitwise_xor(bits, np.int8(8)), np.int8(8))
    if dtype == dtypes.uint4:
        return bits
    table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    shape = aval_of(bits).shape
    places = convert_element_type(bitcast_convert_type(bits, dtypes.uint8), dtypes.int32)
    numbers = GatherDimensionNumbers((), (0,), (0,))
    return gather(table, reshape(places, (*shape, 1)), numbers, (1,), mode="promise_in_bounds")


def _write(value: Operand, dtype: np.dtype[Any]) -> Operand:
    """Numbers as bytes."""
    kind = aval_of(value).dtype
    if dtype in dtypes.INT4:
        whole = convert_element_type(value, dtypes.int32)
        if dtypes.is_float(kind):
            low, high = (-8, 7) if dtype == dtypes.int4 else (0, 15)
            whole = ar.min(ar.max(whole, np.int32(low)), np.int32(high))
        return convert_element_type(logic.bitwise_and(whole, np.int32(15)), _BYTE)
    return _write_float(convert_element_type(value, dtypes.float32), dtype)


def _write_float(x: Operand, dtype: np.dtype[Any]) -> Operand:
    limits: Any = ml_dtypes.finfo
    info = limits(dtype)
    mantissa, least = int(info.nmant), int(info.minexp)
    only_nan = dtype.name.endswith("fnuz")
    bits = bitcast_convert_type(x, dtypes.int32)
    size = logic.bitwise_and(bits, np.int32(0x7FFFFFFF))
    exponent = ar.max(ar.sub(logic.shift_right_logical(size, np.int32(23)), np.int32(127)), np.int32(least))
    # How many of the smallest steps at this exponent: scaling by a power of two is exact.
    scale = logic.shift_left(ar.sub(np.int32(127 + mantissa), exponent), np.int32(23))
    steps = ar.mul(bitcast_convert_type(size, dtypes.float32), bitcast_convert_type(scale, dtypes.float32))
    whole = convert_element_type(ar.round(steps, ar.RoundingMethod.TO_NEAREST_EVEN), dtypes.int32)
    code = ar.add(logic.shift_left(ar.sub(exponent, np.int32(least)), np.int32(mantissa)), whole)
    largest = int(np.asarray(info.max, dtype).view(np.uint8))
    infinite = np.asarray(np.inf, dtype).view(np.uint8)  # NaN, where there is no infinity
    too_large = logic.bitwise_or(logic.gt(code, np.int32(largest)), logic.ge(size, np.int32(0x7F800000)))
    code = logic.select(too_large, np.int32(int(infinite)), code)
    negative = logic.lt(bits, np.int32(0))
    if only_nan:  # and no negative zero
        negative = logic.bitwise_and(
            negative, logic.bitwise_and(logic.ne(code, np.int32(0)), logic.bitwise_not(too_large))
        )
    code = logic.select(negative, logic.bitwise_or(code, np.int32(0x80)), code)
    nan = int(np.asarray(np.nan, dtype).view(np.uint8))
    code = logic.select(logic.gt(size, np.int32(0x7F800000)), np.int32(nan), code)
    return convert_element_type(code, _BYTE)
