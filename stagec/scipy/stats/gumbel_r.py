"""The Gumbel distribution of maxima.

The names are those of `scipy.stats.gumbel_r`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.stats.distribution import Arguments, Distribution, of_number, publish
from stagec.scipy.stats.standard import quantile
from stagec.typing import ArrayLike


def _of_probability(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return p, (), loc, scale


_distribution = Distribution(
    "gumbel_r",
    "the Gumbel distribution of maxima",
    logpdf=lambda z, scale: -z - snp.exp(-z) - snp.log(scale),
    logcdf=lambda z: -snp.exp(-z),
    ppf=lambda q: quantile(q, lambda p: -snp.log(-snp.log(p))),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    of_number, "1.3", logpdf=-1.5725, pdf=0.2075, cdf=0.7614, logcdf=-0.2725, sf=0.2386, logsf=-1.4332
)
(ppf,) = _distribution.functions(_of_probability, "0.3", ppf=-0.1856)
publish(globals())
