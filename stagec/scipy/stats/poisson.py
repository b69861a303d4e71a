"""The Poisson distribution with mean `mu`.

The names are those of `scipy.stats.poisson`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.special import gammaincc, gammaln, xlogy
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "entropy", "logpmf", "pmf"]

_FEW = 200.0


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of `k`, of the Poisson distribution.

    >>> round(float(logpmf(1, 2.5)), 4)
    -1.5837
    """
    n, mean = st.counts("poisson.logpmf", k, loc, mu)
    inside = st.is_count(n)
    y = st.inside_of(inside, n, 0)
    return st.valid(mean >= 0, st.supported(inside, n, xlogy(y, mean) - gammaln(y + 1) - mean, -math.inf))


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of `k`, of the Poisson distribution.

    >>> round(float(pmf(1, 2.5)), 4)
    0.2052
    """
    return snp.exp(logpmf(k, mu, loc))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of a number up to `k`, of the Poisson distribution.

    >>> round(float(cdf(1, 2.5)), 4)
    0.2873
    """
    n, mean = st.counts("poisson.cdf", k, loc, mu)
    inside = n >= 0
    value = gammaincc(snp.floor(st.inside_of(inside, n, 0)) + 1, mean)
    return st.valid(mean >= 0, st.supported(inside, n, value, 0.0))


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The entropy of the Poisson distribution, in nats.

    >>> round(float(entropy(2.5)), 4)
    1.8307
    """
    (mean,) = real_arrays("poisson.entropy", mu)
    few = snp.where(mean < _FEW, mean, 1.0)[..., None]
    logs = logpmf(snp.arange(2.0 * _FEW), few)
    near = -(snp.exp(logs) * logs).sum(-1)
    many = snp.where(mean < _FEW, _FEW, mean)
    inverse = 1 / many
    # Knessl, "Integral representations and asymptotic expansions for Shannon and Renyi entropies" (1998).
    correction = ((19 / 360 * inverse + 1 / 24) * inverse + 1 / 12) * inverse
    far = 0.5 * snp.log(2 * math.pi * math.e * many) - correction
    value = snp.where(mean < _FEW, near, far)
    # A distribution at one point; the terms of the sum are not numbers there.
    value = snp.where(mean == 0, 0.0, value)
    return st.valid(mean >= 0, value)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
