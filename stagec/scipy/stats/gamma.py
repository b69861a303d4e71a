"""The gamma distribution of shape `a`.

The names are those of `scipy.stats.gamma`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import gammainc, gammaincc, gammaln, xlogy
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the gamma distribution.

    >>> round(float(logpdf(1.3, 2.0)), 4)
    -1.0376
    """
    z, size, first = st.standardized("gamma.logpdf", x, loc, scale, a)
    inside = (z >= 0) & (z < math.inf)
    y = st.inside_of(inside, z, 1)
    value = xlogy(first - 1, y) - y - gammaln(first) - snp.log(size)
    return st.valid(first > 0, st.supported(inside, z, value, -math.inf))


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the gamma distribution.

    >>> round(float(pdf(1.3, 2.0)), 4)
    0.3543
    """
    return snp.exp(logpdf(x, a, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the gamma distribution.

    >>> round(float(cdf(1.3, 2.0)), 4)
    0.3732
    """
    z, _, first = st.standardized("gamma.cdf", x, loc, scale, a)
    return st.valid(first > 0, st.supported(z > 0, z, gammainc(first, st.inside_of(z > 0, z, 1)), 0.0))


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3, 2.0)), 4)
    -0.9857
    """
    return st.log_of(cdf(x, a, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3, 2.0)), 4)
    0.6268
    """
    z, _, first = st.standardized("gamma.sf", x, loc, scale, a)
    return st.valid(first > 0, st.supported(z > 0, z, gammaincc(first, st.inside_of(z > 0, z, 1)), 1.0))


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3, 2.0)), 4)
    -0.4671
    """
    return st.log_of(sf(x, a, loc, scale))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
