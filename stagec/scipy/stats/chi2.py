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


def _gamma_parameters(name: str, df: Any, scale: Any) -> tuple[Any, Any]:
    """The shape and the scale of the gamma distribution that it is."""
    freedom, size = real_arrays(name, df, scale)
    return freedom / 2, size * 2


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the chi-squared distribution.

    >>> round(float(logpdf(1.3, 3.0)), 4)
    -1.4378
    """
    half, double = _gamma_parameters("chi2.logpdf", df, scale)
    return gamma.logpdf(x, half, loc, double)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the chi-squared distribution.

    >>> round(float(pdf(1.3, 3.0)), 4)
    0.2375
    """
    half, double = _gamma_parameters("chi2.pdf", df, scale)
    return gamma.pdf(x, half, loc, double)


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the chi-squared distribution.

    >>> round(float(cdf(1.3, 3.0)), 4)
    0.2709
    """
    half, double = _gamma_parameters("chi2.cdf", df, scale)
    return gamma.cdf(x, half, loc, double)


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `cdf`, accurate where it is small.

    >>> round(float(logcdf(1.3, 3.0)), 4)
    -1.3061
    """
    half, double = _gamma_parameters("chi2.logcdf", df, scale)
    return gamma.logcdf(x, half, loc, double)


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number above `x`, accurate where it is small.

    >>> round(float(sf(1.3, 3.0)), 4)
    0.7291
    """
    half, double = _gamma_parameters("chi2.sf", df, scale)
    return gamma.sf(x, half, loc, double)


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of `sf`.

    >>> round(float(logsf(1.3, 3.0)), 4)
    -0.3159
    """
    half, double = _gamma_parameters("chi2.logsf", df, scale)
    return gamma.logsf(x, half, loc, double)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
