"""Special functions in float64 by NumPy and the standard library: how `special` evaluates its rows.

Accurate to about 1e-14 relative, away from zeros of the functions.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

_NORMAL = statistics.NormalDist()


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """Evaluate in float64, and round once to the operands' dtype."""

    @functools.wraps(function)
    def evaluate(*arrays: Any) -> Any:
        dtype = arrays[0].dtype
        wide = [np.asarray(a).astype(np.float64) for a in arrays]
        return np.asarray(function(*wide), np.float64).astype(dtype)

    return evaluate


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    wrapped = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(wrapped(x)).astype(np.float64)


erf = _each(math.erf)
erfc = _each(math.erfc)


@_each
def erf_inv(x: float) -> float:
    """The inverse of `erf`: the normal quantile, polished by one step of Newton's method."""
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    if abs(x) < 1e-4:
        return x * math.sqrt(math.pi) / 2 * (1 + math.pi / 12 * x * x)
    tail = (1 - abs(x)) / 2
    y = -_NORMAL.inv_cdf(tail) / math.sqrt(2)
    error = math.erf(y) - abs(x) if y < 0.5 else 2 * tail - math.erfc(y)
    return math.copysign(y - error * math.sqrt(math.pi) / 2 * math.exp(y * y), x)


def _lgamma_near_2(z: float) -> float:
    """`lgamma(2 + z)` for |z| < 1/4: the power series, which keeps its digits near the zero at 2."""
    total = 0.0
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
def lgamma(x: float) -> float:
    """The logarithm of |gamma(x)|; infinite at 0, -1, -2, ..."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    if abs(x - 2) < 0.25:
        return _lgamma_near_2(x - 2)
    if abs(x - 1) < 0.25:
        return _lgamma_near_2(x - 1) - math.log1p(x - 1)
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


# B(2k) / (2k)! of the Euler-Maclaurin formula.
_EULER_MACLAURIN = (
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


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function: the sum of `(q + k) ** -x` over k = 0, 1, ...

    Euler-Maclaurin from the twelfth term on (Abramowitz and Stegun 23.1.30).
    """
    x, q = np.broadcast_arrays(x, q)
    terms = 12
    total = np.zeros(x.shape)
    for k in range(terms):
        total = total + np.power(q + k, -x)
    base = q + terms
    power = np.power(base, -x)
    total = total + base * power / (x - 1) + power / 2
    factor = x * power / base
    for k, coefficient in enumerate(_EULER_MACLAURIN):
        total = total + coefficient * factor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (base * base)
    pole = (q <= 0) & (q == np.floor(q))
    total = np.where(pole, np.where(x == np.floor(x), np.inf, np.nan), total)
    # A negative base to a fractional power is not real.
    total = np.where((q <= 0) & (x != np.floor(x)), np.nan, total)
    total = np.where(np.isposinf(x) & (q > 1), 0.0, np.where(np.isposinf(q) & (x > 1), 0.0, total))
    return np.where(x == 1, np.inf, np.where(x < 1, np.nan, total))


def polygamma(m: Any, x: Any) -> Any:
    """The `m`-th derivative of digamma; `m` is 0 or a positive whole number."""
    m, x = np.broadcast_arrays(m, x)
    sign = np.where(np.mod(m, 2) == 0, -1.0, 1.0)
    value = sign * np.exp(lgamma(m + 1.0)) * zeta(m + 1, x)
    value = np.where(m == 0, digamma(x), value)
    return np.where((m < 0) | (m != np.floor(m)), np.nan, value)


def digamma(x: Any) -> Any:
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


def _bessel_e(order: int, x: Any) -> Any:
    """`exp(-|x|) I_order(x)` for order 0 or 1."""
    size = np.minimum(np.abs(x), 40.0)
    # The trapezoid rule on the periodic integral converges faster than any power.
    nodes = 96
    total = np.zeros(np.shape(x))
    for k in range(nodes):
        cosine = math.cos(2 * math.pi * k / nodes)
        total = total + np.exp(size * (cosine - 1)) * (cosine if order else 1.0)
    near = total / nodes
    # The sum's terms cancel where the argument is small; the power series has none that do.
    square = np.minimum(np.abs(x), 1.0) ** 2 / 4
    power, rest = np.ones(np.shape(x)), np.ones(np.shape(x))
    for k in range(1, 12):
        rest = rest * square / (k * (k + order))
        power = power + rest
    power = power * np.exp(-np.minimum(np.abs(x), 1.0)) * (np.abs(x) / 2 if order else 1.0)
    near = np.where(np.abs(x) <= 1, power, near)
    large = np.maximum(np.abs(x), 40.0)
    series, term = np.ones(np.shape(x)), np.ones(np.shape(x))
    for k in range(1, 16):
        term = term * -(4 * order * order - (2 * k - 1) ** 2) / (k * 8 * large)
        series = series + term
    far = series / np.sqrt(2 * np.pi * large)
    out = np.where(np.abs(x) <= 40, near, far)
    out = np.where(np.isnan(x), x, out)
    return np.copysign(out, x) if order else out


def bessel_i0e(x: Any) -> Any:
    """`exp(-|x|) I0(x)`, with I0 the modified Bessel function of the first kind."""
    return _bessel_e(0, x)


def bessel_i1e(x: Any) -> Any:
    """`exp(-|x|) I1(x)`, with I1 the modified Bessel function of the first kind."""
    return np.where(np.asarray(x) == 0, x, _bessel_e(1, x))


@functools.cache
def chebyshev(order: int, far: bool, terms: int) -> tuple[float, ...]:
    """Chebyshev coefficients, highest first, of the scaled Bessel functions.

    Near: of `exp(-x) I(x)` (over x for order 1) on [0, 8], in `x / 4 - 1`.
    Far: of `sqrt(x) exp(-x) I(x)` on [8, inf), in `16 / x - 1`.
    """

    def near_value(t: Any) -> Any:
        x = np.maximum(4 * (t + 1), 1e-6)
        return _bessel_e(order, x) / x if order else _bessel_e(order, x)

    def far_value(t: Any) -> Any:
        x = 16 / np.maximum(t + 1, 1e-12)
        return np.sqrt(x) * _bessel_e(order, x)

    fitted = np.polynomial.chebyshev.chebinterpolate(far_value if far else near_value, terms - 1)
    return tuple([float(c) for c in fitted[::-1]])
