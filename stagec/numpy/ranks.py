"""Functions of singular values: ranks, condition numbers, pseudoinverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.eigh import eigvalsh
from stagec.factorizations.pinv import pinv_p
from stagec.factorizations.row import adjoint
from stagec.factorizations.svd import svd
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.logical import isnan
from stagec.numpy.norms import norm
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact
from stagec.numpy.systems import inexact_matrix, inv
from stagec.primitives.axes import shape_error
from stagec.primitives.broadcast import zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.typing import ArrayLike


def _relative(tolerance: Any, a: Any, factor: float = 1.0) -> Array | float:
    """Return a relative tolerance; by default, the epsilon of the dtype times the larger size of the matrix."""
    aval = aval_of(a)
    if tolerance is None:
        return factor * max(aval.shape[-2:]) * float(finfo(aval.dtype).eps)
    return array_argument(tolerance, "rtol")


def matrix_rank(
    M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None
) -> Array:
    """The number of singular values above a tolerance.

    Args:
      M: matrices. The rank of a vector or a number is 1 if an element is not zero.
      rtol: the tolerance, relative to the largest singular value; by default, the epsilon of the dtype times the larger
        size.
      hermitian: the matrices are symmetric or Hermitian; eigenvalues are computed instead.
      tol: another name of `rtol`.

    >>> import stagec.numpy as snp
    >>> matrix_rank(snp.ones((3, 3)))
    Array(1, dtype=int32)
    """
    M = array_argument(M, "M")
    if M.ndim < 2:
        return (M != 0).any().astype(int)
    a = inexact_matrix("matrix_rank", M, square=hermitian)
    values = abs(eigvalsh(a)) if hermitian else svd(a, compute_uv=False)
    limit = _relative(tol if rtol is None else rtol, a)
    if aval_of(values).shape[-1] == 0:
        return (values > 0).sum(-1)
    limit = values.max(-1) * limit
    return (values > limit[..., None]).sum(-1)


def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """The condition number of matrices: how much relative errors grow when systems are solved.

    Args:
      p: the order of the norm, as `norm` takes it; by default 2.

    >>> import stagec.numpy as snp
    >>> cond(snp.array([[4.0, 0.0], [0.0, 2.0]])).round(4)
    Array(2., dtype=float32)
    """
    a = inexact_matrix("cond", x)
    if 0 in aval_of(a).shape[-2:]:
        raise shape_error("cond", f"{aval_of(a).long()} has no elements", "pass matrices with rows and columns")
    if p in (None, 2, -2):
        values = svd(a, compute_uv=False)
        largest, least = values[..., 0], values[..., -1]
        found = least / largest if p == -2 else largest / least
    else:
        found = norm(a, p, (-2, -1)) * norm(inv(a), p, (-2, -1))
    given = isnan(a).any((-2, -1))
    return where(isnan(found) & ~given, np.inf, found)


def pinv(
    a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None
) -> Array:
    """The Moore-Penrose pseudoinverses of matrices.

    Args:
      rtol: singular values below `rtol` times the largest count as zeros; by default, ten times the epsilon of the
        dtype times the larger size.
      hermitian: the matrices are symmetric or Hermitian; accepted and ignored.
      rcond: another name of `rtol`.

    >>> import stagec.numpy as snp
    >>> pinv(snp.array([[2.0, 0.0], [0.0, 0.0]])).round(4)
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    a = inexact_matrix("pinv", a, square=hermitian)
    aval = aval_of(a)
    limit = _relative(rcond if rtol is None else rtol, a, 10.0)
    dtype = dtypes.real_dtype(aval.dtype)
    return pinv_p(a, broadcast_to_shape(convert_element_type(limit, dtype), aval.shape[:-2]))


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The x that minimizes the sum of squares of `a @ x - b`; if there are several, the shortest.

    Args:
      a: one matrix.
      b: a vector or a matrix.
      rcond: singular values below `rcond` times the largest count as zeros; by default, the epsilon of the dtype times
        the larger size.
      numpy_resid: return no residuals where `a` has not full rank or has no more rows than columns, as NumPy does;
        their shape depends on values, so not under `jit`.

    Returns:
      x, the sums of squares, the rank of `a`, and its singular values.

    >>> import stagec.numpy as snp
    >>> x, squares, rank, values = lstsq(snp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), snp.array([1.0, 3.0, 5.0]))
    >>> x.round(4)
    Array([1., 2.], dtype=float32)
    """
    a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
    m, n = aval_of(a).shape if aval_of(a).ndim == 2 else (-1, 0)
    if m < 0 or aval_of(b).ndim not in (1, 2) or aval_of(b).shape[0] != m:
        raise shape_error(
            "lstsq",
            f"{aval_of(a).long()} and {aval_of(b).long()} do not match",
            "pass one matrix, and a vector or a matrix of as many rows; stagec.vmap takes stacks",
        )
    vector = aval_of(b).ndim == 1
    right = reshape(b, (m, 1)) if vector else b
    if 0 in (m, n):
        x = zeros(aval_of(right).update(shape=(n, aval_of(right).shape[1])))
        values = zeros(ShapedArray.of((0,), dtypes.real_dtype(aval_of(a).dtype)))
        rank, used = (values > 0).sum(), 0
    else:
        u, values, vh = svd(a, full_matrices=False)
        keep = (values > _relative(rcond, a) * values[0]) & (values > 0)
        rank, used = keep.sum(), min(m, n)
        inverse = where(keep, 1 / where(keep, values, 1), 0).astype(aval_of(a).dtype)
        x = adjoint(vh) @ (inverse[:, None] * (adjoint(u) @ right))
    difference = abs(right - a @ x)
    squares = (difference * difference).sum(0)
    if numpy_resid and (m <= n or int(rank) < used or not used):
        squares = squares[:0]
    return (reshape(x, (n,)) if vector else x), squares, rank, values
