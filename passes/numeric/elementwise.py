"""Elementwise StableHLO and CHLO ops in NumPy.

Where the specification leaves a result to the implementation, stagec defines
it: integer division by zero gives all ones, the remainder by zero is the
dividend, and a conversion from float to integer saturates, and maps NaN to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether functions of this dtype, a float narrower than float32, are computed in float32 and rounded."""
    return dtype.kind in "fV" and dtype.itemsize < 4


def through_float32(fn: Callable[..., Array]) -> Callable[..., Array]:
    """`fn`, computed in float32 for narrower floats, and rounded once."""

    def call(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        if is_narrow(dtype):
            return np.asarray(fn(*(a.astype(np.float32) for a in arrays))).astype(dtype)
        return fn(*arrays)

    return call


def through_float64(fn: Callable[..., Array]) -> Callable[..., Array]:
    """`fn`, computed in float64, and rounded to the operands' dtype."""

    def call(*arrays: Array) -> Array:
        return np.asarray(fn(*(a.astype(np.float64) for a in arrays))).astype(arrays[0].dtype)

    return call


def _is_float(x: Array) -> bool:
    return x.dtype.kind in "fV"


def divide(x: Array, y: Array) -> Array:
    """Division, truncating for integers: x / 0 is all ones, and the smallest integer / -1 is that integer."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    safe = np.where(y == 0, y.dtype.type(1), y)
    quotient = np.floor_divide(x, safe)
    if x.dtype.kind == "i":
        # NumPy rounds down, not toward zero.
        inexact = quotient * safe != x
        quotient = quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)
    return np.where(y == 0, np.asarray(-1).astype(x.dtype), quotient)


def remainder(x: Array, y: Array) -> Array:
    """The remainder with the dividend's sign; for integers x % 0 is x."""
    if x.dtype.kind not in "biu":
        return np.fmod(x, y) if x.dtype.kind == "f" and not is_narrow(x.dtype) else _narrow_fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


_narrow_fmod = through_float32(np.fmod)


def maximum(x: Array, y: Array) -> Array:
    """IEEE maximum: NaN wins, and +0.0 is greater than -0.0. Lexicographic for complex numbers."""
    if _is_float(x):
        zeros = (x == 0) & (y == 0)
        return np.where(zeros, np.where(np.signbit(x), y, x), np.maximum(x, y)).astype(x.dtype)
    return np.maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    """IEEE minimum: NaN wins, and -0.0 is less than +0.0."""
    if _is_float(x):
        zeros = (x == 0) & (y == 0)
        return np.where(zeros, np.where(np.signbit(x), x, y), np.minimum(x, y)).astype(x.dtype)
    return np.minimum(x, y)


def power(x: Array, y: Array) -> Array:
    """Power; an integer to a negative power is 0, except that powers of 1 and -1 are their inverses."""
    if x.dtype.kind in "iu":
        exponent = np.where(y < 0, 0, y).astype(x.dtype)
        result = np.power(x, exponent)
        if x.dtype.kind == "i":
            odd = (y & 1) == 1
            inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
            result = np.where(y < 0, inverse, result).astype(x.dtype)
        return result
    return through_float32(float_power)(x, y)


def float_power(x: Array, y: Array) -> Array:
    """IEEE 754's power, where NumPy takes the square root for an exponent of 1/2: that of -inf is inf, of -0.0 is 0."""
    result = np.power(x, y)
    is_root = y == 0.5
    if result.dtype.kind == "f" and is_root.any():
        result = np.where(is_root, np.where(x == -np.inf, np.inf, result + 0.0), result).astype(result.dtype)
    return result


def sign(x: Array) -> Array:
    """The sign; zeros keep their sign, and NaN stays NaN."""
    if x.dtype.kind == "c":
        size = np.abs(x)
        safe, out = np.where(size == 0, 1, size), np.empty_like(x)
        # A quotient of complex numbers would be NaN where one part of `x` is infinite.
        out.real, out.imag = x.real / safe, x.imag / safe
        return out
    if _is_float(x):
        return np.copysign(np.sign(x), x)  # np.sign gives 0.0 for -0.0
    return np.sign(x)


def _bits(x: Array) -> int:
    return {"int2": 2, "int4": 4}.get(x.dtype.name.removeprefix("u"), x.dtype.itemsize * 8)


def shift_left(x: Array, y: Array) -> Array:
    if x.dtype.isbuiltin == 1:
        return np.left_shift(x, y)  # 0 where the amount is negative or too large
    amount = y.view(f"u{y.dtype.itemsize}")
    return np.where(amount >= _bits(x), 0, np.left_shift(x, np.where(amount >= _bits(x), 0, y))).astype(x.dtype)


def shift_right_logical(x: Array, y: Array) -> Array:
    unsigned, amount = x.view(f"u{x.dtype.itemsize}"), y.view(f"u{y.dtype.itemsize}")
    if x.dtype.isbuiltin == 1:
        return np.right_shift(unsigned, amount).view(x.dtype)
    over = amount >= _bits(x)
    # A byte holds a shorter integer, with any bits above it.
    unsigned = unsigned & np.asarray((1 << _bits(x)) - 1, unsigned.dtype)
    shifted = np.right_shift(unsigned, np.where(over, 0, amount).astype(unsigned.dtype))
    return np.where(over, 0, shifted).astype(unsigned.dtype).view(x.dtype)


def shift_right_arithmetic(x: Array, y: Array) -> Array:
    signed = x.view(f"i{x.dtype.itemsize}")
    if x.dtype.isbuiltin == 1:
        return np.right_shift(signed, y.view(signed.dtype)).view(x.dtype)  # the sign where the amount is out of range
    clipped = np.minimum(y.view(f"u{y.dtype.itemsize}"), _bits(x) - 1).astype(signed.dtype)
    spare = np.asarray(8 - _bits(x), signed.dtype)
    signed = np.right_shift(np.left_shift(signed, spare), spare)
    return np.right_shift(signed, clipped).view(x.dtype)


def popcnt(x: Array) -> Array:
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def count_leading_zeros(x: Array) -> Array:
    width = _bits(x)
    bits = x.view(f"u{x.dtype.itemsize}")
    bits = bits & np.asarray((1 << width) - 1, bits.dtype)
    # Set every bit below the highest one; what stays unset is the count.
    distance = 1
    while distance < width:
        bits = bits | (bits >> np.asarray(distance, bits.dtype))
        distance *= 2
    return (width - np.bitwise_count(bits)).astype(x.dtype)


def logical_not(x: Array) -> Array:
    return ~x


def round_away(x: Array) -> Array:
    """Round to the nearest integer, halves away from zero."""
    # The sum with the number before 0.5 reaches the next integer from there on, as it is rounded.
    return np.trunc(x + np.copysign(np.nextafter(x.dtype.type(0.5), x.dtype.type(0)), x))


def logistic(x: Array) -> Array:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    wide = x.astype(np.float64)
    small = np.exp(-np.abs(wide))
    return np.where(wide >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def cbrt(x: Array) -> Array:
    return through_float64(np.cbrt)(x)


def rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x) if x.dtype.kind == "c" else through_float64(lambda v: 1 / np.sqrt(v))(x)


def absolute(x: Array) -> Array:
    return np.abs(x)


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """Conversion: to bool by `!= 0`, complex to real drops the imaginary part, float to integer saturates."""
    if dtype.kind == "b":
        return x != 0
    if x.dtype.kind == "c" and dtype.kind != "c":
        return convert(x.real, dtype)
    if x.dtype.kind in "fV" and _is_int(dtype) and not _is_int(x.dtype):
        return _saturate(x, dtype)
    if _is_int(dtype) and dtype.isbuiltin != 1 and (x.dtype.kind == "b" or _is_int(x.dtype)):
        return x.astype(np.int64).astype(np.int8).astype(dtype)
    if dtype.isbuiltin != 1 and x.dtype == np.float64:
        return round_once(x, dtype)
    return x.astype(dtype)


def _is_int(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or "int" in dtype.name


def round_once(x: Array, dtype: np.dtype[Any]) -> Array:
    """Round float64 to a narrow float once; a plain conversion through float32 would round twice.

    The intermediate float32 is rounded to odd, which keeps the information that the second rounding needs.
    """
    near = x.astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != x)
    bits = near.view(np.uint32)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x)
    toward_zero = np.where(inexact & beyond, bits - 1, bits).astype(np.uint32)
    odd = np.where(inexact, toward_zero | 1, toward_zero).astype(np.uint32).view(np.float32)
    return odd.astype(dtype)


def _saturate(x: Array, dtype: np.dtype[Any]) -> Array:
    info = np.iinfo(dtype) if dtype.isbuiltin == 1 else None
    if info is None:
        bits = 4 if "4" in dtype.name else 2
        low, high = (0, 2**bits - 1) if "uint" in dtype.name else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    else:
        low, high = int(info.min), int(info.max)
    wide = np.trunc(x.astype(np.float64))
    inside = (wide >= low) & (wide < float(high) + 1)
    base = np.where(inside, wide, 0)
    work = base.astype(np.uint64 if low == 0 else np.int64).astype(dtype if info is not None else np.int8).astype(dtype)
    result = np.where(wide >= float(high) + 1, np.array(high).astype(dtype), work)
    result = np.where(wide < low, np.array(low).astype(dtype), result)
    return result.astype(dtype)


def compare(x: Array, y: Array, direction: str, kind: str) -> Array:
    """Comparison; TOTALORDER puts -NaN < -inf < -0 < +0 < inf < NaN."""
    if kind == "TOTALORDER" and x.dtype.kind in "fV":
        x, y = total_order(x), total_order(y)
    name = {"EQ": "equal", "NE": "not_equal", "LT": "less", "LE": "less_equal", "GT": "greater", "GE": "greater_equal"}
    return np.asarray(getattr(np, name[direction])(x, y))


def total_order(x: Array) -> Array:
    """Integers that sort as IEEE 754's total order sorts the floats `x`."""
    return order_of_bits(x.view(f"i{x.dtype.itemsize}"))


def order_of_bits(bits: Any) -> Any:
    """Integers in the total order of the floats that have these bit patterns.

    Args:
      bits: signed integers: an array, or an object with a dtype and an array's operators.
    """
    top = bits.dtype.itemsize * 8 - 1
    return bits ^ ((bits >> bits.dtype.type(top)) & bits.dtype.type((1 << top) - 1))


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to a float format with that many bits, to nearest even."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        fraction, exponent = np.frexp(wide)
        bias = 2 ** (exponent_bits - 1) - 1
        scaled = np.round(np.ldexp(fraction, mantissa_bits + 1))
        rounded = np.ldexp(scaled, exponent - mantissa_bits - 1)
        _, top = np.frexp(rounded)
        rounded = np.where(top - 1 > bias, np.copysign(np.inf, wide), rounded)
        rounded = np.where(top - 1 < 1 - bias, np.copysign(0.0, wide), rounded)
    return np.where(np.isfinite(wide) & (wide != 0), rounded, wide).astype(x.dtype)


def add(x: Array, y: Array) -> Array:
    """The sum; of booleans, whether either holds."""
    return x | y if x.dtype.kind == "b" else x + y


def subtract(x: Array, y: Array) -> Array:
    return x - y


def multiply(x: Array, y: Array) -> Array:
    """The product; of booleans, whether both hold."""
    return x & y if x.dtype.kind == "b" else x * y


def imag(x: Array) -> Array:
    """The imaginary parts, which are zeros for real numbers."""
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


def complex_of(x: Array, y: Array) -> Array:
    """The complex numbers with these parts."""
    x, y = np.broadcast_arrays(x, y)
    result = np.empty(x.shape, np.complex64 if x.dtype == np.float32 else np.complex128)
    # `x + 1j * y` would turn an infinite y into NaN.
    result.real, result.imag = x, y
    return result
