"""Factorizations of matrices, by JAX's `jax.lax.linalg` names."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Literal, overload

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.factorizations.cholesky import cholesky, cholesky_p as cholesky_p
from stagec.factorizations.eig import eig as _eig, eig_p as eig_p
from stagec.factorizations.eigh import eigh as _eigh, eigh_p as eigh_p
from stagec.factorizations.halley import qdwh
from stagec.factorizations.hessenberg import hessenberg, hessenberg_p as hessenberg_p
from stagec.factorizations.lu import lu, lu_p as lu_p
from stagec.factorizations.permutation import lu_pivots_to_permutation
from stagec.factorizations.pivoted import permuted
from stagec.factorizations.qr import (
    householder_product,
    householder_product_p as householder_product_p,
    qr_factors,
    qr_p as qr_p,
)
from stagec.factorizations.reflections import ormqr, ormqr_p as ormqr_p
from stagec.factorizations.row import matrix_argument
from stagec.factorizations.schur import schur as _schur, schur_p as schur_p
from stagec.factorizations.svd import svd as _svd, svd_p as svd_p
from stagec.factorizations.triangular import triangular_solve, triangular_solve_p as triangular_solve_p
from stagec.factorizations.tridiagonal_form import tridiagonal, tridiagonal_p as tridiagonal_p
from stagec.factorizations.tridiagonal_systems import tridiagonal_solve, tridiagonal_solve_p as tridiagonal_solve_p
from stagec.factorizations.updates import cholesky_update, symmetric_product
from stagec.numpy.decompositions import svd as _part_of_svd
from stagec.primitives.operand import as_operand, aval_of
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike


class EigImplementation(enum.Enum):
    """Libraries that JAX computes eigenvalues with. It is ignored here."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms that JAX has for Hermitian matrices. It is ignored here: the algorithm is always QR."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms that JAX has for singular values. It is ignored here: the algorithm is always QR."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_update", "eig", "eigh",
    "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur", "svd",
    "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
]  # fmt: skip


@overload
def qr(
    x: ArrayLike, *, pivoting: Literal[False] = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, Array]: ...
@overload
def qr(
    x: ArrayLike, *, pivoting: bool, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, ...]: ...
def qr(
    x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Array, ...]:
    """x = Q R with orthonormal columns in Q and an upper triangle R.

    Args:
      pivoting: choose the next column by its length, and return the order `p` of the columns as a third result:
        `x[:, p] = Q R`.
      full_matrices: Q is square; otherwise it has as many columns as R has rows.
      use_magma: accepted for compatibility, and ignored.

    >>> import stagec.numpy as snp
    >>> q, r = qr(snp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).round(5)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    if not pivoting:
        return qr_factors(x, full_matrices)
    x, order = permuted("qr", x)
    return *qr_factors(x, full_matrices), order


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Eigenvalues, in no order, and left and right eigenvectors as columns, of square matrices.

    The vectors have length 1. For a left one, `vl.conj().T @ x` is `w * vl.conj().T`. Matrices that are not finite have
    NaN for results.

    Args:
      compute_left_eigenvectors, compute_right_eigenvectors: what to return after the eigenvalues.
      enable_eigvec_derivs: let eigenvectors be differentiated, in which their largest element stays real. Derivatives
        are right where eigenvalues are distinct.
      implementation, use_magma: change nothing.

    >>> import stagec.numpy as snp
    >>> values, left, right = eig(snp.array([[2.0, 1.0], [0.0, 1.0]]))
    >>> values
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    x = matrix_argument("eig", as_operand(x), square=True)
    kind = {"left": compute_left_eigenvectors, "right": compute_right_eigenvectors}
    return _eig(x, derivatives=enable_eigvec_derivs, **kind)


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Eigenvectors as columns, and eigenvalues in ascending order, of Hermitian matrices.

    Args:
      lower: which triangle is read, if `symmetrize_input` is false.
      symmetrize_input: take the mean of the matrix and its adjoint first.
      sort_eigenvalues, implementation: change nothing: eigenvalues are in order in any case.
      subset_by_index: return what belongs to the eigenvalues from a first number up to before a last one only.

    >>> import stagec.numpy as snp
    >>> vectors, values = eigh(snp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(5)
    Array([1., 3.], dtype=float32)
    """
    values, vectors = _eigh(x, lower=lower, symmetrize_input=symmetrize_input)
    if subset_by_index is None:
        return vectors, values
    start, stop = subset_by_index
    if not 0 <= start <= stop <= aval_of(values).shape[-1]:
        raise location.error(
            ValueError,
            f"eigh: subset_by_index={subset_by_index} of {aval_of(values).shape[-1]} eigenvalues",
            fix="pass two numbers from 0 to the number of rows, the smaller one first",
        )
    return vectors[..., :, start:stop], values[..., start:stop]


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """x = U diag(s) V^H with orthonormal columns in U and rows in V^H, and s descending.

    Args:
      full_matrices: U and V^H are square; otherwise they have as many columns and rows as there are singular values.
      compute_uv: return U, s and V^H; otherwise s alone.
      subset_by_index: return what belongs to the singular values from a first number up to before a last one only.
      algorithm: accepted for compatibility, and ignored.

    >>> import stagec.numpy as snp
    >>> svd(snp.array([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False).round(4)
    Array([2., 1.], dtype=float32)
    """
    if subset_by_index is None:
        whole: Array | tuple[Array, Array, Array] = _svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
        return whole
    found: Any = _part_of_svd(x, full_matrices, compute_uv, subset_by_index=subset_by_index)
    return tuple(found) if compute_uv else found


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:
    """x = Q T Q^H: T and the unitary Q, or T alone.

    T is triangular. If x is real, pairs of complex eigenvalues have blocks of two rows on its diagonal.

    Args:
      compute_schur_vectors: whether to return Q.
      sort_eig_vals, select_callable: not supported.

    >>> import stagec.numpy as snp
    >>> t, q = schur(snp.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> t
    Array([[ 0.,  1.],
           [-1.,  0.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise location.error(
            errors.UnsupportedError,
            "schur: eigenvalues cannot be put in an order",
            fix="leave sort_eig_vals and select_callable out",
        )
    return list(_schur(x, compute_schur_vectors=compute_schur_vectors))


_cover(globals())
_publish(globals())
