"""The uniform distribution on [`loc`, `loc + scale`].

The names are those of `scipy.stats.uniform`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.scipy.stats.distribution import Distribution, of_number, of_probability, publish

_distribution = Distribution(
    "uniform",
    "the uniform distribution",
    support=lambda z: (z >= 0) & (z <= 1),
    logpdf=lambda z, scale: snp.log(1 / scale),
    cdf=lambda z: snp.clip(z, 0, 1),
    ppf=lambda q: snp.where((q >= 0) & (q <= 1), q, math.nan),
)
logpdf, pdf, cdf = _distribution.functions(of_number, "0.3", logpdf=0.0, pdf=1.0, cdf=0.3)
(ppf,) = _distribution.functions(of_probability, "0.3", ppf=0.3)
publish(globals())
