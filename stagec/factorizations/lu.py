"""The LU factorization with partial pivoting, and the solution of linear systems by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, open_error
from stagec.core.primitive import MultiplePrimitive, SinglePrimitive
from stagec.core.zero import is_zero, zero_of
from stagec.factorizations.lapack import of_scipy
from stagec.factorizations.row import each_matrix, factorization, matrix_argument, panels
from stagec.factorizations.triangular import forward, solve_in_place, triangular_solve
from stagec.factorizations.vectors import at, exchanged, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange, eye
from stagec.numpy.diagonals import tril, triu
from stagec.numpy.joining import concatenate
from stagec.numpy.padding import pad
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.reductions import argmax
from stagec.numpy.selection import take_along_axis
from stagec.primitives import arithmetic as ar
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.broadcast import instantiate, zeros
from stagec.primitives.complex import imag, real
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of, check_matrix
from stagec.primitives.slicing import dynamic_slice, dynamic_slice_in_dim, dynamic_update_slice_in_dim
from stagec.typing import ArrayLike

# Matrices of up to _WHOLE columns are factorized column by column, larger ones in panels of _PANEL columns.
_WHOLE, _PANEL = 96, 32


def _shape(a: ShapedArray) -> list[ShapedArray]:
    *lead, m, n = a.shape
    pivots = ShapedArray.of((*lead, min(m, n)), dtypes.int32)
    return [a.strip_weak_type(), pivots, ShapedArray.of((*lead, m), dtypes.int32)]


def _eval(a: Any) -> list[Any]:
    getrf = of_scipy("getrf", a.dtype) if a.size else None

    def one(a: Any) -> tuple[Any, Any, Any]:
        if getrf is not None and np.isfinite(a).all():
            found, pivots, _ = getrf(a)
            return found, pivots, _order(pivots, a.shape[0])
        a = a.copy()
        pivots, order = np.zeros(min(a.shape), np.int32), np.arange(a.shape[0], dtype=np.int32)
        for start in range(0, len(pivots), _PANEL):
            stop = min(start + _PANEL, len(pivots))
            _factorize_columns(a, pivots, order, start, stop)
            solve_in_place(a[start:stop, start:stop], a[start:stop, stop:], lower=True, unit=True)
            a[stop:, stop:] -= a[stop:, start:stop] @ a[start:stop, stop:]
        return a, pivots, order

    return each_matrix(one, a, out=_shape(ShapedArray.of(a.shape, a.dtype)))


def _order(pivots: Any, rows: int) -> Any:
    """Return the permutation that results from exchanging rows by pivots, one after the other."""
    order = np.arange(rows, dtype=np.int32)
    for i, j in enumerate(pivots.tolist()):
        if i != j:
            order[i], order[j] = order[j], order[i]
    return order


def _factorize_columns(a: Any, pivots: Any, order: Any, start: int, stop: int) -> None:
    """Overwrite some columns of a NumPy matrix by their factors; whole rows are exchanged."""
    for k in range(start, stop):
        column = a[k:, k]
        sizes = abs(column.real) + abs(column.imag)
        best = k + int(np.argmax(np.where(np.isnan(sizes), -1, sizes)))
        pivots[k] = best
        if best != k:
            a[[k, best]], order[[k, best]] = a[[best, k]], order[[best, k]]
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 : stop] -= np.multiply.outer(a[k + 1 :, k], a[k, k + 1 : stop])


def _algorithm(a: Array) -> list[Operand]:
    m, n = aval_of(a).shape
    if is_open(m) or is_open(n):
        raise open_error("the LU factorization, as of linalg.inv, solve and det,", aval_of(a).long())
    if n > m:
        found, pivots, order = _algorithm(a[:, :m])
        return [concatenate([found, forward(found, a[:, m:][order], unit=True)], -1), pivots, order]
    if n <= _WHOLE:
        return list(_columns(a, 0, n))
    return _panels(a)


def _panels(a: Array) -> list[Operand]:
    m, n = aval_of(a).shape
    count = panels(n, _PANEL)
    width = count * _PANEL
    height = max(m, width)
    rows, columns = arange(height), arange(width)

    def panel(p: Any, state: Any) -> Any:
        a, pivots, order = state
        start = p * _PANEL
        found, chosen, moved = _columns(dynamic_slice_in_dim(a, start, _PANEL, 1), start, n)
        a = dynamic_update_slice_in_dim(a[moved], found, start, 1)
        square = dynamic_slice(found, (start, start), (_PANEL, _PANEL))
        across = dynamic_slice_in_dim(a, start, _PANEL, 0)
        later = columns >= start + _PANEL
        across = where(later, forward(square, across, unit=True), across)
        a = dynamic_update_slice_in_dim(a, across, start, 0)
        trailing = (rows >= start + _PANEL)[:, None] & later
        a = where(trailing, a - found @ across, a)
        return a, dynamic_update_slice_in_dim(pivots, chosen, start, 0), order[moved]

    whole = pad(a, ((0, height - m), (0, width - n)))
    start = whole, arange(width, dtype="int32"), arange(height, dtype="int32")
    found, pivots, order = fori_loop(0, count, panel, start)
    return [found[:m, :n], pivots[:n], order[:m]]


def _columns(a: Any, start: Any, n: int) -> tuple[Any, Any, Any]:
    """Factorize a panel of columns of a matrix, from its column `start` on.

    Args:
      n: columns of the matrix from this one on pad the last panel, and are not changed.

    Returns:
      The columns with their rows in the new order, the pivots, and the order.
    """
    m, width = aval_of(a).shape
    rows = arange(m)
    columns = arange(width)

    def step(c: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        a, pivots, order = state
        j = start + c
        column = at(a, c, 1)
        sizes = _size(column)
        # NaN is a pivot only if all candidates are NaN.
        sizes = where(sizes == sizes, sizes, -1)
        best = convert_element_type(argmax(where((rows >= j) & (j < n), sizes, where(rows == j, -1, -2))), dtypes.int32)
        a, order = exchanged(a, j, best), exchanged(order, j, best)
        chosen = at(a, j, keepdims=True)
        pivot = at(chosen, c, 1, True)
        below = ((rows > j) & (j < n))[:, None]
        factors = at(a, c, 1, True) / where(pivot == 0, 1, pivot)
        eliminated = where(below & (columns > c) & (pivot != 0), a - factors * chosen, a)
        a = where(below & (columns == c), factors, eliminated)
        return a, put(pivots, best, c), order

    pivots = zeros(ShapedArray.of((width,), dtypes.int32))
    return fori_loop(0, width, step, (a, pivots, arange(m, dtype="int32")))


def _size(x: Any) -> Array:
    """Return the magnitude by which LAPACK compares pivots."""
    return abs(real(x)) + abs(imag(x)) if dtypes.is_complex(aval_of(x).dtype) else abs(x)


def triangles(found: Any) -> tuple[Array, Array]:
    """The two factors, which `lu` returns in one matrix."""
    m, n = aval_of(found).shape[-2:]
    k = min(m, n)
    return tril(found[..., :k], -1) + eye(m, k, dtype=aval_of(found).dtype), triu(found[..., :k, :])


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    found, pivots, order = primitive(*primals)
    change = take_along_axis(tangents[0], order[..., None], -2)
    *lead, m, n = aval_of(found).shape
    k, dtype = min(m, n), aval_of(found).dtype
    # Extend both factors by the identity to square matrices, so that they can be inverted.
    lower, upper = triangles(found)
    if m > k:
        lower = concatenate([lower, broadcast_to_shape(eye(m, m - k, -k, dtype=dtype), (*lead, m, m - k))], -1)
    if n > k:
        upper = concatenate([upper, broadcast_to_shape(eye(n - k, n, k, dtype=dtype), (*lead, n - k, n))], -2)
    inner = triangular_solve(lower, change, left_side=True, lower=True, unit_diagonal=True)
    inner = triangular_solve(upper, inner, lower=False)
    # L^-1 dx U^-1 = L^-1 dL + dU U^-1, whose terms are a lower and an upper triangle.
    tangent = lower @ tril(inner, -1) + triu(inner) @ upper
    return [found, pivots, order], [tangent, zero_of(aval_of(pivots)), zero_of(aval_of(order))]


lu_p = factorization(MultiplePrimitive, "lu", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """The factors of P x = L U, with L below the diagonal of the first result and U in the rest.

    Returns:
      The factors, the pivots (for each i in turn, row i was exchanged with row pivots[i]), and the permutation:
      x[permutation] is L U.

    >>> import stagec.numpy as snp
    >>> factors, pivots, permutation = lu(snp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors, permutation
    (Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32), Array([1, 0], dtype=int32))
    """
    found, pivots, permutation = lu_p(matrix_argument("lu", as_operand(x)))
    return found, pivots, permutation


# Linear systems. The matrix is an operand in addition to its factors, so that derivatives do not need those of the
# factorization.


def _solve_shape(
    a: ShapedArray, b: ShapedArray, factors: ShapedArray, order: ShapedArray, *, transposed: bool
) -> ShapedArray:
    return b.strip_weak_type()


def _solve_eval(a: Any, b: Any, factors: Any, order: Any, *, transposed: bool) -> Any:
    def one(a: Any, b: Any, factors: Any, order: Any) -> Any:
        # The factorization has imported SciPy.
        if transposed:
            x = b.copy()
            solve_in_place(factors.T, x, lower=True, unit=False, least=1)
            solve_in_place(factors.T, x, lower=False, unit=True, least=1)
            result = np.empty_like(x)
            result[order] = x
            return result
        x = b.take(order, 0)
        solve_in_place(factors, x, lower=True, unit=True, least=1)
        solve_in_place(factors, x, lower=False, unit=False, least=1)
        return x

    return each_matrix(one, a, b, factors, order, out=[ShapedArray.of(b.shape, b.dtype)], ranks=_SOLVE_RANKS)[0]


def _solve_algorithm(a: Array, b: Array, factors: Array, order: Array, *, transposed: bool) -> Array:
    if transposed:
        x = triangular_solve(factors, b, left_side=True, transpose_a=True)
        x = triangular_solve(factors, x, left_side=True, lower=True, transpose_a=True, unit_diagonal=True)
        positions = arange(aval_of(order).shape[0])
        inverse = argmax(order[None, :] == positions[:, None], -1)
        return x[inverse]
    x = triangular_solve(factors, b[order], left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(factors, x, left_side=True)


def _solve_jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    a, _, factors, order = primals
    x = primitive(*primals, **params)
    a_dot, b_dot = tangents[:2]
    if is_zero(a_dot) and is_zero(b_dot):
        return x, zero_of(aval_of(x))
    total = None if is_zero(b_dot) else instantiate(b_dot)
    if not is_zero(a_dot):
        change = instantiate(a_dot)
        product = ar.neg((change.mT if params["transposed"] else change) @ x)
        total = product if total is None else ar.add(total, product)
    return x, primitive(a, total, factors, order, **params)


def _solve_transpose(ct: Array, a: Array, b: Array, factors: Array, order: Array, *, transposed: bool) -> list[Any]:
    check_matrix(a)
    return [None, lu_solve_p(a, ct, factors, order, transposed=not transposed), None, None]


_SOLVE_RANKS = (2, 2, 2, 1)

lu_solve_p = factorization(
    SinglePrimitive,
    "lu_solve",
    shape=_solve_shape,
    eval=_solve_eval,
    algorithm=_solve_algorithm,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    ranks=_SOLVE_RANKS,
    divided=32,
)


def solve_matrix(a: Any, b: Any) -> Array:
    """Solve `a x = b` for square matrices and right-hand sides with the same leading axes and two more.

    Derivatives use the same factors, and are as accurate as the solution.
    """
    factors, _, order = lu_p(stop_gradient(a))
    return lu_solve_p(a, b, factors, order, transposed=False)
