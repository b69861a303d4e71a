"""insert and delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import is_open, open_error
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument, concrete
from stagec.numpy.indexing import getitem
from stagec.numpy.manipulation import ravel
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives import arithmetic, joining as _joining, shape as _shape
from stagec.primitives.axes import canonical_axis
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full, iota
from stagec.primitives.logic import eq, ge, lt, select
from stagec.primitives.operand import literal
from stagec.typing import ArrayLike

__all__ = ["delete", "insert"]


def insert(
    arr: ArrayLike, obj: int | slice | ArrayLike | Sequence[int], values: ArrayLike, axis: int | None = None
) -> Array:
    """A copy with `values` before the given positions of an axis.

    Args:
      arr: an array.
      obj: positions: integers, a slice, or a mask that is not traced.
      values: what to insert, broadcast along the other axes.
      axis: which; `None` inserts into all elements as a vector.

    >>> import stagec.numpy as snp
    >>> insert(snp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int32)
    """
    a, values = array_argument(arr, "arr"), array_argument(values, "values")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "insert")
    size = a.shape[axis]
    traced = isinstance(obj, Tracer) and not dtypes.is_bool(obj.dtype)
    if isinstance(obj, Tracer) and traced and not dtypes.is_integer(obj.dtype):
        raise _no_positions("insert", obj)
    positions: Any = obj if traced else _positions(obj, size, "insert")
    single = positions.ndim == 0
    flat = positions.reshape(-1)
    for i in () if traced else flat:
        if not -size <= i <= size:
            raise location.error(
                errors.IndexingError,
                f"insert: index {i} is out of bounds for axis {axis} with size {size}",
                fix=f"give positions from {-size} to {size}",
            )
    values = convert_element_type(values, a.dtype)
    count = len(flat)
    if single and values.ndim:
        values = _shape.reshape(values, (1,) * (a.ndim - values.ndim) + values.shape)
        # One position with several values: axis 0 of the values becomes `axis`, as in NumPy.
        values = values if axis == 0 else _moved(values, axis)
        count = values.shape[axis]
    values = broadcast_to_shape(values, tuple([count if i == axis else n for i, n in enumerate(a.shape)]), "insert")
    both = _joining.concatenate([a, values], axis)
    source = (_traced_sources if traced or is_open(size) else _sources)(flat, size, count)
    return getitem(both, (*[slice(None)] * axis, source))


def _sources(positions: np.ndarray[Any, Any], size: int, count: int) -> np.ndarray[Any, Any]:
    """For each element of the result, its position in the array followed by the new values."""
    positions = np.broadcast_to(np.where(positions < 0, positions + size, positions), (count,))
    order = np.argsort(positions, kind="stable")
    at = positions[order] + np.arange(count)
    source = np.empty(size + count, np.int32)
    new = np.zeros(size + count, bool)
    new[at] = True
    source[new] = size + order
    source[~new] = np.arange(size)
    return source


def _traced_sources(positions: Array, size: int, count: int) -> Array:
    positions, end = convert_element_type(positions, dtypes.int32), literal(size, dtypes.int32)
    positions = arithmetic.min(
        arithmetic.max(select(lt(positions, 0), arithmetic.add(positions, end), positions), 0), end
    )
    positions = broadcast_to_shape(positions, (count,))
    order = positions.argsort(stable=True)
    at = getitem(positions, order) + np.arange(count, dtype=np.int32)
    nothing = full((size + count,), 0, dtypes.int32)
    new = nothing.at[at].set(1)
    return select(eq(new, 0), (1 - new).cumsum() - 1, nothing.at[at].set(arithmetic.add(order, end)))


def _moved(values: Any, axis: int) -> Array:
    order = [i for i in range(values.ndim) if i != 0]
    order.insert(axis, 0)
    return _shape.transpose(values, order)


def _positions(obj: Any, size: int, name: str, instead: str = "") -> np.ndarray[Any, Any]:
    if isinstance(obj, slice):
        if is_open(size):
            raise open_error(name, f"a slice of {size} positions")
        return np.arange(size)[obj]
    value = np.asarray(obj) if isinstance(obj, (list, tuple)) else concrete(obj, name, "obj", instead)
    if value.dtype == np.bool_ and value.ndim:
        return np.flatnonzero(value)
    if not value.size:  # np.asarray([]) is an array of floats
        return value.astype(np.int64)
    if value.dtype.kind not in "iu":
        raise _no_positions(name, obj)
    return value.astype(np.int64)


def _no_positions(name: str, obj: Any) -> errors.StagecError:
    return location.error(
        errors.DtypeError,
        f"{name}: obj must hold integers, or bools for all positions, got {errors.brief(obj)}",
        fix="give positions as integers",
    )


def delete(
    arr: ArrayLike,
    obj: int | slice | ArrayLike | Sequence[int],
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """A copy without the given positions of an axis.

    Args:
      arr: an array.
      obj: positions: integers, a slice, or a mask. A traced one has to be an integer, or several different ones.
      axis: which; `None` deletes from all elements as a vector.
      assume_unique_indices: whether the positions in `obj` are distinct; required if `obj` is traced and has an axis.

    >>> import stagec.numpy as snp
    >>> delete(snp.array([1, 2, 3]), 1)
    Array([1, 3], dtype=int32)
    """
    a = array_argument(arr, "arr")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim, "delete")
    size = a.shape[axis]
    if isinstance(obj, Tracer) and obj.ndim == 0:
        return _without(a, axis, obj + size * (obj < 0))
    if isinstance(obj, Tracer) and assume_unique_indices and not dtypes.is_bool(obj.dtype):
        # The stable sort puts the kept elements first, in order.
        order = full((size,), 0, dtypes.int32).at[ravel(obj)].set(1).argsort(stable=True)
        return getitem(a, (*[slice(None)] * axis, getitem(order, slice(size - obj.size))))
    positions = _positions(obj, size, "delete", "pass assume_unique_indices=True").reshape(-1)
    if positions.size and not (-size <= int(positions.min()) and int(positions.max()) < size):
        raise location.error(
            errors.IndexingError,
            f"delete: an index is out of bounds for axis {axis} with size {size}",
            fix=f"give positions from {-size} to {size - 1}",
        )
    if is_open(size):
        if len(positions) != 1:
            raise open_error("delete", f"{len(positions)} positions on an axis of size {size}")
        position = int(positions[0])
        return _without(a, axis, literal(position + size * (position < 0), dtypes.int32))
    keep = np.ones(size, bool)
    keep[positions] = False
    return getitem(a, (*[slice(None)] * axis, np.flatnonzero(keep).astype(np.int32)))


def _without(a: Array, axis: int, position: Any) -> Array:
    """An array without one position of an axis."""
    kept = iota(dtypes.int32, a.shape[axis] - 1)
    position = convert_element_type(position, dtypes.int32)
    skipped = convert_element_type(ge(kept, position), dtypes.int32)
    return getitem(a, (*[slice(None)] * axis, arithmetic.add(kept, skipped)))
