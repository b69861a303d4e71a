"""The beta distribution with parameters `a` and `b`.

The names are those of `scipy.stats.beta`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.special import betainc, betaln, xlog1py, xlogy
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (a, b), loc, scale


_distribution = Distribution(
    "beta",
    "the beta distribution",
    support=lambda z, a, b: (z >= 0) & (z <= 1),
    anchor=0.5,
    valid=lambda a, b: (a > 0) & (b > 0),
    logpdf=lambda z, scale, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b) - snp.log(scale),
    cdf=lambda z, a, b: betainc(a, b, snp.clip(z, 0, 1)),
    sf=lambda z, a, b: betainc(b, a, 1 - snp.clip(z, 0, 1)),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    _arguments, "0.3, 2.0, 3.0", logpdf=0.5676, pdf=1.764, cdf=0.3483, logcdf=-1.0547, sf=0.6517, logsf=-0.4282
)
publish(globals())
