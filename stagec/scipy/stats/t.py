"""Student's distribution with `df` degrees of freedom.

The names are those of `scipy.stats.t`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.special import betaln
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density of Student's distribution.

    >>> round(float(logpdf(1.3, 3.0)), 4)
    -1.8945
    """
    z, size, freedom = st.standardized("t.logpdf", x, loc, scale, df)
    value = -0.5 * (freedom + 1) * snp.log1p(z * z / freedom) - betaln(0.5 * freedom, 0.5) - 0.5 * snp.log(freedom)
    return st.valid(freedom > 0, value - snp.log(size))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density of Student's distribution.

    >>> round(float(pdf(1.3, 3.0)), 4)
    0.1504
    """
    return snp.exp(logpdf(x, df, loc, scale))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
