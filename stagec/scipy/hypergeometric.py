"""Hypergeometric functions of real numbers."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from stagec import numpy as snp
from stagec.control.loops import while_loop
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arithmetic import dtype_of
from stagec.primitives.special import lgamma
from stagec.scipy.arguments import real_arrays
from stagec.scipy.derived import derived, no_derivative
from stagec.typing import ArrayLike

_LIMIT = 5000
# How many terms, the last ones, their sums, and whether they were small: of the series and of its derivatives.
_Sums: TypeAlias = tuple[Array, tuple[Array, Array, Array], tuple[Array, Array, Array], Array]


def _kummer(a: Array, b: Array, x: Array) -> tuple[Array, Array, Array]:
    """The series of M(a, b, x), and its derivatives by a and by b."""
    eps = float(finfo(dtype_of(x)).eps)

    def small(term: Array, total: Array) -> Array:
        return abs(term) <= 0.5 * eps * abs(total)

    def unfinished(state: Any) -> Any:
        k, _, _, was_small = state
        return snp.any(~was_small) & (k < _LIMIT)

    def step(state: _Sums) -> _Sums:
        k, (term, by_a, by_b), (total, total_a, total_b), _ = state
        # Term k + 1 is term k times this quotient.
        down = 1 / ((b + k) * (k + 1))
        quotient = (a + k) * x * down
        by_a = by_a * quotient + term * x * down
        by_b = by_b * quotient - term * quotient / (b + k)
        term = term * quotient
        total, total_a, total_b = total + term, total_a + by_a, total_b + by_b
        # One term may vanish on the way; two after each other are the end, or the end of a polynomial.
        done = small(term, total) & small(by_a, total_a) & small(by_b, total_b) & (k > abs(a) - b)
        return k + 1, (term, by_a, by_b), (total, total_a, total_b), done

    one, zero = x * 0 + 1, x * 0
    start = (snp.asarray(0, dtype_of(x)), (one, zero, zero), (one, zero, zero), one < 0)
    return while_loop(unfinished, step, start)[2]


def _hyp1f1_parts(a: Array, b: Array, x: Array) -> tuple[Any, Any, Any]:
    """M and its derivatives by a and b: for negative x by Kummer's transformation, DLMF 13.2.39."""
    pole = (b <= 0) & (b == snp.floor(b))
    a, b, x = (snp.where(pole | ~snp.isfinite(a + b + x), v, w) for v, w in ((1, a), (1, b), (0, x)))
    finite = (a <= 0) & (a == snp.floor(a))
    transformed = (x < 0) & ~finite
    value, by_a, by_b = _kummer(snp.where(transformed, b - a, a), b, snp.where(transformed, -x, x))
    scale = snp.exp(snp.where(transformed, x, 0))
    value, by_first, by_b = value * scale, by_a * scale, by_b * scale
    nothing = snp.where(pole, math.nan, 0)
    return (
        value + nothing,
        snp.where(transformed, -by_first, by_first) + nothing,
        snp.where(transformed, by_first + by_b, by_b) + nothing,
    )


@derived(
    lambda value, a, b, x: _hyp1f1_parts(a, b, x)[1],
    lambda value, a, b, x: _hyp1f1_parts(a, b, x)[2],
    lambda value, a, b, x: a / b * _hyp1f1(a + 1, b + 1, x),
    name="hyp1f1",
)
def _hyp1f1(a: Array, b: Array, x: Array) -> Array:
    found = _hyp1f1_parts(a, b, x)[0]
    return snp.where(snp.isnan(a) | snp.isnan(b) | snp.isnan(x), math.nan, found)


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The confluent hypergeometric function M(a, b, x); NaN at its poles b = 0, -1, ...

    By its series, which loses digits where terms of both signs cancel: for `a` far below 0, and for negative `x` where
    `a` is far above `b`.

    Source: DLMF 13.2.2 and 13.2.39.

    >>> round(float(hyp1f1(1.0, 2.0, 0.5)), 4)
    1.2974
    """
    return _hyp1f1(*real_arrays("hyp1f1", a, b, x))


def _gauss(a: Array, b: Array, c: Array, x: Array) -> Any:
    """The series of 2F1 for |x| < 1."""
    eps = float(finfo(dtype_of(x)).eps)

    def unfinished(state: Any) -> Any:
        k, _, _, done = state
        return snp.any(~done) & (k < _LIMIT)

    def step(state: Any) -> Any:
        k, term, total, _ = state
        quotient = (a + k) * (b + k) / ((c + k) * (k + 1)) * x
        term = term * quotient
        total = total + term
        done = (abs(term) <= 0.25 * eps * (1 - abs(x)) * abs(total)) & (k > snp.maximum(abs(a), abs(b)))
        return k + 1, term, total, done | (term == 0)

    one = x * 0 + 1
    return while_loop(unfinished, step, (snp.asarray(0, dtype_of(x)), one, one, one < 0))[2]


def _sign_of_gamma(x: Array) -> Array:
    odd = snp.floor(x) % 2 != 0
    return snp.where((x < 0) & odd, -1.0, 1.0)


def _gammas(above: tuple[Any, Any], below: tuple[Any, Any]) -> Array:
    """A quotient of products of gamma functions; 0 where one below has a pole."""
    logs = sum(lgamma(v) for v in above) - sum(lgamma(v) for v in below)
    sign: Any = 1.0
    for v in (*above, *below):
        sign = sign * _sign_of_gamma(v)
    pole = [(v <= 0) & (v == snp.floor(v)) for v in below]
    return snp.where(pole[0] | pole[1], 0.0, sign * snp.exp(logs))


def _near_one(a: Array, b: Array, c: Array, x: Array) -> Any:
    """By 1 - x, DLMF 15.8.4; `c - a - b` is not a whole number."""
    d = c - a - b
    first = _gammas((c, d), (c - a, c - b)) * _gauss(a, b, 1 - d, 1 - x)
    second = _gammas((c, -d), (a, b)) * _gauss(c - a, c - b, 1 + d, 1 - x)
    return first + (1 - x) ** d * second


@derived(
    *[no_derivative("hyp2f1", "its parameters")] * 3,
    lambda value, a, b, c, x: a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x),
    name="hyp2f1",
)
def _hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    ends = ((a <= 0) & (a == snp.floor(a))) | ((b <= 0) & (b == snp.floor(b)))
    pole = (c <= 0) & (c == snp.floor(c))
    missing = snp.isnan(a) | snp.isnan(b) | snp.isnan(c) | snp.isnan(x)
    usable = ~missing & ~pole & ((x < 1) | ends) & snp.isfinite(x)
    one = x * 0 + 1
    a, b, c, x = (snp.where(usable, v, w) for v, w in ((a, one), (b, one), (c, one), (x, one * 0)))
    # Pfaff's transformation takes negative numbers to (0, 1), DLMF 15.8.1.
    transformed = (x < 0) & ~ends
    factor = snp.where(transformed, (1 - snp.where(transformed, x, 0)) ** -a, 1)
    b = snp.where(transformed, c - b, b)
    y = snp.where(transformed, x / (x - 1), x)
    d = c - a - b
    near = (y > 0.85) & (y < 1) & (abs(d - snp.round(d)) > 1e-3) & ~ends
    z = snp.where(near, y, 0.9)
    p, q, r = (snp.where(near, v, w) for v, w in ((a, 0.5), (b, 0.5), (c, 1.25)))
    by_one = _near_one(p, q, r, z)
    # Euler's transformation, DLMF 15.8.1, where the series grows quickly towards 1.
    grows = (d < 0) & ~ends & (y < 1) & ~near
    series = _gauss(snp.where(grows, c - a, a), snp.where(grows, c - b, b), c, snp.where(near, 0, y))
    series = series * snp.where(grows, (1 - snp.where(grows, y, 0)) ** d, 1)
    found = factor * snp.where(near, by_one, series)
    return snp.where(usable, found, snp.where(pole & ~missing, math.inf, math.nan))


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function for `x < 1`, and at 1 where it converges; NaN beyond.

    Close to 1, it is slow and less exact where `c - a - b` is a whole number. It has a derivative by `x` only.

    Source: DLMF 15.2.1, 15.4.20, 15.8.1 and 15.8.4.

    >>> round(float(hyp2f1(1.0, 2.0, 3.0, 0.5)), 4)
    1.5452
    """
    p, q, r, z = real_arrays("hyp2f1", a, b, c, x)
    d = r - p - q
    at_one = (z == 1) & (d > 0)
    limit = _gammas((r, snp.where(d > 0, d, 1)), (r - p, r - q))
    found = _hyp2f1(p, q, r, snp.where(at_one, 0, z))
    return snp.where(at_one, limit, snp.where((z == 1) & (d <= 0) & snp.isnan(found), math.inf, found))
