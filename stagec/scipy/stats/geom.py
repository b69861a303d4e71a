"""The geometric distribution: the number of the first trial that succeeds.

The names are those of `scipy.stats.geom`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.scipy.special import xlog1py
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.scipy.stats.standard import is_count
from stagec.typing import ArrayLike


def _arguments(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, (p,), loc


_distribution = Distribution(
    "geom",
    "the geometric distribution",
    support=lambda k, p: is_count(k) & (k >= 1),
    anchor=1,
    valid=lambda p: (p > 0) & (p <= 1),
    logpmf=lambda k, p: xlog1py(k - 1, -p) + snp.log(p),
)
logpmf, pmf = _distribution.functions(_arguments, "1, 0.3", logpmf=-1.204, pmf=0.3)
publish(globals())
