"""The generalized normal distribution, whose density falls as `exp(-|x|**beta)`.

The names are those of `scipy.stats.gennorm`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import gammainc, gammaincc, gammaln
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, beta: ArrayLike) -> Arguments:
    return x, (beta,)


def _power(x: Array, beta: Array) -> Array:
    """`|x|**beta`, whose derivative at 0 is finite."""
    zero = x == 0
    return snp.where(zero, 0.0, snp.exp(beta * snp.log(abs(snp.where(zero, 1.0, x)))))


def _cdf(x: Array, beta: Array) -> Array:
    inverse, power = 1 / beta, _power(x, beta)
    value = snp.where(x < 0, 0.5 * gammaincc(inverse, power), 0.5 + 0.5 * gammainc(inverse, power))
    return snp.where(snp.isnan(x), math.nan, value)


_distribution = Distribution(
    "gennorm",
    "the generalized normal distribution",
    valid=lambda beta: beta > 0,
    logpdf=lambda x, beta: snp.log(0.5 * beta) - gammaln(1 / beta) - _power(x, beta),
    cdf=_cdf,
)
logpdf, pdf, cdf = _distribution.functions(_arguments, "1.3, 1.5", logpdf=-2.0731, pdf=0.1258, cdf=0.9363)
publish(globals())
