"""Products with the unitary factor of a QR factorization, without forming it."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, SinglePrimitive
from stagec.factorizations.qr import apply_reflections, reflections_eval
from stagec.factorizations.row import adjoint, factorization, matrix_argument
from stagec.primitives.checks import same_dtype
from stagec.primitives.operand import Operand, aval_of, promote_weak_scalars
from stagec.typing import ArrayLike


def _shape(a: ShapedArray, scales: ShapedArray, c: ShapedArray, **params: bool) -> ShapedArray:
    return c.strip_weak_type()


def _eval(a: Any, scales: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    if not left:
        # C Q is the adjoint of Q^H C^H.
        return _eval(a, scales, c.conj().swapaxes(-1, -2), left=True, transpose=not transpose).conj().swapaxes(-1, -2)
    return reflections_eval(a, scales, c, transpose)


def _algorithm(a: Array, scales: Array, c: Array, *, left: bool, transpose: bool) -> Operand:
    if not left:
        return adjoint(apply_reflections(a, scales, adjoint(c), not transpose))
    return apply_reflections(a, scales, c, transpose)


ormqr_p = factorization(
    SinglePrimitive,
    "ormqr",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=MissingRule("its reflections are not a smooth function of a matrix", "differentiate qr, and multiply by its Q"),
    ranks=(2, 1, 2),
    numpy_ns=5,
)


def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """Q c or c Q for the product Q of Householder reflections.

    Args:
      a: matrices `(..., m, n)`, whose columns have the reflections' vectors below the diagonal: the transpose of the
        first result of `stagec.numpy.linalg.qr` with mode `"raw"`.
      taus: the scales of the reflections, `(..., k)`.
      c: matrices with `m` rows, or with `m` columns if not `left`.
      left: multiply from the left.
      transpose: multiply by the adjoint of Q.

    >>> import stagec.numpy as snp
    >>> h, taus = snp.linalg.qr(snp.array([[3.0], [4.0]]), mode="raw")
    >>> ormqr(h.mT, taus, snp.array([[5.0], [0.0]])).round(4)
    Array([[-3.],
           [-4.]], dtype=float32)
    """
    a, taus, c = promote_weak_scalars(a, taus, c)
    same_dtype("ormqr", (aval_of(a), aval_of(taus), aval_of(c)))
    a, c = matrix_argument("ormqr", a), matrix_argument("ormqr", c)
    shape, given, rows = aval_of(a).shape, aval_of(taus).shape, aval_of(c).shape
    fits = len(given) == len(shape) - 1 and given[:-1] == shape[:-2] == rows[:-2]
    if not fits or given[-1] > min(shape[-2:]) or rows[-2 if left else -1] != shape[-2]:
        raise location.error(
            errors.ShapeError,
            f"ormqr: {aval_of(a).long()}, {aval_of(taus).long()} and {aval_of(c).long()} do not match",
            fix="pass one scale for each reflection, and a c with as many rows (columns, if not left) as a has",
        )
    return ormqr_p(a, taus, c, left=bool(left), transpose=bool(transpose))
