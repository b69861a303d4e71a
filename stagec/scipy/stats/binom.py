"""The binomial distribution of `n` trials.

The names are those of `scipy.stats.binom`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import betaln, xlog1py, xlogy
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import is_count
from stagec.typing import ArrayLike


def _arguments(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (n, p), loc


def _logpmf(k: Array, n: Array, p: Array) -> Array:
    return xlogy(k, p) + xlog1py(n - k, -p) - betaln(n - k + 1, k + 1) - snp.log1p(n)


_distribution = Distribution(
    "binom",
    "the binomial distribution",
    support=lambda k, n, p: is_count(k) & (k <= n),
    valid=lambda n, p: is_count(n) & (p >= 0) & (p <= 1),
    logpmf=_logpmf,
)
logpmf, pmf = _distribution.functions(_arguments, "1, 5.0, 0.3", logpmf=-1.0212, pmf=0.3601)
publish(globals())
