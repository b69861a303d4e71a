"""The chi-squared distribution with `df` degrees of freedom.

The names are those of `scipy.stats.chi2`.
"""

from __future__ import annotations

from typing import Any

from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.stats import gamma
from stagec.typing import ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _as_gamma(name: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    """The arguments of the gamma distribution that it is, of one dtype."""
    number, place, size, freedom = real_arrays(name, x, loc, scale, df)
    return number, freedom / 2, place, size * 2


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the chi-squared distribution.

    >>> round(float(logpdf(1.3, 3.0)), 4)
    -1.4378
    """
    return gamma.logpdf(*_as_gamma("chi2.logpdf", x, df, loc, scale))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the chi-squared distribution.

    >>> round(float(pdf(1.3, 3.0)), 4)
    0.2375
    """
    return gamma.pdf(*_as_gamma("chi2.pdf", x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the chi-squared distribution.

    >>> round(float(cdf(1.3, 3.0)), 4)
    0.2709
    """
    return gamma.cdf(*_as_gamma("chi2.cdf", x, df, loc, scale))


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3, 3.0)), 4)
    -1.3061
    """
    return gamma.logcdf(*_as_gamma("chi2.logcdf", x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3, 3.0)), 4)
    0.7291
    """
    return gamma.sf(*_as_gamma("chi2.sf", x, df, loc, scale))


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3, 3.0)), 4)
    -0.3159
    """
    return gamma.logsf(*_as_gamma("chi2.logsf", x, df, loc, scale))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
