"""Factorizations of matrices, by JAX's `jax.lax.linalg` names."""

from __future__ import annotations

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.factorizations.cholesky import cholesky as cholesky, cholesky_p as cholesky_p
from stagec.factorizations.eigh import eigh as _eigh, eigh_p as eigh_p
from stagec.factorizations.lu import lu as lu, lu_p as lu_p
from stagec.factorizations.permutation import lu_pivots_to_permutation as lu_pivots_to_permutation
from stagec.factorizations.qr import (
    householder_product as householder_product,
    householder_product_p as householder_product_p,
    qr_factors,
    qr_p as qr_p,
)
from stagec.factorizations.svd import svd as _svd, svd_p as svd_p
from stagec.factorizations.triangular import (
    triangular_solve as triangular_solve,
    triangular_solve_p as triangular_solve_p,
)
from stagec.typing import ArrayLike

__all__ = [
    "cholesky",
    "eigh",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "qr",
    "svd",
    "triangular_solve",
]


def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Array, Array]:
    """x = Q R with orthonormal columns in Q and an upper triangle R.

    Args:
      pivoting: not supported.
      full_matrices: Q is square; otherwise it has as many columns as R has rows.

    >>> import stagec.numpy as snp
    >>> q, r = qr(snp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).round(5)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    if pivoting:
        raise location.error(
            errors.UnsupportedError,
            "qr: columns cannot be pivoted",
            fix="leave pivoting=True out",
        )
    return qr_factors(x, full_matrices)


def eigh(
    x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True
) -> tuple[Array, Array]:
    """Eigenvectors as columns, and eigenvalues in ascending order, of Hermitian matrices.

    Args:
      lower: which triangle is read, if `symmetrize_input` is false.
      symmetrize_input: take the mean of the matrix and its adjoint first.
      sort_eigenvalues: changes nothing: they are in order in any case.

    >>> import stagec.numpy as snp
    >>> vectors, values = eigh(snp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(5)
    Array([1., 3.], dtype=float32)
    """
    values, vectors = _eigh(x, lower=lower, symmetrize_input=symmetrize_input)
    return vectors, values


def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True) -> Array:
    """x = U diag(s) V^H with orthonormal columns in U and rows in V^H, and s descending.

    Args:
      full_matrices: U and V^H are square; otherwise they have as many columns and rows as there are singular values.
      compute_uv: return U, s and V^H; otherwise s alone.

    >>> import stagec.numpy as snp
    >>> svd(snp.array([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False).round(4)
    Array([2., 1.], dtype=float32)
    """
    return _svd(x, full_matrices=full_matrices, compute_uv=compute_uv)


def __dir__() -> list[str]:
    return sorted(__all__)


_publish(globals())
