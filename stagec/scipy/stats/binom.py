"""The binomial distribution of `n` trials.

The names are those of `scipy.stats.binom`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import betaln, xlog1py, xlogy
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the binomial distribution.

    >>> round(float(logpmf(1, 5.0, 0.3)), 4)
    -1.0212
    """
    m, trials, chance = st.counts("binom.logpmf", k, loc, n, p)
    inside = st.is_count(m) & (m <= trials)
    y = st.inside_of(inside, m, 0)
    value = xlogy(y, chance) + xlog1py(trials - y, -chance) - betaln(trials - y + 1, y + 1) - snp.log1p(trials)
    return st.valid(st.is_count(trials) & (chance >= 0) & (chance <= 1), st.supported(inside, m, value, -math.inf))


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the binomial distribution.

    >>> round(float(pmf(1, 5.0, 0.3)), 4)
    0.3601
    """
    return snp.exp(logpmf(k, n, p, loc))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
