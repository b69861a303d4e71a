"""The Dirichlet distribution, by the names of `scipy.stats.dirichlet`."""

from __future__ import annotations

import math

from stagec import numpy as snp
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.operand import aval_of
from stagec.scipy.special import gammaln, xlogy
from stagec.scipy.stats.distribution import publish
from stagec.scipy.stats.standard import valid
from stagec.typing import ArrayLike


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density of the Dirichlet distribution, minus infinity outside of its simplex.

    Args:
      x: points along the first axis; the last component may be left out, as all of them sum to 1.
      alpha: concentrations, shape (K,).

    >>> import stagec.numpy as snp
    >>> round(float(logpdf(snp.array([0.2, 0.3, 0.5]), snp.array([1.0, 2.0, 3.0]))), 4)
    1.5041
    """
    point, weights = (to_array(o) for o in promote_inexact(x, alpha))
    if weights.ndim != 1 or not point.ndim or point.shape[0] not in (len(weights), len(weights) - 1):
        raise location.error(
            errors.ShapeError,
            f"dirichlet: x is {aval_of(point).long()}, alpha {aval_of(weights).long()}",
            fix="give alpha one axis, and x as many components along its first one",
        )
    if point.shape[0] != len(weights):
        point = snp.concatenate([point, 1 - point.sum(0, keepdims=True)])
    weights = weights.reshape(-1, *[1] * (point.ndim - 1))
    tolerance = 100 * float(finfo(point.dtype).eps)
    inside = (point >= 0).all(0) & (point <= 1).all(0) & (abs(point.sum(0) - 1) < max(tolerance, 1e-10))
    safe = snp.where(inside, point, 1 / point.shape[0])
    value = gammaln(weights.sum()) - gammaln(weights).sum() + xlogy(weights - 1, safe).sum(0)
    outside = snp.where(snp.isnan(point.sum(0)), math.nan, -math.inf)
    return valid((weights > 0).all(), snp.where(inside, value, outside))


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density of the Dirichlet distribution.

    >>> import stagec.numpy as snp
    >>> round(float(pdf(snp.array([0.2, 0.3, 0.5]), snp.array([1.0, 2.0, 3.0]))), 4)
    4.5
    """
    return snp.exp(logpdf(x, alpha))


publish(globals())
