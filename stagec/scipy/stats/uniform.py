"""The uniform distribution on [`loc`, `loc + scale`].

The names are those of `scipy.stats.uniform`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of the uniform distribution.

    >>> round(float(logpdf(0.3)), 4)
    0.0
    """
    z, size = st.standardized("uniform.logpdf", x, loc, scale)
    return st.supported((z >= 0) & (z <= 1), z, snp.log(1 / size), -math.inf)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of the uniform distribution.

    >>> round(float(pdf(0.3)), 4)
    1.0
    """
    return snp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of a number up to `x`, of the uniform distribution.

    >>> round(float(cdf(0.3)), 4)
    0.3
    """
    z, _ = st.standardized("uniform.cdf", x, loc, scale)
    return snp.clip(z, 0, 1)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of `cdf`: the quantile of a probability; NaN outside of [0, 1].

    >>> round(float(ppf(0.3)), 4)
    0.3
    """
    chance, location, size = st.scaled("uniform.ppf", q, loc, scale)
    return snp.where((chance >= 0) & (chance <= 1), chance * size + location, math.nan)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
