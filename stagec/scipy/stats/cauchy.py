"""The Cauchy distribution.

The names are those of `scipy.stats.cauchy`.
"""

from __future__ import annotations

import math
from typing import Any

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _quantile(q: Any) -> Array:
    p = st.within_unit(q)
    # By the nearer end: the tangent grows without bound there.
    middle, low = abs(p - 0.5) < 0.25, p < 0.5
    tail = 1 / snp.tan(math.pi * snp.where(middle, 0.25, snp.where(low, p, 1 - p)))
    value = snp.where(middle, snp.tan(math.pi * (snp.where(middle, p, 0.5) - 0.5)), snp.where(low, -tail, tail))
    return st.quantile(q, -math.inf, math.inf, value)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the Cauchy distribution.

    >>> round(float(logpdf(1.3)), 4)
    -2.1343
    """
    z, size = st.standardized("cauchy.logpdf", x, loc, scale)
    return -math.log(math.pi) - snp.log1p(z * z) - snp.log(size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the Cauchy distribution.

    >>> round(float(pdf(1.3)), 4)
    0.1183
    """
    z, size = st.standardized("cauchy.pdf", x, loc, scale)
    return 1 / (math.pi * size * (1 + z * z))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the Cauchy distribution.

    >>> round(float(cdf(1.3)), 4)
    0.7913
    """
    z, _ = st.standardized("cauchy.cdf", x, loc, scale)
    return snp.arctan2(snp.ones_like(z), -z) / math.pi


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3)), 4)
    -0.2341
    """
    return snp.log(cdf(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.2087
    """
    z, _ = st.standardized("cauchy.sf", x, loc, scale)
    return snp.arctan2(snp.ones_like(z), z) / math.pi


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3)), 4)
    -1.5668
    """
    return snp.log(sf(x, loc, scale))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    -0.7265
    """
    chance, location, size = st.scaled("cauchy.ppf", q, loc, scale)
    return _quantile(chance) * size + location


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `sf`; NaN outside of [0, 1].

    >>> round(float(isf(0.3)), 4)
    0.7265
    """
    chance, location, size = st.scaled("cauchy.isf", q, loc, scale)
    return location - _quantile(chance) * size


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
