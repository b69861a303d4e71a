"""Hyperbolic, error and gamma functions, and real powers, built from the elementary functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from passes import build
from passes.legalize import polynomials as co
from passes.legalize.elementary import exp, exp2, expm1, log, log1p, log_pair, sin, tan
from passes.legalize.expressions import (
    Tensor,
    call,
    copysign,
    estrin,
    has_doubles,
    maximum,
    minimum,
    rint,
    sqrt,
    two_product,
    where,
)
from passes.numeric.special import EULER_MACLAURIN


def sinh(x: Tensor) -> Tensor:
    """Hyperbolic sine, within 2 ulp."""
    a = abs(x)
    half = exp(a, scale=-1)
    z = x * x
    small = a + a * z * estrin(z, co.SINH if x.dtype == np.float64 else co.SINH_F32)
    large = half - 0.25 / half
    return copysign(where(a < 1, small, large), x)


def cosh(x: Tensor) -> Tensor:
    """Hyperbolic cosine, within 2 ulp."""
    half = exp(abs(x), scale=-1)
    return half + 0.25 / half


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent, within 2 ulp."""
    u = expm1(minimum(abs(x), 22.0) * 2)
    return copysign(u / (u + 2), x)


def asinh(x: Tensor) -> Tensor:
    """Inverse hyperbolic sine, within 2 ulp."""
    a = abs(x)
    large = a > 2.0**28
    inner = where(large, a.like(1), a)
    square = inner * inner
    u = inner + square / (sqrt(square + 1) + 1)
    result = where(large, log(a) + math.log(2), log1p(u))
    return copysign(where(a < 2.0**-28, a, result), x)


def acosh(x: Tensor) -> Tensor:
    """Inverse hyperbolic cosine, within 2 ulp; NaN below 1."""
    large = x > 2.0**28
    t = where(large, x.like(2), x) - 1
    result = where(large, log(x) + math.log(2), log1p(t + sqrt(t * 2 + t * t)))
    return where(x < 1, x.like(math.nan), result)


def atanh(x: Tensor) -> Tensor:
    """Inverse hyperbolic tangent, within 2 ulp; infinite at -1 and 1, NaN beyond."""
    a = abs(x)
    return copysign(where(a < 2.0**-28, a, log1p(2 * a / (1 - a)) * 0.5), x)


def erfc(x: Tensor) -> Tensor:
    """Complementary error function, within 4 ulp, 5.5 in float32.

    For |x| >= 0.5, exp(-x**2) times a polynomial in (x - 4) / (x + 4), divided by
    2 |x| + 1, with the rounding error of x**2 in the exponent; below, 1 - erf(x).
    """
    double = x.dtype == np.float64
    a = minimum(abs(x), 28.0 if double else 10.5)
    square, low = two_product(a, a)
    factor = exp(-square, -low)
    tail = factor * estrin((a - 4) / (a + 4), co.ERFC if double else co.ERFC_F32) / (2 * a + 1)
    tail = where(x < 0, 2 - tail, tail)
    near = 1 - Tensor(build.op("chlo.erf", [x.value]))
    return where(abs(x) < 0.5, near, where(x.is_nan(), x, tail))


def erf_inv(x: Tensor) -> Tensor:
    """Inverse error function, within 2 ulp, 2.5 in float32; infinite at -1 and 1, NaN beyond.

    With `w = -log(1 - x**2)`: for w < 6.25, x times the sum of 1 and a polynomial in w; from there on, x times the sum
    of sqrt(w) and a polynomial in sqrt(w). `1 - x * x` would lose up to half of the digits near 1, where 1 - x is
    exact.
    """
    double = x.dtype == np.float64
    w = -log((1 - x) * (1 + x))
    root = sqrt(maximum(w, 6.25))
    near = estrin(minimum(w, 6.25) - 3.125, co.ERF_INV if double else co.ERF_INV_F32)
    far = estrin(root - 4.3, co.ERF_INV_TAIL) if double else estrin(root - 3.25, co.ERF_INV_TAIL_F32)
    small = w < 6.25
    result = x * where(small, 1.0, root) + x * where(small, near, far)
    result = where(abs(x).equals(1), x * math.inf, result)
    return where(x.equals(0), x, result)


def _stirling(x: Tensor) -> Tensor:
    """`lgamma(x) - (x - 1/2) log x + x` for x >= 8."""
    r = 1 / x
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
    return r * estrin(r * r, tuple(reversed(terms))) + 0.5 * math.log(2 * math.pi)


def lgamma(x: Tensor) -> Tensor:
    """`log |gamma(x)|` of a float64: within 4 ulp for x > 0; 1e-15 absolute near negative zeros of it.

    A polynomial around its zeros 1 and 2, to which arguments below 8 are lowered;
    Stirling's series from there on; reflection below zero.
    """
    negative = x < 0
    a = abs(x)
    low, far = a < 0.75, a >= 8
    # Below 8: lgamma(b + 1) + log((a - 1) (a - 2) ... (b + 1)) with b in [-0.5, 1.5],
    # where both terms have one sign; below 0.75: lgamma(a + 1) - log(a).
    steps = minimum(maximum(rint(a) - 2, 0.0), 6.0)
    b = where(low, a, a - steps - 1)
    b = where(far, b.like(0.5), b)
    product = a.like(1)
    for step in range(1, 7):
        product = product * where(steps >= step, a - step, a.like(1))
    logarithm = log(where(low | far, a, product))
    near = b * (b - 1) * estrin(b - 0.5, co.LGAMMA) + where(low, -logarithm, logarithm)
    huge = a > 1e305
    c = where(huge | ~far, a.like(8), a)
    large = where(huge, a * (logarithm - 1), (c - 0.5) * (logarithm - 1) + (_stirling(c) - 0.5))
    result = where(far, large, near)
    # Reflection: log(pi / |a sin(pi a)|) - lgamma(a), with a reduced before the sine.
    fraction = a - call("floor", a)
    fraction = minimum(fraction, 1 - fraction)
    reflected = math.log(math.pi) - log(a * sin(fraction * math.pi, bounded=True)) - result
    # Near zero the product underflows, and both sides are -log(a).
    result = where(negative & (a > 2.0**-60), reflected, result)
    infinite = abs(x).equals(math.inf) | (abs(x) < float(np.finfo(np.float64).tiny))
    infinite = infinite | (negative & fraction.equals(0))
    result = where(infinite, x.like(math.inf), result)
    return where(x.is_nan(), x, result)


def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma, of a float64: about 1e-15 relative, absolute near its zeros.

    The asymptotic series after raising the argument by ten; reflection below zero.
    """
    negative = x < 0
    a = where(negative, 1 - x, x)
    raised = a < 10
    b = where(raised, a + 10, a)
    total = a.like(0)
    for k in range(9, -1, -1):
        total = total + 1 / (a + k)
    r = 1 / b
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = r * r * estrin(r * r, tuple(reversed(terms)))
    result = log(b) - 0.5 * r - series
    result = where(raised, result - total, result)
    fraction = x - call("round_nearest_even", x)
    pole = negative & fraction.equals(0)
    result = where(negative, result - math.pi / tan(fraction * math.pi, bounded=True), result)
    result = where(pole, x.like(math.nan), result)
    result = where(abs(x) < float(np.finfo(np.float64).tiny), copysign(x.like(math.inf), -x), result)
    return where(x.equals(math.inf), x, result)


def zeta(x: Tensor, q: Tensor) -> Tensor:
    """Hurwitz's zeta function, the sum of `(q + k)**-x` over k = 0, 1, ...: about 1e-13 relative in float64,
    about 1e-6 in float32.

    Euler-Maclaurin (Abramowitz and Stegun 23.1.30) from the ninth term on.
    """
    exponent = -minimum(x, x.like(1e30))

    def raised(base: Tensor) -> Tensor:
        if x.dtype != np.float64:
            return power(base, exponent)
        high, low = log_pair(base)
        p, p_low = two_product(exponent, high)
        return exp(p, where(abs(p) < 800, p_low + exponent * low, p.like(0)))

    return _zeta(x, q, raised, 8, 9)


def zeta_of_narrow(x: Tensor, q: Tensor) -> Tensor:
    """Hurwitz's zeta function, the sum of `(q + k)**-x` over k = 0, 1, ...: 5e-9 relative, of a float64.

    Euler-Maclaurin (Abramowitz and Stegun 23.1.30) from the fourth term on.
    """
    exponent = -minimum(x, x.like(1e30))
    return _zeta(x, q, lambda base: exp(exponent * log(base)), 3, 6)


def _zeta(x: Tensor, q: Tensor, raised: Callable[[Tensor], Tensor], terms: int, corrections: int) -> Tensor:
    """The sum of the first terms, and the Euler-Maclaurin formula for the others.

    Of `count` negative bases, the distances to zero are raised: `away`, `away + 1`, ..., `1 - q - 1`.
    """
    # Of large exponents, only the first terms count.
    order = minimum(x, x.like(1e15))

    def others(base: Tensor) -> Tensor:
        term = raised(base)
        total = base * term / (x - 1) + term * 0.5
        factor, step = order * term / base, 1 / (base * base)
        for k, coefficient in enumerate(EULER_MACLAURIN[:corrections]):
            total = total + coefficient * factor
            factor = factor * ((order + (2 * k + 1)) * (order + (2 * k + 2)) * step)
        return total

    zero = x.like(0)
    floor = call("floor", q)
    count = maximum(-floor, zero)
    first = q + count
    total = raised(first)
    for k in range(1, terms):
        total = total + raised(first + k)
    total = total + others(first + terms)

    away = 1 - first
    negative = raised(away)
    for k in range(1, terms):
        negative = negative + where(count > x.like(k), raised(away + k), zero)
    negative = negative + where(count > x.like(terms), others(away + terms) - others(1 - q), zero)
    half = x * 0.5
    negative = where(call("floor", half).equals(half), negative, -negative)
    total = where(count > zero, total + negative, total)

    total = where(q.equals(math.inf) | ((q > 1) & x.equals(math.inf)), zero, total)
    total = where((q <= 0) & floor.equals(q), x.like(math.inf), total)
    total = where((q > 0) | call("floor", x).equals(x), total, x.like(math.nan))
    return where(x > 1, total, where(x.equals(1), x.like(math.inf), x.like(math.nan)))


def polygamma(n: Tensor, x: Tensor) -> Tensor:
    """The n-th derivative of digamma, of float64; NaN unless n is an integer >= 0.

    `(-1)**(n + 1) n! zeta(n + 1, x)`.
    """
    return _polygamma(n, x, zeta)


def polygamma_of_narrow(n: Tensor, x: Tensor) -> Tensor:
    """The n-th derivative of digamma: 1e-8 relative, of a float64; NaN unless n is an integer >= 0."""
    return _polygamma(n, x, zeta_of_narrow)


def _polygamma(n: Tensor, x: Tensor, series: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    order = n + 1
    size = series(order, x) * exp(lgamma(order))
    half = n * 0.5
    even = call("floor", half).equals(half)
    result = where(n.equals(0), digamma(x), where(even, -size, size))
    valid = (n >= 0) & call("floor", n).equals(n)
    return where(valid, result, x.like(math.nan))


def logistic(x: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`, within 2 ulp."""
    return 1 / (exp(-x) + 1)


def power(x: Tensor, y: Tensor) -> Tensor:
    """`x**y` with C's special cases, within 1 ulp.

    float64 carries log(x) as an unevaluated sum; narrower floats are computed in
    float64, where the plain logarithm is enough. Without float64 the error grows
    with the logarithm of the result: 2 ulp for each unit of it.
    """
    narrow = x.dtype
    if narrow != np.float64:
        wide = np.float64 if has_doubles() else np.float32
        x, y = x.to(wide), y.to(wide)
    a = abs(x)
    if narrow == np.float64:
        high, low = log_pair(a)
        p, p_low = two_product(y, high)
        p_low = where(abs(p) < 800, p_low + y * low, p.like(0))
        result = exp(p, p_low)
    else:
        result = exp(y * log(a))
    positive = y > 0
    edge = where(positive, x.like(0), x.like(math.inf))
    result = where(a < float(np.finfo(x.dtype).tiny), edge, result)
    result = where(a.equals(math.inf), where(positive, x.like(math.inf), x.like(0)), result)
    result = where(a.equals(1), x.like(1), result)
    integer = call("floor", y).equals(y)
    half = y * 0.5
    odd = integer & call("floor", half).differs(half)
    result = where((x < 0) & ~integer & (a < math.inf), x.like(math.nan), result)
    result = where(odd, copysign(result, x), result)
    result = where(x.is_nan() | y.is_nan(), x + y, result)
    result = where(y.equals(0) | x.equals(1), x.like(1), result)
    return result.to(narrow)


def power_of_constant(base: float, y: Tensor) -> Tensor:
    """`base**y` for a positive base other than 1, within 1 ulp: `exp(y log(base))`, that logarithm as two numbers."""
    if base == 2:
        return exp2(y)
    logarithm = Decimal(base).ln()
    high = y.dtype.type(logarithm)
    low = float(logarithm - Decimal(float(high)))
    p, p_low = two_product(y, y.like(float(high)))
    return exp(p, where(abs(p) < 800, p_low + y * low, p.like(0)))
