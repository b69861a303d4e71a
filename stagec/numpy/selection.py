"""Reading and replacing elements by index or mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, concrete, immutable, refuse_out
from stagec.numpy.index_syntax import wrap_negative
from stagec.numpy.indexing import getitem
from stagec.numpy.joining import stack
from stagec.numpy.manipulation import ravel, reshape
from stagec.numpy.positions import check_mode, integers, nonzero, wrapped
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_dtypes
from stagec.primitives import arithmetic
from stagec.primitives.axes import canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather import gather
from stagec.primitives.gather_parts import GatherDimensionNumbers
from stagec.primitives.iota import full_like
from stagec.primitives.logic import select
from stagec.primitives.shape import broadcast_in_dim, expand_dims
from stagec.typing import ArrayLike, Arrays

__all__ = ["choose", "compress", "extract", "place", "put", "put_along_axis", "take", "take_along_axis"]


def take(
    a: ArrayLike,
    indices: ArrayLike | Sequence[Any],
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The entries of an axis at `indices`.

    Args:
      a: an array.
      indices: integers of any shape; negative ones count from the end.
      axis: which; `None` takes from all elements as a vector.
      out: must be `None`.
      mode: for indices out of range: `"fill"` (the default) reads NaN, or the
        least or largest integer; `"clip"` the nearest entry (negative indices
        are out of range then); `"wrap"` counts modulo the size.
      unique_indices, indices_are_sorted: promises that may save work.
      fill_value: what `"fill"` reads instead.

    >>> import stagec.numpy as snp
    >>> take(snp.array([4.0, 5.0, 6.0]), snp.array([2, 0, 7]))
    Array([ 6.,  4., nan], dtype=float32)
    """
    refuse_out(out, "take")
    mode = check_mode(mode, "take")
    a = array_argument(a, "a")
    indices = integers(indices, "take")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "take")
    size = a.shape[axis]
    shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
    if 0 in shape:
        return full_like(a, 0, shape=shape)
    if not size:
        raise shape_error(
            "take",
            f"cannot do a non-empty take from axis {axis} of {a.aval.long()}",
            "check the size of the axis first",
        )
    if mode == "wrap":
        indices, mode = wrapped(indices, size), "clip"
    elif mode == "clip":
        indices = convert_element_type(indices, dtypes.int32) if indices.dtype.itemsize < 4 else indices
    else:
        indices = wrap_negative(indices, size)
    batch = range(axis, axis + indices.ndim)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple([i for i in range(len(shape)) if i not in batch]),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return gather(
        a,
        expand_dims(indices, (indices.ndim,)),
        numbers,
        [1 if i == axis else n for i, n in enumerate(a.shape)],
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=mode,
        fill_value=fill_value,
    )


def _axis_and_indices(a: Array, indices: Array, axis: int, name: str) -> tuple[Array, Array, int]:
    axis = canonical_axis(axis, a.ndim, name)
    if indices.ndim != a.ndim:
        raise shape_error(
            name,
            f"indices {indices.aval.long()} and array {a.aval.long()} differ in rank",
            "add axes to the indices, as with indices[:, None]",
        )
    return a, indices, axis


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """For each vector along an axis, its entries at its own indices.

    Args:
      arr: an array.
      indices: integers of the same rank; sizes other than `axis` broadcast.
      axis: which; `None` takes from all elements as a vector.
      mode: `"fill"` (the default) or `"clip"`, for indices out of range; `"one_hot"` gives 0 there.
      fill_value: what `"fill"` reads.
      wrap_negative_indices: if False, negative indices are out of range instead of counting from the end.

    >>> import stagec.numpy as snp
    >>> take_along_axis(snp.array([[1, 2], [3, 4]]), snp.array([[1], [0]]), 1)
    Array([[2],
           [3]], dtype=int32)
    """
    a, indices = array_argument(arr, "arr"), integers(indices, "take_along_axis", bools=False)
    if axis is None:
        a, indices, axis = ravel(a), ravel(indices), 0
    a, indices, axis = _axis_and_indices(a, indices, axis, "take_along_axis")
    size = a.shape[axis]
    lead = broadcast_shapes(
        [n for i, n in enumerate(a.shape) if i != axis], [n for i, n in enumerate(indices.shape) if i != axis]
    )
    result = (*lead[:axis], indices.shape[axis], *lead[axis:])
    if 0 in result:
        return full_like(a, 0, shape=result)
    if not size:
        raise shape_error(
            "take_along_axis", f"axis {axis} of {a.aval.long()} has size 0", "check the size of the axis first"
        )
    if mode == "one_hot":
        mode, fill_value = "fill", 0
    mode = check_mode(mode, "take_along_axis")
    if mode == "wrap":
        indices, mode = wrapped(indices, size), "clip"
    elif wrap_negative_indices:
        indices = wrap_negative(indices, size)
    elif indices.dtype.itemsize < 4:
        indices = convert_element_type(indices, dtypes.int32)
    a = broadcast_to_shape(a, (*lead[:axis], size, *lead[axis:]))
    positions = broadcast_to_shape(indices, result)
    others = tuple([i for i in range(a.ndim) if i != axis])
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return gather(a, expand_dims(positions, (a.ndim,)), numbers, (1,) * a.ndim, mode=mode, fill_value=fill_value)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """A copy in which each vector along an axis has new values at its own indices; pass `inplace=False`.

    Args:
      arr: an array.
      indices: integers of the same rank; sizes other than `axis` broadcast.
      values: the new values.
      axis: which; `None` takes all elements as a vector.
      mode: for indices out of range: `"drop"` (the default) ignores them, `"clip"` replaces the nearest entry.

    >>> import stagec.numpy as snp
    >>> put_along_axis(snp.zeros((2, 2)), snp.array([[1], [0]]), 7, 1, inplace=False)
    Array([[0., 7.],
           [7., 0.]], dtype=float32)
    """
    if inplace:
        raise immutable("put_along_axis")
    original = array_argument(arr, "arr")
    a, indices = original, integers(indices, "put_along_axis", bools=False)
    if axis is None:
        a, indices, axis = ravel(a), ravel(indices), 0
    a, indices, axis = _axis_and_indices(a, indices, axis, "put_along_axis")
    result = tuple([indices.shape[i] if i == axis else n for i, n in enumerate(a.shape)])
    indices = broadcast_to_shape(indices, result)
    positions: list[Any] = [
        indices if i == axis else np.arange(n, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(a.ndim)])
        for i, n in enumerate(a.shape)
    ]
    return reshape(a.at[tuple(positions)].set(values, mode=mode), original.shape)


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Array:
    """A copy with new values at flat indices; pass `inplace=False`.

    >>> import stagec.numpy as snp
    >>> put(snp.zeros(3), snp.array([0, 2]), 5, inplace=False)
    Array([5., 0., 5.], dtype=float32)
    """
    if inplace:
        raise immutable("put")
    a, positions = array_argument(a, "a"), ravel(integers(ind, "put"))
    values = ravel(array_argument(v, "v"))
    if check_mode(mode, "put") == "wrap":
        positions, mode = wrapped(positions, a.size), "clip"
    if values.size and positions.size and values.size != positions.size:
        repeats = math.ceil(positions.size / values.size)
        values = ravel(broadcast_in_dim(values, (repeats, values.size), (1,)))
        values = getitem(values, slice(positions.size))
    return reshape(ravel(a).at[positions].set(values, mode=mode), a.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """A copy in which the values, repeated, replace the elements where `mask` is true; pass `inplace=False`.

    Raises:
      ShapeError: `mask` has another size, or there are no values.

    >>> import stagec.numpy as snp
    >>> place(snp.arange(4), snp.array([True, False, True, True]), snp.array([8, 9]), inplace=False)
    Array([8, 1, 9, 8], dtype=int32)
    """
    if inplace:
        raise immutable("place")
    a, chosen = array_argument(arr, "arr"), array_argument(mask, "mask")
    values = ravel(convert_element_type(array_argument(vals, "vals"), a.dtype))
    if chosen.size != a.size or not values.size:
        raise shape_error(
            "place",
            f"mask is {chosen.aval.long()}, vals are {values.aval.long()}, the array is {a.aval.long()}",
            "pass a mask of the array's shape, and at least one value",
        )
    flags = ravel(chosen) != 0
    order = (flags.cumsum() - 1) % values.size
    return reshape(select(flags, getitem(values, order), ravel(a)), a.shape)


def compress(
    condition: ArrayLike | Sequence[bool],
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The entries of an axis where `condition` is true.

    Args:
      condition: a vector; missing elements count as false.
      a: an array.
      axis: which; `None` takes from all elements as a vector.
      size: the number of entries, required if `condition` is traced.
      fill_value: pads the result to `size`.
      out: must be `None`.

    >>> import stagec.numpy as snp
    >>> compress(snp.array([True, False, True]), snp.arange(3))
    Array([0, 2], dtype=int32)
    """
    refuse_out(out, "compress")
    condition, a = array_argument(condition, "condition"), array_argument(a, "a")
    if condition.ndim != 1:
        raise shape_error(
            "compress", f"condition must be a vector, got {condition.aval.long()}", "flatten it with condition.ravel()"
        )
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "compress")
    condition = getitem(condition, slice(a.shape[axis]))
    where = nonzero(condition, size=size, fill_value=a.shape[axis])[0]
    return take(a, where, axis, mode="fill", fill_value=fill_value)


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements where `condition` is true, as a vector.

    >>> import stagec.numpy as snp
    >>> extract(snp.array([[True, False]]), snp.array([[3, 4]]))
    Array([3], dtype=int32)
    """
    return compress(ravel(array_argument(condition, "condition")), ravel(arr), size=size, fill_value=fill_value)


def choose(a: ArrayLike, choices: Arrays, out: None = None, mode: str = "raise") -> Array:
    """Select from a list of arrays: each element of `a` is the number of the array to take the element from.

    Args:
      a: integers.
      choices: arrays, which are broadcast against `a`; or one array of them.
      out: must be `None`.
      mode: `"clip"` or `"wrap"`; `"raise"` needs a concrete `a`.

    >>> import stagec.numpy as snp
    >>> choose(snp.array([1, 0]), [snp.array([1, 2]), snp.array([3, 4])])
    Array([3, 2], dtype=int32)
    """
    refuse_out(out, "choose")
    which = integers(a, "choose")
    if isinstance(choices, (list, tuple)):
        parts = promote_dtypes(*[array_argument(c, "choices") for c in choices])
    else:
        whole = array_argument(choices, "choices")
        parts = [getitem(whole, i) for i in range(whole.shape[0])]
    if mode == "raise":
        values = concrete(which, "choose", "a (for mode='raise')", "use mode='clip' or mode='wrap'")
        if values.size and (values.min() < 0 or values.max() >= len(parts)):
            raise location.error(
                ValueError, f"choose: an index is not in 0..{len(parts) - 1}", fix="use mode='clip' or mode='wrap'"
            )
    elif mode == "wrap":
        which = wrapped(which, len(parts))
    elif mode != "clip":
        raise location.error(ValueError, f"choose: mode is {mode!r}", fix="use mode='raise', 'clip' or 'wrap'")
    shape = broadcast_shapes(which.shape, *[p.shape for p in parts])
    which = arithmetic.max(arithmetic.min(convert_element_type(which, dtypes.int32), len(parts) - 1), 0)
    stacked = stack([broadcast_to_shape(p, shape) for p in parts])
    picked = take_along_axis(stacked, expand_dims(broadcast_to_shape(which, shape), (0,)), 0)
    return reshape(picked, shape)
