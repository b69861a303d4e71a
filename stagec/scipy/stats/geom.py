"""The geometric distribution: the number of the first trial that succeeds.

The names are those of `scipy.stats.geom`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import xlog1py
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the geometric distribution.

    >>> round(float(logpmf(1, 0.3)), 4)
    -1.204
    """
    n, chance = st.counts("geom.logpmf", k, loc, p)
    inside = st.is_count(n) & (n >= 1)
    value = xlog1py(st.inside_of(inside, n, 1) - 1, -chance) + snp.log(chance)
    return st.valid((chance > 0) & (chance <= 1), st.supported(inside, n, value, -math.inf))


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the geometric distribution.

    >>> round(float(pmf(1, 0.3)), 4)
    0.3
    """
    return snp.exp(logpmf(k, p, loc))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
