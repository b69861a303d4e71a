"""Sines, cosines and tangents of any finite number, from exact integers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

# 2**1024 times 2/pi to 2**-160.
_DIGITS = 1024 + 1200


@functools.cache
def _pi() -> int:
    """pi * 2**_DIGITS, by Machin's formula."""
    guard = _DIGITS + 64

    def arctan_of_inverse(n: int) -> int:
        total, power, i = 0, (1 << guard) // n, 0
        while power:
            total += (power if i % 2 == 0 else -power) // (2 * i + 1)
            power //= n * n
            i += 1
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) >> 64


def multiple(k: int) -> float:
    """The float64 next to `k pi/2`."""
    return k * (_pi() >> 1) / (1 << _DIGITS)


def reduced(x: float) -> tuple[np.longdouble, int]:
    """`x - k pi/2` in extended precision, and `k`."""
    numerator, denominator = float(x).as_integer_ratio()
    half_pi = _pi() >> 1
    # Both over 2**_DIGITS, times the denominator, which is a power of two.
    whole, unit = numerator << _DIGITS, half_pi * denominator
    k = (2 * whole + unit) // (2 * unit)
    rest = whole - k * unit
    size = max(abs(rest).bit_length() - 64, 0)
    scale = size - _DIGITS - denominator.bit_length() + 1
    return np.ldexp(np.longdouble(abs(rest) >> size), scale) * (-1 if rest < 0 else 1), k


def _of(x: Any, fn: Any) -> np.ndarray:
    flat = [fn(*reduced(v)) if math.isfinite(v) else math.nan for v in np.asarray(x, np.float64).ravel()]
    return np.array(flat, np.longdouble).reshape(np.shape(x))


def sin(x: Any) -> np.ndarray:
    """The sine of each element in extended precision; NaN for infinities."""
    return _of(x, lambda r, k: (np.sin(r) if k % 2 == 0 else np.cos(r)) * (-1 if k & 2 else 1))


def cos(x: Any) -> np.ndarray:
    """The cosine of each element in extended precision; NaN for infinities."""
    return _of(x, lambda r, k: (np.cos(r) if k % 2 == 0 else np.sin(r)) * (-1 if (k + 1) & 2 else 1))


def tan(x: Any) -> np.ndarray:
    """The tangent of each element in extended precision; NaN for infinities."""
    return _of(x, lambda r, k: np.tan(r) if k % 2 == 0 else -1 / np.tan(r))
