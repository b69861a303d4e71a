"""The multinomial distribution, by the names of `scipy.stats.multinomial`."""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.scipy.special import gammaln, xlogy
from stagec.scipy.stats.distribution import publish
from stagec.scipy.stats.standard import is_count
from stagec.typing import ArrayLike


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of counts in `n` trials.

    Args:
      x: counts of the outcomes, along the last axis.
      n: how many trials; other sums of counts are impossible.
      p: probabilities of the outcomes, along the last axis.

    >>> import stagec.numpy as snp
    >>> round(float(logpmf(snp.array([1, 2]), 3, snp.array([0.4, 0.6]))), 4)
    -0.8393
    """
    counts, trials, chances = (to_array(o) for o in promote_inexact(x, n, p))
    inside = is_count(counts).all(-1) & (counts.sum(-1) == trials)
    safe = snp.where(is_count(counts), counts, 0)
    value = gammaln(trials + 1) + (xlogy(safe, chances) - gammaln(safe + 1)).sum(-1)
    return snp.where(inside, value, -math.inf)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of counts in `n` trials.

    >>> import stagec.numpy as snp
    >>> round(float(pmf(snp.array([1, 2]), 3, snp.array([0.4, 0.6]))), 4)
    0.432
    """
    return snp.exp(logpmf(x, n, p))


publish(globals())
