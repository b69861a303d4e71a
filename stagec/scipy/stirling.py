"""Parts of Stirling's formula, and of logarithms, that cancel in quotients of gamma functions."""

from __future__ import annotations

from typing import Any

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.primitives.special import lgamma

# B_2k / (2k (2k - 1)), DLMF 5.11.1.
_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def stirling_remainder(a: Any) -> Any:
    """log Gamma(a) - ((a - 1/2) log(a) - a + log(2 pi) / 2), for a >= 10."""
    inverse = 1 / a
    square = inverse * inverse
    total: Any = 0.0
    for c in reversed(_COEFFICIENTS):
        total = total * square + c
    return total * inverse


def log1p_minus(m: Any) -> Any:
    """m - log(1 + m) for |m| < 1/2, without cancellation: with r = m / (2 + m), log(1 + m) is 2 artanh(r)."""
    r = m / (2 + m)
    square = r * r
    total: Any = 0.0
    for k in range(13, 0, -1):
        total = total * square + 1 / (2 * k + 1)
    return r * (m - 2 * square * total)


def log_beta(a: Any, b: Any) -> Array:
    """The logarithm of the beta function of positive numbers, accurate where both or one are large."""
    small, large = snp.minimum(a, b), snp.maximum(a, b)
    plain = lgamma(small) + (lgamma(large) - lgamma(small + large))
    big = snp.maximum(large, 10)
    total = small + big
    # log(Gamma(large) / Gamma(total)) by Stirling's formula.
    quotient = (
        stirling_remainder(big)
        - stirling_remainder(total)
        - (big - 0.5) * snp.log1p(small / big)
        + small * (1 - snp.log(total))
    )
    return snp.where(large >= 10, lgamma(small) + quotient, plain)
