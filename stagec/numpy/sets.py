"""unique, and set operations on arrays."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.dims import bounds
from stagec.numpy.arguments import array_argument, concrete, from_numpy, to_array
from stagec.numpy.conditionals import where
from stagec.numpy.creation import full, ones, zeros
from stagec.numpy.extremes import minimum
from stagec.numpy.manipulation import moveaxis, ravel
from stagec.numpy.positions import nonzero
from stagec.numpy.promotion import promote_dtypes
from stagec.numpy.reductions import argmax, strong
from stagec.numpy.selection import compress
from stagec.numpy.sorting import lexsort, searchsorted, unique_rows, unique_sorted
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.typing import ArrayLike

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """The distinct elements, in ascending order.

    Args:
      ar: an array.
      return_index: also return the index of the first occurrence of each.
      return_inverse: also return, for each element, the index of its value among the distinct ones.
      return_counts: also return how often each occurs.
      axis: compare whole slices along an axis.
      equal_nan: whether all NaN are one element.
      size: length of the result, which `jit` needs; more elements are cut
        off, missing ones are `fill_value` with a count of 0.
      fill_value: the smallest element by default.
      sorted: accepted; the result is always sorted.

    Raises:
      ConcretizationError: the array is traced and `size` is missing.
      ShapeError: the array has no elements, `size` is above 0, and `fill_value` is missing.

    >>> import stagec.numpy as snp
    >>> snp.unique(snp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    x = array_argument(ar, "unique")
    wanted = (return_index, return_inverse, return_counts)
    if size is None:
        found: Any = np.unique(  # type: ignore[call-overload]
            _comparable(concrete(x, "unique", "ar", "give the size of the result, size=")),
            *wanted,
            axis=None if axis is None else canonical_axis(axis, x.ndim, "unique"),
            equal_nan=equal_nan,
        )
        parts = list(found) if any(wanted) else [found]
        first = from_numpy(parts[0], aval_of(x).dtype)
        others = [from_numpy(p, dtypes.default_int()) for p in parts[1:]]
        return (first, *others) if any(wanted) else first
    (count,) = as_shape((size,), "unique")
    if axis is not None:
        axis = canonical_axis(axis, x.ndim, "unique")
        rows = moveaxis(x, axis, 0)
        _refuse_empty(rows, max(count, 1), None)
        indices, inverse, counts = unique_rows(rows.reshape(rows.shape[0], rows.size // rows.shape[0]), count)
        values = rows[indices]
        if fill_value is not None:
            present = (counts != 0).reshape((count,) + (1,) * (x.ndim - 1))
            values = where(present, values, array_argument(fill_value, "unique's fill_value").astype(x.dtype))
        values = moveaxis(values, 0, axis)
    else:
        _refuse_empty(x, count, fill_value)
        if not x.size:
            nothing = zeros(count, int)
            values, indices, counts = full(count, fill_value or 0, x.dtype), nothing, nothing
            inverse = zeros(x.shape, int)
        else:
            values, indices, inverse, counts = unique_sorted(ravel(x), count, fill_value, equal_nan)
            inverse = reshape(inverse, x.shape)
    out = [strong(values)]
    if return_index:
        out.append(strong(indices, dtypes.default_int()))
    if return_inverse:
        out.append(strong(inverse, dtypes.default_int()))
    if return_counts:
        out.append(strong(counts, dtypes.default_int()))
    return tuple(out) if any(wanted) else out[0]


def _refuse_empty(x: Array, size: int, fill_value: Any) -> None:
    if size and not x.size and fill_value is None:
        raise location.error(
            errors.ShapeError,
            f"unique: size={size} of {x.aval.long()}, which has no elements",
            fix="check x.size first, or pass fill_value=",
        )


def _comparable(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # NumPy does not sort bfloat16 and smaller floats with NaN last.
    return value.astype(np.float32) if value.dtype in {dtypes.bfloat16, *dtypes.SMALL} else value


class UniqueAll(NamedTuple):
    """Distinct elements, their first indices, the inverse, and their counts."""

    values: ArrayLike
    indices: ArrayLike
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Distinct elements, and their counts."""

    values: ArrayLike
    counts: Array


class UniqueInverse(NamedTuple):
    """Distinct elements, and the index of each element's value among them."""

    values: ArrayLike
    inverse_indices: Array


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct elements; NaN are all distinct, as the array API says.

    >>> import stagec.numpy as snp
    >>> snp.unique_values(snp.array([2, 1, 2]))
    Array([1, 2], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueCounts:
    """The distinct elements, and how often each occurs.

    >>> import stagec.numpy as snp
    >>> snp.unique_counts(snp.array([2, 1, 2])).counts
    Array([1, 2], dtype=int32)
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueInverse:
    """The distinct elements, and the index of each element's value among them.

    >>> import stagec.numpy as snp
    >>> snp.unique_inverse(snp.array([2, 1, 2])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueAll:
    """The distinct elements, their first indices, the inverse, and their counts.

    >>> import stagec.numpy as snp
    >>> snp.unique_all(snp.array([2, 1, 2])).indices
    Array([1, 0], dtype=int32)
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct elements of both arrays; `size` as for `unique`.

    >>> import stagec.numpy as snp
    >>> snp.union1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    x, y = promote_dtypes(array_argument(ar1, "union1d"), array_argument(ar2, "union1d"))
    both = concatenate([reshape(v, (aval_of(v).size,)) for v in (x, y)], 0)
    return unique(both, size=size, fill_value=fill_value)


def _of_values(name: str, ar1: Any, ar2: Any, **options: Any) -> Any:
    x, y = promote_dtypes(array_argument(ar1, name), array_argument(ar2, name))
    instead = "give the size of the result, size="
    values = [_comparable(concrete(v, name, what, instead)) for v, what in ((x, "ar1"), (y, "ar2"))]
    return getattr(np, name)(*values, **options), aval_of(x).dtype


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, ...]:
    """The distinct elements that both arrays have, in ascending order.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether no element occurs twice in an array.
      return_indices: also return the first index of each element in both arrays.
      size: length of the result, which `jit` needs; more elements are cut off.
      fill_value: for missing elements, by default the smallest one, or 0; their indices are the arrays' sizes.

    Raises:
      ConcretizationError: an array is traced and `size` is missing.

    >>> import stagec.numpy as snp
    >>> snp.intersect1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([2], dtype=int32)
    """
    if size is None:
        found, dtype = _of_values("intersect1d", ar1, ar2, assume_unique=assume_unique, return_indices=return_indices)
        if not return_indices:
            return from_numpy(found, dtype)
        return (from_numpy(found[0], dtype), *[from_numpy(p, dtypes.default_int()) for p in found[1:]])
    x, y = _flat("intersect1d", ar1, ar2)
    values, indices, present = _distinct(x)
    common = present & isin(values, y)
    out = _kept(common, values, size, fill_value, smallest=True)
    if not return_indices:
        return out
    first = argmax(values[:, None] == y, 1) if x.size and y.size else indices
    others = [compress(common, p, size=size, fill_value=v.size) for p, v in ((indices, x), (first, y))]
    return (out, *[strong(p, dtypes.default_int()) for p in others])


def _flat(name: str, ar1: Any, ar2: Any) -> Any:
    parts = promote_dtypes(array_argument(ar1, name), array_argument(ar2, name))
    return [strong(ravel(to_array(v))) for v in parts]


def _distinct(x: Any) -> tuple[Any, Any, Any]:
    """Return the distinct elements, padded to the size of the array, their first indices, and which are present."""
    if not x.size:
        return x, zeros(0, int), zeros(0, bool)
    values, indices, _, counts = unique_sorted(x, x.size, None, True)
    return values, indices, counts != 0


def _kept(mask: Any, values: Any, size: Any, fill_value: Any, smallest: bool) -> Array:
    """The values where the mask is true, in order, padded to a size."""
    kind = values.dtype
    if fill_value is None:
        fill_value = where(mask.any(), values[argmax(mask)], 0).astype(kind) if smallest and values.size else 0
    (count,) = as_shape((size,), "size")
    fill = full(count, array_argument(fill_value, "fill_value").astype(kind))
    if not values.size:
        return fill
    indices = nonzero(mask, size=count, fill_value=values.size)[0]
    return where(indices < values.size, values[minimum(indices, values.size - 1)], fill)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Which elements occur among the `test_elements`.

    Args:
      element: an array; the result has its shape.
      test_elements: an array, whose shape does not matter.
      assume_unique: accepted and ignored.
      invert: return which elements do not occur.
      method: accepted; the algorithm is chosen by size.

    >>> import stagec.numpy as snp
    >>> snp.isin(snp.array([1, 2, 3]), snp.array([3, 1]))
    Array([ True, False,  True], dtype=bool)
    """
    x, table = promote_dtypes(
        array_argument(element, "isin's element"), array_argument(test_elements, "isin's test_elements")
    )
    x, table = to_array(x), to_array(table).ravel()
    if table.size == 0:
        found = x != x
        found = found & ~found
    elif bounds(table.size)[1] <= _COMPARED:
        found = (x[..., None] == table).any(-1)
    else:
        table = table.sort()
        index = searchsorted(table, x)
        found = table[minimum(index, table.size - 1)] == x
    return ~found if invert else found


# Up to this many test elements, all are compared with each element; more are sorted and searched.
_COMPARED = 32


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements of `ar1` that `ar2` does not have.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether no element occurs twice in `ar1`; the result then has its order.
      size: length of the result, which `jit` needs; more elements are cut off.
      fill_value: for missing elements, 0 by default.

    Raises:
      ConcretizationError: an array is traced and `size` is missing.

    >>> import stagec.numpy as snp
    >>> snp.setdiff1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([1], dtype=int32)
    """
    if size is None:
        return from_numpy(*_of_values("setdiff1d", ar1, ar2, assume_unique=assume_unique))
    x, y = _flat("setdiff1d", ar1, ar2)
    values, _, present = (x, None, ones(x.shape, bool)) if assume_unique else _distinct(x)
    return _kept(present & isin(values, y, invert=True), values, size, fill_value, smallest=False)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements that occur in exactly one of the arrays, in ascending order.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether no element occurs twice in an array.
      size: length of the result, which `jit` needs; more elements are cut off.
      fill_value: for missing elements, by default the smallest one, or 0.

    Raises:
      ConcretizationError: an array is traced and `size` is missing.

    >>> import stagec.numpy as snp
    >>> snp.setxor1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([1, 3], dtype=int32)
    """
    if size is None:
        return from_numpy(*_of_values("setxor1d", ar1, ar2, assume_unique=assume_unique))
    x, y = _flat("setxor1d", ar1, ar2)
    parts = [(_distinct(x), y), (_distinct(y), x)]
    values = concatenate([v for (v, _, _), _ in parts], 0)
    kept = concatenate([present & isin(v, other, invert=True) for (v, _, present), other in parts], 0)
    order = lexsort((values, ~kept))
    return _kept(kept[order], values[order], size, fill_value, smallest=True)
