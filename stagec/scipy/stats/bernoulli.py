"""The Bernoulli distribution: 1 with probability `p`, else 0.

The names are those of `scipy.stats.bernoulli`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import log_of
from stagec.typing import ArrayLike


def _located(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (p,), loc


def _of_number(k: ArrayLike, p: ArrayLike) -> Arguments:
    return k, (p,)


def _of_probability(q: ArrayLike, p: ArrayLike) -> Arguments:
    return q, (p,)


def _cdf(k: Array, p: Array) -> Array:
    return snp.where(snp.isnan(k), math.nan, snp.where(k < 0, 0.0, snp.where(k < 1, 1 - p, 1.0)))


def _ppf(q: Array, p: Array) -> Array:
    value = snp.where(q == 0, -1.0, snp.where(q <= 1 - p, 0.0, 1.0)).astype(q.dtype)
    return snp.where((q >= 0) & (q <= 1), value, math.nan)


_distribution = Distribution(
    "bernoulli",
    "the Bernoulli distribution",
    support=lambda k, p: (k == 0) | (k == 1),
    valid=lambda p: (p >= 0) & (p <= 1),
    logpmf=lambda k, p: snp.where(k == 1, log_of(p), log_of(1 - p)),
    cdf=_cdf,
    ppf=_ppf,
)
logpmf, pmf = _distribution.functions(_located, "1, 0.3", logpmf=-1.204, pmf=0.3)
(cdf,) = _distribution.functions(_of_number, "1, 0.3", cdf=1.0)
(ppf,) = _distribution.functions(_of_probability, "0.3, 0.3", ppf=0.0)
publish(globals())
