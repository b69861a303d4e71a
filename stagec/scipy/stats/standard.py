"""What the formulas of distributions share: values outside of a support, and logarithms that keep their digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.typing import ArrayLike


def within(inside: Any, z: Any, formula: Callable[..., Any], outside: Any, anchor: ArrayLike = 1) -> Array:
    """`formula(z)` inside of the support, and elsewhere `outside`; NaN for NaN.

    Args:
      anchor: a number in the support, which the formula gets elsewhere: values and derivatives are finite.
    """
    value = formula(snp.where(inside, z, anchor))
    return snp.where(inside, value, snp.where(snp.isnan(z), math.nan, outside))


def quantile(q: Any, formula: Callable[..., Any], low: float = -math.inf, high: float = math.inf) -> Array:
    """`formula(q)` inside of (0, 1), the ends of the support at 0 and 1, and NaN outside."""
    inside = (q > 0) & (q < 1)
    # Elsewhere 1/2: quantiles and their derivatives are finite.
    value = formula(snp.where(inside, q, 0.5))
    return snp.where(inside, value, snp.where(q == 0, low, snp.where(q == 1, high, math.nan)))


def valid(condition: Any, value: Any) -> Array:
    """A function's value, or NaN where the parameters are invalid."""
    return snp.where(condition, value, math.nan)


def is_count(k: Array) -> Array:
    """Whether numbers are 0, 1, 2, ..."""
    return (k >= 0) & (k == snp.floor(k)) & snp.isfinite(k)


def log_of(value: Any) -> Array:
    """The logarithm, and minus infinity for 0, whose derivative is 0 and not NaN."""
    positive = value > 0
    return snp.where(positive, snp.log(snp.where(positive, value, 1)), snp.where(snp.isnan(value), value, -math.inf))


def one_minus_exp(x: Any) -> Array:
    """`1 - exp(x)`, accurate close to 0."""
    return -snp.expm1(x)


def log_one_minus_exp(x: Any) -> Array:
    """`log(1 - exp(x))` for negative numbers, accurate close to 0 and far from it (Maechler, 2012)."""
    near = x > -math.log(2)
    return snp.where(near, log_of(one_minus_exp(snp.where(near, x, -1))), snp.log1p(-snp.exp(snp.where(near, -1, x))))
