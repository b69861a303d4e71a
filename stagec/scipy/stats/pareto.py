"""The Pareto distribution of shape `b`, on [1, infinity).

The names are those of `scipy.stats.pareto`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import quantile, within
from stagec.typing import ArrayLike


def _of_number(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (b,), loc, scale


def _of_probability(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return q, (b,), loc, scale


_distribution = Distribution(
    "pareto",
    "the Pareto distribution",
    support=lambda z, b: z >= 1,
    anchor=1,
    valid=lambda b: b > 0,
    logpdf=lambda z, scale, b: snp.log(b) - (b + 1) * snp.log(z) - snp.log(scale),
    logsf=lambda z, b: within(z >= 1, z, lambda y: -b * snp.log(y), 0.0),
    ppf=lambda q, b: quantile(q, lambda p: snp.exp(-snp.log1p(-p) / b), low=1.0),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    _of_number, "1.7, 2.5", logpdf=-0.9409, pdf=0.3903, cdf=0.7346, logcdf=-0.3084, sf=0.2654, logsf=-1.3266
)
(ppf,) = _distribution.functions(_of_probability, "0.3, 2.5", ppf=1.1533)
publish(globals())
