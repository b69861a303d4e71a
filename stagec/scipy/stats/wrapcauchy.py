"""The Cauchy distribution wrapped around the circle, on [0, 2 pi].

The names are those of `scipy.stats.wrapcauchy`.
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

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density of the wrapped Cauchy distribution.

    >>> round(float(logpdf(1.3, 0.5)), 4)
    -2.1079
    """
    number, closeness = real_arrays("wrapcauchy.logpdf", x, c)
    # 1 + closeness^2 - 2 closeness cos(number), without cancellation.
    below = (1 - closeness) ** 2 + 4 * closeness * snp.sin(number / 2) ** 2
    value = snp.log1p(-closeness * closeness) - math.log(2 * math.pi) - snp.log(below)
    inside = (number >= 0) & (number <= 2 * math.pi)
    return st.valid((closeness > 0) & (closeness < 1), st.supported(inside, number, value, -math.inf))


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density of the wrapped Cauchy distribution.

    >>> round(float(pdf(1.3, 0.5)), 4)
    0.1215
    """
    return snp.exp(logpdf(x, c))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
