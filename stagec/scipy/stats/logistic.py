"""The logistic distribution.

The names are those of `scipy.stats.logistic`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import expit, logit
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the logistic distribution.

    >>> round(float(logpdf(1.3)), 4)
    -1.782
    """
    z, size = st.standardized("logistic.logpdf", x, loc, scale)
    return -abs(z) - 2 * snp.log1p(snp.exp(-abs(z))) - snp.log(size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the logistic distribution.

    >>> round(float(pdf(1.3)), 4)
    0.1683
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the logistic distribution.

    >>> round(float(cdf(1.3)), 4)
    0.7858
    """
    z, _ = st.standardized("logistic.cdf", x, loc, scale)
    return expit(z)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3)), 4)
    0.2142
    """
    z, _ = st.standardized("logistic.sf", x, loc, scale)
    return expit(-z)


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    -0.8473
    """
    q, place, size = st.scaled("logistic.ppf", x, loc, scale)
    return st.quantile(q, -math.inf, math.inf, logit(st.within_unit(q))) * size + place


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `sf`; NaN outside of [0, 1].

    >>> round(float(isf(0.3)), 4)
    0.8473
    """
    q, place, size = st.scaled("logistic.isf", x, loc, scale)
    return place - st.quantile(q, -math.inf, math.inf, logit(st.within_unit(q))) * size


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
