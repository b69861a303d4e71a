"""Determinants, whose derivatives are defined for singular matrices, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.factorizations.lapack import LARGE, of_scipy
from stagec.factorizations.lu import lu_p
from stagec.factorizations.row import diagonal, each_matrix, factorization
from stagec.factorizations.triangular import triangular_solve
from stagec.numpy.creation import arange
from stagec.numpy.joining import concatenate, stack
from stagec.numpy.linear import cross
from stagec.numpy.selection import take_along_axis
from stagec.primitives.operand import Operand, aval_of

_SINGLE = (dtypes.float32, dtypes.complex64)


def _shape(a: ShapedArray) -> ShapedArray:
    return ShapedArray.of(a.shape[:-2], a.dtype)


def _eval(a: Any) -> Any:
    getrf = of_scipy("getrf", a.dtype) if a.shape[-1] >= LARGE and a.dtype in _SINGLE else None
    if getrf is None:
        return np.linalg.det(a).astype(a.dtype)  # computed in double precision

    def one(a: Any) -> Any:
        factors, pivots, _ = getrf(a.T)  # in LAPACK's order, without a copy
        exchanges = np.count_nonzero(pivots != np.arange(len(pivots)))
        return factors.diagonal().prod(dtype=np.result_type(a, np.float64)) * (-1) ** exchanges

    return each_matrix(one, a, out=[_shape(ShapedArray.of(a.shape, a.dtype))])[0]


def parity(pivots: Any) -> Operand:
    """Return 1 if the permutation of the pivots of LU is even, -1 if it is odd."""
    return 1 - 2 * ((pivots != arange(aval_of(pivots).shape[-1])).sum(-1) % 2)


def _algorithm(a: Array) -> Operand:
    factors, pivots, _ = lu_p(a)
    return diagonal(factors).prod(-1) * parity(pivots).astype(aval_of(a).dtype)


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    (a,) = primals
    out, change = primitive(a), tangents[0]
    n = aval_of(a).shape[-1]
    if n <= 3:
        return out, (_cofactors(a, n) * change).sum((-2, -1))
    return out, diagonal(_adjugate_times(a, change)).sum(-1)


def _cofactors(a: Array, n: int) -> Array:
    """Return the cofactors of a matrix of up to three rows: the derivative of its determinant."""
    if n < 2:
        return a * 0 + 1
    if n == 2:
        first = stack([a[..., 1, 1], -a[..., 1, 0]], -1)
        return stack([first, stack([-a[..., 0, 1], a[..., 0, 0]], -1)], -2)
    rows = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    return stack([cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)], -2)


def _adjugate_times(a: Array, b: Array) -> Array:
    """Return the adjugate of a, det(a) a^-1, times b, from the LU factors of a; the last pivot may be zero."""
    factors, pivots, order = lu_p(a)
    pivot = diagonal(factors)
    sign = parity(pivots).astype(aval_of(a).dtype)
    before = pivot[..., :-1].prod(-1) * sign
    y = take_along_axis(b, order[..., None], -2)
    y = triangular_solve(factors, y, left_side=True, lower=True, unit_diagonal=True)
    # With det = d u, where u is the last pivot: the last row of the solution is d y, without a division by u.
    last = before[..., None, None] * y[..., -1:, :]
    whole = before * pivot[..., -1]
    upper_rows = whole[..., None, None] * y[..., :-1, :] - factors[..., :-1, -1:] * last
    upper_rows = triangular_solve(factors[..., :-1, :-1], upper_rows, left_side=True)
    return concatenate([upper_rows, last], -2)


det_p = factorization(SinglePrimitive, "det", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp)
