"""The negative binomial distribution: failures before the `n`-th success.

The names are those of `scipy.stats.nbinom`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.special import betaln, xlog1py
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import is_count
from stagec.typing import ArrayLike


def _arguments(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (n, p), loc


_distribution = Distribution(
    "nbinom",
    "the negative binomial distribution",
    support=lambda k, n, p: is_count(k),
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpmf=lambda k, n, p: n * snp.log(p) + xlog1py(k, -p) - betaln(n, k + 1) - snp.log(n + k),
)
logpmf, pmf = _distribution.functions(_arguments, "1, 5.0, 0.3", logpmf=-4.7671, pmf=0.0085)
publish(globals())
