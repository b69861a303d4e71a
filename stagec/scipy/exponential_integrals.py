"""Exponential integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.control.loops import while_loop
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arithmetic import dtype_of
from stagec.primitives.special import digamma, lgamma
from stagec.scipy.arguments import real_arrays
from stagec.scipy.chebyshev import series
from stagec.scipy.continued import continued_fraction
from stagec.scipy.derived import derived, no_derivative
from stagec.typing import ArrayLike

_EULER = 0.57721566490153286060651209008240243


def _e1_positive(x: Array) -> Array:
    """E1 of positive numbers."""
    near = series("E1_NEAR", x) * x - _EULER - snp.log(x)
    inverse = 1 / snp.maximum(x, 1)
    scaled = snp.where(inverse > 1 / 4, series("E1_MID", inverse), series("E1_FAR", inverse))
    return snp.where(x <= 1, near, scaled * inverse * snp.exp(-x))


def _ei_positive(x: Array) -> Array:
    """Ei of positive numbers."""
    near = series("EI_NEAR", x) * x + _EULER + snp.log(x)
    large = snp.maximum(x, 6)
    scaled = snp.select(
        [large < 12, large < 24, large < 48],
        [series("EI_1", large), series("EI_2", large), series("EI_3", large)],
        series("EI_FAR", 1 / large),
    )
    # exp(x) would overflow before the quotient does.
    half = snp.exp(large / 2)
    return snp.where(x <= 6, near, scaled / large * half * half)


@derived(lambda value, x: snp.exp(x) / x, name="expi")
def _expi(x: Array) -> Array:
    size = abs(x)
    out = snp.where(x > 0, _ei_positive(snp.where(x > 0, x, 1)), -_e1_positive(snp.where(x < 0, size, 1)))
    out = snp.where(x == 0, -math.inf, out)
    out = snp.where(snp.isinf(x), snp.where(x > 0, math.inf, 0), out)
    return snp.where(snp.isnan(x), x, out)


def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei, the principal value of the integral of `exp(t) / t` from minus infinity to `x`.

    Source: DLMF 6.2.5; Chebyshev series on pieces.

    >>> round(float(expi(1.0)), 4)
    1.8951
    """
    return _expi(*real_arrays("expi", x))


def exp1(x: ArrayLike) -> Array:
    """The exponential integral E1, the integral of `exp(-t) / t` from `x` to infinity; NaN below 0.

    Source: DLMF 6.2.1.

    >>> round(float(exp1(1.0)), 4)
    0.2194
    """
    (value,) = real_arrays("exp1", x)
    return snp.where(value < 0, math.nan, -_expi(-value))


def _expn_slope(value: Any, n: Any, x: Any) -> Any:
    # The order -1 by DLMF 8.19.12.
    return -snp.where(n > 0, expn(snp.maximum(n - 1, 0), x), (snp.exp(-x) + value) / x)


@derived(no_derivative("expn", "its order"), _expn_slope)
def _expn(n: Any, x: Array) -> Array:
    tail = x > 1
    used = (x > 0) & (n > 0) & snp.isfinite(x)
    # Elements that do not use this sum get operands for which it converges at once.
    by_fraction = _expn_fraction(snp.where(used & tail, n, 1), snp.where(used & tail, x, 50))
    by_series = _expn_series(snp.where(used & ~tail, n, 1), snp.where(used & ~tail, x, 0.5))
    out = snp.where(tail, by_fraction, by_series)
    out = snp.where(n == 0, snp.exp(-x) / x, out)
    out = snp.where(x == 0, snp.where(n > 1, 1 / snp.where(n > 1, n - 1, 1), math.inf), out)
    out = snp.where(x == math.inf, 0, out)
    wrong = (x < 0) | (n < 0) | (n != snp.floor(n)) | snp.isnan(x) | snp.isnan(n)
    return snp.where(wrong, math.nan, out)


def _expn_fraction(n: Any, x: Array) -> Any:
    """By the continued fraction DLMF 8.19.17."""
    first = x + n
    return snp.exp(-x) / continued_fraction(first, lambda i: (-i * (n - 1 + i), first + 2 * i))


def _expn_series(n: Any, x: Array) -> Any:
    """By the series DLMF 8.19.8."""
    eps = float(finfo(dtype_of(x)).eps)
    whole = snp.floor(n)
    sign = snp.where(whole % 2 == 1, 1, -1)
    power = sign * snp.exp((n - 1) * snp.log(x) - lgamma(n))

    def unfinished(state: Any) -> Any:
        m, _, total, added = state
        return snp.any(abs(added) > eps * abs(total)) & (m < 1000)

    def step(state: Any) -> Any:
        m, term, total, _ = state
        term = term * -x / m
        skipped = m == n - 1
        added = snp.where(skipped, 0, term / snp.where(skipped, 1, m - n + 1))
        # A skipped term must not end the sum.
        return m + 1, term, total - added, snp.where(skipped, total, added)

    one = x * 0 + 1
    first = power * (digamma(n) - snp.log(x)) + snp.where(n == 1, 0, -1 / snp.where(n == 1, 1, 1 - n))
    start = (snp.asarray(1, dtype_of(x)), one, first, one * np.float32(1e30))
    return while_loop(unfinished, step, start)[2]


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The generalized exponential integral: the integral of `exp(-x t) / t**n` from 1 to infinity.

    Args:
      n: whole numbers, 0 or more; no derivative by them.
      x: real numbers; NaN below 0.

    Source: DLMF 8.19.8 and 8.19.17.

    >>> round(float(expn(2, 1.0)), 4)
    0.1485
    """
    return _expn(*real_arrays("expn", n, x))
