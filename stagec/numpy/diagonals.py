"""Diagonals and triangles of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import dims, dtypes, location
from stagec.core.array import Array
from stagec.core.errors import UnsupportedError
from stagec.numpy.arguments import array_argument, immutable, refuse_out
from stagec.numpy.creation import eye, tri
from stagec.numpy.indexing import getitem
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives.axes import as_int, canonical_axes, shape_error
from stagec.primitives.cumulative import cumprod
from stagec.primitives.iota import full_like, iota
from stagec.primitives.joining import concatenate, pad
from stagec.primitives.logic import select
from stagec.primitives.shape import broadcast_in_dim, reshape, rev
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["diag", "diagflat", "diagonal", "fill_diagonal", "trace", "tril", "triu", "vander"]


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements of a plane's diagonal, as the last axis.

    >>> import stagec.numpy as snp
    >>> diagonal(snp.arange(9).reshape(3, 3), 1)
    Array([1, 5], dtype=int32)
    """
    a = array_argument(a, "a")
    if a.ndim < 2:
        raise shape_error(
            "diagonal",
            f"{a.aval.long()} has less than two axes",
            "use stagec.numpy.diag, which makes a matrix of a vector",
        )
    first, second = canonical_axes((axis1, axis2), a.ndim, "diagonal")
    offset = as_int(offset, "diagonal", "offset")
    a = moveaxis(a, (first, second), (-2, -1))
    count = dims.maximum(dims.minimum(a.shape[-2] + min(offset, 0), a.shape[-1] - max(offset, 0)), 0)
    row, column = max(-offset, 0), max(offset, 0)
    if dims.is_open(count):
        steps = iota(dtypes.int32, count)
        return getitem(a, (..., steps + row, steps + column))
    square = getitem(a, (..., slice(row, row + count), slice(column, column + count)))
    # Every (count + 1)-th element of the square, row by row: a slice, where indices would need a gather.
    return getitem(reshape(square, (*a.shape[:-2], count * count)), (..., slice(None, None, count + 1)))


def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: None = None
) -> Array:
    """The sum of a plane's diagonal.

    >>> import stagec.numpy as snp
    >>> trace(snp.eye(3))
    Array(3., dtype=float32)
    """
    refuse_out(out, "trace")
    return diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype)


def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with this diagonal, or the diagonal of a matrix.

    >>> import stagec.numpy as snp
    >>> diag(snp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    v = array_argument(v, "v")
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise shape_error(
            "diag",
            f"a vector or a matrix is needed, got {v.aval.long()}",
            "use stagec.numpy.diagonal, which takes any rank of 2 or more",
        )
    k = as_int(k, "diag", "k")
    v = pad(v, np.zeros((), v.dtype), [(abs(k), 0, 0)])
    size = v.shape[0]
    rows = broadcast_in_dim(v, (size, size), (1,) if k >= 0 else (0,))
    return select(eye(size, k=k, dtype=bool), rows, full_like(rows, 0))


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix whose diagonal holds all elements of `v`."""
    return diag(ravel(v), k)


def tril(m: ArrayLike, k: int = 0) -> Array:
    """Zeros above a diagonal.

    >>> import stagec.numpy as snp
    >>> tril(snp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle(m, k, True, "tril")


def triu(m: ArrayLike, k: int = 0) -> Array:
    """Zeros below a diagonal.

    >>> import stagec.numpy as snp
    >>> triu(snp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return _triangle(m, k, False, "triu")


def _triangle(m: Any, k: int, lower: bool, name: str) -> Array:
    m = array_argument(m, "m")
    if m.ndim < 2:
        raise shape_error(name, f"{m.aval.long()} has less than two axes", "add an axis with x[None]")
    keep = broadcast_to_shape(tri(m.shape[-2], m.shape[-1], k if lower else k - 1, bool), m.shape)
    zero = full_like(m, 0)
    return select(keep, m, zero) if lower else select(keep, zero, m)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The powers of a vector's elements as columns.

    >>> import stagec.numpy as snp
    >>> vander(snp.array([2, 3]), increasing=True)
    Array([[1, 2],
           [1, 3]], dtype=int32)
    """
    x = array_argument(x, "x")
    if x.ndim != 1:
        raise shape_error("vander", f"a vector is needed, got {x.aval.long()}", "flatten it with x.ravel()")
    count = x.size if N is None else as_int(N, "vander", "N")
    if count < 0:
        raise shape_error("vander", f"N is {count}", "give the number of columns, 0 or more")
    spread = broadcast_in_dim(x, (x.size, max(count - 1, 0)), (0,))
    powers = concatenate([full_like(x, 1, shape=(x.size, min(count, 1))), cumprod(spread, 1)], 1)
    return powers if increasing else rev(powers, (1,))


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """A copy with another diagonal; pass `inplace=False`, as arrays are immutable.

    >>> import stagec.numpy as snp
    >>> fill_diagonal(snp.zeros((2, 2)), 1, inplace=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if inplace:
        raise immutable("fill_diagonal")
    if wrap:
        what, fix = (
            "fill_diagonal: wrap=True is not supported",
            "fill each square block of rows, x[:n], and concatenate",
        )
        raise location.error(UnsupportedError, what, fix=fix)
    a = array_argument(a, "a")
    if a.ndim < 2:
        raise shape_error("fill_diagonal", f"{a.aval.long()} has less than two axes", "add an axis with x[None]")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise shape_error("fill_diagonal", f"the axes of {a.aval.long()} differ in size", "use vmap for a batch")
    count = min(a.shape)
    indices = np.arange(count, dtype=np.int32)
    value = ravel(array_argument(val, "val"))
    if value.size and value.size != count:
        repeats = math.ceil(count / value.size)
        value = reshape(broadcast_in_dim(value, (repeats, value.size), (1,)), (repeats * value.size,))
        value = getitem(value, slice(count))
    return a.at[(indices,) * a.ndim].set(value)
