"""The names of `numpy.linalg`; powers and chains of matrices are implemented here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.core import location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy import diagonals, linear
from stagec.numpy.arguments import array_argument
from stagec.numpy.creation import eye
from stagec.numpy.decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from stagec.numpy.linear import matmul
from stagec.numpy.manipulation import matrix_transpose
from stagec.numpy.norms import matrix_norm, norm, vector_norm
from stagec.numpy.promotion import broadcast_to_shape
from stagec.numpy.ranks import cond, lstsq, matrix_rank, pinv
from stagec.numpy.systems import det, inv, slogdet, solve, tensorinv, tensorsolve
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.operand import aval_of
from stagec.primitives.precision import PrecisionLike
from stagec.primitives.shape import expand_dims
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def matrix_power(a: ArrayLike, n: int) -> Array:
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
    while not power & 1:
        a, power = matmul(a, a), power >> 1
    out = a
    while power := power >> 1:
        a = matmul(a, a)
        if power & 1:
            out = matmul(out, a)
    return out


def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
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


def _chain(parts: list[Array], precision: Any) -> Array:
    """Multiply in the cheapest order: matrix-chain multiplication (Cormen et al., Introduction to Algorithms)."""
    count = len(parts)
    sizes = [parts[0].shape[0], *[p.shape[1] for p in parts]]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            costs = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(costs)
            cut[i][j] = i + costs.index(cost[i][j])
    return _product(parts, 0, count - 1, cut, precision)


def _product(parts: list[Array], i: int, j: int, cut: list[list[int]], precision: Any) -> Array:
    """The product of matrices from one to another, of which the last multiplication is where they are cut."""
    if i == j:
        return parts[i]
    left, right = _product(parts, i, cut[i][j], cut, precision), _product(parts, cut[i][j] + 1, j, cut, precision)
    return matmul(left, right, precision=precision)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of an element of one vector and one of another."""
    x, y = array_argument(x1, "x1"), array_argument(x2, "x2")
    if x.ndim != 1 or y.ndim != 1:
        raise shape_error(
            "outer",
            f"vectors are needed, got {x.aval.long()} and {y.aval.long()}",
            "use stagec.numpy.outer, which flattens its arguments",
        )
    return linear.outer(x, y)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of length 3.

    Raises:
      ShapeError: the vectors have another length.
    """
    avals = [aval_of(array_argument(x, "cross")) for x in (x1, x2)]
    lengths = [a.shape[canonical_axis(axis, a.ndim, "cross")] for a in avals]
    if lengths != [3, 3]:
        text = f"the vectors along axis {axis} of {avals[0].long()} and {avals[1].long()} do not have length 3"
        raise shape_error("cross", text, "append a component of 0, as stagec.numpy.cross does")
    return linear.cross(x1, x2, axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes."""
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Array:
    """The sums of the diagonals of the matrices in the last two axes."""
    return diagonals.trace(x, offset, -2, -1, dtype)


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Contract axes of two arrays."""
    return linear.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The product of vectors along one axis; the first is conjugated."""
    return linear.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


_cover(globals())
_publish(globals())
