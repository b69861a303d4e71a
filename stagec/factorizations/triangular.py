"""The solution of triangular systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import fori_loop
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.core.zero import is_zero
from stagec.factorizations.lapack import LARGE, of_scipy
from stagec.factorizations.row import diagonal, factorization, matrix_argument, panels
from stagec.factorizations.vectors import at, put
from stagec.numpy.diagonals import tril, triu
from stagec.numpy.manipulation import flip, matrix_transpose
from stagec.numpy.padding import pad
from stagec.numpy.rounding import conj
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import instantiate, zeros
from stagec.primitives.operand import Operand, aval_of, check_matrix, promote_weak_scalars
from stagec.primitives.shape import reshape
from stagec.primitives.slicing import dynamic_slice, dynamic_slice_in_dim, dynamic_update_slice_in_dim
from stagec.typing import ArrayLike

# Systems of up to _WHOLE rows are solved row by row, larger ones in panels of _PANEL rows.
_WHOLE, _PANEL = 128, 64


def _shape(a: ShapedArray, b: ShapedArray, **params: bool) -> ShapedArray:
    return b.strip_weak_type()


def _eval(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit: bool) -> Any:
    if not left_side:
        b, transpose_a = b.swapaxes(-1, -2), not transpose_a
    if conjugate_a:
        a = a.conj()
    if transpose_a:
        a, lower = a.swapaxes(-1, -2), not lower
    with np.errstate(all="ignore"):
        x = np.array(b)
        solve_in_place(a, x, lower, unit)
    return x if left_side else np.ascontiguousarray(x.swapaxes(-1, -2))


def solve_in_place(a: Any, x: Any, lower: bool, unit: bool, least: int = LARGE) -> None:
    """Overwrite NumPy right-hand sides by the solutions of triangular systems.

    Args:
      least: the number of rows from which SciPy solves a system.
    """
    n = a.shape[-1]
    trsm = of_scipy("trsm", x.dtype, "blas") if n >= least and x.size else None
    if trsm is not None:
        # SciPy's functions take matrices in column-major order: the transposes, which need no copy.
        for index in np.ndindex(x.shape[:-2]) if x.ndim > 2 else [()]:
            x[index] = trsm(1, a[index].T, x[index].T, side=1, lower=not lower, diag=unit, overwrite_b=1).T
    elif n > 16:
        half = n // 2
        top, bottom = slice(0, half), slice(half, n)
        first, second = (top, bottom) if lower else (bottom, top)
        solve_in_place(a[..., first, first], x[..., first, :], lower, unit, least)
        x[..., second, :] -= a[..., second, first] @ x[..., first, :]
        solve_in_place(a[..., second, second], x[..., second, :], lower, unit, least)
    else:
        for i in range(n) if lower else reversed(range(n)):
            done = slice(0, i) if lower else slice(i + 1, n)
            x[..., i, :] -= np.matmul(a[..., i : i + 1, done], x[..., done, :])[..., 0, :]
            if not unit:
                x[..., i, :] /= a[..., i, i, None]


def _algorithm(
    a: Array, b: Array, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit: bool
) -> Array:
    if not left_side:
        b, transpose_a = matrix_transpose(b), not transpose_a
    if conjugate_a:
        a = conj(a)
    if transpose_a:
        a, lower = matrix_transpose(a), not lower
    if lower:
        x = forward(a, b, unit)
    else:
        # Flipped, an upper triangle is a lower one.
        x = flip(forward(flip(a), flip(b, 0), unit), 0)
    return x if left_side else matrix_transpose(x)


def forward(a: Any, b: Any, unit: bool) -> Operand:
    """Solve one lower triangular system; elements above the diagonal are not read."""
    n = aval_of(a).shape[-1]
    if n <= _WHOLE:
        return _rows(a, b, unit)
    extra = panels(n, _PANEL) * _PANEL - n
    # Ones on the added diagonal, so that nothing divides by zero.
    whole = pad(a, (0, extra)) if extra else a
    right = pad(b, ((0, extra), (0, 0))) if extra else b
    below = tril(whole, -1)

    def panel(p: Array, x: Array) -> Array:
        start = p * _PANEL
        # Rows that are not solved yet are zeros, so that whole rows of a panel may be multiplied.
        remaining = dynamic_slice_in_dim(right, start, _PANEL, 0) - dynamic_slice_in_dim(below, start, _PANEL, 0) @ x
        square = dynamic_slice(whole, (start, start), (_PANEL, _PANEL))
        return dynamic_update_slice_in_dim(x, _rows(square, remaining, unit), start, 0)

    x = fori_loop(0, panels(n, _PANEL), panel, zeros(aval_of(right)))
    return x[:n] if extra else x


def _rows(a: Array, b: Array, unit: bool) -> Operand:
    below = tril(a, -1)
    divisors = diagonal(a)

    def row(i: Any, x: Any) -> Any:
        found = at(b, i, keepdims=True) - at(below, i, keepdims=True) @ x
        if not unit:
            found = found / at(divisors, i, keepdims=True)
        return put(x, found, i)

    return fori_loop(0, aval_of(a).shape[-1], row, zeros(aval_of(b)))


def _jvp(primitive: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    a, b = primals
    x = primitive(a, b, **params)
    a_dot, b_dot = tangents
    total = None if is_zero(b_dot) else instantiate(b_dot)
    if not is_zero(a_dot):
        change = _as_used(instantiate(a_dot), params)
        product = ar.neg(change @ x if params["left_side"] else x @ change)
        total = product if total is None else ar.add(total, product)
    return x, primitive(a, total, **params)


def _as_used(a: Array, params: dict[str, Any]) -> Array:
    """Return the matrix of the system: one triangle of `a`, perhaps with a zero diagonal, transposed or conjugated."""
    shift = -1 if params["unit"] else 0
    a = tril(a, shift) if params["lower"] else triu(a, -shift)
    a = matrix_transpose(a) if params["transpose_a"] else a
    return conj(a) if params["conjugate_a"] else a


def _transpose(ct: Array, a: Array, b: Array, **params: Any) -> list[Any]:
    check_matrix(a)
    return [None, triangular_solve_p(a, ct, **{**params, "transpose_a": not params["transpose_a"]})]


triangular_solve_p = factorization(
    SinglePrimitive,
    "triangular_solve",
    shape=_shape,
    eval=_eval,
    algorithm=_algorithm,
    jvp=_jvp,
    transpose=_transpose,
    numpy_ns=5,
    divided=32,
)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve triangular systems.

    Args:
      a: square matrices; only one triangle is read.
      b: right-hand sides: `(..., n, k)`, or `(..., k, n)` if not `left_side`, with the leading axes of `a`; or vectors
        `(..., n)`.
      left_side: solve `a x = b`, else `x a = b`.
      lower: read the lower triangle, otherwise the upper one.
      transpose_a, conjugate_a: use the transpose, the conjugate, or both.
      unit_diagonal: take the diagonal as ones, without reading it.

    >>> import stagec.numpy as snp
    >>> a = snp.array([[2.0, 0.0], [1.0, 4.0]])
    >>> triangular_solve(a, snp.array([[2.0], [9.0]]), left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    a, b = promote_weak_scalars(a, b)
    a = matrix_argument("triangular_solve", a, square=True)
    vector = aval_of(b).ndim == aval_of(a).ndim - 1
    shape = aval_of(b).shape
    b = reshape(b, (*shape, 1) if left_side else (*shape[:-1], 1, shape[-1])) if vector else b
    b = matrix_argument("triangular_solve", b)
    a_aval, b_aval = aval_of(a), aval_of(b)
    if a_aval.shape[:-2] != b_aval.shape[:-2] or a_aval.shape[-1] != b_aval.shape[-2 if left_side else -1]:
        raise location.error(
            errors.ShapeError,
            f"triangular_solve: {a_aval.long()} and {b_aval.long()} do not match",
            fix="b needs the leading axes of a, and as many rows (columns, if not left_side)",
        )
    if a_aval.dtype != b_aval.dtype:
        raise location.error(
            errors.DtypeError,
            f"triangular_solve: {a_aval.long()} and {b_aval.long()} have different dtypes",
            fix="convert one of them with astype",
        )
    solved = triangular_solve_p(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit=bool(unit_diagonal),
    )
    return reshape(solved, shape) if vector else solved
