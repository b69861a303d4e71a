"""The negative binomial distribution: failures before the `n`-th success.

The names are those of `scipy.stats.nbinom`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import betaln, xlog1py
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the negative binomial distribution.

    >>> round(float(logpmf(1, 5.0, 0.3)), 4)
    -4.7671
    """
    m, trials, chance = st.counts("nbinom.logpmf", k, loc, n, p)
    inside = st.is_count(m)
    y = st.inside_of(inside, m, 0)
    value = trials * snp.log(chance) + xlog1py(y, -chance) - betaln(trials, y + 1) - snp.log(trials + y)
    return st.valid((trials > 0) & (chance > 0) & (chance <= 1), st.supported(inside, m, value, -math.inf))


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the negative binomial distribution.

    >>> round(float(pmf(1, 5.0, 0.3)), 4)
    0.0085
    """
    return snp.exp(logpmf(k, n, p, loc))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
