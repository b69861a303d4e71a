"""The binomial distribution of `n` trials whose probability is a beta number.

The names are those of `scipy.stats.betabinom`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import betaln
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the beta-binomial distribution.

    >>> round(float(logpmf(1, 5.0, 2.0, 3.0)), 4)
    -1.4351
    """
    m, trials, first, second = st.counts("betabinom.logpmf", k, loc, n, a, b)
    inside = st.is_count(m) & (m <= trials)
    y = st.inside_of(inside, m, 0)
    ways = -betaln(trials - y + 1, y + 1) - snp.log1p(trials)
    value = ways + betaln(y + first, trials - y + second) - betaln(first, second)
    return st.valid(st.is_count(trials) & (first > 0) & (second > 0), st.supported(inside, m, value, -math.inf))


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the beta-binomial distribution.

    >>> round(float(pmf(1, 5.0, 2.0, 3.0)), 4)
    0.2381
    """
    return snp.exp(logpmf(k, n, a, b, loc))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
