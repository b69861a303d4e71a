"""Reduction of Hermitian matrices to tridiagonal form, with the reflections packed as in LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, MultiplePrimitive
from stagec.factorizations import tridiagonal as reduction
from stagec.factorizations.lapack import of_large
from stagec.factorizations.row import each_matrix, factorization, from_lower, matrix_argument
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.manipulation import flip
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.typing import ArrayLike


def _shape(a: ShapedArray) -> list[ShapedArray]:
    *lead, n = a.shape[:-1]
    real = dtypes.real_dtype(a.dtype)
    off = (*lead, max(n - 1, 0))
    return [
        a.strip_weak_type(), ShapedArray.of((*lead, n), real), ShapedArray.of(off, real), ShapedArray.of(off, a.dtype)
    ]  # fmt: skip


def _reflector(column: Any) -> tuple[Any, Any, Any]:
    """As `stagec.factorizations.qr.reflector`, for a NumPy column from row 0."""
    head, tail = column[0], column[1:]
    size = np.hypot(abs(head), np.linalg.norm(tail)).astype(column.real.dtype)
    if not tail.any() and (column.dtype.kind == "f" or head.imag == 0):
        return np.concatenate([np.ones(1, column.dtype), tail]), 0, head
    beta = -size if head.real > 0 else size
    return np.concatenate([np.ones(1, column.dtype), tail / (head - beta)]), (beta - head) / beta, beta


def _eval(a: Any) -> list[Any]:
    sytrd = of_large("sytrd", a, "hetrd")

    def one(a: Any) -> tuple[Any, ...]:
        if sytrd is not None:
            found: tuple[Any, ...] = sytrd(a, lower=1)[:4]
            return found
        n = a.shape[0]
        packed = np.array(a)
        whole = np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(a.diagonal().real)
        scales, off = np.zeros(max(n - 1, 0), a.dtype), np.zeros(max(n - 1, 0), a.real.dtype)
        for k in range(n - 1):
            v, scale, beta = _reflector(whole[k + 1 :, k])
            trailing = whole[k + 1 :, k + 1 :]
            p = scale * (trailing @ v)
            w = p - 0.5 * np.conj(scale) * (v.conj() @ p) * v
            trailing -= np.multiply.outer(v, w.conj()) + np.multiply.outer(w, v.conj())
            packed[k + 1, k], packed[k + 2 :, k] = beta, v[1:]
            scales[k], off[k] = scale, beta.real
        diagonal = whole.diagonal().real
        packed[np.arange(n), np.arange(n)] = diagonal
        return packed, diagonal, off, scales

    return each_matrix(one, a, out=_shape(ShapedArray.of(a.shape, a.dtype)))


def _algorithm(a: Array) -> list[Operand]:
    n = aval_of(a).shape[-1]
    d, off, vectors, scales = reduction.tridiagonal(from_lower(a))
    rows, columns = arange(n)[:, None], arange(n)
    # The vectors begin below the diagonal. The off-diagonal replaces their first elements, which are ones.
    packed = where(rows > columns + 1, vectors, a)
    packed = where(rows == columns, d[None, :].astype(aval_of(a).dtype), packed)
    packed = where(rows == columns + 1, off[None, :].astype(aval_of(a).dtype), packed)
    return [packed, d, off[: n - 1], scales[: n - 1]]


tridiagonal_p = factorization(
    MultiplePrimitive,
    "tridiagonal",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=MissingRule("its reflections are not a smooth function of a matrix", "differentiate eigh"),
    numpy_ns=5,
)


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Reduce Hermitian matrices to real tridiagonal form by reflections.

    Args:
      a: square matrices; only one triangle is read.
      lower: read the lower triangle, otherwise the upper one.

    Returns:
      Matrices with the tridiagonal form, and the vectors of the reflections in the remaining triangle; the diagonal;
      the off-diagonal; and the scales of the reflections.

    >>> import stagec.numpy as snp
    >>> _, d, e, _ = tridiagonal(snp.array([[1.0, 3.0, 4.0], [3.0, 2.0, 0.0], [4.0, 0.0, 2.0]]))
    >>> d.round(4), e.round(4)
    (Array([1., 2., 2.], dtype=float32), Array([-5.,  0.], dtype=float32))
    """
    x = matrix_argument("tridiagonal", as_operand(a), square=True)
    if lower:
        packed, d, e, scales = tridiagonal_p(x)
        return packed, d, e, scales
    # Flipped, an upper triangle is a lower one.
    packed, d, e, scales = tridiagonal_p(flip(x, (-2, -1)))
    return flip(packed, (-2, -1)), flip(d, -1), flip(e, -1), flip(scales, -1)
