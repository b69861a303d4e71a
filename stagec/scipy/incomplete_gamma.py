"""The incomplete gamma functions.

Three methods, each where it is accurate: the power series (DLMF 8.11.4), the continued fraction (DLMF 8.9.2), and for
large `a` near `x` Temme's uniform expansion (DLMF 8.12), whose coefficients are computed here.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from stagec import numpy as snp
from stagec.control.loops import while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arithmetic import dtype_of
from stagec.primitives.special import erfc, lgamma
from stagec.scipy.arguments import real_arrays
from stagec.scipy.chebyshev import series
from stagec.scipy.continued import continued_fraction
from stagec.scipy.derived import derived
from stagec.scipy.gamma_grad import random_gamma_grad
from stagec.scipy.stirling import log1p_minus, stirling_remainder
from stagec.typing import ArrayLike

_LARGE = 100.0


@functools.cache
def temme(orders: int, terms: int) -> tuple[tuple[float, ...], ...]:
    """The Taylor coefficients of the functions c_k of DLMF 8.12.8, for k < orders.

    With x / a = 1 + m and m - log(1 + m) = eta^2 / 2, c_0 is 1/m - 1/eta, and c_k is c_(k-1)' / eta plus the multiple
    of 1/m that leaves no pole.
    """
    count = terms + 2 * orders + 2
    # m as a series of eta, from m m' = eta (1 + m).
    m = [Fraction(0), Fraction(1)]
    for n in range(2, count + 2):
        products = sum((m[i] * (n + 1 - i) * m[n + 1 - i] for i in range(2, n)), Fraction(0))
        m.append((m[n - 1] - products) / (n + 1))
    # 1 / m = 1 / eta + c_0.
    inverse = [Fraction(1)]
    for n in range(1, count + 1):
        inverse.append(-sum((m[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    first = inverse[1:]
    rows, row = [first], first
    for _ in range(1, orders):
        pole = row[1]
        row = [(n + 2) * row[n + 2] - pole * first[n] for n in range(len(row) - 2)]
        rows.append(row)
    return tuple(tuple(float(c) for c in row[:terms]) for row in rows)


def _uniform(a: Array, x: Array, upper: bool) -> Any:
    """Temme's expansion, of Q if `upper`, else of P."""
    orders, terms = (7, 16) if dtype_of(a) == dtypes.float64 else (3, 8)
    m = snp.clip((x - a) / a, -0.35, 0.35)
    half_square = log1p_minus(m)
    eta = snp.sign(m) * snp.sqrt(2 * half_square)
    total: Any = 0.0
    for row in reversed(temme(orders, terms)):
        value: Any = 0.0
        for c in reversed(row):
            value = value * eta + c
        total = total / a + value
    correction = snp.exp(-a * half_square) / snp.sqrt(2 * math.pi * a) * total
    side = 0.5 * erfc((1 if upper else -1) * eta * snp.sqrt(a / 2))
    return side + correction if upper else side - correction


def _prefix(a: Array, x: Array) -> Array:
    """x^a exp(-x) / Gamma(a + 1)."""
    m = (x - a) / snp.maximum(a, 1)
    near = abs(m) < 0.4
    phi = snp.where(near, log1p_minus(snp.where(near, m, 0)), m - snp.log(snp.where(near, 1, x / a)))
    large = snp.exp(-a * phi - stirling_remainder(snp.maximum(a, 10))) / snp.sqrt(2 * math.pi * a)
    return snp.where(a >= 10, large, snp.exp(a * snp.log(x) - x - lgamma(a + 1)))


def _lower_series(a: Any, x: Any) -> Any:
    """P / prefix."""
    eps = float(finfo(dtype_of(x)).eps)

    def unfinished(state: Any) -> Array:
        _, term, total = state
        return snp.any(term > 0.2 * eps * total)

    def step(state: Any) -> Any:
        r, term, total = state
        r = r + 1
        term = term * (x / r)
        return r, term, total + term

    one = x * 0 + 1
    return while_loop(unfinished, step, (a, one, one))[2]


def _upper_fraction(a: Array, x: Array) -> Any:
    """Q / (prefix a)."""
    first = x + 1 - a
    return 1 / continued_fraction(first, lambda i: (i * (a - i), first + 2 * i))


def _upper_series(a: Array, x: Array) -> Any:
    """Q for small x and a, where 1 - P would cancel: 1 - x^a/Gamma(1+a) (1 + a sum (-x)^n / ((a+n) n!))."""
    log_prefix = a * snp.log(x) - log_gamma_1p(a)
    term: Any = -x
    total = term / (a + 1)
    for n in range(2, 22):
        term = term * -x / n
        total = total + term / (a + n)
    return -snp.expm1(log_prefix) - snp.exp(log_prefix) * a * total


def log_gamma_1p(a: Any) -> Array:
    """log Gamma(1 + a), accurate near 0."""
    small = abs(a) < 0.5
    return snp.where(small, a * series("LOG_GAMMA_1P", a), lgamma(a + 1))


def _parts(a: Array, x: Array) -> tuple[Any, Any, Any]:
    """Which lanes are usable, P where it is computed itself, and Q likewise, and where which."""
    usable = (a > 0) & (x > 0) & snp.isfinite(a) & snp.isfinite(x)
    a, x = snp.where(usable, a, 1), snp.where(usable, x, 1)
    uniform = (a > _LARGE) & (abs(x - a) < 0.3 * a)
    # Q by its own series where P is close to 1 or x is small, P by its own where x is below a.
    few = (x <= 1.1) & snp.where(x <= 0.5, a * -snp.log(snp.minimum(x, 0.5)) < 0.4, x * 1.1 >= a)
    fraction = ~few & (x > snp.maximum(a, 1.1)) & ~uniform
    power = ~few & ~fraction & ~uniform
    prefix = _prefix(a, x)
    p = prefix * _lower_series(a, snp.where(power, x, 0))
    q = prefix * a * _upper_fraction(snp.where(fraction, a, 1), snp.where(fraction, x, 50))
    q = snp.where(few, _upper_series(snp.where(few, a, 1), snp.where(few, x, 1)), q)
    p = snp.where(power, p, 1 - q)
    q = snp.where(power, 1 - p, q)
    return (
        usable,
        snp.where(uniform, _uniform(snp.maximum(a, _LARGE), x, False), p),
        snp.where(uniform, _uniform(snp.maximum(a, _LARGE), x, True), q),
    )


def _at_ends(a: Array, x: Array, found: Array, usable: Array, upper: bool) -> Array:
    """The values where `a` or `x` is 0 or infinite; NaN outside of the domain."""
    zero, one = (1.0, 0.0) if upper else (0.0, 1.0)
    all_below = (x == math.inf) | ((a == 0) & (x > 0))
    none_below = (x == 0) | (a == math.inf)
    out = snp.where(usable, found, snp.where(all_below, one, snp.where(none_below, zero, math.nan)))
    wrong = (
        (a < 0) | (x < 0) | snp.isnan(a) | snp.isnan(x) | ((a == 0) & (x == 0)) | ((a == math.inf) & (x == math.inf))
    )
    return snp.where(wrong, math.nan, out)


def density(a: Any, x: Any) -> Array:
    """The derivative of P by x: x^(a-1) exp(-x) / Gamma(a)."""
    positive = x > 0
    safe = snp.where(positive, x, 1)
    inside = snp.exp((a - 1) * snp.log(safe) - safe - lgamma(a))
    at_zero = snp.where(a < 1, math.inf, snp.where(a == 1, 1.0, 0.0))
    return snp.where(positive, inside, snp.where(x == 0, at_zero, math.nan))


def _slope(value: Any, a: Array, x: Array) -> Array:
    """The derivative of P by a."""
    return -random_gamma_grad(a, x) * density(a, x)


@derived(_slope, lambda value, a, x: density(a, x), name="igamma")
def lower(a: Any, x: Any) -> Array:
    """The regularized lower incomplete gamma function P."""
    usable, p, _ = _parts(a, x)
    return _at_ends(a, x, p, usable, False)


@derived(
    lambda value, a, x: -_slope(value, a, x),
    lambda value, a, x: -density(a, x),
    name="igammac",
)
def upper(a: Any, x: Any) -> Array:
    """The regularized upper incomplete gamma function Q = 1 - P."""
    usable, _, q = _parts(a, x)
    return _at_ends(a, x, q, usable, True)


def slope_by_parameter(a: Any, x: Any) -> Array:
    """The derivative of P by a."""
    return _slope(None, a, x)


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function P(a, x), the distribution function of gamma numbers.

    Differentiable by both; NaN for negative numbers.

    Source: DLMF 8.2.4, 8.9.2, 8.11.4 and 8.12.3.

    >>> round(float(gammainc(2.0, 3.0)), 4)
    0.8009
    """
    return lower(*real_arrays("gammainc", a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), accurate where it is small.

    >>> round(float(gammaincc(2.0, 3.0)), 4)
    0.1991
    """
    return upper(*real_arrays("gammaincc", a, x))
