"""The order of numbers: of complex ones by real part first, and in sorting NaN last, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.primitives import logic
from stagec.primitives.complex import imag, real
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of


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


def sorts_before(xs: Sequence[Any], ys: Sequence[Any]) -> Array:
    """Whether the keys `xs` come before `ys` where both are sorted: lexicographically; NaN is last, and equals NaN."""
    pairs = [pair for x, y in zip(xs, ys) for pair in zip(_parts(x), _parts(y))]
    result = None
    for x, y in pairs[::-1]:
        before = _before(x, y)
        if result is not None:
            before = logic.bitwise_or(before, logic.bitwise_and(logic.bitwise_not(_before(y, x)), result))
        result = before
    return as_array(result)


def _parts(x: Any) -> list[Any]:
    return [real(x), imag(x)] if dtypes.is_complex(aval_of(x).dtype) else [x]


def _before(x: Any, y: Any) -> Array:
    less = logic.lt(x, y)
    if not dtypes.is_float(aval_of(x).dtype):
        return less
    return logic.bitwise_or(less, logic.bitwise_and(logic.ne(y, y), logic.eq(x, x)))
