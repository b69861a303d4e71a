"""Student's distribution with `df` degrees of freedom.

The names are those of `scipy.stats.t`.
"""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import betaln
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Arguments:
    return x, (df,), loc, scale


def _logpdf(z: Array, scale: Array, df: Array) -> Array:
    value = -0.5 * (df + 1) * snp.log1p(z * z / df) - betaln(0.5 * df, 0.5) - 0.5 * snp.log(df)
    return value - snp.log(scale)


_distribution = Distribution("t", "Student's distribution", valid=lambda df: df > 0, logpdf=_logpdf)
logpdf, pdf = _distribution.functions(_arguments, "1.3, 3.0", logpdf=-1.8945, pdf=0.1504)
publish(globals())
