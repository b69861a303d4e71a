"""Distinct elements, and arrays as sets."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, concrete, from_numpy, is_traced, to_array
from stagec.numpy.extremes import minimum
from stagec.numpy.promotion import promote_dtypes
from stagec.numpy.reductions import strong
from stagec.numpy.sorting import searchsorted, unique_sorted
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape
from stagec.typing import ArrayLike


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
      return_index: also return where each is first.
      return_inverse: also return which of them each element is.
      return_counts: also return how often each occurs.
      axis: compare whole slices along an axis; outside of `jit` only.
      equal_nan: whether all NaN are one element.
      size: length of the result, which `jit` needs; more elements are cut
        off, missing ones are `fill_value` with a count of 0.
      fill_value: the smallest element by default.
      sorted: accepted; the result is always sorted.

    Raises:
      ConcretizationError: the array is traced and `size` is missing.
      UnsupportedError: `axis` and `size` together.

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
            axis=axis,
            equal_nan=equal_nan,
        )
        parts = list(found) if any(wanted) else [found]
        first = from_numpy(parts[0], aval_of(x).dtype)
        rest = [from_numpy(p, dtypes.default_int()) for p in parts[1:]]
        return (first, *rest) if any(wanted) else first
    if axis is not None:
        raise location.error(
            errors.UnsupportedError,
            "unique: axis and size do not go together",
            fix="call unique with axis outside of jit, without size",
        )
    flat = reshape(x, (aval_of(x).size,))
    if aval_of(flat).size == 0:
        raise location.error(errors.ShapeError, "unique: size= of an empty array", fix="check x.size first")
    values, places, inverse, counts = unique_sorted(flat, int(size), fill_value, equal_nan)
    out = [strong(values)]
    if return_index:
        out.append(strong(places, dtypes.default_int()))
    if return_inverse:
        out.append(strong(reshape(inverse, aval_of(x).shape), dtypes.default_int()))
    if return_counts:
        out.append(strong(counts, dtypes.default_int()))
    return tuple(out) if any(wanted) else out[0]


def _comparable(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # NumPy does not sort bfloat16 with NaN last.
    return value.astype(np.float32) if value.dtype == dtypes.bfloat16 else value


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct elements; NaN are all distinct, as the array API says.

    >>> import stagec.numpy as snp
    >>> snp.unique_values(snp.array([2, 1, 2]))
    Array([1, 2], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, Array]:
    """The distinct elements, and how often each occurs.

    >>> import stagec.numpy as snp
    >>> values, counts = snp.unique_counts(snp.array([2, 1, 2]))
    >>> counts
    Array([1, 2], dtype=int32)
    """
    values, counts = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return values, counts


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, Array]:
    """The distinct elements, and which of them each element is.

    >>> import stagec.numpy as snp
    >>> values, inverse = snp.unique_inverse(snp.array([2, 1, 2]))
    >>> inverse
    Array([1, 0, 1], dtype=int32)
    """
    values, inverse = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return values, inverse


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array]:
    """The distinct elements, where each is first, which of them each element is, and how often each occurs.

    >>> import stagec.numpy as snp
    >>> len(snp.unique_all(snp.array([2, 1, 2])))
    4
    """
    values, first, inverse, counts = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return values, first, inverse, counts


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
    if is_traced(x, y):
        concrete(x, name, "ar1")
        concrete(y, name, "ar2")
    values = [_comparable(np.asarray(concrete(v, name, "array"))) for v in (x, y)]
    return getattr(np, name)(*values, **options), aval_of(x).dtype


@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: Literal[False] = False
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[Array, Array, Array]: ...
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Array | tuple[Array, ...]:
    """The distinct elements that both arrays have; outside of `jit` only.

    Raises:
      ConcretizationError: an array is traced: the length of the result depends on values.

    >>> import stagec.numpy as snp
    >>> snp.intersect1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([2], dtype=int32)
    """
    found, dtype = _of_values("intersect1d", ar1, ar2, assume_unique=assume_unique, return_indices=return_indices)
    if not return_indices:
        return from_numpy(found, dtype)
    return (from_numpy(found[0], dtype), *[from_numpy(p, dtypes.default_int()) for p in found[1:]])


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
      assume_unique: accepted; nothing is gained by it.
      invert: ask which elements do not occur.
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
    elif table.size <= _COMPARED:
        found = (x[..., None] == table).any(-1)
    else:
        table = table.sort()
        place = searchsorted(table, x)
        found = table[minimum(place, table.size - 1)] == x
    return ~found if invert else found


# So many elements are compared with each one; more are sorted and searched.
_COMPARED = 32


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The distinct elements of `ar1` that `ar2` does not have; outside of `jit` only.

    Raises:
      ConcretizationError: an array is traced: the length of the result depends on values.

    >>> import stagec.numpy as snp
    >>> snp.setdiff1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([1], dtype=int32)
    """
    return from_numpy(*_of_values("setdiff1d", ar1, ar2, assume_unique=assume_unique))


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The distinct elements that one of the arrays has and the other has not; outside of `jit` only.

    Raises:
      ConcretizationError: an array is traced: the length of the result depends on values.

    >>> import stagec.numpy as snp
    >>> snp.setxor1d(snp.array([1, 2]), snp.array([2, 3]))
    Array([1, 3], dtype=int32)
    """
    return from_numpy(*_of_values("setxor1d", ar1, ar2, assume_unique=assume_unique))
