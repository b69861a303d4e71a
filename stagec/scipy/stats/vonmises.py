"""Von Mises's distribution of angles, with concentration `kappa`.

The names are those of `scipy.stats.vonmises`.
"""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.arguments import real_arrays
from stagec.scipy.special import i0e
from stagec.scipy.stats import standard as st
from stagec.typing import ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The logarithm of the density of von Mises's distribution.

    >>> round(float(logpdf(1.3, 2.0)), 4)
    -2.1269
    """
    number, strength = real_arrays("vonmises.logpdf", x, kappa)
    # cos(number) - 1 without cancellation.
    value = -2 * strength * snp.sin(number / 2) ** 2 - math.log(2 * math.pi) - snp.log(i0e(strength))
    return st.valid(strength >= 0, value)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density of von Mises's distribution.

    >>> round(float(pdf(1.3, 2.0)), 4)
    0.1192
    """
    return snp.exp(logpdf(x, kappa))


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
