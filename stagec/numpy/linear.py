"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype, to_array
from stagec.numpy.indexing import getitem
from stagec.numpy.joining import stack
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, check_ranks, promote, promote_dtypes
from stagec.primitives import arithmetic
from stagec.primitives.axes import as_int, canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.dot import dot_general, matched_dtypes
from stagec.primitives.joining import pad
from stagec.primitives.logic import bitwise_and
from stagec.primitives.precision import PrecisionLike
from stagec.primitives.shape import broadcast_in_dim, expand_dims, reshape, squeeze, transpose
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot", "vecmat"]


def _pair(a: Any, b: Any, preferred: Any = None) -> tuple[Any, Any]:
    x, y = promote_dtypes(*matched_dtypes([array_argument(a, "a"), array_argument(b, "b")], preferred))
    return x, y


def _times(x: Array, y: Array) -> Array:
    """The product of operands of one dtype; logical and for bools."""
    return (bitwise_and if x.dtype == dtypes.bool_ else arithmetic.mul)(x, y)


def _preferred(dtype: Any, name: str) -> Any:
    return None if dtype is None else requested_dtype(dtype, name)


def _product_fix(x: Array, y: Array) -> str:
    """Suggest a product of operands whose contracted axes differ; empty if there is none."""
    try:
        broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except errors.ShapeError:
        return ""
    rows, columns = x.shape[-2:-1], y.shape[-1:]
    swapped = y.ndim > 1 and columns == x.shape[-1:]
    turned = x.ndim > 1 and rows == y.shape[-2:][:1]
    ways = ["a @ b.mT"] * swapped + ["a.mT @ b"] * turned
    if not ways and x.ndim > 1 and y.ndim > 1 and rows == columns:
        ways = ["b @ a", "a.mT @ b.mT"]
    return " or ".join(ways)


def matmul(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike = None
) -> Array:
    """The matrix product; leading axes are broadcast against each other.

    Args:
      a, b: arrays of rank 1 or more; vectors are rows on the left, columns on the right.
      precision: `"default"`, `"high"` or `"highest"`, for hardware with several.
      preferred_element_type: dtype of the result.

    Raises:
      ShapeError: the contracted axes differ in size.

    >>> import stagec.numpy as snp
    >>> matmul(snp.ones((5, 2, 3)), snp.ones((3, 4))).shape
    (5, 2, 4)
    """
    x, y = _pair(a, b, preferred_element_type)
    for v in (x, y):
        if not v.ndim:
            raise shape_error("matmul", f"{v.aval.long()} has no axes", "use * for products with scalars", (x, y), "ab")
    contracted = x.shape[-1], y.shape[-2 if y.ndim > 1 else 0]
    if contracted[0] != contracted[1]:
        raise shape_error(
            "matmul",
            f"{x.aval.long()} and {y.aval.long()} do not match (last axis of the first is {contracted[0]}, "
            f"{'second to last' if y.ndim > 1 else 'only'} axis of the second is {contracted[1]})",
            _product_fix(x, y),
            (x, y),
            "ab",
        )
    try:
        lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except errors.ShapeError:
        text = f"leading axes {x.shape[:-2]} of the first and {y.shape[:-2]} of the second do not broadcast"
        fix = "axes before the last two are matched from the last, and only size 1 stretches"
        raise shape_error("matmul", text, fix, (x, y), "ab") from None
    x, x_lead = _without_stretched(x, lead, min(x.ndim, 2))
    y, y_lead = _without_stretched(y, lead, min(y.ndim, 2))
    shared = [i for i in x_lead if i in y_lead]
    x_batch, y_batch = tuple(x_lead.index(i) for i in shared), tuple(y_lead.index(i) for i in shared)
    x_axis, y_axis = x.ndim - 1, y.ndim - (2 if y.ndim - len(y_lead) == 2 else 1)
    out = dot_general(
        x,
        y,
        (((x_axis,), (y_axis,)), (x_batch, y_batch)),
        precision,
        _preferred(preferred_element_type, "matmul"),
    )
    # The product has the shared axes, then the remaining axes of x, then those of y.
    labels: list[Any] = [*shared, *[i for i in x_lead if i not in shared]]
    labels += ["row"] * (x.ndim - len(x_lead) - 1)
    labels += [i for i in y_lead if i not in shared] + ["column"] * (y.ndim - len(y_lead) - 1)
    wanted = [*range(len(lead)), *[name for name in ("row", "column") if name in labels]]
    return transpose(out, [labels.index(i) for i in wanted])


def _without_stretched(x: Array, lead: tuple[int, ...], inner: int) -> tuple[Any, list[int]]:
    """Drop leading axes of size 1 that would be broadcast; return also the result's axes that remain."""
    count = x.ndim - inner
    first = len(lead) - count
    dropped = [i for i in range(count) if x.shape[i] == 1 and lead[first + i] != 1]
    x = squeeze(x, tuple(dropped)) if dropped else x
    return x, [first + i for i in range(count) if i not in dropped]


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    out: None = None,
) -> Array:
    """Contract the last axis of `a` with the second to last, or the only, axis of `b`.

    >>> import stagec.numpy as snp
    >>> dot(snp.arange(3), snp.arange(3))
    Array(5, dtype=int32)
    """
    refuse_out(out, "dot")
    x, y = _pair(a, b, preferred_element_type)
    preferred = _preferred(preferred_element_type, "dot")
    if not x.ndim or not y.ndim:
        product = to_array(_times(*promote("dot", x, y)))
        return product if preferred is None else convert_element_type(product, preferred)
    return _contracted("dot", x, y, (x.ndim - 1,), (max(y.ndim - 2, 0),), precision, preferred)


def _contracted(
    name: str, x: Array, y: Array, x_axes: Sequence[int], y_axes: Sequence[int], precision: Any, preferred: Any
) -> Array:
    """Contract pairs of axes; the result has the remaining axes of `x`, then those of `y`."""
    sizes = [tuple([v.shape[i] for i in axes]) for v, axes in ((x, x_axes), (y, y_axes))]
    if sizes[0] != sizes[1]:
        text = f"axes {tuple(x_axes)} of the first have sizes {sizes[0]}, axes {tuple(y_axes)} of the second {sizes[1]}"
        raise shape_error(name, text, "sizes of paired axes must agree; transpose one of the operands", (x, y), "ab")
    return dot_general(x, y, ((x_axes, y_axes), ((), ())), precision, preferred)


def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike = None
) -> Array:
    """The product of all elements as vectors; the first is conjugated.

    >>> import stagec.numpy as snp
    >>> vdot(snp.ones((2, 2)), snp.ones((2, 2)))
    Array(4., dtype=float32)
    """
    x, y = _pair(a, b, preferred_element_type)
    preferred = _preferred(preferred_element_type, "vdot")
    return _contracted("vdot", _conjugate(ravel(x)), ravel(y), (0,), (0,), precision, preferred)


def _conjugate(x: Array) -> Array:
    return x.conj() if dtypes.is_complex(x.dtype) else x


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The product of vectors along one axis; the first is conjugated, other axes are broadcast.

    >>> import stagec.numpy as snp
    >>> vecdot(snp.ones((4, 3)), snp.arange(3))
    Array([3., 3., 3., 3.], dtype=float32)
    """
    x, y = _pair(x1, x2, preferred_element_type)
    check_ranks("vecdot", (x, y))
    x = moveaxis(x, canonical_axis(axis, x.ndim, "vecdot"), -1)
    y = moveaxis(y, canonical_axis(axis, y.ndim, "vecdot"), -1)
    if x.shape[-1] != y.shape[-1]:
        raise shape_error(
            "vecdot",
            f"{x.aval.long()} and {y.aval.long()} differ along the axis",
            "slice one to the other's size, or choose another axis=",
            (x, y),
        )
    row, column = expand_dims(_conjugate(x), (x.ndim - 1,)), expand_dims(y, (y.ndim,))
    out = matmul(row, column, precision=precision, preferred_element_type=preferred_element_type)
    return squeeze(out, (-2, -1))


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrices times vectors along the last axes.

    >>> import stagec.numpy as snp
    >>> matvec(snp.eye(2), snp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    x1, y = array_argument(x1, "x1"), array_argument(x2, "x2")
    check_ranks("matvec", (x1, y), (2, 1))
    return squeeze(matmul(x1, expand_dims(y, (y.ndim,))), (-1,))


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Vectors, conjugated, times matrices along the last axes.

    >>> import stagec.numpy as snp
    >>> vecmat(snp.array([1.0, 2.0]), snp.eye(2))
    Array([1., 2.], dtype=float32)
    """
    x, x2 = _conjugate(array_argument(x1, "x1")), array_argument(x2, "x2")
    check_ranks("vecmat", (x, x2), (1, 2))
    return squeeze(matmul(expand_dims(x, (x.ndim - 1,)), x2), (-2,))


def inner(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike = None
) -> Array:
    """Contract the last axes of `a` and `b`.

    >>> import stagec.numpy as snp
    >>> inner(snp.ones((2, 3)), snp.ones((4, 3))).shape
    (2, 4)
    """
    x, y = _pair(a, b, preferred_element_type)
    if not x.ndim or not y.ndim:
        return dot(x, y, preferred_element_type=preferred_element_type)
    preferred = _preferred(preferred_element_type, "inner")
    return _contracted("inner", x, y, (x.ndim - 1,), (y.ndim - 1,), precision, preferred)


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """All products of an element of `a` and one of `b`.

    >>> import stagec.numpy as snp
    >>> outer(snp.arange(2), snp.arange(3))
    Array([[0, 0, 0],
           [0, 1, 2]], dtype=int32)
    """
    refuse_out(out, "outer")
    x, y = _pair(a, b)
    x, y = ravel(x), ravel(y)
    shape = (x.size, y.size)
    return _times(broadcast_in_dim(x, shape, (0,)), broadcast_in_dim(y, shape, (1,)))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Contract axes of two arrays.

    Args:
      a, b: arrays.
      axes: how many last axes of `a` go with the first of `b`, or a pair of axes or of lists of axes.

    Raises:
      ShapeError: paired axes differ in size.

    >>> import stagec.numpy as snp
    >>> tensordot(snp.ones((2, 3, 4)), snp.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    x, y = _pair(a, b, preferred_element_type)
    if isinstance(axes, (Sequence, np.ndarray)):
        first, second = axes
        x_axes, y_axes = canonical_axes(first, x.ndim, "tensordot"), canonical_axes(second, y.ndim, "tensordot")
    else:
        count = as_int(axes, "tensordot", "axes")
        if count > min(x.ndim, y.ndim):
            raise shape_error(
                "tensordot",
                f"axes={count} exceeds the rank of {x.aval.long()}",
                "use axes=0, 1 or 2, up to the smaller rank",
                (x, y),
            )
        x_axes, y_axes = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    preferred = _preferred(preferred_element_type, "tensordot")
    return _contracted("tensordot", x, y, x_axes, y_axes, precision, preferred)


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: every element of `a` times a copy of `b`.

    >>> import stagec.numpy as snp
    >>> kron(snp.eye(2, dtype=int), snp.ones((1, 2), int))
    Array([[1, 1, 0, 0],
           [0, 0, 1, 1]], dtype=int32)
    """
    x, y = _pair(a, b)
    rank = max(x.ndim, y.ndim)
    x, y = (expand_dims(v, tuple(range(rank - v.ndim))) for v in (x, y))
    shape = [n for pair in zip(x.shape, y.shape) for n in pair]
    left = broadcast_in_dim(x, shape, tuple(range(0, 2 * rank, 2)))
    right = broadcast_in_dim(y, shape, tuple(range(1, 2 * rank, 2)))
    return reshape(_times(left, right), tuple([m * n for m, n in zip(x.shape, y.shape)]))


def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross product of vectors of length 3; a third component of 0 is added to those of length 2.

    >>> import stagec.numpy as snp
    >>> cross(snp.array([1, 0, 0]), snp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (convert_element_type(v, v.dtype) for v in _pair(a, b))  # drops weak types
    if x.ndim > 1 and y.ndim > 1:
        check_ranks("cross", (x, y))
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    for v in (x, y):
        if v.shape[-1] not in (2, 3):
            raise shape_error(
                "cross", f"vectors have length 2 or 3, got {v.aval.long()}", "name the axis of the vectors with axis="
            )
    planar = x.shape[-1] == y.shape[-1] == 2
    shape = broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (broadcast_to_shape(v, (*shape, v.shape[-1])) for v in (x, y))
    x, y = (
        pad(v, np.zeros((), v.dtype), [(0, 0, 0)] * len(shape) + [(0, 1, 0)]) if v.shape[-1] == 2 else v for v in (x, y)
    )
    xs, ys = ([getitem(v, (..., i)) for i in range(3)] for v in (x, y))

    def component(i: int, j: int) -> Array:
        return arithmetic.sub(arithmetic.mul(xs[i], ys[j]), arithmetic.mul(xs[j], ys[i]))

    if planar:
        return component(0, 1)
    return moveaxis(stack([component(1, 2), component(2, 0), component(0, 1)], -1), -1, axisc)
