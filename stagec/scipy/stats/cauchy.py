"""The Cauchy distribution.

The names are those of `scipy.stats.cauchy`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.stats.distribution import Distribution, of_number, of_probability, publish
from stagec.scipy.stats.standard import quantile


def _quantile(p: Array) -> Array:
    # By the nearer end: the tangent grows without bound there.
    middle, low = abs(p - 0.5) < 0.25, p < 0.5
    tail = 1 / snp.tan(math.pi * snp.where(middle, 0.25, snp.where(low, p, 1 - p)))
    return snp.where(middle, snp.tan(math.pi * (snp.where(middle, p, 0.5) - 0.5)), snp.where(low, -tail, tail))


_distribution = Distribution(
    "cauchy",
    "the Cauchy distribution",
    symmetric=True,
    logpdf=lambda z, scale: -math.log(math.pi) - snp.log1p(z * z) - snp.log(scale),
    pdf=lambda z, scale: 1 / (math.pi * scale * (1 + z * z)),
    cdf=lambda z: snp.arctan2(snp.ones_like(z), -z) / math.pi,
    ppf=lambda q: quantile(q, _quantile),
)
logpdf, pdf, cdf, logcdf, sf, logsf = _distribution.functions(
    of_number, "1.3", logpdf=-2.1343, pdf=0.1183, cdf=0.7913, logcdf=-0.2341, sf=0.2087, logsf=-1.5668
)
ppf, isf = _distribution.functions(of_probability, "0.3", ppf=-0.7265, isf=0.7265)
publish(globals())
