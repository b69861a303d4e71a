"""The exponential distribution.

The names are those of `scipy.stats.expon`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the exponential distribution.

    >>> round(float(logpdf(1.3)), 4)
    -1.3
    """
    z, size = st.standardized("expon.logpdf", x, loc, scale)
    return st.supported(z >= 0, z, -z - snp.log(size), -math.inf)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the exponential distribution.

    >>> round(float(pdf(1.3)), 4)
    0.2725
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the exponential distribution.

    >>> round(float(cdf(1.3)), 4)
    0.7275
    """
    return -snp.expm1(logsf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3)), 4)
    -0.3182
    """
    z, _ = st.standardized("expon.logcdf", x, loc, scale)
    return st.supported(z > 0, z, st.log_one_minus_exp(-st.inside_of(z > 0, z, 1)), -math.inf)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.2725
    """
    return snp.exp(logsf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3)), 4)
    -1.3
    """
    z, _ = st.standardized("expon.logsf", x, loc, scale)
    return st.supported(z >= 0, z, -z, 0.0)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    0.3567
    """
    chance, location, size = st.scaled("expon.ppf", q, loc, scale)
    return st.quantile(chance, 0.0, math.inf, -snp.log1p(-st.within_unit(chance))) * size + location


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
