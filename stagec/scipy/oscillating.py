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
from stagec.scipy.derived import derived, no_derivative
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


def _bessel_slope(value: Any, n: Array, x: Array, *, most: int, steps: int, rows: bool) -> Array:
    """DLMF 10.6.1, where the order -1 is minus the order 1."""
    options: Any = {"most": most + 1, "steps": max(steps, most + 3), "rows": False}
    below, above = _bessel(abs(n - 1), x, **options), _bessel(n + 1, x, **options)
    return (snp.where(n == 0, -below, below) - above) / 2


@derived(no_derivative("bessel_jn", "its order"), _bessel_slope, name="bessel_jn")
def _bessel(n: Array, x: Array, *, most: int, steps: int, rows: bool) -> Array:
    """The Bessel function of order n, which is at most `most`.

    Args:
      steps: the order at which the recurrence begins.
      rows: x is the same along the first axis.
    """
    x = x[:1] if rows else x
    near = abs(x) < 1e-4
    safe = snp.where(near, 1, x)
    limit = 1e10

    def back(k: Any, above: Any, this: Any, total: Any) -> tuple[Any, Any, Any, Any]:
        """Go from the orders k + 1 and k to k and k - 1; scale all values down before they overflow."""
        below = 2 * k / safe * this - above
        scale = snp.where(abs(below) > limit, 1 / limit, 1)
        total = total + snp.where(k % 2 == 0, 2, 0) * this
        return this * scale, below * scale, total * scale, scale

    def step(i: Any, state: Any) -> Any:
        return back(snp.astype(steps - i, x.dtype), *state)[:3]

    zero = x * 0
    above, this, total = fori_loop(0, steps - most, step, (zero, zero + 1e-10, zero))
    found, power = zero, zero + 1
    for k in range(most, 0, -1):
        found = snp.where(n == k, this, found)
        power = snp.where(n >= k, power * (x / (2 * k)), power)
        above, this, total, scale = back(float(k), above, this, total)
        found = found * scale
    # J_0 + 2 J_2 + 2 J_4 + ... is 1.
    value = snp.where(n == 0, this, found) / (total + this)
    # Near 0, the first terms of the power series, DLMF 10.2.2.
    return snp.where(near, power * (1 - x * x / 4 / (n + 1)), value)


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
    orders = snp.arange(order + 1, dtype=x.dtype).reshape(-1, *[1] * x.ndim)
    return _bessel(*snp.broadcast_arrays(orders, x), most=order, steps=steps, rows=True)
