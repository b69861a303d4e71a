"""The Schur form: a triangular matrix that is similar to a given one by a unitary transformation.

The form of a real matrix is real, with blocks of two rows on the diagonal for pairs of complex eigenvalues. As in
LAPACK, a block has equal elements on its diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, MultiplePrimitive
from stagec.factorizations.francis import triangularized
from stagec.factorizations.hessenberg import packed_hessenberg
from stagec.factorizations.row import each_matrix, factorization, matrix_argument
from stagec.factorizations.sweeps import schur_of
from stagec.factorizations.tridiagonal import columns_of
from stagec.factorizations.vectors import at, element, hypotenuse, put, put_block, rotate_pair, to_unit_scale
from stagec.numpy.conditionals import where
from stagec.numpy.diagonals import triu
from stagec.primitives import arithmetic as ar
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.primitives.slicing import dynamic_slice


def rotation(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return cosine and sine of the rotation that makes a block standard, whether its eigenvalues are real, and b and c
    after it if they are not.

    A block is standard if c is 0, or if a and d are equal and b and c have opposite signs.
    """
    # A rotation that makes the diagonal equal leaves b - c as it is.
    total = b + c
    sign = where(total < 0, -1, 1).astype(aval_of(a).dtype)
    length = hypotenuse(total, a - d)
    b, c = (sign * length + (b - c)) / 2, (sign * length - (b - c)) / 2
    length = where(length > 0, length, 1)
    x = ar.sqrt((1 + abs(total) / length) / 2)
    y = -((a - d) / (2 * length * x)) * sign
    # The eigenvector of a real eigenvalue makes c 0.
    real = (b == 0) | (c == 0) | ((b < 0) == (c < 0))
    both = abs(b) + abs(c)
    both = where(both > 0, both, 1)
    s, t = ar.sqrt(abs(b) / both), ar.sqrt(abs(c) / both) * where(c < 0, -1, 1).astype(aval_of(a).dtype)
    return where(real, s * x - t * y, x), where(real, t * x + s * y, y), real, b, c


def standardized(t: Any, q: Any) -> tuple[Any, Any]:
    """Make the blocks of two rows of one real Schur form standard; q are its vectors, or None."""
    n = aval_of(t).shape[-1]
    whole = t if q is None else concatenate([t, q], 0)
    square = np.arange(4).reshape(2, 2)

    def turn(k: Any, w: Any) -> Any:
        a, b, c, d = element(w, k, k), element(w, k, k + 1), element(w, k + 1, k), element(w, k + 1, k + 1)
        x, y, real, above, below = rotation(a, b, c, d)
        wanted = c != 0
        x, y = where(wanted, x, 1), where(wanted, y, 0)
        first, second = rotate_pair(at(w, k), at(w, k + 1), x, -y)
        w = put(put(w, first, k), second, k + 1)
        left, right = rotate_pair(at(w, k, 1), at(w, k + 1, 1), x, -y)
        w = put(put(w, left, k, 1), right, k + 1, 1)
        mean = (element(w, k, k) + element(w, k + 1, k + 1)) / 2
        block = dynamic_slice(w, (k, k), (2, 2), allow_negative_indices=False)
        turned = where(square == 1, above, where(square == 2, below, mean))
        block = where(wanted & ~real, turned, where((square == 2) & wanted, 0, block))
        return put_block(w, block, k, k)

    whole = fori_loop(0, n - 1, turn, whole)
    return (whole, None) if q is None else (whole[:n], whole[n:])


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
    whole, scale, usable = to_unit_scale(a)
    packed, scales = packed_hessenberg(whole)
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
