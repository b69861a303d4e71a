"""Draws that need a factorization: orthogonal matrices, and normal vectors with a covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Shape
from stagec.numpy.arguments import array_argument
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import as_shape
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import expand_dims
from stagec.random.draws import draw_normal, drawn_shape, float_dtype, parameter, wanted_dtype
from stagec.random.keys import KeyLike, as_key
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["multivariate_normal", "orthogonal"]


def orthogonal(key: KeyLike, n: int, shape: Shape = (), dtype: DTypeLike = None, m: int | None = None) -> Array:
    """Orthogonal or unitary matrices of the uniform distribution; with `m`, matrices of `n` rows and `m` columns.

    Args:
      shape: how many matrices, along leading axes.

    >>> import stagec.numpy as snp
    >>> from stagec import random
    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(abs(q @ q.T - snp.eye(3)).max() < 1e-6)
    True
    """
    wanted = wanted_dtype("orthogonal", dtype, dtypes.INEXACT, "a floating-point or complex dtype")
    rows, columns = as_shape((n, n if m is None else m), "orthogonal")
    sizes = (*as_shape(shape, "orthogonal"), max(rows, columns), min(rows, columns))
    q, r = snp.linalg.qr(draw_normal(as_key("orthogonal", key), sizes, wanted))
    # The signs of R's diagonal are a convention of the algorithm, not random.
    signs = snp.diagonal(r, axis1=-2, axis2=-1)
    q = q * expand_dims(signs / abs(signs).astype(wanted), (-2,))
    return q.mT if rows < columns else q


def multivariate_normal(
    key: KeyLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    method: str = "cholesky",
) -> Array:
    """Normal vectors with a mean and a covariance.

    Args:
      mean: vectors along the last axis.
      cov: positive semidefinite matrices along the last two axes.
      shape: the leading axes of the result; by default those of `mean` and `cov`, broadcast.
      method: `"cholesky"`, for which `cov` has to be definite, `"eigh"` or `"svd"`.

    >>> import stagec.numpy as snp
    >>> from stagec import random
    >>> random.multivariate_normal(random.key(0), snp.zeros(2), snp.eye(2), (5,)).shape
    (5, 2)
    """
    factors: dict[str, Callable[[Any], Any]] = {
        "cholesky": snp.linalg.cholesky,
        "eigh": _by_eigenvalues,
        "svd": _by_singular_values,
    }
    if method not in factors:
        raise location.error(
            ValueError, f"multivariate_normal: method is {method!r}", fix="pass 'cholesky', 'eigh' or 'svd'"
        )
    means, spread = promote_inexact(array_argument(mean, "mean"), array_argument(cov, "cov"))
    wanted = float_dtype("multivariate_normal", aval_of(means).dtype if dtype is None else dtype)
    shapes = aval_of(means).shape, aval_of(spread).shape
    if not shapes[0] or len(shapes[1]) < 2 or shapes[1][-2:] != (shapes[0][-1],) * 2:
        raise location.error(
            errors.ShapeError,
            f"multivariate_normal: a mean of {aval_of(means).long()} and a covariance of {aval_of(spread).long()}",
            fix="pass vectors of n elements and matrices of n rows and columns",
        )
    size = shapes[0][-1]
    sizes = drawn_shape(
        "multivariate_normal", shape, *(np.broadcast_to(0, s) for s in (shapes[0][:-1], shapes[1][:-2]))
    )
    # Factorizations have no half precision.
    work = wanted if wanted.itemsize > 2 else dtypes.float32
    factor = snp.astype(factors[method](parameter("multivariate_normal", spread, work, shapes[1])), wanted)
    drawn = draw_normal(as_key("multivariate_normal", key), (*sizes, size), wanted)
    factor = broadcast_to_shape(factor, (*sizes, size, size))
    return parameter("multivariate_normal", means, wanted, (*sizes, size)) + (factor @ drawn[..., None])[..., 0]


def _by_eigenvalues(cov: Array) -> Array:
    values, vectors = snp.linalg.eigh(cov)
    return vectors * ar.sqrt(values)[..., None, :]


def _by_singular_values(cov: Array) -> Array:
    u, s, _ = snp.linalg.svd(cov)
    return u * ar.sqrt(s)[..., None, :]
