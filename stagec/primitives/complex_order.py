"""The order of complex numbers, by real part first, as in NumPy."""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.primitives import logic
from stagec.primitives.complex import imag, real


def keeps(x: Any, y: Any, largest: bool) -> Array:
    """Whether the first of two complex numbers is the maximum, or the minimum: by order, or because it is NaN."""
    strict, loose = (logic.gt, logic.ge) if largest else (logic.lt, logic.le)
    a, b = real(x), real(y)
    first = logic.bitwise_and(logic.eq(a, b), loose(imag(x), imag(y)))
    ordered = logic.bitwise_or(strict(a, b), first)
    # y may be NaN in its imaginary part only, while the real parts decide the order.
    return logic.bitwise_or(logic.ne(x, x), logic.bitwise_and(logic.eq(y, y), ordered))


def extreme(x: Any, y: Any, largest: bool) -> Array:
    """The larger or the smaller of two complex numbers; NaN where either is NaN."""
    return logic.select(keeps(x, y, largest), x, y)
