"""Updates of Cholesky factors, and symmetric products."""

from __future__ import annotations

from stagec.control.loops import fori_loop
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.factorizations.row import matrix_argument
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.diagonals import tril
from stagec.numpy.manipulation import matrix_transpose
from stagec.primitives import arithmetic as ar
from stagec.primitives.checks import same_dtype
from stagec.primitives.operand import aval_of, promote_weak_scalars
from stagec.typing import ArrayLike


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The Cholesky factor of R^T R + w w^T, given the factor R and the vector w.

    Args:
      r_matrix: a real upper triangle.
      w_vector: a vector with as many elements.

    Source: Golub and Van Loan, "Matrix Computations", 6.5.4, by rotations.

    >>> import stagec.numpy as snp
    >>> cholesky_update(snp.array([[3.0, 0.0], [0.0, 1.0]]), snp.array([4.0, 0.0]))
    Array([[5., 0.],
           [0., 1.]], dtype=float32)
    """
    r, w = promote_weak_scalars(r_matrix, w_vector)
    same_dtype("cholesky_update", (aval_of(r), aval_of(w)))
    r = matrix_argument("cholesky_update", r, square=True)
    n = aval_of(r).shape[-1]
    if aval_of(r).ndim != 2 or aval_of(w).shape != (n,) or aval_of(r).dtype.kind != "f":
        raise location.error(
            errors.ShapeError if aval_of(r).dtype.kind == "f" else errors.DtypeError,
            f"cholesky_update: {aval_of(r).long()} and {aval_of(w).long()} are not a real triangle and a vector",
            fix="pass a square matrix of floats and a vector with as many elements; stagec.vmap maps over batches",
        )

    def rotate(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        r, w = state
        row = at(r, k)
        x, y = at(row, k), at(w, k)
        idle = y == 0
        # Scaled, so that no square overflows or underflows.
        largest = where(idle, 1, ar.max(abs(x), abs(y)))
        x, y = where(idle, 1, x / largest), y / largest
        length = ar.sqrt(x * x + y * y)
        c, s = x / length, y / length
        return put(r, c * row + s * w, k), c * w - s * row

    return fori_loop(0, n, rotate, (r, w))[0]


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """alpha A A^T + beta C.

    Args:
      a_matrix: real matrices `(..., m, n)`.
      c_matrix: symmetric matrices `(..., m, m)`.
      symmetrize_output: copy the lower triangle to the upper one.

    >>> import stagec.numpy as snp
    >>> symmetric_product(snp.array([[1.0], [2.0]]), snp.eye(2), beta=10.0)
    Array([[11.,  2.],
           [ 2., 14.]], dtype=float32)
    """
    x, y = promote_weak_scalars(a_matrix, c_matrix)
    same_dtype("symmetric_product", (aval_of(x), aval_of(y)))
    a, c = matrix_argument("symmetric_product", x), matrix_argument("symmetric_product", y, square=True)
    rows = aval_of(a).shape[:-1]
    if aval_of(c).shape != (*rows, rows[-1]):
        raise location.error(
            errors.ShapeError,
            f"symmetric_product: {aval_of(a).long()} and {aval_of(c).long()} do not match",
            fix="pass square matrices for c_matrix, with as many rows as those of a_matrix",
        )
    found = alpha * (a @ matrix_transpose(a)) + beta * c
    if symmetrize_output:
        found = tril(found) + matrix_transpose(tril(found, -1))
    return found
