"""The beta distribution with parameters `a` and `b`.

The names are those of `scipy.stats.beta`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import betainc, betaln, xlog1py, xlogy
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the beta distribution.

    >>> round(float(logpdf(0.3, 2.0, 3.0)), 4)
    0.5676
    """
    z, size, first, second = st.standardized("beta.logpdf", x, loc, scale, a, b)
    inside = (z >= 0) & (z <= 1)
    y = st.inside_of(inside, z, 0.5)
    value = xlogy(first - 1, y) + xlog1py(second - 1, -y) - betaln(first, second) - snp.log(size)
    return st.valid((first > 0) & (second > 0), st.supported(inside, z, value, -math.inf))


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the beta distribution.

    >>> round(float(pdf(0.3, 2.0, 3.0)), 4)
    1.764
    """
    return snp.exp(logpdf(x, a, b, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the beta distribution.

    >>> round(float(cdf(0.3, 2.0, 3.0)), 4)
    0.3483
    """
    z, _, first, second = st.standardized("beta.cdf", x, loc, scale, a, b)
    return st.valid((first > 0) & (second > 0), betainc(first, second, snp.clip(z, 0, 1)))


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(0.3, 2.0, 3.0)), 4)
    -1.0547
    """
    return st.log_of(cdf(x, a, b, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(0.3, 2.0, 3.0)), 4)
    0.6517
    """
    z, _, first, second = st.standardized("beta.sf", x, loc, scale, a, b)
    return st.valid((first > 0) & (second > 0), betainc(second, first, 1 - snp.clip(z, 0, 1)))


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(0.3, 2.0, 3.0)), 4)
    -0.4282
    """
    return st.log_of(sf(x, a, b, loc, scale))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
