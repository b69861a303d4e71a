"""The Pareto distribution of shape `b`, on [1, infinity).

The names are those of `scipy.stats.pareto`.
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


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the Pareto distribution.

    >>> round(float(logpdf(1.7, 2.5)), 4)
    -0.9409
    """
    z, size, second = st.standardized("pareto.logpdf", x, loc, scale, b)
    value = snp.log(second) - (second + 1) * snp.log(st.inside_of(z >= 1, z, 1)) - snp.log(size)
    return st.valid(second > 0, st.supported(z >= 1, z, value, -math.inf))


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the Pareto distribution.

    >>> round(float(pdf(1.7, 2.5)), 4)
    0.3903
    """
    return snp.exp(logpdf(x, b, loc, scale))


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the Pareto distribution.

    >>> round(float(cdf(1.7, 2.5)), 4)
    0.7346
    """
    return -snp.expm1(logsf(x, b, loc, scale))


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.7, 2.5)), 4)
    -0.3084
    """
    return st.log_one_minus_exp(logsf(x, b, loc, scale))


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.7, 2.5)), 4)
    0.2654
    """
    return snp.exp(logsf(x, b, loc, scale))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.7, 2.5)), 4)
    -1.3266
    """
    z, _, second = st.standardized("pareto.logsf", x, loc, scale, b)
    return st.valid(second > 0, st.supported(z >= 1, z, -second * snp.log(st.inside_of(z >= 1, z, 1)), 0.0))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3, 2.5)), 4)
    1.1533
    """
    chance, location, size, second = st.scaled("pareto.ppf", q, loc, scale, b)
    value = st.quantile(chance, 1.0, math.inf, snp.exp(-snp.log1p(-st.within_unit(chance)) / second))
    return st.valid(second > 0, value * size + location)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
