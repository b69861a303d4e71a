"""The Laplace distribution.

The names are those of `scipy.stats.laplace`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.stats.distribution import Distribution, of_number, publish


def _cdf(z: Array) -> Array:
    half = 0.5 * snp.exp(-abs(z))
    return snp.where(z < 0, half, 1 - half)


_distribution = Distribution(
    "laplace",
    "the Laplace distribution",
    logpdf=lambda z, scale: -abs(z) - snp.log(2 * scale),
    cdf=_cdf,
)
logpdf, pdf, cdf = _distribution.functions(of_number, "1.3", logpdf=-1.9931, pdf=0.1363, cdf=0.8637)
publish(globals())
