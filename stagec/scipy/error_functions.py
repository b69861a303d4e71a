"""Functions related to the error function."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arguments import to_array
from stagec.numpy.arithmetic import dtype_of
from stagec.numpy.promotion import promote_floating
from stagec.primitives.convert import convert_element_type
from stagec.primitives.special import erfc
from stagec.scipy.arguments import real_arrays
from stagec.scipy.chebyshev import series
from stagec.scipy.derived import derived
from stagec.typing import ArrayLike

_ROOT_PI = math.sqrt(math.pi)


def _exp_square(x: Array, sign: int) -> Array:
    """exp(sign x^2), whose exponent is not rounded before it is large."""
    coarse = snp.round(x * 16) / 16
    return snp.exp(sign * coarse * coarse) * snp.exp(sign * (x - coarse) * (x + coarse))


def _far(z: Any) -> tuple[Any, Any]:
    """Where z is far from 0, and z there, elsewhere a number that is far."""
    limit = 10 if dtype_of(z) in (dtypes.float64, dtypes.complex128) else 5
    far = abs(z) > limit
    return far, snp.where(far, z, limit)


def _asymptotic(square: Any) -> Any:
    """The sum of (2n + 1)!! / (2 square)^n, the factor that far derivatives of the functions below have in common.

    Source: DLMF 7.12.1, differentiated. There, the differential equations subtract nearly equal numbers.
    """
    terms = 16 if dtype_of(square) in (dtypes.float64, dtypes.complex128) else 10
    total: Any = 1
    for n in range(terms, 0, -1):
        total = 1 + total * (2 * n + 1) / (2 * square)
    return total


def _erfcx_slope(value: Any, x: Array) -> Any:
    far, large = _far(snp.maximum(x, 0))
    return snp.where(far, -_asymptotic(-large * large) / (_ROOT_PI * large * large), 2 * x * value - 2 / _ROOT_PI)


@derived(_erfcx_slope, name="erfcx")
def _erfcx(x: Array) -> Array:
    size = snp.where(snp.isfinite(x), abs(x), 1)
    # Shepherd and Laframboise, Math. Comp. 36 (1981): (1 + 2x) erfcx(x) is smooth in (x - k) / (x + k).
    above = series("ERFCX", (size - 3.75) / (size + 3.75)) / (1 + 2 * size)
    below = 2 * _exp_square(snp.where(x < 0, size, 0), 1) - above
    out = snp.where(x >= 0, above, below)
    return snp.where(snp.isfinite(x), out, snp.where(x == math.inf, 0, snp.where(x < 0, math.inf, x)))


def erfcx(x: ArrayLike) -> Array:
    """`exp(x**2) erfc(x)`, which neither underflows nor overflows for positive numbers.

    Source: Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981).

    >>> round(float(erfcx(10.0)), 4)
    0.0561
    """
    return _erfcx(*real_arrays("erfcx", x))


def _dawsn_slope(value: Any, x: Array) -> Any:
    far, large = _far(x)
    return snp.where(far, -_asymptotic(large * large) / (2 * large * large), 1 - 2 * x * value)


@derived(_dawsn_slope, name="dawsn")
def _dawsn(x: Array) -> Array:
    size = abs(x)
    large = snp.maximum(size, 3)
    middle = series("DAWSN_MID", large)
    far = series("DAWSN_FAR", (1 / large) ** 2)
    tail = snp.where(large < 6, middle, far) / large
    return snp.where(size <= 3, series("DAWSN_NEAR", x * x) * x, snp.copysign(tail, x))


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral `exp(-x**2)` times the integral of `exp(t**2)` from 0 to `x`.

    Source: DLMF 7.2.5; Chebyshev series on pieces.

    >>> round(float(dawsn(1.0)), 4)
    0.5381
    """
    return _dawsn(*real_arrays("dawsn", x))


@functools.cache
def _weideman(count: int) -> tuple[float, tuple[float, ...]]:
    """The scale and the coefficients of Weideman's rational function, SIAM J. Numer. Anal. 31 (1994)."""
    points = 4 * count
    scale = math.sqrt(count / math.sqrt(2))
    t = scale * np.tan(np.arange(1 - points // 2, points // 2) * math.pi / points)
    f = np.concatenate([[0.0], np.exp(-(t**2)) * (scale**2 + t**2)])
    found = np.fft.fft(np.fft.fftshift(f)).real / points
    return scale, tuple(float(c) for c in found[count:0:-1])


def _wofz_slope(value: Any, z: Array) -> Any:
    far, large = _far(z)
    above = -1j * _asymptotic(large * large) / (_ROOT_PI * large * large)
    low = snp.where(snp.imag(z) < 0, z, 0)
    return snp.where(far, above - 4 * low * snp.exp(-low * low), -2 * z * value + 2j / _ROOT_PI)


@derived(_wofz_slope, name="wofz")
def _wofz(z: Array) -> Array:
    # The terms of the series and of the fraction, and from where on the latter is used.
    count, depth, bound = (48, 16, 8) if dtype_of(z) == dtypes.complex128 else (16, 8, 6)
    scale, coefficients = _weideman(count)
    low = snp.imag(z) < 0
    up = snp.where(low, -z, z)
    # Far from 0, a continued fraction (DLMF 7.9.3) is exact.
    far = abs(up) > bound
    outer = snp.where(far, up, 10j)
    fraction = outer
    for k in range(depth, 0, -1):
        fraction = outer - (k / 2) / fraction
    inner = snp.where(far, 0, up)
    denominator = scale - 1j * inner
    ratio = (scale + 1j * inner) / denominator
    polynomial = ratio * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        polynomial = polynomial * ratio + c
    near = 2 * polynomial / denominator**2 + 1 / (_ROOT_PI * denominator)
    above = snp.where(far, 1j / (_ROOT_PI * fraction), near)
    return snp.where(low, 2 * snp.exp(-z * snp.where(low, z, 0)) - above, above)


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function `exp(-z**2) erfc(-1j * z)` of complex numbers.

    The error is a few units in the last place of the result's absolute value; a part that is much smaller than the
    other one has fewer right digits.

    Source: J. Weideman, "Computation of the complex error function" (1994); DLMF 7.9.3 far from 0.

    >>> round(float(wofz(1j).real), 4)
    0.4276
    """
    (operand,) = promote_floating("wofz", z)
    dtype = dtype_of(operand)
    if not dtypes.is_complex(dtype):
        wide = dtypes.complex128 if dtype == dtypes.float64 else dtypes.complex64
        operand = convert_element_type(operand, wide)
    return _wofz(to_array(operand))


@functools.cache
def _legendre(count: int) -> tuple[Any, Any]:
    """Nodes and weights of Gauss's quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _owens_by_h(value: Any, h: Array, a: Array) -> Array:
    return -snp.exp(-h * h / 2) / (2 * math.sqrt(2 * math.pi)) * (1 - erfc(a * h / math.sqrt(2)))


def _owens_by_a(value: Any, h: Array, a: Array) -> Array:
    return snp.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a))


@derived(_owens_by_h, _owens_by_a, name="owens_t")
def _owens_t(h: Array, a: Array) -> Array:
    height, slope = abs(h), abs(a)
    steep = slope > 1
    first = snp.where(steep, slope * height, height)
    first = snp.where(snp.isnan(first), height, first)
    until = snp.where(steep, 1 / snp.maximum(slope, 1), slope)
    # Beyond 9 / h, the integrand is below 1e-17 of what it is at 0.
    end = snp.minimum(until, 9 / snp.maximum(first, 9))
    total: Any = 0.0
    for node, weight in zip(*_legendre(16 if dtype_of(h) != dtypes.float64 else 32)):
        x = end * float(node)
        total = total + float(weight) * snp.exp(-((first * x) ** 2) / 2) / (1 + x * x)
    part = total * end * snp.exp(-first * first / 2) / (2 * math.pi)
    # T(h, a) = (Q(h) + Q(ah)) / 2 - Q(h) Q(ah) - T(ah, 1/a), with Q the upper tail of the normal distribution.
    q, r = 0.5 * erfc(height / math.sqrt(2)), 0.5 * erfc(first / math.sqrt(2))
    out = snp.where(steep, 0.5 * (q + r) - q * r - part, part)
    return snp.where(snp.isnan(h) | snp.isnan(a), math.nan, snp.copysign(1, a) * out)


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T: the integral of `exp(-h**2 (1 + x**2) / 2) / (1 + x**2) / (2 pi)` from 0 to `a`.

    Source: D. Owen, "Tables for computing bivariate normal probabilities" (1956); Gauss's quadrature.

    >>> round(float(owens_t(0.5, 1.0)), 4)
    0.1067
    """
    return _owens_t(*real_arrays("owens_t", h, a))
