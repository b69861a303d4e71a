"""The Gumbel distribution of maxima.

The names are those of `scipy.stats.gumbel_r`.
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
    """The logarithm of the density of the Gumbel distribution of maxima.

    >>> round(float(logpdf(1.3)), 4)
    -1.5725
    """
    z, size = st.standardized("gumbel_r.logpdf", x, loc, scale)
    return -z - snp.exp(-z) - snp.log(size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the Gumbel distribution of maxima.

    >>> round(float(pdf(1.3)), 4)
    0.2075
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the Gumbel distribution of maxima.

    >>> round(float(cdf(1.3)), 4)
    0.7614
    """
    return snp.exp(logcdf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3)), 4)
    -0.2725
    """
    z, _ = st.standardized("gumbel_r.logcdf", x, loc, scale)
    return -snp.exp(-z)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.2386
    """
    return -snp.expm1(logcdf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3)), 4)
    -1.4332
    """
    return st.log_one_minus_exp(logcdf(x, loc, scale))


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    -0.1856
    """
    chance, location, size = st.scaled("gumbel_r.ppf", p, loc, scale)
    value = -snp.log(-snp.log(st.within_unit(chance)))
    return st.quantile(chance, -math.inf, math.inf, value) * size + location


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
