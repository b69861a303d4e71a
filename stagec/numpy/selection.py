"""Choosing elements by their positions, and positions by their elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument, concrete, from_numpy, refuse_out
from stagec.numpy.axes import as_int, as_shape, normalize_axis
from stagec.numpy.indexing import getitem, wrap_negative
from stagec.numpy.manipulation import ravel, reshape, stack
from stagec.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_dtypes
from stagec.primitives import arithmetic, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather import GatherDimensionNumbers, gather
from stagec.primitives.iota import full_like, iota
from stagec.primitives.shape import broadcast_in_dim, expand_dims, shape_error
from stagec.primitives.table import check_dtype


def _check_mode(mode: str | None, name: str) -> str | None:
    if mode == "raise":
        raise errors.UnsupportedError(
            errors.message(
                f"{name}: mode='raise' is not supported, compiled code cannot raise",
                str(location.capture()),
                fix="use 'clip', 'wrap' or 'fill'",
            )
        )
    if mode not in (None, "clip", "wrap", "fill", "drop", "promise_in_bounds"):
        raise ValueError(
            errors.message(
                f"{name}: mode is {mode!r}", str(location.capture()), fix="modes are 'clip', 'wrap' and 'fill'"
            )
        )
    return mode


def _integers(indices: Any, name: str) -> Any:
    indices = array_argument(indices, "indices")
    if dtypes.is_bool(indices.dtype):
        indices = convert_element_type(indices, dtypes.int32)
    check_dtype(name, indices.dtype, dtypes.INTEGER)
    return indices


def _wrapped(indices: Any, size: int) -> Any:
    """Indices modulo an axis, as NumPy's `%` takes it."""
    if not dtypes.is_signed(indices.dtype):
        return (
            arithmetic.rem(indices, np.asarray(size, indices.dtype)) if size <= np.iinfo(indices.dtype).max else indices
        )
    indices = convert_element_type(indices, dtypes.int32) if indices.dtype.itemsize < 4 else indices
    left = arithmetic.rem(indices, size)
    return logic.select(logic.lt(left, 0), arithmetic.add(left, size), left)


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The entries of an axis at `indices`.

    Args:
      a: an array.
      indices: integers of any shape; negative ones count from the end.
      axis: which; `None` takes from all elements as a vector.
      out: must be `None`.
      mode: for indices out of range: `"fill"` (the default) gives NaN, or the
        least or largest integer; `"clip"` the nearest entry (and negative ones
        are out of range); `"wrap"` counts modulo the size.
      unique_indices, indices_are_sorted: promises that may save work.
      fill_value: what `"fill"` gives.

    >>> import stagec.numpy as snp
    >>> take(snp.array([4.0, 5.0, 6.0]), snp.array([2, 0, 7]))
    Array([ 6.,  4., nan], dtype=float32)
    """
    refuse_out(out, "take")
    mode = _check_mode(mode, "take")
    a = array_argument(a, "a")
    indices = _integers(indices, "take")
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis(axis, a.ndim, "take")
    size = a.shape[axis]
    shape = (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :])
    if 0 in shape:
        return full_like(a, 0, shape=shape)
    if not size:
        raise shape_error("take", f"cannot do a non-empty take from axis {axis} of {a.aval.long()}", "check the size")
    if mode == "wrap":
        indices, mode = _wrapped(indices, size), "clip"
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


def _along(a: Any, indices: Any, axis: int, name: str) -> tuple[Any, Any, int]:
    axis = normalize_axis(axis, a.ndim, name)
    if indices.ndim != a.ndim:
        raise shape_error(
            name, f"indices {indices.aval.long()} and array {a.aval.long()} differ in rank", "add axes with None"
        )
    return a, indices, axis


def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: str | None = None, fill_value: Any = None
) -> Any:
    """For each line along an axis, its entries at the line's own indices.

    Args:
      arr: an array.
      indices: integers of the same rank; sizes other than `axis` broadcast.
      axis: which; `None` takes from all elements as a vector.
      mode: `"fill"` (the default) or `"clip"`, for indices out of range.
      fill_value: what `"fill"` gives.

    >>> import stagec.numpy as snp
    >>> take_along_axis(snp.array([[1, 2], [3, 4]]), snp.array([[1], [0]]), 1)
    Array([[2],
           [3]], dtype=int32)
    """
    a, indices = array_argument(arr, "arr"), _integers(indices, "take_along_axis")
    if axis is None:
        a, indices, axis = ravel(a), ravel(indices), 0
    a, indices, axis = _along(a, indices, axis, "take_along_axis")
    size = a.shape[axis]
    lead = broadcast_shapes(
        [n for i, n in enumerate(a.shape) if i != axis], [n for i, n in enumerate(indices.shape) if i != axis]
    )
    result = (*lead[:axis], indices.shape[axis], *lead[axis:])
    if 0 in result:
        return full_like(a, 0, shape=result)
    if not size:
        raise shape_error("take_along_axis", f"axis {axis} of {a.aval.long()} has size 0", "check the size")
    if _check_mode(mode, "take_along_axis") == "wrap":
        indices, mode = _wrapped(indices, size), "clip"
    else:
        indices = wrap_negative(indices, size)
    a = broadcast_to_shape(a, (*lead[:axis], size, *lead[axis:]))
    indices = broadcast_to_shape(indices, result)
    others = tuple([i for i in range(a.ndim) if i != axis])
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return gather(a, expand_dims(indices, (indices.ndim,)), numbers, (1,) * a.ndim, mode=mode, fill_value=fill_value)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True) -> Any:
    """A copy in which each line along an axis has other values at its own indices; pass `inplace=False`.

    >>> import stagec.numpy as snp
    >>> put_along_axis(snp.zeros((2, 2)), snp.array([[1], [0]]), 7, 1, inplace=False)
    Array([[0., 7.],
           [7., 0.]], dtype=float32)
    """
    if inplace:
        raise ValueError("put_along_axis: arrays are immutable\n  Fix: pass inplace=False and use the result")
    original = array_argument(arr, "arr")
    a, indices = original, _integers(indices, "put_along_axis")
    if axis is None:
        a, indices, axis = ravel(a), ravel(indices), 0
    a, indices, axis = _along(a, indices, axis, "put_along_axis")
    result = tuple([indices.shape[i] if i == axis else n for i, n in enumerate(a.shape)])
    indices = broadcast_to_shape(indices, result)
    places = [
        indices if i == axis else np.arange(n, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(a.ndim)])
        for i, n in enumerate(a.shape)
    ]
    return reshape(a.at[tuple(places)].set(values), original.shape)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """A copy in which the elements at flat positions have other values; pass `inplace=False`.

    >>> import stagec.numpy as snp
    >>> put(snp.zeros(3), snp.array([0, 2]), 5, inplace=False)
    Array([5., 0., 5.], dtype=float32)
    """
    if inplace:
        raise ValueError("put: arrays are immutable\n  Fix: pass inplace=False and use the result")
    a, places = array_argument(a, "a"), ravel(_integers(ind, "put"))
    values = ravel(array_argument(v, "v"))
    if _check_mode(mode, "put") == "wrap":
        places, mode = _wrapped(places, a.size), "clip"
    if values.size and places.size and values.size != places.size:
        repeats = math.ceil(places.size / values.size)
        values = ravel(broadcast_in_dim(values, (repeats, values.size), (1,)))
        values = getitem(values, slice(places.size))
    return reshape(ravel(a).at[places].set(values, mode=mode), a.shape)


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: Any = None
) -> Any:
    """The entries of an axis where `condition` is true.

    Args:
      condition: a vector; missing elements count as false.
      a: an array.
      axis: which; `None` takes from all elements as a vector.
      size: the number of entries, needed where `condition` is traced.
      fill_value: what fills up to `size`.
      out: must be `None`.

    >>> import stagec.numpy as snp
    >>> compress(snp.array([True, False, True]), snp.arange(3))
    Array([0, 2], dtype=int32)
    """
    refuse_out(out, "compress")
    condition, a = array_argument(condition, "condition"), array_argument(a, "a")
    if condition.ndim != 1:
        raise shape_error("compress", f"condition must be a vector, got {condition.aval.long()}", "use ravel")
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis(axis, a.ndim, "compress")
    condition = getitem(condition, slice(a.shape[axis]))
    where = nonzero(condition, size=size, fill_value=a.shape[axis])[0]
    return take(a, where, axis, mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements where `condition` is true, as a vector.

    >>> import stagec.numpy as snp
    >>> extract(snp.array([[True, False]]), snp.array([[3, 4]]))
    Array([3], dtype=int32)
    """
    return compress(ravel(array_argument(condition, "condition")), ravel(arr), size=size, fill_value=fill_value)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element of `a`, the element of the choice with that number.

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
    which = _integers(a, "choose")
    if isinstance(choices, (list, tuple)):
        parts = promote_dtypes(*[array_argument(c, "choices") for c in choices])
    else:
        whole = array_argument(choices, "choices")
        parts = [getitem(whole, i) for i in range(whole.shape[0])]
    if mode == "raise":
        values = concrete(which, "choose", "a (for mode='raise')")
        if values.size and (values.min() < 0 or values.max() >= len(parts)):
            raise ValueError(
                errors.message(
                    f"choose: an index is not in 0..{len(parts) - 1}", str(location.capture()), fix="mode='clip'"
                )
            )
    elif mode == "wrap":
        which = _wrapped(which, len(parts))
    elif mode != "clip":
        raise ValueError(f"choose: mode is {mode!r}\n  Fix: modes are 'raise', 'clip' and 'wrap'")
    shape = broadcast_shapes(which.shape, *[p.shape for p in parts])
    which = arithmetic.max(arithmetic.min(convert_element_type(which, dtypes.int32), len(parts) - 1), 0)
    stacked = stack([broadcast_to_shape(p, shape) for p in parts])
    picked = take_along_axis(stacked, expand_dims(broadcast_to_shape(which, shape), (0,)), 0)
    return reshape(picked, shape)


# Positions


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The positions of the elements that are not zero, an array for each axis.

    Args:
      a: an array.
      size: how many; needed where `a` is traced. Missing ones are `fill_value`.
      fill_value: a number, or one for each axis; 0 by default.

    Raises:
      ConcretizationError: `a` is traced and `size` is not given.

    >>> import stagec.numpy as snp
    >>> nonzero(snp.array([0, 3, 0, 4]))
    (Array([1, 3], dtype=int32),)
    """
    a = array_argument(a, "a")
    if not a.ndim:
        raise shape_error("nonzero", "an array of rank 0 has no positions", "use atleast_1d")
    fills = fill_value if isinstance(fill_value, (tuple, list)) else [fill_value or 0] * a.ndim
    kind = dtypes.default_int()
    if not isinstance(a, Tracer):
        found = np.nonzero(np.asarray(a))
        if size is not None:
            count = as_int(size, "nonzero", "size")
            found = tuple(
                np.concatenate([f[:count], np.full(max(count - len(f), 0), int(v))]) for f, v in zip(found, fills)
            )
        return tuple(from_numpy(f, kind) for f in found)
    if size is None:
        concrete(a, "nonzero", "the array")
    count = as_int(size, "nonzero", "size")
    if not a.size or not count:
        return tuple(full_like(iota(kind, count), v) for v in fills)
    flat = convert_element_type(logic.ne(ravel(a), full_like(ravel(a), 0)), dtypes.int32)
    # Each true element writes its flat position at its rank among them; the others have no place to write.
    rank = logic.select(logic.gt(flat, 0), arithmetic.sub(flat.cumsum(), 1), full_like(flat, count))
    places = full_like(iota(dtypes.int32, count), a.size).at[rank].set(iota(dtypes.int32, a.size), mode="drop")
    missing = logic.ge(places, a.size)
    out = []
    for coordinate, v in zip(unravel_index(arithmetic.min(places, a.size - 1), a.shape), fills):
        coordinate = convert_element_type(coordinate, kind)
        out.append(logic.select(missing, broadcast_to_shape(convert_element_type(v, kind), (count,)), coordinate))
    return tuple(out)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The flat positions of the elements that are not zero.

    >>> import stagec.numpy as snp
    >>> flatnonzero(snp.array([[0, 3], [0, 4]]))
    Array([1, 3], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions of the elements that are not zero, a row for each.

    >>> import stagec.numpy as snp
    >>> argwhere(snp.array([[0, 3], [0, 4]]))
    Array([[0, 1],
           [1, 1]], dtype=int32)
    """
    a = array_argument(a, "a")
    if not a.ndim:
        return full_like(a, 0, dtypes.default_int(), (int(bool(concrete(a, "argwhere", "a"))), 0))
    found = nonzero(a, size=size, fill_value=fill_value)
    return stack(list(found), 1)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The position along each axis of elements given by their flat positions.

    >>> import stagec.numpy as snp
    >>> unravel_index(snp.array(5), (2, 3))
    (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    sizes = as_shape(shape, "unravel_index")
    rest = wrap_negative(_integers(indices, "unravel_index"), math.prod(sizes))
    # Out of range counts as the nearest end.
    rest = arithmetic.max(arithmetic.min(rest, max(math.prod(sizes) - 1, 0)), 0)
    out: list[Any] = []
    for n in reversed(sizes):
        out.append(arithmetic.rem(rest, max(n, 1)))
        rest = arithmetic.div(rest, max(n, 1))
    return tuple(out[::-1])


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """The flat positions of elements given by their position along each axis.

    >>> import stagec.numpy as snp
    >>> ravel_multi_index((snp.array([1, 0]), snp.array([2, 1])), (2, 3), mode="clip")
    Array([5, 1], dtype=int32)
    """
    sizes = as_shape(dims, "ravel_multi_index")
    parts = [_integers(m, "ravel_multi_index") for m in multi_index]
    if len(parts) != len(sizes):
        raise shape_error("ravel_multi_index", f"{len(parts)} index arrays for {len(sizes)} axes", "one for each")
    if mode == "raise":
        for part, n in zip(parts, sizes):
            values = concrete(part, "ravel_multi_index", "multi_index (for mode='raise')")
            if values.size and (values.min() < 0 or values.max() >= n):
                raise ValueError(
                    errors.message(
                        "ravel_multi_index: an index is out of range", str(location.capture()), fix="mode='clip'"
                    )
                )
    elif mode == "clip":
        parts = [arithmetic.max(arithmetic.min(p, n - 1), 0) for p, n in zip(parts, sizes)]
    elif mode == "wrap":
        parts = [_wrapped(p, n) for p, n in zip(parts, sizes)]
    else:
        raise ValueError(f"ravel_multi_index: mode is {mode!r}\n  Fix: modes are 'raise', 'clip' and 'wrap'")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order is {order!r}\n  Fix: orders are 'C' and 'F'")
    pairs = list(zip(parts, sizes))
    if order == "F":
        pairs = pairs[::-1]
    shape = broadcast_shapes(*[p.shape for p in parts])
    total = full_like(parts[0], 0, dtypes.default_int(), shape)
    for part, n in pairs:
        wide = broadcast_to_shape(convert_element_type(part, dtypes.default_int()), shape)
        total = arithmetic.add(arithmetic.mul(total, n), wide)
    return total


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as index arrays that span a grid; masks become positions.

    >>> import stagec.numpy as snp
    >>> [x.shape for x in ix_(snp.arange(2), snp.arange(3))]
    [(2, 1), (1, 3)]
    """
    out = []
    for i, arg in enumerate(args):
        x = array_argument(arg, "args")
        if x.ndim != 1:
            raise shape_error("ix_", f"vectors are needed, got {x.aval.long()}", "flatten it with ravel")
        if dtypes.is_bool(x.dtype):
            x = nonzero(x)[0]
        out.append(
            reshape(
                x,
                [-1 if i == j else 1 for j in range(len(args))]
                if x.size
                else [x.size if i == j else 1 for j in range(len(args))],
            )
        )
    return tuple(out)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The positions of the main diagonal of an array with `ndim` axes of size `n`.

    >>> diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    places = iota(dtypes.default_int(), as_int(n, "diag_indices", "n"))
    return (places,) * as_int(ndim, "diag_indices", "ndim")


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The positions of the main diagonal of an array whose axes have one size."""
    arr = array_argument(arr, "arr")
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise shape_error("diag_indices_from", f"{arr.aval.long()} is not square", "sizes of all axes must agree")
    return diag_indices(arr.shape[0], arr.ndim)


def _triangle_indices(keep: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    rows, columns = np.nonzero(keep)
    kind = dtypes.default_int()
    return from_numpy(rows, kind), from_numpy(columns, kind)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The positions on and below a diagonal of an `n` by `m` matrix.

    >>> tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle_indices(np.tri(n, m, k, dtype=bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The positions on and above a diagonal of an `n` by `m` matrix.

    >>> triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle_indices(~np.tri(n, m, k - 1, dtype=bool))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`tril_indices` for the shape of a matrix."""
    rows, columns = array_argument(arr, "arr").shape
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`triu_indices` for the shape of a matrix."""
    rows, columns = array_argument(arr, "arr").shape
    return triu_indices(rows, k, columns)
