"""The Cholesky factorization."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.factorizations.lapack import of_scipy, of_stack, with_nan
from stagec.factorizations.row import adjoint, diagonal, each_matrix, factorization, from_lower, matrix_argument, panels
from stagec.factorizations.triangular import triangular_solve
from stagec.factorizations.vectors import at, put
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.diagonals import tril
from stagec.numpy.padding import pad
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from stagec.typing import ArrayLike

# Matrices of up to _WHOLE rows are factorized column by column, larger ones in panels of _PANEL columns.
_WHOLE, _PANEL = 128, 64
# From this many rows on, SciPy's function takes half the time of NumPy's, which copies the matrix element by element.
_BY_SCIPY = 256


def _shape(a: ShapedArray) -> ShapedArray:
    return a.strip_weak_type()


def _eval(a: Any) -> Any:
    out = [ShapedArray.of(a.shape, a.dtype)]
    potrf = of_scipy("potrf", a.dtype) if a.shape[-1] >= _BY_SCIPY else None
    if potrf is None:
        (found,) = of_stack("cholesky_lo", np.linalg.cholesky, a, out)
    else:
        # SciPy's functions take matrices in column-major order: the transpose, whose factor is U = L^T.
        def one(a: Any) -> Any:
            upper, failed = potrf(a.T, lower=0)
            return np.nan if failed else upper.T

        (found,) = each_matrix(one, a, out=out)
    positive = found.diagonal(0, -2, -1).real > 0
    return found if positive.all() else with_nan([found], positive.all(-1))[0]


def _algorithm(a: Array) -> Array:
    n = aval_of(a).shape[-1]
    found = _columns(a, 0, n) if n <= _WHOLE else _panels(a)
    # A matrix that is not positive definite has NaN in all of its factor.
    return where((diagonal(found).real > 0).all(), found, np.nan)


def _panels(a: Array) -> Array:
    n = aval_of(a).shape[-1]
    count = panels(n, _PANEL)
    extra = count * _PANEL - n
    whole = pad(a, (0, extra)) if extra else a

    def panel(p: Array, factor: Array) -> Array:
        start = p * _PANEL
        before = dynamic_slice_in_dim(factor, start, _PANEL, 0)
        remaining = dynamic_slice_in_dim(whole, start, _PANEL, 1) - factor @ adjoint(before)
        return dynamic_update_slice_in_dim(factor, _columns(remaining, start, n), start, 1)

    factor = fori_loop(0, count, panel, zeros(aval_of(whole)))
    return factor[:n, :n] if extra else factor


def _columns(a: Any, start: Any, n: int) -> Array:
    """Factorize the columns from `start` on, from which the products with earlier columns have been subtracted.

    Args:
      n: columns from this one on pad the last panel, and are zeros.
    """
    height, width = aval_of(a).shape
    rows = arange(height)

    def column(c: Array, factor: Array) -> Array:
        j = start + c
        row = at(factor, j, keepdims=True)
        remaining = at(a, c, 1, True) - factor @ adjoint(row)
        pivot = ar.sqrt(at(remaining, j, keepdims=True).real)
        found = where((rows[:, None] >= j) & (j < n), remaining / pivot, 0)
        return put(factor, found, c, 1)

    return fori_loop(0, width, column, zeros(aval_of(a)))


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    factor = primitive(*primals)
    # The other triangle is not read.
    inner = triangular_solve(factor, from_lower(tangents[0]), left_side=True, lower=True)
    inner = triangular_solve(factor, inner, lower=True, transpose_a=True, conjugate_a=True)
    return factor, factor @ ((tril(inner) + tril(inner, -1)) / 2)


cholesky_p = factorization(SinglePrimitive, "cholesky", shape=_shape, eval=_eval, algorithm=_algorithm, jvp=_jvp)


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular factor L of positive definite matrices, L L^H; NaN for matrices that are not.

    Args:
      symmetrize_input: take the mean of the matrix and its adjoint first; otherwise only the lower triangle is read.

    >>> import stagec.numpy as snp
    >>> cholesky(snp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = matrix_argument("cholesky", as_operand(x), square=True)
    return cholesky_p((x + adjoint(x)) / 2 if symmetrize_input else x)
