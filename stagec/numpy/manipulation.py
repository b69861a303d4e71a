"""Rearranging arrays: shapes, axes, joining, splitting, repeating."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.numpy import promotion
from stagec.numpy.arguments import array_argument, concrete, refuse_out, requested_dtype, to_array
from stagec.numpy.axes import as_int, as_shape, normalize_axes, normalize_axis
from stagec.numpy.indexing import getitem
from stagec.primitives import arithmetic
from stagec.primitives import shape as _shape
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full_like, iota
from stagec.primitives.operand import is_array_like
from stagec.primitives.slicing import dynamic_slice_in_dim, slice_in_dim
from stagec.primitives.slicing import split as _split_sizes


def _check_order(order: str | None, name: str) -> str:
    if order in ("C", "A", "K", None):
        return "C"
    if order == "F":
        return "F"
    raise ValueError(
        errors.message(f"{name}: order is {order!r}", str(location.capture()), fix="orders are 'C' and 'F'")
    )


def reshape(a: Any, shape: Any = None, order: str = "C", *, copy: bool | None = None) -> Any:
    """Give an array another shape, in row-major order of its elements.

    Args:
      a: an array.
      shape: sizes; one of them may be -1, which stands for what is left.
      order: `"F"` reads and writes in column-major order.
      copy: arrays are immutable, so that it changes nothing.

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
        raise _shape.shape_error("reshape", f"shape {tuple(sizes)} has more than one unknown size", "use -1 once")
    if unknown:
        rest = math.prod([n for n in sizes if n != -1])
        if rest == 0 or a.size % rest:
            raise _shape.shape_error(
                "reshape",
                f"cannot reshape array of size {a.size} into shape {tuple(sizes)}",
                f"the array is {a.aval.long()}; {a.size} is not a multiple of {rest}",
            )
        sizes[unknown[0]] = a.size // rest
    return tuple(sizes)


def ravel(a: Any, order: str = "C") -> Any:
    """All elements as a vector.

    >>> import stagec.numpy as snp
    >>> ravel(snp.eye(2))
    Array([1., 0., 0., 1.], dtype=float32)
    """
    a = array_argument(a, "a")
    return reshape(a, (a.size,), order)


def transpose(a: Any, axes: Any = None) -> Any:
    """Reorder the axes; without `axes`, reverse them.

    >>> import stagec.numpy as snp
    >>> transpose(snp.zeros((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    a = array_argument(a, "a")
    if axes is None:
        return _shape.transpose(a, tuple(range(a.ndim))[::-1])
    order = normalize_axes(tuple(axes), a.ndim, "transpose")
    return _shape.transpose(a, order)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """Swap the last two axes.

    >>> import stagec.numpy as snp
    >>> matrix_transpose(snp.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = array_argument(x, "x")
    if x.ndim < 2:
        raise _shape.shape_error("matrix_transpose", f"{x.aval.long()} has less than two axes", "add one with None")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    >>> import stagec.numpy as snp
    >>> swapaxes(snp.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    a = array_argument(a, "a")
    first, second = (normalize_axis(i, a.ndim, "swapaxes") for i in (axis1, axis2))
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return _shape.transpose(a, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places; the others keep their order.

    >>> import stagec.numpy as snp
    >>> moveaxis(snp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = array_argument(a, "a")
    start = normalize_axes(source, a.ndim, "moveaxis")
    end = normalize_axes(destination, a.ndim, "moveaxis")
    if len(start) != len(end):
        raise _shape.shape_error("moveaxis", f"source {source} and destination {destination} differ in length", "")
    order = [i for i in range(a.ndim) if i not in start]
    for where, axis in sorted(zip(end, start)):
        order.insert(where, axis)
    return _shape.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis backwards until it lies before `start`.

    >>> import stagec.numpy as snp
    >>> rollaxis(snp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = array_argument(a, "a")
    axis = normalize_axis(axis, a.ndim, "rollaxis")
    start = a.ndim if start == a.ndim else normalize_axis(start, a.ndim, "rollaxis")
    order = [i for i in range(a.ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return _shape.transpose(a, order)


def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of size 1: those named, or all of them.

    >>> import stagec.numpy as snp
    >>> squeeze(snp.zeros((1, 3, 1))).shape
    (3,)
    """
    a = array_argument(a, "a")
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else normalize_axes(axis, a.ndim, "squeeze")
    return _shape.squeeze(a, tuple(axes))


def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of size 1.

    >>> import stagec.numpy as snp
    >>> expand_dims(snp.zeros(3), (0, 2)).shape
    (1, 3, 1)
    """
    return _shape.expand_dims(array_argument(a, "a"), tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))


def broadcast_to(array: Any, shape: Any) -> Any:
    """Stretch axes of size 1, and add axes in front.

    >>> import stagec.numpy as snp
    >>> broadcast_to(snp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    array = array_argument(array, "array")
    sizes = as_shape(shape, "broadcast_to")
    if len(sizes) < array.ndim or promotion.broadcast_shapes(array.shape, sizes) != sizes:
        raise _shape.shape_error(
            "broadcast_to", f"{array.aval.long()} does not broadcast to {sizes}", "only axes of size 1 stretch"
        )
    return promotion.broadcast_to_shape(array, sizes)


def broadcast_arrays(*args: Any) -> list[Any]:
    """Stretch arrays to one shape.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in broadcast_arrays(snp.zeros(3), snp.zeros((2, 1)))]
    [(2, 3), (2, 3)]
    """
    arrays = [array_argument(x, "args") for x in args]
    sizes = promotion.broadcast_shapes(*[x.shape for x in arrays])
    return [promotion.broadcast_to_shape(x, sizes) for x in arrays]


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis; a list where there are several.

    >>> atleast_1d(1.0)
    Array([1.], dtype=float32, weak_type=True)
    """
    return _atleast(arys, lambda x: x if x.ndim else _shape.expand_dims(x, (0,)))


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes; new ones lead.

    >>> import stagec.numpy as snp
    >>> atleast_2d(snp.arange(3)).shape
    (1, 3)
    """
    return _atleast(arys, lambda x: x if x.ndim >= 2 else _shape.expand_dims(x, tuple(range(2 - x.ndim))))


def atleast_3d(*arys: Any) -> Any:
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
        return [raise_rank(array_argument(x, "arys")) for x in arrays]
    out = [raise_rank(array_argument(x, "arys")) for x in arrays]
    return out[0] if len(out) == 1 else out


# Joining


def _sequence(arrays: Any, name: str) -> list[Any]:
    if is_array_like(arrays):
        arrays = array_argument(arrays, "arrays")
        if not arrays.ndim:
            raise _shape.shape_error(name, "an array of rank 0 is not a sequence of arrays", "pass a list of arrays")
        out = [getitem(arrays, i) for i in range(arrays.shape[0])]
    else:
        out = list(arrays)
    if not out:
        raise ValueError(
            errors.message(
                f"{name}: need at least one array to join", str(location.capture()), fix="pass one or more arrays"
            )
        )
    return out


def _joined(arrays: list[Any], dtype: Any, name: str) -> list[Any]:
    if dtype is None:
        return [to_array(a) for a in promotion.promote_dtypes(*arrays)]
    wanted = requested_dtype(dtype, name)
    return [convert_element_type(array_argument(a, "arrays"), wanted) for a in arrays]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an axis that they have.

    Args:
      arrays: a sequence of arrays whose other sizes agree.
      axis: which; `None` joins the elements of all as vectors.
      dtype: of the result; by default what the arrays promote to.

    Raises:
      ShapeError: other sizes differ.

    >>> import stagec.numpy as snp
    >>> concatenate([snp.arange(2), snp.ones(1)])
    Array([0., 1., 1.], dtype=float32)
    """
    parts = _joined(_sequence(arrays, "concatenate"), dtype, "concatenate")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if any(not p.ndim for p in parts):
        raise _shape.shape_error("concatenate", "arrays of rank 0 cannot be joined", "use stack, or reshape them to 1")
    return _shape.concatenate(parts, normalize_axis(axis, parts[0].ndim, "concatenate"))


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    >>> import stagec.numpy as snp
    >>> stack([snp.arange(2), snp.arange(2)], axis=1)
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    refuse_out(out, "stack")
    if is_array_like(arrays) and getattr(arrays, "ndim", 0):
        whole = array_argument(arrays, "arrays")
        if axis == 0 and dtype is None:
            return whole
    parts = _joined(_sequence(arrays, "stack"), dtype, "stack")
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        raise _shape.shape_error(
            "stack",
            f"all input arrays must have the same shape, got {', '.join(p.aval.long() for p in parts)}",
            "concatenate joins arrays whose sizes differ along one axis",
        )
    where = normalize_axis(axis, parts[0].ndim + 1, "stack")
    return _shape.concatenate([_shape.expand_dims(p, (where,)) for p in parts], where)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of an array along an axis, which is removed.

    >>> import stagec.numpy as snp
    >>> unstack(snp.arange(2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    x = array_argument(x, "x")
    axis = normalize_axis(axis, x.ndim, "unstack")
    parts = _split_sizes(x, [1] * x.shape[axis], axis)
    return tuple([_shape.squeeze(p, (axis,)) for p in parts])


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Join along the first axis; vectors become rows.

    >>> import stagec.numpy as snp
    >>> vstack([snp.arange(2), snp.arange(2)]).shape
    (2, 2)
    """
    return concatenate([atleast_2d(a) for a in _sequence(tup, "vstack")], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Join along the second axis, vectors along the first.

    >>> import stagec.numpy as snp
    >>> hstack([snp.arange(2), snp.arange(2)]).shape
    (4,)
    """
    parts = [atleast_1d(a) for a in _sequence(tup, "hstack")]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Join along the third axis.

    >>> import stagec.numpy as snp
    >>> dstack([snp.arange(2), snp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate([atleast_3d(a) for a in _sequence(tup, "dstack")], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Join along the second axis; vectors become columns.

    >>> import stagec.numpy as snp
    >>> column_stack([snp.arange(2), snp.arange(2)]).shape
    (2, 2)
    """
    parts = [atleast_1d(a) for a in _sequence(tup, "column_stack")]
    return concatenate([reshape(p, (-1, 1)) if p.ndim == 1 else p for p in parts], 1)


def block(arrays: Any) -> Any:
    """Join nested lists of blocks: the innermost along the last axis, and so on outwards.

    >>> import stagec.numpy as snp
    >>> block([[snp.eye(2), snp.zeros((2, 1))]]).shape
    (2, 3)
    """

    def depth(nested: Any) -> int:
        if not isinstance(nested, list):
            return 0
        if not nested:
            raise _shape.shape_error("block", "a list of blocks is empty", "leave it out")
        found = {depth(n) for n in nested}
        if len(found) > 1:
            raise _shape.shape_error("block", "lists are nested to different depths", "nest all blocks alike")
        return 1 + found.pop()

    levels = depth(arrays)

    def rank(nested: Any) -> int:
        return max(map(rank, nested)) if isinstance(nested, list) else array_argument(nested, "arrays").ndim

    full = max(levels, rank(arrays))

    def join(nested: Any, level: int) -> Any:
        if isinstance(nested, list):
            return concatenate([join(n, level - 1) for n in nested], full - level)
        x = array_argument(nested, "arrays")
        return _shape.expand_dims(x, tuple(range(full - x.ndim)))

    return join(arrays, levels)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join two arrays, as vectors where no axis is given.

    >>> import stagec.numpy as snp
    >>> append(snp.arange(2), snp.array([5]))
    Array([0, 1, 5], dtype=int32)
    """
    return concatenate([array_argument(arr, "arr"), array_argument(values, "values")], axis)


# Splitting


def _bounds(indices_or_sections: Any, size: int, name: str, even: bool) -> list[int]:
    """Where the parts of an axis begin, and the end of the last."""
    if not isinstance(indices_or_sections, (Sequence, np.ndarray)) and not (
        isinstance(indices_or_sections, ArrayOperators) and indices_or_sections.ndim
    ):
        count = as_int(indices_or_sections, name, "the number of parts")
        if count < 1 or (even and size % count):
            raise _shape.shape_error(
                name, f"an axis of size {size} is not divided into {count} equal parts", "array_split allows a rest"
            )
        base, extra = divmod(size, count)
        return [i * base + min(i, extra) for i in range(count + 1)]
    places = [as_int(i, name, "an index") for i in concrete(indices_or_sections, name, "indices")]
    return [0, *[min(max(i + size if i < 0 else i, 0), size) for i in places], size]


def _cut(ary: Any, indices_or_sections: Any, axis: int, name: str, even: bool) -> list[Any]:
    ary = array_argument(ary, "ary")
    axis = normalize_axis(axis, ary.ndim, name)
    bounds = _bounds(indices_or_sections, ary.shape[axis], name, even)
    sizes = [b - a for a, b in itertools.pairwise(bounds)]
    if min(sizes) < 0:
        return [slice_in_dim(ary, a, max(a, b), 1, axis) for a, b in itertools.pairwise(bounds)]
    return _split_sizes(ary, sizes, axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut an axis into equal parts, or at the given places.

    Raises:
      ShapeError: the size is not a multiple of the number of parts.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in split(snp.zeros(6), [1, 4])]
    [(1,), (3,), (2,)]
    """
    return _cut(ary, indices_or_sections, axis, "split", True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Like `split`; the first parts are longer by one where sizes do not divide.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in array_split(snp.zeros(5), 2)]
    [(3,), (2,)]
    """
    return _cut(ary, indices_or_sections, axis, "array_split", False)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the second axis, or the only one."""
    ary = array_argument(ary, "ary")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """`split` along the third axis."""
    return split(ary, indices_or_sections, 2)


# Repeating and turning


def tile(A: Any, reps: Any) -> Any:
    """Lay copies of an array side by side.

    Args:
      A: an array.
      reps: how many along each axis; missing axes are added in front.

    >>> import stagec.numpy as snp
    >>> tile(snp.arange(2), (2, 2))
    Array([[0, 1, 0, 1],
           [0, 1, 0, 1]], dtype=int32)
    """
    A = array_argument(A, "A")
    counts = as_shape(reps, "tile")
    rank = max(A.ndim, len(counts))
    sizes = (1,) * (rank - A.ndim) + A.shape
    counts = (1,) * (rank - len(counts)) + counts
    interleaved = [n for pair in zip(counts, sizes) for n in pair]
    x = _shape.broadcast_in_dim(_shape.reshape(A, sizes), interleaved, tuple(range(1, 2 * rank, 2)))
    return _shape.reshape(x, tuple([c * n for c, n in zip(counts, sizes)]))


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """Repeat each element of an axis.

    Args:
      a: an array.
      repeats: how often; one number, or one for each element.
      axis: which; `None` repeats the elements of the whole as a vector.
      total_repeat_length: the result's size, needed where `repeats` is traced;
        the last element fills what is missing.

    Raises:
      ConcretizationError: `repeats` is traced and there is no `total_repeat_length`.

    >>> import stagec.numpy as snp
    >>> repeat(snp.array([1, 2]), snp.array([2, 1]))
    Array([1, 1, 2], dtype=int32)
    """
    a = array_argument(a, "a")
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis(axis, a.ndim, "repeat")
    size = a.shape[axis]
    if isinstance(repeats, Tracer) and total_repeat_length is not None:
        return _repeat_traced(a, repeats, axis, as_int(total_repeat_length, "repeat", "total_repeat_length"))
    counts = concrete(repeats, "repeat", "repeats").astype(np.int64)
    if counts.ndim == 0 or counts.size == 1:
        n = as_int(counts.reshape(())[()], "repeat", "repeats")
        if total_repeat_length is None:
            shape = [*a.shape[: axis + 1], n, *a.shape[axis + 1 :]]
            spread = [i for i in range(a.ndim + 1) if i != axis + 1]
            x = _shape.broadcast_in_dim(a, shape, tuple(spread))
            return _shape.reshape(x, (*a.shape[:axis], size * n, *a.shape[axis + 1 :]))
        counts = np.full(size, n)
    if counts.shape != (size,):
        raise _shape.shape_error(
            "repeat", f"repeats of shape {counts.shape} do not fit axis {axis} of {a.aval.long()}", "one for each"
        )
    source = np.repeat(np.arange(size), counts)
    if total_repeat_length is not None:
        total = as_int(total_repeat_length, "repeat", "total_repeat_length")
        source = np.concatenate([source, np.full(max(total - len(source), 0), size - 1)])[:total]
    return getitem(a, (*[slice(None)] * axis, source.astype(np.int32)))


def _repeat_traced(a: Any, repeats: Any, axis: int, total: int) -> Any:
    size = a.shape[axis]
    counts = promotion.broadcast_to_shape(convert_element_type(repeats, dtypes.int32), (size,))
    # Element i starts where the counts before it end. A mark at each start, summed up, numbers the elements.
    starts = getitem(counts.cumsum(), slice(0, size - 1))
    marks = full_like(iota(dtypes.int32, total), 0).at[starts].add(1, mode="drop")
    source = arithmetic.min(marks.cumsum(), size - 1)
    return getitem(a, (*[slice(None)] * axis, source))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes; what leaves at one end comes in at the other.

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
    axes = [axis] if not isinstance(axis, (tuple, list)) else list(axis)
    axes = [normalize_axis(i, a.ndim, "roll") for i in axes]
    if isinstance(shift, (tuple, list)):
        shifts = list(shift)
    elif isinstance(shift, (ArrayOperators, np.ndarray)) and shift.ndim:
        shifts = [getitem(array_argument(shift, "shift"), i) for i in range(shift.shape[0])]
    else:
        shifts = [shift]
    count = max(len(axes), len(shifts))
    if len(axes) not in (1, count) or len(shifts) not in (1, count):
        raise _shape.shape_error("roll", f"{len(shifts)} shifts do not fit {len(axes)} axes", "one for each axis")
    for by, where in zip(shifts * (count // len(shifts)), axes * (count // len(axes))):
        size = a.shape[where]
        if not size:
            continue
        if isinstance(by, Tracer):
            start = size - convert_element_type(by, dtypes.int32) % size
            twice = _shape.concatenate([a, a], where)
            a = dynamic_slice_in_dim(twice, start, size, where)
            continue
        cut = -as_int(by, "roll", "shift") % size
        if cut:
            head, tail = slice_in_dim(a, 0, cut, 1, where), slice_in_dim(a, cut, size, 1, where)
            a = _shape.concatenate([tail, head], where)
    return a


def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order along axes, or along all of them.

    >>> import stagec.numpy as snp
    >>> flip(snp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    m = array_argument(m, "m")
    return _shape.rev(m, normalize_axes(axis, m.ndim, "flip"))


def fliplr(m: Any) -> Any:
    """Reverse the second axis."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Reverse the first axis."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Turn the plane of two axes by 90 degrees, `k` times.

    >>> import stagec.numpy as snp
    >>> rot90(snp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m = array_argument(m, "m")
    first, second = normalize_axes(axes, m.ndim, "rot90")
    turns = as_int(k, "rot90", "k") % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Convert each element; floats out of an integer's range saturate.

    Args:
      x: an array.
      dtype: `None` means the default float.
      copy: whether to make a copy where the dtype is the same already.

    >>> import stagec.numpy as snp
    >>> astype(snp.array([1.7]), int)
    Array([1], dtype=int32)
    """
    x = array_argument(x, "x")
    wanted = dtypes.default_float() if dtype is None else requested_dtype(dtype, "astype")
    return convert_element_type(x, wanted)
