"""Moving elements without computing: broadcast, reshape, squeeze, transpose, reverse."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import SinglePrimitive
from stagec.primitives.axes import as_int, as_shape, canonical_axes, shape_error
from stagec.primitives.broadcast import (
    broadcast_in_dim_p,
    in_front,
    linear,
    next_axes,
    reshape_p,
    transpose_p,
)
from stagec.primitives.checks import i64_array
from stagec.primitives.operand import as_operand, aval_of, is_own_array
from stagec.typing import ArrayLike

__all__ = [
    "broadcast", "broadcast_in_dim", "collapse", "expand_dims", "reshape", "rev", "rev_p", "squeeze", "squeeze_p",
    "transpose",
]  # fmt: skip

Ints = tuple[int, ...]


# broadcast_in_dim


def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Array:
    """Repeat along new axes and along axes of size 1.

    Args:
      operand: an array of rank `len(broadcast_dimensions)`.
      shape: the result's.
      broadcast_dimensions: the result's axis for each of the operand's, in any order.

    Raises:
      ShapeError: a size of the operand is neither 1 nor the result's.

    >>> import stagec.numpy as snp
    >>> broadcast_in_dim(snp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    operand = as_operand(operand)
    shape = as_shape(shape, "broadcast_in_dim")
    dimensions = tuple([as_int(d, "broadcast_in_dim", "a dimension") for d in broadcast_dimensions])
    if aval_of(operand).shape == shape and dimensions == tuple(range(len(shape))) and is_own_array(operand):
        return operand
    order = sorted(range(len(dimensions)), key=dimensions.__getitem__)
    if order != list(range(len(dimensions))) and len(order) == aval_of(operand).ndim:
        operand, dimensions = transpose(operand, order), tuple(sorted(dimensions))
    return broadcast_in_dim_p(operand, shape=shape, broadcast_dimensions=dimensions)


def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> Array:
    """Repeat along new leading axes of the given sizes.

    >>> broadcast(1.0, (2,))
    Array([1., 1.], dtype=float32, weak_type=True)
    """
    operand = as_operand(operand)
    new = as_shape(sizes, "broadcast")
    shape = new + aval_of(operand).shape
    return broadcast_in_dim(operand, shape, tuple(range(len(new), len(shape))))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert axes of size 1 at the result's `dimensions`.

    >>> import stagec.numpy as snp
    >>> expand_dims(snp.zeros((2, 3)), (0, 2)).shape
    (1, 2, 1, 3)
    """
    array = as_operand(array)
    have = aval_of(array).shape
    axes = dimensions if isinstance(dimensions, (Sequence, np.ndarray)) else (dimensions,)
    rank = len(have) + len(axes)
    new = set(canonical_axes(axes, rank, "expand_dims"))
    kept = tuple([i for i in range(rank) if i not in new])
    shape = [1] * rank
    for size, axis in zip(have, kept):
        shape[axis] = size
    return broadcast_in_dim(array, tuple(shape), kept)


# reshape and squeeze


def reshape(operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Array:
    """Read the elements in row-major order into another shape.

    Args:
      operand: an array.
      new_sizes: the result's shape.
      dimensions: the order in which the operand's axes are read, outermost first.

    Raises:
      ShapeError: the number of elements differs.

    >>> import stagec.numpy as snp
    >>> reshape(snp.arange(4), (2, 2), dimensions=(0,)).shape
    (2, 2)
    """
    operand = as_operand(operand)
    sizes = as_shape(new_sizes, "reshape")
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    if aval_of(operand).shape == sizes and is_own_array(operand):
        return operand
    return reshape_p(operand, new_sizes=sizes)


def _squeeze_shape(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    for d in dimensions:
        if x.shape[d] != 1:
            raise shape_error(
                "squeeze",
                f"cannot select an axis to squeeze out which has size not equal to one: axis {d} of {x.long()}",
                "name axes of size 1 only; index others, as in x[0], or reduce over them",
            )
    return x.update(shape=[n for i, n in enumerate(x.shape) if i not in dimensions])


squeeze_p = SinglePrimitive(
    "squeeze",
    shape=_squeeze_shape,
    follows=lambda avals, out, params: [(0, i) for i in range(avals[0].ndim) if i not in params["dimensions"]],
    eval=lambda x, *, dimensions: x.reshape([n for i, n in enumerate(x.shape) if i not in dimensions]),
    python=lambda code, x, *, dimensions: code.view(f"{code.array(x)}.reshape({code.out_avals[0].shape})", x),
    lower=lambda cx, x, *, dimensions: cx.emit("stablehlo.reshape", [x]),
    jvp=linear(),
    transpose=lambda ct, x, *, dimensions: [reshape_p(ct, new_sizes=x.aval.shape)],
    batch=in_front(dimensions=next_axes),
    numpy_ns=0,
)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Make one axis of the axes from `start_dimension` up to, not including, `stop_dimension`.

    >>> import stagec.numpy as snp
    >>> collapse(snp.zeros((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    operand = as_operand(operand)
    have = aval_of(operand).shape
    axes = range(len(have))[start_dimension:stop_dimension]
    if not axes:
        text = f"there are no axes from {start_dimension} to {stop_dimension} in {aval_of(operand).long()}"
        raise shape_error("collapse", text, "give a stop_dimension after the start_dimension", (operand,))
    return reshape(operand, (*have[: axes[0]], math.prod(have[axes[0] : axes[-1] + 1]), *have[axes[-1] + 1 :]))


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove axes of size 1.

    Raises:
      ShapeError: an axis has another size.

    >>> import stagec.numpy as snp
    >>> squeeze(snp.zeros((1, 3, 1)), (0, -1)).shape
    (3,)
    """
    array = as_operand(array)
    axes = tuple(sorted(canonical_axes(dimensions, aval_of(array).ndim, "squeeze")))
    return squeeze_p(array, dimensions=axes) if axes or not is_own_array(array) else array


# transpose and rev


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Reorder axes: the result's axis `i` is the operand's axis `permutation[i]`.

    Raises:
      ShapeError: `permutation` does not name each axis once.

    >>> import stagec.numpy as snp
    >>> transpose(snp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    operand = as_operand(operand)
    permutation = tuple([as_int(p, "transpose", "an axis") for p in permutation])
    if permutation == tuple(range(aval_of(operand).ndim)) and is_own_array(operand):
        return operand
    return transpose_p(operand, permutation=permutation)


rev_p: SinglePrimitive = SinglePrimitive(
    "rev",
    shape=lambda x, *, dimensions: x,
    eval=lambda x, *, dimensions: np.flip(x, dimensions),
    lower=lambda cx, x, *, dimensions: cx.emit("stablehlo.reverse", [x], {"dimensions": i64_array(dimensions)}),
    jvp=linear(),
    transpose=lambda ct, x, *, dimensions: [rev_p(ct, dimensions=dimensions)],
    batch=in_front(dimensions=next_axes),
    numpy_ns=0,
)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order along axes.

    >>> import stagec.numpy as snp
    >>> rev(snp.arange(3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    operand = as_operand(operand)
    axes = canonical_axes(tuple(dimensions), aval_of(operand).ndim, "rev")
    return rev_p(operand, dimensions=axes) if axes or not is_own_array(operand) else operand
