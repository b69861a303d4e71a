"""Factorizations of matrices, by NumPy's names."""

from __future__ import annotations

from typing import Any, NamedTuple

from stagec.core import location
from stagec.factorizations.cholesky import cholesky as lower_factor
from stagec.factorizations.qr import packed_qr_p, qr_factors
from stagec.factorizations.row import adjoint
from stagec.numpy.manipulation import matrix_transpose
from stagec.numpy.systems import inexact_matrix


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular factor L of positive definite matrices L L^H; NaN for matrices that are not positive definite.

    Args:
      upper: return U, of U^H U, instead.
      symmetrize_input: take the mean of the matrix and its adjoint first; otherwise only its lower triangle is read,
        and the derivative is that of a function of all elements.

    >>> import stagec.numpy as snp
    >>> cholesky(snp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    found = lower_factor(inexact_matrix("cholesky", a, square=True), symmetrize_input=symmetrize_input)
    return adjoint(found) if upper else found


def qr(a: Any, mode: str = "reduced") -> Any:
    """`a` as a product of orthonormal columns and an upper triangle.

    Args:
      mode: `"reduced"`: as many columns as the smaller side of `a`. `"complete"`: a square Q. `"r"`: the triangle
        alone. `"raw"`: what LAPACK's geqrf makes, transposed, and the scales of its reflections.

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
