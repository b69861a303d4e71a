"""The normal distribution.

The names are those of `scipy.stats.norm`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.scipy.special import log_ndtr, ndtr, ndtri
from stagec.scipy.stats.distribution import Distribution, of_number, of_probability, publish

_distribution = Distribution(
    "norm",
    "the normal distribution",
    symmetric=True,
    logpdf=lambda z, scale: -0.5 * (z * z + math.log(2 * math.pi)) - snp.log(scale),
    cdf=ndtr,
    logcdf=log_ndtr,
    ppf=ndtri,
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    of_number, "1.3", logpdf=-1.7639, pdf=0.1714, cdf=0.9032, logcdf=-0.1018, sf=0.0968, logsf=-2.3351
)
ppf, isf = _distribution.functions(of_probability, "0.3", ppf=-0.5244, isf=0.5244)
publish(globals())
