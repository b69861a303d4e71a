"""The Cauchy distribution wrapped around the circle, on [0, 2 pi].

The names are those of `scipy.stats.wrapcauchy`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, c: ArrayLike) -> Arguments:
    return x, (c,)


def _logpdf(x: Array, c: Array) -> Array:
    # 1 + c^2 - 2 c cos(x), without cancellation.
    below = (1 - c) ** 2 + 4 * c * snp.sin(x / 2) ** 2
    return snp.log1p(-c * c) - math.log(2 * math.pi) - snp.log(below)


_distribution = Distribution(
    "wrapcauchy",
    "the wrapped Cauchy distribution",
    support=lambda x, c: (x >= 0) & (x <= 2 * math.pi),
    valid=lambda c: (c > 0) & (c < 1),
    logpdf=_logpdf,
)
logpdf, pdf = _distribution.functions(_arguments, "1.3, 0.5", logpdf=-2.1079, pdf=0.1215)
publish(globals())
