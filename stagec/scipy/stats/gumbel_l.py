"""The Gumbel distribution of minima.

The names are those of `scipy.stats.gumbel_l`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.stats.distribution import Arguments, Distribution, of_number, publish
from stagec.scipy.stats.standard import quantile
from stagec.typing import ArrayLike


def _of_probability(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return p, (), loc, scale


_distribution = Distribution(
    "gumbel_l",
    "the Gumbel distribution of minima",
    logpdf=lambda z, scale: z - snp.exp(z) - snp.log(scale),
    logsf=lambda z: -snp.exp(z),
    ppf=lambda q: quantile(q, lambda p: snp.log(-snp.log1p(-p))),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    of_number, "1.3", logpdf=-2.3693, pdf=0.0935, cdf=0.9745, logcdf=-0.0258, sf=0.0255, logsf=-3.6693
)
(ppf,) = _distribution.functions(_of_probability, "0.3", ppf=-1.0309)
publish(globals())
