"""Derivatives that are known to be zero, and operands of linear equations that have no value."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray


class Zero:
    """A tangent or cotangent that is zero everywhere; it takes part in nothing."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.short()})"


class Linear:
    """An operand that a linear equation is transposed with respect to."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Linear({self.aval.short()})"


def no_tangent(aval: ShapedArray) -> np.ndarray[Any, Any]:
    """The tangent of a value without derivatives, as users see it."""
    return np.zeros(aval.shape, dtypes.float0)


def is_zero(value: Any) -> bool:
    return type(value) is Zero


def is_linear(value: Any) -> bool:
    return type(value) is Linear


def differentiable(aval: ShapedArray) -> bool:
    """Whether values of this aval have derivatives."""
    return dtypes.is_inexact(aval.dtype)


def zero_of(aval: ShapedArray) -> Zero:
    """The zero tangent of a value."""
    return Zero(aval.strip_weak_type())
