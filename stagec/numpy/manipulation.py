"""Rearranging arrays: shapes, axes, the order of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from stagec.core import dims, dtypes, location
from stagec.core.array import Array, Axis, Shape
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.numpy import promotion
from stagec.numpy.arguments import Placement, array_argument, on_device, requested_dtype
from stagec.numpy.indexing import getitem
from stagec.primitives import joining as _joining, shape as _shape
from stagec.primitives.axes import as_int, as_shape, canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.slicing import dynamic_slice_in_dim, slice_in_dim
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "expand_dims", "flip",
    "fliplr", "flipud", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape", "roll", "rollaxis",
    "rot90", "squeeze", "swapaxes", "transpose",
]  # fmt: skip


def _check_order(order: str | None, name: str) -> str:
    if order in ("C", "A", None):
        return "C"
    if order == "F":
        return "F"
    fix = "use order='C' or order='F'"
    if isinstance(order, int) and name == "reshape":
        fix = "pass the sizes as one tuple, as in reshape(x, (2, 3))"
    raise location.error(ValueError, f"{name}: order is {order!r}", fix=fix)


def reshape(a: ArrayLike, shape: Shape | None = None, order: str = "C", *, copy: bool | None = None) -> Array:
    """Give an array another shape, in row-major order of its elements.

    Args:
      a: an array.
      shape: sizes; one of them may be -1, and is computed from the others.
      order: `"F"` reads and writes in column-major order.
      copy: ignored, since arrays are immutable.

    Raises:
      ShapeError: the number of elements differs.

    >>> import stagec.numpy as snp
    >>> reshape(snp.arange(6), (2, -1)).shape
    (2, 3)
    """
    a = array_argument(a, "a")
    sizes = _resolved(a, shape)
    if _check_order(order, "reshape") == "F":
        return transpose(_shape.reshape(transpose(a), sizes[::-1]))
    return _shape.reshape(a, sizes)


def _resolved(a: Any, shape: Any) -> tuple[int, ...]:
    many = isinstance(shape, (Sequence, np.ndarray)) or (isinstance(shape, ArrayOperators) and shape.ndim > 0)
    sizes = [as_int(n, "reshape", "each size of a shape") for n in (shape if many else (shape,))]
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in sizes):
        raise shape_error(
            "reshape", f"shape {tuple(sizes)} has more than one unknown size", "use -1 for one size at most"
        )
    if unknown:
        known = math.prod([n for n in sizes if n != -1])
        size = None if known == 0 else dims.divided(a.size, known)
        if size is None:
            raise shape_error(
                "reshape",
                f"cannot reshape array of size {a.size} into shape {tuple(sizes)}",
                f"the known sizes must divide {a.size}; {known} does not",
                (a,),
                ("array",),
            )
        sizes[unknown[0]] = size
    return tuple(sizes)


def ravel(a: ArrayLike | Sequence[Any], order: str = "C") -> Array:
    """All elements as a vector.

    >>> import stagec.numpy as snp
    >>> ravel(snp.eye(2))
    Array([1., 0., 0., 1.], dtype=float32)
    """
    a = array_argument(a, "a")
    # "K" keeps the order in memory, which is row-major.
    return reshape(a, (a.size,), "C" if order == "K" else order)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Reorder the axes; without `axes`, reverse them.

    >>> import stagec.numpy as snp
    >>> transpose(snp.zeros((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    a = array_argument(a, "a")
    if axes is None:
        return _shape.transpose(a, tuple(range(a.ndim))[::-1])
    order = canonical_axes(tuple(axes), a.ndim, "transpose")
    return _shape.transpose(a, order)


permute_dims = transpose


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two axes.

    >>> import stagec.numpy as snp
    >>> matrix_transpose(snp.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = array_argument(x, "x")
    if x.ndim < 2:
        raise shape_error("matrix_transpose", f"{x.aval.long()} has less than two axes", "add one with x[:, None]")
    return swapaxes(x, -1, -2)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    >>> import stagec.numpy as snp
    >>> swapaxes(snp.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    a = array_argument(a, "a")
    first, second = (canonical_axis(i, a.ndim, "swapaxes") for i in (axis1, axis2))
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return _shape.transpose(a, order)


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move axes to other positions; the others keep their order.

    >>> import stagec.numpy as snp
    >>> moveaxis(snp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = array_argument(a, "a")
    start = canonical_axes(source, a.ndim, "moveaxis")
    end = canonical_axes(destination, a.ndim, "moveaxis")
    if len(start) != len(end):
        raise shape_error(
            "moveaxis",
            f"source {source} and destination {destination} differ in length",
            "name as many destinations as sources",
        )
    order = [i for i in range(a.ndim) if i not in start]
    for position, axis in sorted(zip(end, start)):
        order.insert(position, axis)
    return _shape.transpose(a, order)


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move an axis backwards to before the axis `start`.

    >>> import stagec.numpy as snp
    >>> rollaxis(snp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = array_argument(a, "a")
    axis = canonical_axis(axis, a.ndim, "rollaxis")
    start = a.ndim if start == a.ndim else canonical_axis(start, a.ndim, "rollaxis")
    order = [i for i in range(a.ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return _shape.transpose(a, order)


def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Remove axes of size 1: those named, or all of them.

    >>> import stagec.numpy as snp
    >>> squeeze(snp.zeros((1, 3, 1))).shape
    (3,)
    """
    a = array_argument(a, "a")
    if axis is None:
        axes = tuple([i for i, n in enumerate(a.shape) if dims.equal(n, 1, "name the axes to remove, as in axis=0")])
    else:
        axes = canonical_axes(axis, a.ndim, "squeeze")
    return _shape.squeeze(a, axes)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Insert axes of size 1.

    >>> import stagec.numpy as snp
    >>> expand_dims(snp.zeros(3), (0, 2)).shape
    (1, 3, 1)
    """
    return _shape.expand_dims(array_argument(a, "a"), tuple(axis) if isinstance(axis, Sequence) else (axis,))


def broadcast_to(array: ArrayLike, shape: Shape) -> Array:
    """Stretch axes of size 1, and add axes in front.

    >>> import stagec.numpy as snp
    >>> broadcast_to(snp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    array = array_argument(array, "array")
    return promotion.broadcast_to_shape(array, as_shape(shape, "broadcast_to"))


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Stretch arrays to one shape.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in broadcast_arrays(snp.zeros(3), snp.zeros((2, 1)))]
    [(2, 3), (2, 3)]
    """
    arrays = [array_argument(x, "*args") for x in args]
    sizes = promotion.broadcast_shapes(*[x.shape for x in arrays])
    return [promotion.broadcast_to_shape(x, sizes) for x in arrays]


@overload
def atleast_1d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> list[Array]: ...
def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with at least one axis; a list where there are several.

    >>> atleast_1d(1.0)
    Array([1.], dtype=float32, weak_type=True)
    """
    return _atleast(arys, lambda x: x if x.ndim else _shape.expand_dims(x, (0,)))


@overload
def atleast_2d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> list[Array]: ...
def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays with at least two axes; new ones lead.

    >>> import stagec.numpy as snp
    >>> atleast_2d(snp.arange(3)).shape
    (1, 3)
    """
    return _atleast(arys, lambda x: x if x.ndim >= 2 else _shape.expand_dims(x, tuple(range(2 - x.ndim))))


@overload
def atleast_3d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> list[Array]: ...
def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with at least three axes: a vector becomes (1, n, 1), a matrix (m, n, 1).

    >>> import stagec.numpy as snp
    >>> atleast_3d(snp.arange(3)).shape
    (1, 3, 1)
    """
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _atleast(arys, lambda x: x if x.ndim >= 3 else _shape.expand_dims(x, new[x.ndim]))


def _atleast(arrays: Sequence[Any], raise_rank: Any) -> Any:
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
        arrays = arrays[0]
        return [raise_rank(array_argument(x, "*arys")) for x in arrays]
    out = [raise_rank(array_argument(x, "*arys")) for x in arrays]
    return out[0] if len(out) == 1 else out


# Reordering elements


def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Move elements along axes; those shifted beyond one end reappear at the other.

    Args:
      a: an array.
      shift: how far; it may be traced.
      axis: one or several; `None` rolls the elements of the whole.

    >>> import stagec.numpy as snp
    >>> roll(snp.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    a = array_argument(a, "a")
    if axis is None:
        return _shape.reshape(roll(ravel(a), shift, 0), a.shape)
    given = list(axis) if isinstance(axis, Sequence) else [axis]
    axes = [canonical_axis(i, a.ndim, "roll") for i in given]
    if isinstance(shift, (tuple, list)):
        shifts = list(shift)
    elif isinstance(shift, (ArrayOperators, np.ndarray)) and shift.ndim:
        shifts = [getitem(array_argument(shift, "shift"), i) for i in range(shift.shape[0])]
    else:
        shifts = [shift]
    count = max(len(axes), len(shifts))
    if len(axes) not in (1, count) or len(shifts) not in (1, count):
        raise shape_error(
            "roll", f"{len(shifts)} shifts do not fit {len(axes)} axes", "give one shift for each axis, or one for all"
        )
    for distance, dim in zip(shifts * (count // len(shifts)), axes * (count // len(axes))):
        size = a.shape[dim]
        if not size:
            continue
        if isinstance(distance, Tracer) or dims.is_open(size):
            if isinstance(distance, Tracer):
                start = size - convert_element_type(distance, dtypes.int32) % size
            else:
                start = dims.as_array(size - as_int(distance, "roll", "shift") % size)
            twice = _joining.concatenate([a, a], dim)
            a = dynamic_slice_in_dim(twice, start, size, dim)
            continue
        cut = -as_int(distance, "roll", "shift") % size
        if cut:
            head, tail = slice_in_dim(a, 0, cut, 1, dim), slice_in_dim(a, cut, size, 1, dim)
            a = _joining.concatenate([tail, head], dim)
    return a


def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Reverse the order along axes, or along all of them.

    >>> import stagec.numpy as snp
    >>> flip(snp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    m = array_argument(m, "m")
    return _shape.rev(m, canonical_axes(axis, m.ndim, "flip"))


def fliplr(m: ArrayLike) -> Array:
    """Reverse the second axis."""
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """Reverse the first axis."""
    return flip(m, 0)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Turn the plane of two axes by 90 degrees, `k` times.

    >>> import stagec.numpy as snp
    >>> rot90(snp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m = array_argument(m, "m")
    first, second = canonical_axes(axes, m.ndim, "rot90")
    turns = as_int(k, "rot90", "k") % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Placement = None) -> Array:
    """Convert each element; floats out of an integer's range saturate.

    Args:
      x: an array.
      dtype: `None` means the default float.
      copy: whether to make a copy where the dtype is the same already.
      device: where the result is to be.

    >>> import stagec.numpy as snp
    >>> astype(snp.array([1.7]), int)
    Array([1], dtype=int32)
    """
    x = array_argument(x, "x")
    wanted = dtypes.default_float() if dtype is None else requested_dtype(dtype, "astype")
    return on_device(convert_element_type(x, wanted), device)
