"""The generalized normal distribution, whose density falls as `exp(-|x|**beta)`.

The names are those of `scipy.stats.gennorm`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.special import gammainc, gammaincc, gammaln
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]


def _power(x: Array, beta: Array) -> Array:
    """`|x|**beta`, whose derivative at 0 is finite."""
    zero = x == 0
    return snp.where(zero, 0.0, snp.exp(beta * snp.log(abs(snp.where(zero, 1.0, x)))))


def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The logarithm of the density of the generalized normal distribution.

    >>> round(float(logpdf(1.3, 1.5)), 4)
    -2.0731
    """
    number, exponent = real_arrays("gennorm.logpdf", x, beta)
    return st.valid(exponent > 0, snp.log(0.5 * exponent) - gammaln(1 / exponent) - _power(number, exponent))


def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The density of the generalized normal distribution.

    >>> round(float(pdf(1.3, 1.5)), 4)
    0.1258
    """
    return snp.exp(logpdf(x, beta))


def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The probability of a number up to `x`, of the generalized normal distribution.

    >>> round(float(cdf(1.3, 1.5)), 4)
    0.9363
    """
    number, exponent = real_arrays("gennorm.cdf", x, beta)
    inverse, power = 1 / exponent, _power(number, exponent)
    value = snp.where(number < 0, 0.5 * gammaincc(inverse, power), 0.5 + 0.5 * gammainc(inverse, power))
    return st.valid((exponent > 0) & ~snp.isnan(number), value)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
