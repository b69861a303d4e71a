"""Integrals of sines and cosines, and Bessel functions."""

from __future__ import annotations

import math
import operator
from typing import Any

from stagec import numpy as snp
from stagec.control.loops import fori_loop
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.scipy.arguments import real_arrays
from stagec.scipy.chebyshev import series
from stagec.scipy.derived import derived
from stagec.typing import ArrayLike

_EULER = 0.57721566490153286060651209008240243


def _auxiliary(x: Array) -> tuple[Any, Any]:
    """f and g of DLMF 6.2.17 for x >= 4."""
    inverse = 1 / x
    square = inverse * inverse
    near = square > 1 / 64
    f = snp.where(near, series("SICI_F1", square), series("SICI_F2", square)) * inverse
    g = snp.where(near, series("SICI_G1", square), series("SICI_G2", square)) * square
    return f, g


def _large(x: Array) -> Array:
    return snp.where((x > 4) & snp.isfinite(x), x, 4)


@derived(lambda value, x: snp.sinc(x / math.pi), name="sine_integral")
def _sine_integral(x: Array) -> Array:
    size = abs(x)
    y = _large(size)
    f, g = _auxiliary(y)
    far = math.pi / 2 - f * snp.cos(y) - g * snp.sin(y)
    far = snp.where(size == math.inf, math.pi / 2, far)
    return snp.where(size <= 4, series("SI_NEAR", x * x) * x, snp.where(snp.isnan(x), x, snp.copysign(far, x)))


@derived(lambda value, x: snp.cos(x) / x, name="cosine_integral")
def _cosine_integral(x: Array) -> Array:
    size = abs(x)
    y = _large(size)
    f, g = _auxiliary(y)
    far = f * snp.sin(y) - g * snp.cos(y)
    far = snp.where(x == math.inf, 0, snp.where(snp.isfinite(x), far, math.nan))
    near = series("CI_NEAR", x * x) * x * x + (_EULER + snp.log(size))
    return snp.where(size <= 4, near, far)


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine and the cosine integral; of negative numbers, the latter is the real part.

    Source: DLMF 6.2.9-18; Chebyshev series on pieces.

    >>> tuple(round(float(v), 4) for v in sici(1.0))
    (0.9461, 0.3374)
    """
    (value,) = real_arrays("sici", x)
    return _sine_integral(value), _cosine_integral(value)


def _sine_and_cosine(x: Array) -> tuple[Any, Any]:
    """Sine and cosine of pi x^2 / 2, from x^2 modulo 4 without large squares."""
    whole = snp.round(x)
    fraction = x - whole
    # whole^2 modulo 4 is 0 or 1; 2 whole fraction is exact enough modulo 4, as fraction is at most 1/2.
    angle = whole % 2 + (2 * whole * fraction) % 4 + fraction * fraction
    return snp.sin(math.pi / 2 * angle), snp.cos(math.pi / 2 * angle)


def _fresnel_parts(x: Array) -> tuple[Any, Any, Any, Any, Any]:
    size = abs(x)
    y = snp.where((size > 1.6) & snp.isfinite(x), size, 1.6)
    u = (1.6 / y) ** 4
    f = series("FRESNEL_F", u) / (math.pi * y)
    g = series("FRESNEL_G", u) / (math.pi**2 * y * y * y)
    return (size, f, g, *_sine_and_cosine(y))


@derived(lambda value, x: _sine_and_cosine(x)[0], name="fresnel_sine")
def _fresnel_sine(x: Array) -> Array:
    size, f, g, sine, cosine = _fresnel_parts(x)
    far = snp.where(size == math.inf, 0.5, 0.5 - f * cosine - g * sine)
    near = series("FRESNEL_S", x * x * x * x) * x * x * x
    return snp.where(size <= 1.6, near, snp.where(snp.isnan(x), x, snp.copysign(far, x)))


@derived(lambda value, x: _sine_and_cosine(x)[1], name="fresnel_cosine")
def _fresnel_cosine(x: Array) -> Array:
    size, f, g, sine, cosine = _fresnel_parts(x)
    far = snp.where(size == math.inf, 0.5, 0.5 + f * sine - g * cosine)
    near = series("FRESNEL_C", x * x * x * x) * x
    return snp.where(size <= 1.6, near, snp.where(snp.isnan(x), x, snp.copysign(far, x)))


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals S and C, of `sin(pi t**2 / 2)` and `cos(pi t**2 / 2)` from 0 to `x`.

    Source: DLMF 7.2.7-11; Chebyshev series.

    >>> tuple(round(float(v), 4) for v in fresnel(1.0))
    (0.4383, 0.7799)
    """
    (value,) = real_arrays("fresnel", x)
    return _fresnel_sine(value), _fresnel_cosine(value)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders 0 to `v`, along a new first axis.

    Args:
      z: real numbers. Where `|z|` approaches `n_iter`, more iterations are needed.
      v: the largest order.
      n_iter: the order at which the recurrence begins.

    Source: Miller's backward recurrence, DLMF 10.74(iv).

    >>> bessel_jn(1.0, v=2).round(4)
    Array([0.7652, 0.4401, 0.1149], dtype=float32)
    """
    (x,) = real_arrays("bessel_jn", z)
    order, steps = operator.index(v), max(operator.index(n_iter), operator.index(v) + 2)
    if order < 0:
        raise location.error(errors.ShapeError, f"bessel_jn: v is {order}", fix="give a largest order of 0 or more")
    steps += steps % 2
    zero = x == 0
    safe = snp.where(zero, 1, x)
    limit = 1e10

    def back(n: Any, above: Array, this: Array, total: Array) -> tuple[Any, Any, Any, Any]:
        """Go from the orders n + 1 and n to n and n - 1; scale all values down before they overflow."""
        below = 2 * n / safe * this - above
        scale = snp.where(abs(below) > limit, 1 / limit, 1)
        below, this = below * scale, this * scale
        even = (n - 1) % 2 == 0
        return this, below, total * scale + snp.where(even, 2, 0) * below, scale

    def step(i: Any, state: Any) -> Any:
        above, this, total = state
        return back(snp.astype(steps - i, x.dtype), above, this, total)[:3]

    one = safe * 0 + 1
    above, this, total = fori_loop(0, steps - order, step, (one * 0, one * 1e-10, one * 2e-10))
    found = [this]
    for n in range(order, 0, -1):
        above, this, total, scale = back(float(n), above, this, total)
        found = [value * scale for value in found] + [this]
    # J_0 + 2 J_2 + 2 J_4 + ... is 1.
    total = total - this
    return snp.stack([snp.where(zero, float(n == 0), value / total) for n, value in enumerate(reversed(found))])
