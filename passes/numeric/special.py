"""Special functions in float64, element by element, from the standard library and NumPy.

They serve the oracle: right to about 1e-13, not fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# Bernoulli numbers B2, B4, ... for the asymptotic series.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _vectorized(fn: Callable[..., float]) -> Callable[..., np.ndarray]:
    wrapped = np.frompyfunc(fn, fn.__code__.co_argcount, 1)

    def call(*arrays: Any) -> np.ndarray:
        return np.asarray(wrapped(*(np.asarray(a, np.float64) for a in arrays))).astype(np.float64)

    return call


@_vectorized
def erf(x: float) -> float:
    return math.erf(x)


@_vectorized
def erfc(x: float) -> float:
    return math.erfc(x)


@_vectorized
def lgamma(x: float) -> float:
    if x == -math.inf:
        return math.inf
    if x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


@_vectorized
def digamma(x: float) -> float:
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == math.inf:
        return math.inf
    if x <= 0 and x == math.floor(x):
        return math.nan if x < 0 else math.copysign(math.inf, -math.copysign(1.0, x))
    total = 0.0
    if x < 0:
        total -= math.pi / math.tan(math.pi * (x - math.floor(x)))
        x = 1 - x
    while x < 12:
        total -= 1 / x
        x += 1
    series = math.log(x) - 0.5 / x
    for i, bernoulli in enumerate(_BERNOULLI):
        n = 2 * (i + 1)
        series -= bernoulli / (n * x**n)
    return total + series


@_vectorized
def erf_inv(y: float) -> float:
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    if y == 0:
        return y
    # Winitzki's closed form starts Newton within 0.005.
    a = 0.147
    log_term = math.log1p(-y * y)
    half = 2 / (math.pi * a) + log_term / 2
    x = math.copysign(math.sqrt(math.sqrt(half * half - log_term / a) - half), y)
    for _ in range(60):
        error = math.erf(x) - y if abs(y) < 0.5 else math.copysign(1, y) * ((1 - abs(y)) - math.erfc(abs(x)))
        step = error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        step /= 1 + x * step  # Halley's correction
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return x


@_vectorized
def zeta(s: float, q: float) -> float:
    """Hurwitz's zeta function by Euler-Maclaurin."""
    if math.isnan(s) or math.isnan(q) or s < 1:
        return math.nan
    if s == 1:
        return math.inf
    if q <= 0:
        if q == math.floor(q):
            return math.inf
        if s != math.floor(s):
            return math.nan
    terms = 12
    try:
        total = sum((q + k) ** -s for k in range(terms))
        a = q + terms
        total += a ** (1 - s) / (s - 1) + 0.5 * a**-s
        factor, power = s, a ** (-s - 1)
        for i, bernoulli in enumerate(_BERNOULLI):
            n = 2 * (i + 1)
            total += bernoulli / math.factorial(n) * factor * power
            factor *= (s + n - 1) * (s + n)
            power /= a * a
    except OverflowError:
        return math.inf
    return total


@_vectorized
def polygamma(n: float, x: float) -> float:
    if n == 0:
        return float(digamma(x))
    if n < 0 or n != math.floor(n) or math.isnan(x):
        return math.nan
    sign = 1.0 if int(n) % 2 else -1.0
    return sign * math.gamma(n + 1) * float(zeta(n + 1, x))


@_vectorized
def bessel_i1e(x: float) -> float:
    """exp(-|x|) I1(x): power series, and the asymptotic expansion beyond 30."""
    if math.isnan(x):
        return x
    a = abs(x)
    if a == math.inf:
        return math.copysign(0.0, x)
    if a <= 30:
        term = a / 2
        total, k = 0.0, 0
        while term > 1e-18 * total or k < 3:
            total += term
            k += 1
            term *= (a / 2) * (a / 2) / (k * (k + 1))
        return math.copysign(total * math.exp(-a), x)
    total, term = 0.0, 1.0
    for k in range(1, 24):
        total += term
        term *= -(4 - (2 * k - 1) ** 2) / (8 * a * k)
    return math.copysign(total / math.sqrt(2 * math.pi * a), x)
