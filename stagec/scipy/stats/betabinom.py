"""The binomial distribution of `n` trials whose probability is a beta number.

The names are those of `scipy.stats.betabinom`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import betaln
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import is_count
from stagec.typing import ArrayLike


def _arguments(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (n, a, b), loc


def _logpmf(k: Array, n: Array, a: Array, b: Array) -> Array:
    ways = -betaln(n - k + 1, k + 1) - snp.log1p(n)
    return ways + betaln(k + a, n - k + b) - betaln(a, b)


_distribution = Distribution(
    "betabinom",
    "the beta-binomial distribution",
    support=lambda k, n, a, b: is_count(k) & (k <= n),
    valid=lambda n, a, b: is_count(n) & (a > 0) & (b > 0),
    logpmf=_logpmf,
)
logpmf, pmf = _distribution.functions(_arguments, "1, 5.0, 2.0, 3.0", logpmf=-1.4351, pmf=0.2381)
publish(globals())
