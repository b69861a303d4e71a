"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.array import Array, Axis
from stagec.factorizations.svd import svd
from stagec.numpy.arguments import array_argument
from stagec.numpy.manipulation import moveaxis
from stagec.numpy.promotion import promote_inexact
from stagec.primitives import arithmetic
from stagec.primitives.axes import canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.shape import expand_dims
from stagec.typing import ArrayLike


def _magnitude(x: Array) -> Array:
    (x,) = promote_inexact(x)
    return abs(x)


def _root_of_squares(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    (x,) = promote_inexact(x)
    if dtypes.is_complex(x.dtype):
        squares = arithmetic.add(arithmetic.square(x.real), arithmetic.square(x.imag))
    else:
        squares = arithmetic.square(x)
    return arithmetic.sqrt(squares.sum(axes, keepdims=keepdims))


def _vector(x: Array, axis: int | tuple[int, ...], ord: Any, keepdims: bool) -> Array:
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
    power: float = ord
    return (size**power).sum(axes, keepdims=keepdims) ** (1.0 / power)


def _bad_order(kind: str, ord: Any, allowed: str) -> ValueError:
    return location.error(ValueError, f"norm: {ord!r} is not an order of a {kind} norm", fix=f"use {allowed}")


def _matrix(x: Array, axes: tuple[int, int], ord: Any, keepdims: bool) -> Array:
    rows, columns = axes
    if ord in (None, "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        values = svd(*promote_inexact(moveaxis(x, axes, (-2, -1))), compute_uv=False)
        found = values.sum(-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        return expand_dims(found, axes) if keepdims else found
    if ord not in (1, -1, np.inf, -np.inf):
        raise _bad_order("matrix", ord, "'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    inner, outer = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = _magnitude(x).sum(inner, keepdims=True)
    out = sums.max(outer, keepdims=True) if ord > 0 else sums.min(outer, keepdims=True)
    return out if keepdims else out.squeeze(axes)


def norm(x: ArrayLike, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
      x: an array.
      ord: for vectors any number, inf or -inf, 2 by default; for matrices
        `"fro"` (the default), `"nuc"`, 1, -1, 2, -2, inf, -inf.
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


def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float | str = 2) -> Array:
    """The norm of vectors along axes, or of all elements as one vector.

    >>> import stagec.numpy as snp
    >>> vector_norm(snp.array([[3.0, 4.0]]), ord=1)
    Array(7., dtype=float32)
    """
    x = array_argument(x, "x")
    return _vector(x, canonical_axes(axis, x.ndim, "vector_norm"), ord, keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """The norm of the matrices in the last two axes.

    >>> import stagec.numpy as snp
    >>> matrix_norm(snp.array([[3.0, 4.0]]))
    Array(5., dtype=float32)
    """
    x = array_argument(x, "x")
    first, second = (canonical_axis(i, x.ndim, "matrix_norm") for i in (-2, -1))
    return _matrix(x, (first, second), ord, keepdims)
