"""Factorizations of matrices, by NumPy's names."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, overload

from stagec.core import location
from stagec.core.array import Array
from stagec.factorizations import eig as general, eigh as hermitian, svd as singular
from stagec.factorizations.cholesky import cholesky as lower_factor
from stagec.factorizations.qr import packed_qr_p, qr_factors
from stagec.factorizations.row import adjoint
from stagec.numpy.conditionals import where
from stagec.numpy.manipulation import flip, matrix_transpose
from stagec.numpy.selection import take_along_axis
from stagec.numpy.sorting import argsort
from stagec.numpy.systems import inexact_matrix
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Array
    R: Array


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, and right singular vectors as rows, conjugated."""

    U: Array
    S: Array
    Vh: Array


# U, S and Vh, or S alone.
Factors: TypeAlias = Array | tuple[Array, Array, Array]


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factor L of positive definite matrices L L^H; NaN for matrices that are not positive definite.

    Args:
      upper: return the factor U of U^H U instead.
      symmetrize_input: take the mean of the matrix and its adjoint first; otherwise only its lower triangle is read,
        and the derivative is that of a function of all elements.

    >>> import stagec.numpy as snp
    >>> cholesky(snp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    found = lower_factor(inexact_matrix("cholesky", a, square=True), symmetrize_input=symmetrize_input)
    return adjoint(found) if upper else found


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete", "full"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: Literal["raw"]) -> tuple[Array, Array]: ...
@overload
def qr(a: ArrayLike, mode: str) -> Any: ...
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """`a` as a product of orthonormal columns and an upper triangle.

    Args:
      mode: `"reduced"`: as many columns as the smaller side of `a`. `"complete"`: a square Q. `"r"`: the triangle
        alone. `"raw"`: the matrix that LAPACK's geqrf returns, transposed, and the scales of its reflections.

    >>> import stagec.numpy as snp
    >>> q, r = qr(snp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> (q @ r).round(4)
    Array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    a = inexact_matrix("qr", a)
    if mode == "raw":
        packed, scales = packed_qr_p(a)
        return matrix_transpose(packed), scales
    if mode not in ("reduced", "r", "full", "complete"):
        raise location.error(ValueError, f"qr: {mode!r} is not a mode", fix="pass 'reduced', 'complete', 'r' or 'raw'")
    found = qr_factors(a, full_matrices=mode in ("full", "complete"))
    return found[1] if mode == "r" else QRResult(*found)


def _is_lower(name: str, UPLO: str | None) -> bool:
    if UPLO not in (None, "L", "U"):
        raise location.error(ValueError, f"{name}: UPLO is {UPLO!r}", fix="pass 'L' or 'U'")
    return UPLO != "U"


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric or Hermitian matrices.

    Args:
      UPLO: which triangle is read if `symmetrize_input` is false: `"L"`, which is the default, or `"U"`.
      symmetrize_input: take the mean of the matrix and its adjoint first.

    Matrices that hold infinities or NaN have NaN for results. Vectors have derivatives where eigenvalues are distinct.

    >>> import stagec.numpy as snp
    >>> values, vectors = eigh(snp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(4)
    Array([1., 3.], dtype=float32)
    """
    lower = _is_lower("eigh", UPLO)
    a = inexact_matrix("eigh", a, square=True)
    return EighResult(*hermitian.eigh(a, lower=lower, symmetrize_input=symmetrize_input))


def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order; the arguments are those of `eigh`.

    >>> import stagec.numpy as snp
    >>> eigvalsh(snp.array([[2.0, 1.0], [1.0, 2.0]])).round(4)
    Array([1., 3.], dtype=float32)
    """
    lower = _is_lower("eigvalsh", UPLO)
    a = inexact_matrix("eigvalsh", a, square=True)
    return hermitian.eigvalsh(a, lower=lower, symmetrize_input=symmetrize_input)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult | Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult | Array:
    """`a` as U diag(S) Vh, with orthonormal columns in U and rows in Vh, and S descending.

    Args:
      full_matrices: U and Vh are square; otherwise they have as many columns and rows as there are singular values.
      compute_uv: return U, S and Vh; otherwise S alone.
      hermitian: the matrices are symmetric or Hermitian; their eigenvalues are computed instead, which is faster.
      subset_by_index: `(start, stop)`; return only the singular values and vectors with these indices.

    >>> import stagec.numpy as snp
    >>> u, s, vh = svd(snp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> s.round(4)
    Array([2., 1.], dtype=float32)
    """
    a = inexact_matrix("svd", a, square=hermitian)
    found: Factors = (
        _hermitian_svd(a, compute_uv)
        if hermitian
        else singular.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    )
    if subset_by_index is not None:
        found = _subset(found, subset_by_index, min(aval_of(a).shape[-2:]), full_matrices and compute_uv)
    return SVDResult(*found) if isinstance(found, tuple) else found


def _subset(found: Factors, subset: tuple[int, int], count: int, full: bool) -> Factors:
    start, stop = subset
    if not 0 <= start <= stop <= count or (full and (start, stop) != (0, count)):
        raise location.error(
            ValueError,
            f"svd: subset_by_index={subset} of {count} singular values",
            fix=f"pass full_matrices=False, and numbers from 0 to {count}",
        )
    if not isinstance(found, tuple):
        return found[..., start:stop]
    u, s, vh = found
    if full:
        return found
    return u[..., :, start:stop], s[..., start:stop], vh[..., start:stop, :]


def _hermitian_svd(a: Array, compute_uv: bool) -> Factors:
    if not compute_uv:
        sizes = abs(hermitian.eigvalsh(a))
        return flip(sizes.sort(-1), -1)
    values, vectors = hermitian.eigh(a)
    order = argsort(-abs(values), axis=-1)
    values = take_along_axis(values, order, -1)
    vectors = take_along_axis(vectors, order[..., None, :], -1)
    signs = where(values < 0, -1, 1).astype(aval_of(vectors).dtype)
    return vectors * signs[..., None, :], abs(values), adjoint(vectors)


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, in descending order.

    >>> import stagec.numpy as snp
    >>> svdvals(snp.array([[0.0, 2.0], [1.0, 0.0]])).round(4)
    Array([2., 1.], dtype=float32)
    """
    return singular.svd(inexact_matrix("svdvals", x), compute_uv=False)


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors as columns, of square matrices; complex, as those of real ones may be.

    Vectors have length 1. They have no derivatives here; `lax.linalg.eig` has them, and left eigenvectors.

    >>> import stagec.numpy as snp
    >>> values, vectors = eig(snp.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> values
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return EigResult(*general.eig(inexact_matrix("eig", a, square=True)))


def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, in no order, complex as those of `eig`.

    >>> import stagec.numpy as snp
    >>> eigvals(snp.array([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return general.eig(inexact_matrix("eigvals", a, square=True), right=False)[0]
