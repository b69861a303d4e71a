"""The logistic distribution.

The names are those of `scipy.stats.logistic`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.special import expit, logit
from stagec.scipy.stats.distribution import Distribution, of_number, publish
from stagec.scipy.stats.standard import quantile

_distribution = Distribution(
    "logistic",
    "the logistic distribution",
    symmetric=True,
    logpdf=lambda z, scale: -abs(z) - 2 * snp.log1p(snp.exp(-abs(z))) - snp.log(scale),
    cdf=expit,
    ppf=lambda q: quantile(q, logit),
)
logpdf, pdf, cdf, sf = _distribution.functions(of_number, "1.3", logpdf=-1.782, pdf=0.1683, cdf=0.7858, sf=0.2142)
ppf, isf = _distribution.functions(of_number, "0.3", ppf=-0.8473, isf=0.8473)
publish(globals())
