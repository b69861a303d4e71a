"""The normal distribution.

The names are those of `scipy.stats.norm`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import log_ndtr, ndtr, ndtri
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_LOG_2PI = math.log(2 * math.pi)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the normal distribution.

    >>> round(float(logpdf(1.3)), 4)
    -1.7639
    """
    z, size = st.standardized("norm.logpdf", x, loc, scale)
    return -0.5 * (z * z + _LOG_2PI) - snp.log(size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the normal distribution.

    >>> round(float(pdf(1.3)), 4)
    0.1714
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the normal distribution.

    >>> round(float(cdf(1.3)), 4)
    0.9032
    """
    z, _ = st.standardized("norm.cdf", x, loc, scale)
    return ndtr(z)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3)), 4)
    -0.1018
    """
    z, _ = st.standardized("norm.logcdf", x, loc, scale)
    return log_ndtr(z)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.0968
    """
    z, _ = st.standardized("norm.sf", x, loc, scale)
    return ndtr(-z)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3)), 4)
    -2.3351
    """
    z, _ = st.standardized("norm.logsf", x, loc, scale)
    return log_ndtr(-z)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    -0.5244
    """
    chance, location, size = st.scaled("norm.ppf", q, loc, scale)
    return ndtri(chance) * size + location


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `sf`; NaN outside of [0, 1].

    >>> round(float(isf(0.3)), 4)
    0.5244
    """
    chance, location, size = st.scaled("norm.isf", q, loc, scale)
    return location - ndtri(chance) * size


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
