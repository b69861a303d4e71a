"""Laws that are exact where a condition is proven, and need assumptions elsewhere: two patterns of one function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from passes.analysis import facts
from passes.fast_math import FastMath
from passes.match import is_integer
from passes.patterns import Pattern, pattern

Law = Callable[[Any, bool], Any]


def exact_if_proven(
    *ops: str, of: str | Sequence[str] = (), assumes: FastMath
) -> Callable[[Law], tuple[Pattern, Pattern]]:
    """Make two patterns of `law(op, exactly)`: one that is called with True, and one with False under assumptions."""

    def wrap(law: Law) -> tuple[Pattern, Pattern]:
        @functools.wraps(law)
        def exact(op: Any) -> Any:
            return law(op, True)

        @functools.wraps(law)
        def inexact(op: Any) -> Any:
            return law(op, False)

        return pattern(*ops, of=of)(exact), pattern(*ops, of=of, assumes=assumes)(inexact)

    return wrap


def is_finite(value: Any) -> bool:
    """Whether no element can be infinite or NaN, so that zero times each element is zero."""
    if is_integer(value):
        return True
    known = facts.of(value)
    return known is not None and known.finite
