"""The Laplace distribution.

The names are those of `scipy.stats.laplace`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the Laplace distribution.

    >>> round(float(logpdf(1.3)), 4)
    -1.9931
    """
    z, size = st.standardized("laplace.logpdf", x, loc, scale)
    return -abs(z) - snp.log(2 * size)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the Laplace distribution.

    >>> round(float(pdf(1.3)), 4)
    0.1363
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the Laplace distribution.

    >>> round(float(cdf(1.3)), 4)
    0.8637
    """
    z, _ = st.standardized("laplace.cdf", x, loc, scale)
    half = 0.5 * snp.exp(-abs(z))
    return snp.where(z < 0, half, 1 - half)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
