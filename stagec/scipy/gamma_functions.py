"""Functions related to the gamma function: its complex logarithm, binomials, Bernoulli's numbers, the dilogarithm."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import concrete, from_numpy, requested_dtype, to_array
from stagec.numpy.arithmetic import dtype_of
from stagec.numpy.promotion import promote_floating
from stagec.primitives.special import lgamma
from stagec.scipy.arguments import real_arrays
from stagec.scipy.chebyshev import series
from stagec.scipy.derived import derived
from stagec.scipy.stirling import log_beta, stirling_remainder
from stagec.typing import ArrayLike


def _digamma(z: Array) -> Any:
    """The digamma function of complex numbers: DLMF 5.5.2, 5.5.4 and 5.11.2."""
    left = snp.real(z) < 0.5
    right = snp.where(left, 1 - z, z)
    total: Any = 0.0
    for k in range(8):
        total = total - 1 / (right + k)
    w = right + 8
    inverse = 1 / (w * w)
    asymptotic: Any = 0.0
    for c in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        asymptotic = asymptotic * inverse + c
    value = total + snp.log(w) - 0.5 / w - asymptotic * inverse
    return snp.where(left, value - math.pi / snp.tan(math.pi * snp.where(left, z, 0.5)), value)


def _log_sine(z: Array) -> Array:
    """log sin(pi z) for an imaginary part of 0 or more, without a cut there, and 0 at 1/2: by 1 - exp(2 pi i z)."""
    x, y = snp.real(z), snp.imag(z)
    angle = 2 * math.pi * (x - snp.round(x))
    shrink = snp.exp(-2 * math.pi * y)
    real = -snp.expm1(-2 * math.pi * y) + 2 * shrink * snp.sin(angle / 2) ** 2
    logarithm = snp.log(real - 1j * shrink * snp.sin(angle))
    return logarithm + math.pi * y - math.log(2) + 1j * math.pi * (0.5 - x)


@derived(lambda value, z: _digamma(z), name="loggamma")
def _loggamma(z: Array) -> Array:
    # The lower half plane mirrors the upper one.
    lower = snp.signbit(snp.imag(z))
    up = snp.where(lower, snp.conj(z), z)
    left = snp.real(up) < 0.5
    right = snp.where(left, 1 - up, up)
    # log Gamma(w) = log Gamma(w + n) - sum log(w + k), and Stirling's formula.
    total: Any = 0.0
    for k in range(10):
        total = total + snp.log(right + k)
    w = right + 10
    value = (w - 0.5) * snp.log(w) - w + 0.5 * math.log(2 * math.pi) + stirling_remainder(w) - total
    reflected = math.log(math.pi) - _log_sine(snp.where(left, up, 0.5)) - value
    out = snp.where(left, reflected, value)
    return snp.where(lower, snp.conj(out), out)


def loggamma(x: ArrayLike) -> Array:
    """The principal branch of the logarithm of the gamma function, of real or complex numbers.

    It is continuous but for a cut along the negative real axis; real negative numbers give NaN.

    Source: DLMF 5.5.1, 5.5.3 and 5.11.1.

    >>> round(float(loggamma(0.5)), 4)
    0.5724
    >>> loggamma(1 + 2j).round(4)
    Array(-1.8761+0.1296j, dtype=complex64)
    """
    (operand,) = promote_floating("loggamma", x)
    value = to_array(operand)
    if dtypes.is_complex(dtype_of(value)):
        return _loggamma(value)
    return snp.where(value < 0, math.nan, lgamma(value))


def comb(N: ArrayLike, k: ArrayLike, *, exact: bool = False, repetition: bool = False) -> Array:
    """In how many ways `k` of `N` things can be chosen, as floating numbers; 0 where there is none.

    Args:
      exact: not supported; the numbers are floats.
      repetition: a thing may be chosen several times.

    >>> round(float(comb(5, 2)), 4)
    10.0
    """
    if exact:
        raise location.error(
            errors.UnsupportedError, "comb: exact=True needs integers of any size", fix="use math.comb for one number"
        )
    things, taken = real_arrays("comb", N, k)
    if repetition:
        return snp.where((things == 0) & (taken == 0), 1.0, comb(things + taken - 1, taken))
    possible = (taken >= 0) & (things >= 0) & (taken <= things)
    things, taken = snp.where(possible, things, 0), snp.where(possible, taken, 0)
    return snp.where(possible, snp.exp(-log_beta(things - taken + 1, taken + 1)) / (things + 1), 0)


# The last Bernoulli number that is a float64.
_LAST_BERNOULLI = 258


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B_0 to B_n, with B_1 = -1/2.

    Source: DLMF 24.5.3, in rational numbers.

    >>> bernoulli(4).round(4)
    Array([ 1.    , -0.5   ,  0.1667,  0.    , -0.0333], dtype=float32)
    """
    count = int(concrete(n, "bernoulli", "n"))
    if count < 0:
        raise location.error(errors.ShapeError, f"bernoulli: n is {count}", fix="give an n of 0 or more")
    found = [Fraction(1)]
    for m in range(1, min(count, _LAST_BERNOULLI) + 1):
        odd = m > 1 and m % 2
        total = Fraction(0) if odd else sum((math.comb(m + 1, k) * b for k, b in enumerate(found)), Fraction(0))
        found.append(-total / (m + 1))
    numbers = np.resize([-math.inf, 0, math.inf, 0], count + 1)
    numbers[: len(found)] = np.array(found, float)
    return from_numpy(numbers, requested_dtype(float, "bernoulli"))


def _spence_slope(value: Any, x: Array) -> Array:
    near = x == 1
    return snp.where(near, -1.0, snp.log(x) / snp.where(near, 1, 1 - x))


@derived(_spence_slope, name="spence")
def _spence(x: Array) -> Array:
    # 1/x for large numbers, 1 - x for small ones: DLMF 25.12.4 and 25.12.6.
    large, small = x > 1.5, x < 0.5
    positive = snp.where(x > 0, x, 1)
    middle = snp.where(large, 1 / positive, snp.where(small, 1 - x, x))
    again = middle < 0.5
    inner = snp.where(again, 1 - middle, middle)
    value = series("SPENCE", inner) * (1 - inner)

    def reflected(y: Array, found: Array) -> Array:
        inside = (y > 0) & (y < 1)
        z = snp.where(inside, y, 0.5)
        return math.pi**2 / 6 - snp.where(inside, snp.log(z) * snp.log1p(-z), 0) - found

    value = snp.where(again, reflected(middle, value), value)
    out = snp.where(large, -0.5 * snp.log(positive) ** 2 - value, snp.where(small, reflected(x, value), value))
    return snp.where(x < 0, math.nan, snp.where(x == math.inf, -math.inf, out))


def spence(x: ArrayLike) -> Array:
    """Spence's function: the integral of `log(t) / (1 - t)` from 1 to `x`, the dilogarithm of `1 - x`.

    Source: DLMF 25.12; NaN for negative numbers.

    >>> round(float(spence(0.0)), 4)
    1.6449
    """
    return _spence(*real_arrays("spence", x))
