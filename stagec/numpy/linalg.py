"""Linear algebra, by the names of `numpy.linalg`; here are norms, powers and chains of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.boundary import publish as _publish
from stagec.numpy import diagonals, linear
from stagec.numpy.arguments import array_argument
from stagec.numpy.creation import eye
from stagec.numpy.decompositions import cholesky, qr
from stagec.numpy.linear import matmul
from stagec.numpy.manipulation import matrix_transpose
from stagec.numpy.promotion import broadcast_to_shape, promote_inexact
from stagec.numpy.systems import det, inv, slogdet, solve, tensorinv, tensorsolve
from stagec.primitives import arithmetic
from stagec.primitives.axes import as_int, canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.shape import expand_dims
from stagec.runtime.plans import cover as _cover

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "qr",
    "slogdet",
    "solve",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def _magnitude(x: Any) -> Any:
    (x,) = promote_inexact(x)
    return abs(x)


def _root_of_squares(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    (x,) = promote_inexact(x)
    if dtypes.is_complex(x.dtype):
        squares = arithmetic.add(arithmetic.square(x.real), arithmetic.square(x.imag))
    else:
        squares = arithmetic.square(x)
    return arithmetic.sqrt(squares.sum(axes, keepdims=keepdims))


def _vector(x: Any, axis: int | tuple[int, ...], ord: Any, keepdims: bool) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    if ord is None or ord == 2:
        return _root_of_squares(x, axes, keepdims)
    size = _magnitude(x)
    if ord == np.inf:
        return size.max(axes, keepdims=keepdims)
    if ord == -np.inf:
        return size.min(axes, keepdims=keepdims)
    if isinstance(ord, str):
        raise _bad_order("vector", ord, "a number, or inf and -inf")
    if ord == 0:
        return convert_element_type(size != 0, size.dtype).sum(axes, keepdims=keepdims)
    if ord == 1:
        return size.sum(axes, keepdims=keepdims)
    return (size**ord).sum(axes, keepdims=keepdims) ** (1.0 / ord)


def _bad_order(kind: str, ord: Any, allowed: str) -> ValueError:
    return location.error(ValueError, f"norm: {ord!r} is not an order of a {kind} norm", fix=f"use {allowed}")


def _matrix(x: Any, axes: tuple[int, int], ord: Any, keepdims: bool) -> Any:
    rows, columns = axes
    if ord in (None, "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        raise location.error(
            errors.UnsupportedError,
            f"norm: ord={ord!r} of a matrix needs its singular values, which are not available",
            fix="use 'fro', 1, -1, inf or -inf, or numpy.linalg.norm(x, ord) outside of jit",
        )
    if ord not in (1, -1, np.inf, -np.inf):
        raise _bad_order("matrix", ord, "'fro', 1, -1, inf or -inf")
    inner, outer = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = _magnitude(x).sum(inner, keepdims=True)
    out = sums.max(outer, keepdims=True) if ord > 0 else sums.min(outer, keepdims=True)
    return out if keepdims else out.squeeze(axes)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The size of vectors or matrices.

    Args:
      x: an array.
      ord: for vectors any number, inf or -inf, 2 by default; for matrices
        `"fro"` (the default), 1, -1, inf, -inf.
      axis: one for vectors, a pair for matrices; `None` takes the whole array.
      keepdims: keep the axes with size 1.

    >>> import stagec.numpy as snp
    >>> norm(snp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    x = array_argument(x, "x")
    if axis is None:
        if ord is None:
            out = _root_of_squares(x.ravel(), (0,), False)
            return expand_dims(out, tuple(range(x.ndim))) if keepdims else out
        if x.ndim not in (1, 2):
            raise shape_error(
                "norm",
                f"ord={ord!r} needs a vector or a matrix, got {x.aval.long()}",
                "name one or two axes with axis=",
            )
        axes = tuple(range(x.ndim))
    else:
        axes = canonical_axes(axis, x.ndim, "norm")
    if len(axes) == 1:
        return _vector(x, axes[0], ord, keepdims)
    if len(axes) == 2:
        return _matrix(x, (axes[0], axes[1]), ord, keepdims)
    raise shape_error("norm", f"axis {axis} names {len(axes)} axes", "name one axis for vectors, two for matrices")


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The size of vectors along axes, or of all elements as one vector.

    >>> import stagec.numpy as snp
    >>> vector_norm(snp.array([[3.0, 4.0]]), ord=1)
    Array(7., dtype=float32)
    """
    x = array_argument(x, "x")
    return _vector(x, canonical_axes(axis, x.ndim, "vector_norm"), ord, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The size of the matrices in the last two axes.

    >>> import stagec.numpy as snp
    >>> matrix_norm(snp.array([[3.0, 4.0]]))
    Array(5., dtype=float32)
    """
    x = array_argument(x, "x")
    first, second = (canonical_axis(i, x.ndim, "matrix_norm") for i in (-2, -1))
    return _matrix(x, (first, second), ord, keepdims)


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied by itself, by repeated squaring; its inverse, if `n` is negative.

    Raises:
      ShapeError: the matrices are not square.

    >>> import stagec.numpy as snp
    >>> matrix_power(snp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    a = array_argument(a, "a")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise shape_error(
            "matrix_power",
            f"square matrices are needed, got {a.aval.long()}",
            "take a.mT @ a, or a part of it whose last two axes agree",
        )
    power = as_int(n, "matrix_power", "n")
    if power < 0:
        a, power = inv(a), -power
    if power == 0:
        return broadcast_to_shape(eye(a.shape[-1], dtype=a.dtype), a.shape)
    out = None
    while power:
        if power & 1:
            out = a if out is None else matmul(out, a)
        power >>= 1
        if power:
            a = matmul(a, a)
    return out


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of two and more matrices, in the order that takes the fewest multiplications.

    Args:
      arrays: matrices; the first and the last may be vectors.
      precision: `"default"`, `"high"` or `"highest"`.

    >>> import stagec.numpy as snp
    >>> multi_dot([snp.ones((2, 9)), snp.ones((9, 1)), snp.ones((1, 3))]).shape
    (2, 3)
    """
    parts = [array_argument(a, "arrays") for a in arrays]
    if len(parts) < 2:
        raise location.error(ValueError, "multi_dot: expecting at least two arrays", fix="pass two or more arrays")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    if first:
        parts[0] = expand_dims(parts[0], (0,))
    if last:
        parts[-1] = expand_dims(parts[-1], (1,))
    for a in parts:
        if a.ndim != 2:
            raise shape_error(
                "multi_dot",
                f"matrices are needed, got {a.aval.long()}",
                "reshape it; only the first and the last may be vectors",
            )
    out = _chain(parts, precision)
    return out.squeeze(tuple(i for i, flag in enumerate((first, last)) if flag))


def _chain(parts: list[Any], precision: Any) -> Any:
    """Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, matrix-chain multiplication."""
    count = len(parts)
    sizes = [parts[0].shape[0], *[p.shape[1] for p in parts]]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            choices = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(choices)
            cut[i][j] = i + choices.index(cost[i][j])

    def product(i: int, j: int) -> Any:
        if i == j:
            return parts[i]
        return matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j), precision=precision)

    return product(0, count - 1)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector and one of another."""
    x, y = array_argument(x1, "x1"), array_argument(x2, "x2")
    if x.ndim != 1 or y.ndim != 1:
        raise shape_error(
            "outer",
            f"vectors are needed, got {x.aval.long()} and {y.aval.long()}",
            "use stagec.numpy.outer, which flattens its arguments",
        )
    return linear.outer(x, y)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of length 3."""
    return linear.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes."""
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the matrices in the last two axes."""
    return diagonals.trace(x, offset, -2, -1, dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None) -> Any:
    """Contract axes of two arrays."""
    return linear.tensordot(x1, x2, axes, precision=precision)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None) -> Any:
    """The product of vectors along one axis; the first is conjugated."""
    return linear.vecdot(x1, x2, axis=axis, precision=precision)


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
