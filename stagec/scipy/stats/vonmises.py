"""Von Mises's distribution of angles, with concentration `kappa`.

The names are those of `scipy.stats.vonmises`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.scipy.special import i0e
from stagec.scipy.stats.distribution import Arguments, Distribution, publish
from stagec.typing import ArrayLike


def _arguments(x: ArrayLike, kappa: ArrayLike) -> Arguments:
    return x, (kappa,)


def _logpdf(x: Array, kappa: Array) -> Array:
    # cos(x) - 1 without cancellation.
    return -2 * kappa * snp.sin(x / 2) ** 2 - math.log(2 * math.pi) - snp.log(i0e(kappa))


_distribution = Distribution("vonmises", "von Mises's distribution", valid=lambda kappa: kappa >= 0, logpdf=_logpdf)
logpdf, pdf = _distribution.functions(_arguments, "1.3, 2.0", logpdf=-2.1269, pdf=0.1192)
publish(globals())
