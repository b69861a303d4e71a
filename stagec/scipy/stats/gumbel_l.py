"""The Gumbel distribution of minima.

The names are those of `scipy.stats.gumbel_l`.
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
    """The logarithm of the density of the Gumbel distribution of minima.

    >>> round(float(logpdf(1.3)), 4)
    -2.3693
    """
    z, size = st.standardized("gumbel_l.logpdf", x, loc, scale)
    return z - snp.exp(z) - snp.log(size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the Gumbel distribution of minima.

    >>> round(float(pdf(1.3)), 4)
    0.0935
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the Gumbel distribution of minima.

    >>> round(float(cdf(1.3)), 4)
    0.9745
    """
    return -snp.expm1(logsf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3)), 4)
    -0.0258
    """
    return st.log_one_minus_exp(logsf(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.0255
    """
    return snp.exp(logsf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3)), 4)
    -3.6693
    """
    z, _ = st.standardized("gumbel_l.logsf", x, loc, scale)
    return -snp.exp(z)


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    -1.0309
    """
    chance, location, size = st.scaled("gumbel_l.ppf", p, loc, scale)
    value = snp.log(-snp.log1p(-st.within_unit(chance)))
    return st.quantile(chance, -math.inf, math.inf, value) * size + location


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
