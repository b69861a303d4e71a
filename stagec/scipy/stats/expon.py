"""The exponential distribution.

The names are those of `scipy.stats.expon`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.stats.distribution import Distribution, of_number, of_probability, publish
from stagec.scipy.stats.standard import quantile, within

_distribution = Distribution(
    "expon",
    "the exponential distribution",
    support=lambda z: z >= 0,
    logpdf=lambda z, scale: -z - snp.log(scale),
    logsf=lambda z: within(z >= 0, z, snp.negative, 0.0),
    ppf=lambda q: quantile(q, lambda p: -snp.log1p(-p), low=0.0),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    of_number, "1.3", logpdf=-1.3, pdf=0.2725, cdf=0.7275, logcdf=-0.3182, sf=0.2725, logsf=-1.3
)
(ppf,) = _distribution.functions(of_probability, "0.3", ppf=0.3567)
publish(globals())
