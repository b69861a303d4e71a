"""The Poisson distribution with mean `mu`.

The names are those of `scipy.stats.poisson`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.arguments import real_arrays
from stagec.scipy.special import gammaincc, gammaln, xlogy
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import is_count, valid, within
from stagec.typing import ArrayLike

_FEW = 200.0


def _arguments(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (mu,), loc


_distribution = Distribution(
    "poisson",
    "the Poisson distribution",
    support=lambda k, mu: is_count(k),
    valid=lambda mu: mu >= 0,
    logpmf=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=lambda k, mu: within(k >= 0, k, lambda y: gammaincc(snp.floor(y) + 1, mu), 0.0, anchor=0),
)
logpmf, pmf, cdf = _distribution.functions(_arguments, "1, 2.5", logpmf=-1.5837, pmf=0.2052, cdf=0.2873)


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
    return valid(mean >= 0, value)


publish(globals())
