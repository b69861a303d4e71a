"""The Bernoulli distribution: 1 with probability `p`, else 0.

The names are those of `scipy.stats.bernoulli`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the Bernoulli distribution.

    >>> round(float(logpmf(1, 0.3)), 4)
    -1.204
    """
    n, success = st.counts("bernoulli.logpmf", k, loc, p)
    inside = (n == 0) | (n == 1)
    value = snp.where(n == 1, st.log_of(success), st.log_of(1 - success))
    return st.valid((success >= 0) & (success <= 1), st.supported(inside, n, value, -math.inf))


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the Bernoulli distribution.

    >>> round(float(pmf(1, 0.3)), 4)
    0.3
    """
    return snp.exp(logpmf(k, p, loc))


def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of a number up to `k`, of the Bernoulli distribution.

    >>> round(float(cdf(1, 0.3)), 4)
    1.0
    """
    number, success = real_arrays("bernoulli.cdf", k, p)
    value = snp.where(number < 0, 0.0, snp.where(number < 1, 1 - success, 1.0))
    return st.valid((success >= 0) & (success <= 1) & ~snp.isnan(number), value)


def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3, 0.3)), 4)
    0.0
    """
    chance, success = real_arrays("bernoulli.ppf", q, p)
    value = snp.where(chance == 0, -1.0, snp.where(chance <= 1 - success, 0.0, 1.0)).astype(chance.dtype)
    return st.valid((success >= 0) & (success <= 1) & (chance >= 0) & (chance <= 1), value)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
