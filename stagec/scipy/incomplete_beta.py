"""The incomplete beta function, by the continued fraction DLMF 8.17.22."""

from __future__ import annotations

import math
from typing import Any

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.arguments import real_arrays
from stagec.scipy.continued import continued_fraction
from stagec.scipy.derived import derived, no_derivative
from stagec.scipy.stirling import log1p_minus, log_beta, stirling_remainder
from stagec.typing import ArrayLike


def _fraction(a: Array, b: Array, x: Array) -> Any:
    """I_x(a, b) / _power; it converges quickly for x < (a + 1) / (a + b + 2)."""

    def coefficients(i: Any) -> tuple[Any, Any]:
        m = snp.floor(i / 2)
        n = a + 2 * m
        even = m * (b - m) * x / ((n - 1) * n)
        odd = -(a + m) * (a + b + m) * x / (n * (n + 1))
        return snp.where(i == 2 * m, even, odd), 1

    return 1 / continued_fraction(x * 0 + 1, coefficients)


def _power(a: Array, b: Array, x: Array, y: Array) -> Array:
    """x^a y^b / (a B(a, b)), with y = 1 - x."""
    plain = snp.exp(a * snp.log(x) + b * snp.log(y) - log_beta(a, b)) / a
    # For large parameters, the logarithms cancel: write them relative to the mode a / (a + b).
    p, q = snp.maximum(a, 10), snp.maximum(b, 10)
    total = p + q
    above = (y * p - x * q) / p  # 1 - x (a + b) / a
    below = (x * q - y * p) / q
    exponent = p * _log_minus(-above, x * total / p) + q * _log_minus(-below, y * total / q)
    exponent = exponent + stirling_remainder(total) - stirling_remainder(p) - stirling_remainder(q)
    scaled = snp.exp(exponent) * snp.sqrt(q / (2 * math.pi * p * total))
    return snp.where((a >= 10) & (b >= 10), scaled, plain)


def _log_minus(m: Array, one_more: Array) -> Array:
    """log(1 + m) - m, of m and 1 + m."""
    near = abs(m) < 0.4
    return snp.where(near, -log1p_minus(snp.where(near, m, 0)), snp.log(snp.where(near, 1, one_more)) - m)


def _density(value: Any, a: Array, b: Array, x: Array) -> Array:
    inside = (x > 0) & (x < 1)
    safe = snp.where(inside, x, 0.5)
    found = snp.exp((a - 1) * snp.log(safe) + (b - 1) * snp.log1p(-safe) - log_beta(a, b))
    left = snp.where(a < 1, math.inf, snp.where(a == 1, b, 0.0))
    right = snp.where(b < 1, math.inf, snp.where(b == 1, a, 0.0))
    return snp.where(inside, found, snp.where(x == 0, left, right))


@derived(
    no_derivative("betainc", "its parameters"), no_derivative("betainc", "its parameters"), _density, name="betainc"
)
def regularized(a: Any, b: Any, x: Any) -> Array:
    """The regularized incomplete beta function."""
    usable = (a > 0) & (b > 0) & (x > 0) & (x < 1) & snp.isfinite(a) & snp.isfinite(b)
    a_safe, b_safe, x_safe = snp.where(usable, a, 1), snp.where(usable, b, 1), snp.where(usable, x, 0.5)
    swapped = x_safe > (a_safe + 1) / (a_safe + b_safe + 2)
    y_safe = 1 - x_safe
    p, q = snp.where(swapped, b_safe, a_safe), snp.where(swapped, a_safe, b_safe)
    u, v = snp.where(swapped, y_safe, x_safe), snp.where(swapped, x_safe, y_safe)
    found = _power(p, q, u, v) * _fraction(p, q, u)
    found = snp.clip(snp.where(swapped, 1 - found, found), 0, 1)
    out = snp.where(usable, found, snp.where(x <= 0, 0.0, 1.0))
    # A distribution whose mass is at one end, or in both.
    out = snp.where((a == 0) & (x > 0) | (b == math.inf) & (x > 0), 1.0, out)
    out = snp.where((b == 0) & (x < 1) | (a == math.inf) & (x < 1), 0.0, out)
    undecided = ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    wrong = (a < 0) | (b < 0) | (x < 0) | (x > 1) | snp.isnan(a) | snp.isnan(b) | snp.isnan(x) | undecided
    return snp.where(wrong, math.nan, out)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function I_x(a, b), the distribution function of beta numbers.

    It has a derivative by `x` only. NaN for negative `a` or `b`, and outside of [0, 1].

    Source: DLMF 8.17.22.

    >>> round(float(betainc(2.0, 3.0, 0.5)), 4)
    0.6875
    """
    return regularized(*real_arrays("betainc", a, b, x))
