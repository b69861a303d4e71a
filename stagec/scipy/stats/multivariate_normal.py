"""The normal distribution of vectors.

The names are those of `scipy.stats.multivariate_normal`.
"""

from __future__ import annotations

import math
from typing import Any

from stagec import numpy as snp
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.factorizations.cholesky import cholesky
from stagec.factorizations.triangular import triangular_solve
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.operand import aval_of
from stagec.scipy.stats.distribution import publish
from stagec.typing import ArrayLike


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """The logarithm of the density of the normal distribution of vectors.

    Args:
      x: points, along the last axis.
      mean: broadcasts with `x`; a number for a distribution of numbers.
      cov: the covariance, a positive definite matrix or several; a number for as many equal variances. Other
        matrices give NaN.
      allow_singular: not supported.

    >>> import stagec.numpy as snp
    >>> round(float(logpdf(snp.array([0.5, 1.0]), snp.zeros(2), snp.eye(2))), 4)
    -2.4629
    """
    if allow_singular is not None:
        raise location.error(
            errors.UnsupportedError,
            "multivariate_normal: allow_singular is not supported",
            fix="add a small multiple of the identity to a singular covariance",
        )
    point, middle, covariance = (to_array(o) for o in promote_inexact(x, mean, cov))
    deviation = point - middle
    size = middle.shape[-1] if middle.ndim else 1
    if not middle.ndim or not covariance.ndim:
        square = deviation * deviation if not middle.ndim else (deviation * deviation).sum(-1)
        return -0.5 * square / covariance - 0.5 * size * snp.log(2 * math.pi * covariance)
    if covariance.shape[-2:] != (size, size):
        raise location.error(
            errors.ShapeError,
            f"multivariate_normal: cov is {aval_of(covariance).long()}, mean {aval_of(middle).long()}",
            fix="give a covariance as many rows and columns as the mean has components",
        )
    factor = cholesky(covariance)
    lead = snp.broadcast_shapes(deviation.shape[:-1], factor.shape[:-2])
    matrices: Any = snp.broadcast_to(factor, (*lead, size, size))
    vectors = snp.broadcast_to(deviation, (*lead, size))[..., None]
    solved = triangular_solve(matrices, vectors, left_side=True, lower=True)[..., 0]
    half = snp.log(snp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return -0.5 * (solved * solved).sum(-1) - 0.5 * size * math.log(2 * math.pi) - half


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density of the normal distribution of vectors.

    >>> import stagec.numpy as snp
    >>> round(float(pdf(snp.zeros(2), snp.zeros(2), snp.eye(2))), 4)
    0.1592
    """
    return snp.exp(logpdf(x, mean, cov))


publish(globals())
