"""NumPy's reductions, and argmax and argmin."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array, Axis
from stagec.numpy import complex_order
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype
from stagec.numpy.extremes import maximum, minimum
from stagec.numpy.promotion import broadcast_to_shape, stretches_to, truth
from stagec.primitives import arithmetic as ar, reduce as rd
from stagec.primitives.axes import canonical_axes, canonical_axis, shape_error
from stagec.primitives.convert import convert_element_type
from stagec.primitives.logic import bitwise_and, bitwise_or, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import expand_dims, reshape
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "min", "minmax", "prod", "ptp", "sum",
]  # fmt: skip


def strong(x: Any, dtype: Any = None) -> Array:
    """Convert an operand to `dtype` (its own by default), not weakly typed."""
    return convert_element_type(x, aval_of(x).dtype if dtype is None else dtype, False)


def integer_sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which integers and bools are summed: at least of the default width."""
    if dtypes.is_bool(dtype):
        return dtypes.default_int()
    default = dtypes.default_uint() if dtypes.is_unsigned(dtype) else dtypes.default_int()
    if dtypes.is_integer(dtype) and dtype.itemsize < default.itemsize:
        return default
    return dtype


def with_axes(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return a reduced array, with the reduced axes as axes of size 1 if `keepdims`."""
    return expand_dims(x, axes) if keepdims and axes else x


def count_over(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of elements of each result."""
    return math.prod([shape[i] for i in axes])


def mask_like(x: Any, where: Any, name: str) -> Array:
    """Convert `where=` to bools of the shape of `x`."""
    mask = array_argument(where, f"{name}'s where")
    if not dtypes.is_bool(aval_of(mask).dtype):
        raise location.error(
            errors.DtypeError,
            f"{name}: where must be an array of bools, got {aval_of(mask).long()}",
            fix="compare it, where != 0, or convert it with astype(bool)",
        )
    if not stretches_to(aval_of(mask).shape, aval_of(x).shape):
        raise location.error(
            errors.ShapeError,
            f"{name}: where of shape {aval_of(mask).shape} does not broadcast to {aval_of(x).long()}",
            fix="broadcast the array first, stagec.numpy.broadcast_to(x, mask.shape)",
        )
    return broadcast_to_shape(mask, aval_of(x).shape)


def _reduction(
    name: str,
    row: Callable[..., Any],
    combine: Callable[..., Any],
    a: Any,
    axis: Axis,
    keepdims: bool,
    initial: Any,
    where: Any,
    identity: Any,
) -> Array:
    """Reduce `a`, which has the dtype to compute in; `identity` replaces elements that `where` excludes."""
    shape = aval_of(a).shape
    dtype = aval_of(a).dtype
    axes = canonical_axes(axis, len(shape), name)
    if where is not None:
        a = select(mask_like(a, where, name), a, literal(identity, dtype))
    out = row(a, axes) if axes else a
    if initial is not None:
        start = strong(array_argument(initial, f"{name}'s initial"), dtype)
        out = combine(out, broadcast_to_shape(start, aval_of(out).shape))
    return strong(with_axes(out, axes, keepdims))


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Add elements along `axis` (all of them by default).

    Args:
      a: an array.
      axis: an axis, or several.
      dtype: dtype to add in; integers are added in at least 32 bits, half precision in float32.
      keepdims: keep reduced axes, with size 1.
      initial: a scalar to start from.
      where: bools that broadcast to `a`; only these elements count.
      promote_integers: set to False to add small integers in their own dtype.

    >>> import stagec.numpy as snp
    >>> snp.sum(snp.ones((2, 3)), axis=1)
    Array([3., 3.], dtype=float32)
    """
    refuse_out(out, "sum")
    x = _summand("sum", a, dtype, promote_integers)
    return _as_asked(_reduction("sum", rd.reduce_sum, ar.add, x, axis, keepdims, initial, where, 0), dtype)


def _summand(name: str, a: Any, dtype: Any, promote_integers: bool = True) -> Array:
    x = array_argument(a, name)
    if dtype is not None:
        found = requested_dtype(dtype, name)
        if dtypes.is_bool(found):
            return strong(truth(x), dtypes.default_int())
    else:
        found = integer_sum_dtype(aval_of(x).dtype) if promote_integers else aval_of(x).dtype
        found = dtypes.default_int() if dtypes.is_bool(found) else found
    return strong(x, found)


def _as_asked(result: Array, dtype: Any) -> Array:
    """The result of integers, as bools where those are asked for."""
    return truth(result) if dtype is not None and dtypes.is_bool(dtypes.canonicalize(dtype)) else result


def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Multiply elements along `axis` (all of them by default); arguments as for `sum`.

    >>> import stagec.numpy as snp
    >>> int(snp.prod(snp.array([2, 3, 4])))
    24
    """
    refuse_out(out, "prod")
    x = _summand("prod", a, dtype, promote_integers)
    return _as_asked(_reduction("prod", rd.reduce_prod, ar.mul, x, axis, keepdims, initial, where, 1), dtype)


def _extreme(name: str, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any) -> Array:
    refuse_out(out, name)
    x = array_argument(a, name)
    shape = aval_of(x).shape
    axes = canonical_axes(axis, len(shape), name)
    if initial is None and where is not None:
        raise shape_error(
            name,
            "reduction has no identity, so a where mask needs an initial value",
            "pass initial=, the result where no element is selected",
        )
    if initial is None and count_over(shape, axes) == 0:
        raise shape_error(
            name,
            f"zero-size array to reduction operation which has no identity: {aval_of(x).long()}",
            "pass initial=, or reduce over axes that have elements",
        )
    largest, dtype = name == "max", aval_of(x).dtype
    row, combine = (rd.reduce_max, maximum) if largest else (rd.reduce_min, minimum)
    if dtypes.is_complex(dtype):
        row = functools.partial(complex_order.extreme, largest=largest)
    return _reduction(name, row, combine, x, axis, keepdims, initial, where, extreme_bound(dtype, largest))


def extreme_bound(dtype: np.dtype[Any], largest: bool) -> Any:
    """Return the identity of the maximum (or minimum) of a dtype."""
    if dtypes.is_complex(dtype):
        return complex_order.bound(largest)
    return (rd.lowest if largest else rd.highest)(dtype)


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along `axis` (of all by default); NaN if there is one.

    Args:
      a: an array; complex numbers are ordered by their real, then their imaginary part.
      axis: an axis, or several.
      keepdims: keep reduced axes, with size 1.
      initial: the smallest value that the result can have.
      where: bools that broadcast to `a`; only these elements count. Needs `initial`.

    Raises:
      ShapeError: there are no elements and no `initial`.

    >>> import stagec.numpy as snp
    >>> float(snp.max(snp.array([1.0, 3.0, 2.0])))
    3.0
    """
    return _extreme("max", a, axis, out, keepdims, initial, where)


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along `axis` (of all by default); arguments as for `max`.

    >>> import stagec.numpy as snp
    >>> float(snp.min(snp.array([1.0, 3.0, 2.0])))
    1.0
    """
    return _extreme("min", a, axis, out, keepdims, initial, where)


amax = max
amin = min


def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Whether all elements along `axis` are true (not zero).

    >>> import stagec.numpy as snp
    >>> bool(snp.all(snp.array([1, 0])))
    False
    """
    refuse_out(out, "all")
    x = truth(array_argument(a, "all"))
    return _reduction("all", rd.reduce_and, bitwise_and, x, axis, keepdims, None, where, True)


def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Whether any element along `axis` is true (not zero).

    >>> import stagec.numpy as snp
    >>> bool(snp.any(snp.array([1, 0])))
    True
    """
    refuse_out(out, "any")
    x = truth(array_argument(a, "any"))
    return _reduction("any", rd.reduce_or, bitwise_or, x, axis, keepdims, None, where, False)


def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements along `axis` are not zero.

    >>> import stagec.numpy as snp
    >>> int(snp.count_nonzero(snp.array([0, 2, 3])))
    2
    """
    x = array_argument(a, "count_nonzero")
    return sum(truth(x), axis, dtypes.default_int(), keepdims=keepdims)


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """The smallest and the largest element along `axis`: `(min(a), max(a))`.

    Args:
      a, axis, keepdims, where: as for `min`.
      initial: the largest value that the first result can have, and the smallest of the second; or a pair of these.

    >>> import stagec.numpy as snp
    >>> [int(n) for n in snp.minmax(snp.array([3, 8, 5]))]
    [3, 8]
    """
    refuse_out(out, "minmax")
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return min(a, axis, None, keepdims, low, where), max(a, axis, None, keepdims, high, where)


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The largest minus the smallest element along `axis`.

    >>> import stagec.numpy as snp
    >>> int(snp.ptp(snp.array([3, 8, 5])))
    5
    """
    refuse_out(out, "ptp")
    return ar.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def _position(name: str, row: Callable[..., Array], a: Any, axis: Any, out: None, keepdims: bool | None) -> Array:
    refuse_out(out, name)
    x = array_argument(a, name)
    rank = aval_of(x).ndim
    if dtypes.is_complex(aval_of(x).dtype):
        row = functools.partial(complex_order.position, largest=name == "argmax")
    if aval_of(x).size == 0 and (axis is None or aval_of(x).shape[canonical_axis(axis, rank, name)] == 0):
        raise shape_error(name, f"attempt to get {name} of an empty sequence", "check x.size first")
    if axis is None:
        found = row(reshape(x, (aval_of(x).size,)), 0, dtypes.default_int())
        return with_axes(found, tuple(range(rank)), bool(keepdims))
    axis = canonical_axis(axis, rank, name)
    return with_axes(row(x, axis, dtypes.default_int()), (axis,), bool(keepdims))


def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the first largest element along `axis`, or of the flat array; NaN counts as largest.

    Raises:
      ShapeError: there are no elements.

    >>> import stagec.numpy as snp
    >>> int(snp.argmax(snp.array([1, 3, 3])))
    1
    """
    return _position("argmax", rd.argmax, a, axis, out, keepdims)


def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The index of the first smallest element along `axis`, or of the flat array; NaN counts as smallest.

    Raises:
      ShapeError: there are no elements.

    >>> import stagec.numpy as snp
    >>> int(snp.argmin(snp.array([2, 1, 1])))
    1
    """
    return _position("argmin", rd.argmin, a, axis, out, keepdims)
