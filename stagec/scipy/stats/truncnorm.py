"""The normal distribution between `a` and `b`, which are numbers of deviations from its mean.

The names are those of `scipy.stats.truncnorm`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import log_ndtr, ndtr
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_mass(low: Array, high: Array) -> Array:
    """The logarithm of a normal number's probability to be between two bounds, by the tail that both are in."""
    upper, lower = low > 0, high <= 0
    near = snp.where(upper, low, snp.where(lower, -high, 1.0))
    far = snp.where(upper, high, snp.where(lower, -low, 2.0))
    top = log_ndtr(-near)
    one_tail = top + st.log_one_minus_exp(log_ndtr(-far) - top)
    two_tails = snp.log1p(-ndtr(snp.where(upper | lower, -1.0, low)) - ndtr(snp.where(upper | lower, -1.0, -high)))
    return snp.where(upper | lower, one_tail, two_tails)


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the truncated normal distribution.

    >>> round(float(logpdf(1.3, -1.0, 2.0)), 4)
    -1.5638
    """
    z, size, first, second = st.standardized("truncnorm.logpdf", x, loc, scale, a, b)
    inside = (z >= first) & (z <= second)
    value = -0.5 * (z * z + math.log(2 * math.pi)) - snp.log(size) - _log_mass(first, second)
    return st.valid(first < second, st.supported(inside, z, value, -math.inf))


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the truncated normal distribution.

    >>> round(float(pdf(1.3, -1.0, 2.0)), 4)
    0.2093
    """
    return snp.exp(logpdf(x, a, b, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the truncated normal distribution.

    >>> round(float(cdf(1.3, -1.0, 2.0)), 4)
    0.9095
    """
    return snp.exp(logcdf(x, a, b, loc, scale))


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3, -1.0, 2.0)), 4)
    -0.0948
    """
    z, _, first, second = st.standardized("truncnorm.logcdf", x, loc, scale, a, b)
    inside = (z > first) & (z < second)
    value = _log_mass(first, st.inside_of(inside, z, second)) - _log_mass(first, second)
    return st.valid(first < second, st.supported(inside, z, value, snp.where(z <= first, -math.inf, 0.0)))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3, -1.0, 2.0)), 4)
    0.0905
    """
    return snp.exp(logsf(x, a, b, loc, scale))


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3, -1.0, 2.0)), 4)
    -2.4028
    """
    z, _, first, second = st.standardized("truncnorm.logsf", x, loc, scale, a, b)
    inside = (z > first) & (z < second)
    value = _log_mass(st.inside_of(inside, z, first), second) - _log_mass(first, second)
    return st.valid(first < second, st.supported(inside, z, value, snp.where(z >= second, -math.inf, 0.0)))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
