"""The Schur form: a triangular matrix that is similar to a given one by a unitary transformation.

The form of a real matrix is real, with blocks of two rows on the diagonal for pairs of complex eigenvalues. As in
LAPACK, a block has equal elements on its diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, MultiplePrimitive
from stagec.factorizations.francis import triangularized
from stagec.factorizations.hessenberg import packed_hessenberg
from stagec.factorizations.row import each_matrix, factorization, matrix_argument
from stagec.factorizations.standard import standardized
from stagec.factorizations.sweeps import schur_of
from stagec.factorizations.tridiagonal import columns_of
from stagec.numpy.conditionals import where
from stagec.numpy.diagonals import triu
from stagec.primitives.operand import Operand, as_operand, aval_of


def _shape(a: ShapedArray, *, vectors: bool) -> list[ShapedArray]:
    return [a.strip_weak_type()] * (2 if vectors else 1)


def _eval(a: Any, *, vectors: bool) -> list[Any]:
    def one(a: Any) -> Any:
        found = schur_of(a) if np.isfinite(a).all() else (np.full_like(a, np.nan),) * 2
        return found if vectors else found[0]

    return each_matrix(one, a, out=_shape(ShapedArray.of(a.shape, a.dtype), vectors=vectors))


def scaled_schur(a: Any, vectors: bool) -> tuple[Operand, Operand | None, Operand, Operand]:
    """Return the Schur form of one matrix divided by a scale, Q, the scale, and whether the iteration converged.

    Blocks of two rows have any form.
    """
    usable = (a - a == 0).all()
    a = where(usable, a, 0)
    largest = abs(a).max()
    scale = where(largest > 0, largest, 1)
    packed, scales = packed_hessenberg(a / scale)
    t, q, done = triangularized(triu(packed, -1), columns_of(packed, scales) if vectors else None)
    return t, q, scale, usable & done


def _algorithm(a: Array, *, vectors: bool) -> list[Operand]:
    if aval_of(a).shape[-1] < 2:
        return [a, a * 0 + 1] if vectors else [a]
    t, q, scale, good = scaled_schur(a, vectors)
    if not dtypes.is_complex(aval_of(a).dtype):
        t, q = standardized(t, q)
    return [where(good, x, np.nan) for x in ([t * scale, q] if vectors else [t * scale])]


schur_p = factorization(
    MultiplePrimitive,
    "schur",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=MissingRule("the rule is not implemented", "differentiate eigvals, or eigh"),
)


def schur(x: Any, *, compute_schur_vectors: bool = True) -> tuple[Operand, ...]:
    """Factorize x = Q T Q^H, with a unitary Q and a triangular T, which may have blocks of two rows if x is real.

    >>> import stagec.numpy as snp
    >>> t, q = schur(snp.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> t
    Array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    x = matrix_argument("schur", as_operand(x), square=True)
    return tuple(schur_p(x, vectors=bool(compute_schur_vectors)))
