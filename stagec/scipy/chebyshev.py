"""Chebyshev series."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.primitives import logic
from stagec.primitives.operand import aval_of
from stagec.scipy.chebyshev_tables import TABLES


def series(name: str, x: Any) -> Array:
    """The function of a table at `x`, which is moved into the table's interval first."""
    low, high, coefficients = TABLES[name]
    dtype = aval_of(x).dtype
    if dtype != dtypes.float64:
        coefficients = _shortened(coefficients, float(finfo(dtype).eps) / 64)
    t = (logic.clamp(low, x, high) * 2 - (low + high)) * (1 / (high - low))
    # Clenshaw's recurrence.
    above = last = t * 0
    for c in reversed(coefficients[1:]):
        above, last = t * 2 * above - last + c, above
    return t * above - last + coefficients[0]


def _shortened(coefficients: tuple[float, ...], tolerance: float) -> tuple[float, ...]:
    """Drop the last coefficients, which are negligible."""
    size = max(map(abs, coefficients))
    count = max(i for i, c in enumerate(coefficients) if abs(c) > tolerance * size) + 1
    return coefficients[:count]
