"""Reductions that ignore NaN."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array, Axis
from stagec.numpy import averages as av, reductions as rd
from stagec.numpy.arguments import array_argument, refuse_out, requested_dtype_of
from stagec.primitives import arithmetic as ar
from stagec.primitives.checks import check_dtype
from stagec.primitives.logic import bitwise_and, eq, select
from stagec.primitives.operand import aval_of, literal
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def _is_number(x: Array) -> Array:
    """Whether each element is not NaN."""
    return eq(x, x)


def _may_hold_nan(name: str, x: Array) -> bool:
    check_dtype(name, aval_of(x).dtype, dtypes.ALL)
    return dtypes.is_inexact(aval_of(x).dtype)


def _masked(x: Array, value: Any) -> Array:
    """Replace each NaN by `value`."""
    if not _may_hold_nan("a sum without NaN", x):
        return x
    return select(_is_number(x), x, literal(value, aval_of(x).dtype))


def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`sum`, with NaN counted as 0.

    >>> import stagec.numpy as snp
    >>> float(snp.nansum(snp.array([1.0, snp.nan])))
    1.0
    """
    return rd.sum(_masked(array_argument(a, "nansum"), 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`prod`, with NaN counted as 1.

    >>> import stagec.numpy as snp
    >>> float(snp.nanprod(snp.array([2.0, snp.nan])))
    2.0
    """
    return rd.prod(_masked(array_argument(a, "nanprod"), 1), axis, dtype, out, keepdims, initial, where)


def _nan_extreme(
    name: str, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any, largest: bool
) -> Array:
    refuse_out(out, name)
    x = array_argument(a, name)
    reduction = rd.max if largest else rd.min
    if not _may_hold_nan(name, x):
        return reduction(x, axis, None, keepdims, initial, where)
    bound = rd.extreme_bound(aval_of(x).dtype, largest)
    result = reduction(_masked(x, bound), axis, None, keepdims, initial, where)
    if initial is not None:
        return result
    # Where all elements are NaN, so is the result.
    some = rd.any(_is_number(x), axis, None, keepdims, where=where)
    return select(some, result, literal(float("nan"), aval_of(result).dtype))


def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`max` that ignores NaN; NaN if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> float(snp.nanmax(snp.array([1.0, snp.nan])))
    1.0
    """
    return _nan_extreme("nanmax", a, axis, out, keepdims, initial, where, True)


def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """`min` that ignores NaN; NaN if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> float(snp.nanmin(snp.array([1.0, snp.nan])))
    1.0
    """
    return _nan_extreme("nanmin", a, axis, out, keepdims, initial, where, False)


def _nan_position(name: str, a: Any, axis: int | None, out: None, keepdims: bool | None, largest: bool) -> Array:
    x = array_argument(a, name)
    position = rd.argmax if largest else rd.argmin
    if not _may_hold_nan(name, x):
        return position(x, axis, out, keepdims)
    bound = rd.extreme_bound(aval_of(x).dtype, largest)
    found = position(_masked(x, bound), axis, out, keepdims)
    some = rd.any(_is_number(x), axis, None, bool(keepdims))
    return select(some, found, literal(-1, aval_of(found).dtype))


def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """`argmax` that ignores NaN; -1 if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> int(snp.nanargmax(snp.array([snp.nan, 1.0, 3.0])))
    2
    """
    return _nan_position("nanargmax", a, axis, out, keepdims, True)


def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """`argmin` that ignores NaN; -1 if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> int(snp.nanargmin(snp.array([snp.nan, 1.0, 3.0])))
    1
    """
    return _nan_position("nanargmin", a, axis, out, keepdims, False)


def _numbers(x: Array, where: Any, name: str) -> Array:
    mask = _is_number(x)
    return mask if where is None else bitwise_and(mask, rd.mask_like(x, where, name))


def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """`mean` that ignores NaN; NaN if all elements are NaN.

    >>> import stagec.numpy as snp
    >>> float(snp.nanmean(snp.array([1.0, snp.nan, 3.0])))
    2.0
    """
    refuse_out(out, "nanmean")
    x = array_argument(a, "nanmean")
    if not _may_hold_nan("nanmean", x):
        return av.mean(x, axis, dtype, None, keepdims, where=where)
    return av.mean(_masked(x, 0), axis, dtype, None, keepdims, where=_numbers(x, where, "nanmean"))


def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """`var` that ignores NaN; NaN if at most `ddof` numbers are left.

    >>> import stagec.numpy as snp
    >>> float(snp.nanvar(snp.array([1.0, snp.nan, 3.0])))
    1.0
    """
    refuse_out(out, "nanvar")
    x = array_argument(a, "nanvar")
    if not _may_hold_nan("nanvar", x):
        return av.var(x, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
    numbers = _numbers(x, where, "nanvar")
    return av.var(_masked(x, 0), axis, dtype, None, ddof, keepdims, where=numbers, mean=mean)


def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The square root of `nanvar`.

    >>> import stagec.numpy as snp
    >>> float(snp.nanstd(snp.array([1.0, snp.nan, 3.0])))
    1.0
    """
    refuse_out(out, "nanstd")
    if dtype is not None:
        dtype = requested_dtype_of("an inexact", dtype, "nanstd")
    return ar.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))
