"""Systems of linear equations, inverses and determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.factorizations.det import det_p, parity
from stagec.factorizations.lu import lu_p, solve_matrix
from stagec.factorizations.qr import qr_factors
from stagec.factorizations.row import diagonal, matrix_argument
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.creation import eye
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_inexact
from stagec.primitives import arithmetic as ar
from stagec.primitives.axes import as_int, canonical_axes, shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.primitives.transcendental import log
from stagec.typing import ArrayLike


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


def inexact_matrix(name: str, a: Any, square: bool = False) -> Array:
    """Convert matrices to a floating or complex dtype, and check their shape."""
    (a,) = promote_inexact(array_argument(a, "a"))
    return matrix_argument(name, a, square)


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The x for which `a @ x` is `b`.

    Args:
      a: square matrices.
      b: a vector if it has one axis; otherwise matrices, whose leading axes broadcast with those of `a`.

    Raises:
      ShapeError: the matrices are not square, or `b` has another number of rows.

    A singular matrix gives infinities or NaN, not an error.

    >>> import stagec.numpy as snp
    >>> solve(snp.array([[3.0, 1.0], [1.0, 2.0]]), snp.array([9.0, 8.0]))
    Array([2., 3.], dtype=float32)
    """
    a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
    a = matrix_argument("solve", a, square=True)
    a_shape, b_shape = aval_of(a).shape, aval_of(b).shape
    vector = len(b_shape) == 1
    if not b_shape or b_shape[-1 if vector else -2] != a_shape[-1]:
        raise shape_error(
            "solve",
            f"{aval_of(a).long()} and {aval_of(b).long()} do not match",
            "give b as many rows as a has; a stack of vectors is b[..., None]",
        )
    if vector:
        b = reshape(b, (*b_shape, 1))
    lead = broadcast_shapes(a_shape[:-2], aval_of(b).shape[:-2])
    b = broadcast_to_shape(b, (*lead, *aval_of(b).shape[-2:]))
    x = solve_matrix(broadcast_to_shape(a, (*lead, *a_shape[-2:])), b)
    return reshape(x, aval_of(x).shape[:-1]) if vector else x


def inv(a: ArrayLike) -> Array:
    """The inverses of square matrices; those of singular ones are infinite or NaN.

    >>> import stagec.numpy as snp
    >>> inv(snp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = inexact_matrix("inv", a, square=True)
    aval = aval_of(a)
    return solve_matrix(a, broadcast_to_shape(eye(aval.shape[-1], dtype=aval.dtype), aval.shape))


def det(a: ArrayLike) -> Array:
    """The determinants of square matrices.

    >>> import stagec.numpy as snp
    >>> det(snp.array([[1.0, 2.0], [3.0, 4.0]])).round(4)
    Array(-2., dtype=float32)
    """
    return det_p(inexact_matrix("det", a, square=True))


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values.

    Args:
      a: square matrices.
      method: `"lu"`, which is the default, or `"qr"`.

    >>> import stagec.numpy as snp
    >>> sign, logarithm = slogdet(snp.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> float(sign), float(logarithm)
    (-1.0, 0.0)
    """
    if method not in (None, "lu", "qr"):
        raise location.error(ValueError, f"slogdet: {method!r} is not a method", fix="pass 'lu' or 'qr'")
    a = inexact_matrix("slogdet", a, square=True)
    dtype = aval_of(a).dtype
    if method == "qr" and not dtypes.is_complex(dtype):
        q, r = qr_factors(a)
        pivots = diagonal(r)
        sign = ar.sign(det_p(q))
    else:
        factors, changes, _ = lu_p(a)
        pivots = diagonal(factors)
        sign = parity(changes).astype(dtype)
    sizes = abs(pivots)
    zero = (pivots == 0).any(-1)
    units = ar.div(pivots, where(sizes == 0, 1, sizes).astype(dtype))
    return SlogdetResult(where(zero, 0, sign * units.prod(-1)), log(sizes).sum(-1))


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse with respect to `tensordot(a, b, ind)`.

    >>> import stagec.numpy as snp
    >>> tensorinv(snp.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    (a,) = promote_inexact(array_argument(a, "a"))
    shape = aval_of(a).shape
    count = as_int(ind, "tensorinv", "ind")
    if count < 1:
        raise location.error(ValueError, f"tensorinv: ind is {count}", fix="pass a positive number")
    rows, columns = int(np.prod(shape[:count])), int(np.prod(shape[count:]))
    if rows != columns:
        raise shape_error(
            "tensorinv", f"{aval_of(a).long()} has {rows} by {columns} elements", "choose ind so that both agree"
        )
    return reshape(inv(reshape(a, (rows, columns))), (*shape[count:], *shape[:count]))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The x for which `tensordot(a, x, x.ndim)` is `b`.

    Args:
      a: of shape `b.shape + x.shape`, after `axes` are moved to its end.
      b: the right-hand side.

    >>> import stagec.numpy as snp
    >>> tensorsolve(snp.eye(6).reshape(2, 3, 6), snp.ones((2, 3)))
    Array([1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    a, b = promote_inexact(array_argument(a, "a"), array_argument(b, "b"))
    if axes is not None:
        moved = canonical_axes(tuple(axes), aval_of(a).ndim, "tensorsolve")
        a = moveaxis(a, moved, tuple(range(aval_of(a).ndim - len(moved), aval_of(a).ndim)))
    wanted = aval_of(a).shape[aval_of(b).ndim :]
    rows, columns = int(np.prod(aval_of(b).shape)), int(np.prod(wanted))
    if rows != columns or aval_of(a).shape[: aval_of(b).ndim] != aval_of(b).shape:
        raise shape_error(
            "tensorsolve",
            f"{aval_of(a).long()} and {aval_of(b).long()} do not match",
            "a needs the shape of b first, and as many elements in its other axes",
        )
    return reshape(solve(reshape(a, (rows, columns)), reshape(b, (rows,))), wanted)
