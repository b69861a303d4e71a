"""Special functions in float64, computed by NumPy and the standard library.

The relative error is about 1e-14, away from zeros of the functions. `stagec` evaluates its primitives with them, and
the interpreter of StableHLO its operations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def _each(function: Callable[[float], float]) -> Callable[[Any], Array]:
    wrapped = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(wrapped(x)).astype(np.float64)


erf = _each(math.erf)
erfc = _each(math.erfc)


def erf_inv(y: Any) -> Array:
    """The inverse of `erf`, by Halley's method, starting from Winitzki's closed form, whose error is below 0.005."""
    y = np.asarray(y)
    size = np.abs(y)
    out = np.array(np.copysign(np.where(size == 1, np.inf, np.where(size > 1, np.nan, y)), y))
    inside = (size > 0) & (size < 1)
    target = size[inside]
    a = 0.147
    log_term = np.log1p(-target * target)
    half = 2 / (np.pi * a) + log_term / 2
    x = np.sqrt(np.sqrt(half * half - log_term / a) - half)
    near = target < 0.5
    for _ in range(_HALLEY_STEPS):
        error = np.empty_like(x)
        error[near] = erf(x[near]) - target[near]
        error[~near] = (1 - target[~near]) - erfc(x[~near])
        step = error / (2 / math.sqrt(math.pi) * np.exp(-x * x))
        x = x - step / (1 + x * step)
    out[inside] = np.copysign(x, y[inside])
    return out


# Each step cubes the relative error.
_HALLEY_STEPS = 3


def _lgamma_near_2(z: Array) -> Array:
    """`lgamma(2 + z)` for |z| < 1/4: the power series, which keeps its digits near the zero at 2."""
    total = np.zeros_like(z)
    for k in range(20, 1, -1):
        total = (total + (-1) ** k * _zeta_less_1()[k - 2] / k) * z
    return (total + _ONE_LESS_EULER) * z


_ONE_LESS_EULER = 0.42278433509846713


@functools.cache
def _zeta_less_1() -> list[float]:
    """`zeta(k) - 1` for k = 2, 3, ..., 20."""
    found: list[float] = zeta(np.arange(2.0, 21.0), 2.0).tolist()
    return found


@_each
def _lgamma_of_c(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def lgamma(x: Any) -> Array:
    """The logarithm of |gamma(x)|; infinite at 0, -1, -2, ..."""
    x = np.asarray(x)
    out = _lgamma_of_c(x)
    for zero in (1.0, 2.0):
        near = np.abs(x - zero) < 0.25
        z = x[near] - zero
        out[near] = _lgamma_near_2(z) - (np.log1p(z) if zero == 1 else 0)
    return out


# B(2k) / (2k)! for k = 1, 2, ..., of the Euler-Maclaurin formula.
EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
)


def zeta(x: Any, q: Any) -> Array:
    """Hurwitz's zeta function: the sum of `(q + k) ** -x` over k = 0, 1, ...

    The terms of negative bases are those of positive ones, up to a sign.
    """
    x, q = np.broadcast_arrays(x, q)
    count = np.where(q < 0, -np.floor(q), 0.0)
    total = _zeta_of_positive(x, q + count)
    if count.any():
        negative = _zeta_of_positive(x, 1 - (q + count)) - _zeta_of_positive(x, 1 - q)
        total = np.where(count > 0, total + np.where(np.mod(x, 2) == 0, negative, -negative), total)
    pole = (q <= 0) & (q == np.floor(q))
    total = np.where(pole, np.where(x == np.floor(x), np.inf, np.nan), total)
    # A negative base to a fractional power is not real.
    total = np.where((q <= 0) & (x != np.floor(x)), np.nan, total)
    total = np.where(np.isposinf(x) & (q > 1), 0.0, np.where(np.isposinf(q) & (x > 1), 0.0, total))
    return np.where(x == 1, np.inf, np.where(x < 1, np.nan, total))


def _zeta_of_positive(x: Any, q: Any) -> Array:
    """Euler-Maclaurin from the twelfth term on (Abramowitz and Stegun 23.1.30)."""
    terms = 12
    total = np.zeros(x.shape)
    for k in range(terms):
        total = total + np.power(q + k, -x)
    base = q + terms
    power = np.power(base, -x)
    total = total + base * power / (x - 1) + power / 2
    # Of large exponents, only the first terms count.
    order = np.minimum(x, 1e15)
    factor = order * power / base
    for k, coefficient in enumerate(EULER_MACLAURIN):
        total = total + coefficient * factor
        factor = factor * (order + 2 * k + 1) * (order + 2 * k + 2) / (base * base)
    return total


@_each
def _factorial(n: float) -> float:
    """The factorial of a whole number; infinite above float64's range."""
    return math.gamma(n + 1) if 0 <= n <= 170 else math.inf


def polygamma(m: Any, x: Any) -> Array:
    """The `m`-th derivative of digamma; `m` is 0 or a positive whole number."""
    m, x = np.broadcast_arrays(m, x)
    sign = np.where(np.mod(m, 2) == 0, -1.0, 1.0)
    value = sign * _factorial(m) * zeta(m + 1, x)
    value = np.where(m == 0, digamma(x), value)
    return np.where((m < 0) | (m != np.floor(m)), np.nan, value)


def digamma(x: Any) -> Array:
    """The derivative of `lgamma`; NaN at the poles -1, -2, ..., and infinite at 0."""
    x = np.asarray(x)
    reflect = x < 0.5
    y = np.where(reflect, 1 - x, x)
    total = np.zeros(x.shape)
    for _ in range(8):
        total = total - 1 / y
        y = y + 1
    inverse = 1 / (y * y)
    # B(2k) / 2k, the asymptotic series (Abramowitz and Stegun 6.3.18).
    series = np.zeros(x.shape)
    for c in (-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12):
        series = (series + c) * inverse
    total = total + np.log(y) - 0.5 / y + series
    # cot(pi x) has period 1: the distance to the nearest integer loses no digits.
    fraction = x - np.rint(x)
    reflected = total - np.pi / np.tan(np.pi * fraction)
    total = np.where(reflect, reflected, total)
    pole = (x <= 0) & (fraction == 0)
    at_pole = np.where(x == 0, np.copysign(np.inf, -x), np.nan)
    total = np.where(pole, at_pole, total)
    return np.where(np.isposinf(x), np.inf, np.where(np.isneginf(x), np.nan, total))


# The bound above which the Bessel functions use the asymptotic series, and the number of terms of each series.
_FAR, _NEAR_TERMS, _FAR_TERMS = 30.0, 80, 24


def bessel_e(order: int, x: Any) -> Array:
    """`exp(-|x|) I(x)` of order 0 or 1, with I the modified Bessel function of the first kind.

    Uses the power series, whose terms are all positive, up to 30, and the asymptotic series beyond.
    """
    size = np.abs(x)
    small, large = np.minimum(size, _FAR), np.maximum(size, _FAR)
    term = small / 2 if order else np.ones(np.shape(x))
    near, square = term, small * small / 4
    for k in range(1, _NEAR_TERMS):
        term = term * square / (k * (k + order))
        near = near + term
    near = near * np.exp(-small)
    far, term = np.ones(np.shape(x)), np.ones(np.shape(x))
    for k in range(1, _FAR_TERMS):
        term = term * -(4 * order * order - (2 * k - 1) ** 2) / (k * 8 * large)
        far = far + term
    far = far / np.sqrt(2 * np.pi * large)
    out = np.where(size <= _FAR, near, far)
    out = np.where(np.isnan(x), x, out)
    return np.copysign(out, x) if order else out


def bessel_i0e(x: Any) -> Array:
    """`exp(-|x|) I0(x)`."""
    return bessel_e(0, x)


def bessel_i1e(x: Any) -> Array:
    """`exp(-|x|) I1(x)`."""
    return np.where(np.asarray(x) == 0, x, bessel_e(1, x))
