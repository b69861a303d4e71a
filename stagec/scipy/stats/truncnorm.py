"""The normal distribution between `a` and `b`, which are numbers of deviations from its mean.

The names are those of `scipy.stats.truncnorm`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import log_ndtr, ndtr
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import log_one_minus_exp, within
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (a, b), loc, scale


def _log_mass(low: Array, high: Array) -> Array:
    """The logarithm of a normal number's probability to be between two bounds, by the tail that both are in."""
    upper, lower = low > 0, high <= 0
    near = snp.where(upper, low, snp.where(lower, -high, 1.0))
    far = snp.where(upper, high, snp.where(lower, -low, 2.0))
    top = log_ndtr(-near)
    one_tail = top + log_one_minus_exp(log_ndtr(-far) - top)
    two_tails = snp.log1p(-ndtr(snp.where(upper | lower, -1.0, low)) - ndtr(snp.where(upper | lower, -1.0, -high)))
    return snp.where(upper | lower, one_tail, two_tails)


def _logcdf(z: Array, a: Array, b: Array) -> Array:
    outside = snp.where(z <= a, -math.inf, 0.0)
    return within((z > a) & (z < b), z, lambda y: _log_mass(a, y) - _log_mass(a, b), outside, anchor=b)


def _logsf(z: Array, a: Array, b: Array) -> Array:
    outside = snp.where(z >= b, -math.inf, 0.0)
    return within((z > a) & (z < b), z, lambda y: _log_mass(y, b) - _log_mass(a, b), outside, anchor=a)


_distribution = Distribution(
    "truncnorm",
    "the truncated normal distribution",
    support=lambda z, a, b: (z >= a) & (z <= b),
    valid=lambda a, b: a < b,
    logpdf=lambda z, scale, a, b: -0.5 * (z * z + math.log(2 * math.pi)) - snp.log(scale) - _log_mass(a, b),
    logcdf=_logcdf,
    logsf=_logsf,
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    _arguments, "1.3, -1.0, 2.0", logpdf=-1.5638, pdf=0.2093, cdf=0.9095, logcdf=-0.0948, sf=0.0905, logsf=-2.4028
)
publish(globals())
