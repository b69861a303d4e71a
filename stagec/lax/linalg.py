"""Factorizations of matrices, by JAX's `jax.lax.linalg` names."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location
from stagec.core.boundary import publish as _publish
from stagec.factorizations.cholesky import cholesky as cholesky, cholesky_p as cholesky_p
from stagec.factorizations.lu import lu as lu, lu_p as lu_p
from stagec.factorizations.permutation import lu_pivots_to_permutation as lu_pivots_to_permutation
from stagec.factorizations.qr import (
    householder_product as householder_product,
    householder_product_p as householder_product_p,
    qr_factors,
    qr_p as qr_p,
)
from stagec.factorizations.triangular import (
    triangular_solve as triangular_solve,
    triangular_solve_p as triangular_solve_p,
)

__all__ = [
    "cholesky",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "qr",
    "triangular_solve",
]


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True) -> Any:
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


def __dir__() -> list[str]:
    return sorted(__all__)


_publish(globals())
