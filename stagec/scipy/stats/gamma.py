"""The gamma distribution of shape `a`.

The names are those of `scipy.stats.gamma`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.scipy.special import gammainc, gammaincc, gammaln, xlogy
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import within
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (a,), loc, scale


_distribution = Distribution(
    "gamma",
    "the gamma distribution",
    support=lambda z, a: (z >= 0) & (z < math.inf),
    anchor=1,
    valid=lambda a: a > 0,
    logpdf=lambda z, scale, a: xlogy(a - 1, z) - z - gammaln(a) - snp.log(scale),
    cdf=lambda z, a: within(z > 0, z, lambda y: gammainc(a, y), 0.0),
    sf=lambda z, a: within(z > 0, z, lambda y: gammaincc(a, y), 1.0),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    _arguments, "1.3, 2.0", logpdf=-1.0376, pdf=0.3543, cdf=0.3732, logcdf=-0.9857, sf=0.6268, logsf=-0.4671
)
publish(globals())
