"""The chi-squared distribution with `df` degrees of freedom.

The names are those of `scipy.stats.chi2`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.scipy.special import gammainc, gammaincc, gammaln, xlogy
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import within
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (df,), loc, scale


# The gamma distribution of shape df / 2 and scale 2.
_distribution = Distribution(
    "chi2",
    "the chi-squared distribution",
    support=lambda z, df: (z >= 0) & (z < math.inf),
    anchor=1,
    valid=lambda df: df > 0,
    logpdf=lambda z, scale, df: xlogy(df / 2 - 1, z / 2) - z / 2 - gammaln(df / 2) - snp.log(2 * scale),
    cdf=lambda z, df: within(z > 0, z, lambda y: gammainc(df / 2, y / 2), 0.0),
    sf=lambda z, df: within(z > 0, z, lambda y: gammaincc(df / 2, y / 2), 1.0),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    _arguments, "1.3, 3.0", logpdf=-1.4378, pdf=0.2375, cdf=0.2709, logcdf=-1.3061, sf=0.7291, logsf=-0.3159
)
publish(globals())
