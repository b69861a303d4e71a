"""Numbers that describe a sample."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import canonical_axis
from stagec.primitives.cumulative import cummax
from stagec.typing import ArrayLike

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Array
    count: Array  # type: ignore[assignment]  # a tuple has a method of the name


def _policy(name: str, nan_policy: str, known: tuple[str, ...] = ("propagate",)) -> None:
    if nan_policy not in known:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: nan_policy={nan_policy!r} is not supported",
            fix="remove NaN from the array first",
        )


def _lines(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """The array, of one axis if none is named, and the axis."""
    x = snp.atleast_1d(array_argument(a, name))
    return (x.reshape(x.size), 0) if axis is None else (x, canonical_axis(axis, x.ndim, name))


def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the smallest of several, and how often it occurs.

    Args:
      axis: None for all elements.
      nan_policy: `"propagate"`; others are not supported.
      keepdims: leave the axis in, with size 1.

    Without elements, the value is NaN.

    >>> import stagec.numpy as snp
    >>> mode(snp.array([3, 1, 3, 2]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    _policy("mode", nan_policy)
    given = array_argument(a, "mode")
    x, dimension = _lines("mode", a, axis)
    if not x.shape[dimension]:
        reduced = x.sum(dimension)
        value, count = snp.full(reduced.shape, math.nan), snp.zeros(reduced.shape)
    else:
        ordered = snp.sort(x, axis=dimension)
        # NaN sort to the end and differ from themselves; they count as one value.
        before = snp.roll(ordered, 1, dimension)
        changed = (ordered != before) & ~(snp.isnan(ordered) & snp.isnan(before))
        position = snp.arange(x.shape[dimension]).reshape([-1 if i == dimension else 1 for i in range(x.ndim)])
        begin = cummax(snp.where(changed | (position == 0), position, 0), dimension)
        run = position - begin + 1
        best = snp.argmax(run, axis=dimension, keepdims=True)
        value = snp.take_along_axis(ordered, best, dimension).squeeze(dimension)
        count = run.max(dimension)
    if keepdims:
        shape = (1,) * given.ndim if axis is None else tuple(1 if i == dimension else n for i, n in enumerate(x.shape))
        return ModeResult(value.reshape(shape), count.reshape(shape))
    return ModeResult(value, count)


def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """The ranks of the elements, from 1, as floating numbers.

    Args:
      method: the rank of equal elements: their `"average"`, `"min"` or `"max"`; `"dense"`, where the next ones get
        the next number; or `"ordinal"`, in their order.
      axis: the axis to rank along; None for all elements, in one axis.
      nan_policy: `"propagate"`: with a NaN, all ranks are NaN; others are not supported.

    >>> import stagec.numpy as snp
    >>> rankdata(snp.array([0, 2, 3, 2]))
    Array([1. , 2.5, 4. , 2.5], dtype=float32)
    """
    _policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise location.error(
            errors.UnsupportedError,
            f"rankdata: unknown method {method!r}",
            fix="use 'average', 'min', 'max', 'dense' or 'ordinal'",
        )
    x, dimension = _lines("rankdata", a, axis)
    lines = snp.moveaxis(x, dimension, -1)
    size = lines.shape[-1]
    order = snp.argsort(lines, axis=-1, stable=True)
    back = snp.argsort(order, axis=-1, stable=True)
    if method == "ordinal":
        ranks = back + 1
    else:
        ordered = snp.take_along_axis(lines, order, -1)
        first = snp.concatenate([snp.ones_like(ordered[..., :1], bool), ordered[..., 1:] != ordered[..., :-1]], -1)
        position = snp.broadcast_to(snp.arange(size), ordered.shape)
        low = cummax(snp.where(first, position, 0), ordered.ndim - 1)
        last = snp.concatenate([first[..., 1:], snp.ones_like(first[..., :1])], -1)
        high = size - 1 - snp.flip(cummax(snp.where(snp.flip(last, -1), position, 0), ordered.ndim - 1), -1)
        ranks = {
            "min": low + 1,
            "max": high + 1,
            "average": (low + high) * 0.5 + 1,
            "dense": snp.cumsum(first, axis=-1),
        }[method]
        ranks = snp.take_along_axis(ranks, back, -1)
    ranks = ranks.astype(dtypes.default_float())
    if dtypes.is_inexact(lines.dtype):
        ranks = snp.where(snp.isnan(lines).any(-1, keepdims=True), math.nan, ranks)
    return snp.moveaxis(ranks, -1, dimension)


def sem(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Array:
    """The standard error of the mean: the standard deviation over the root of the number of elements.

    Args:
      axis: None for all elements.
      ddof: subtracted from the number in the deviation's divisor.
      nan_policy: `"propagate"`, or `"omit"` to leave out NaN.
      keepdims: leave the axis in, with size 1.

    >>> import stagec.numpy as snp
    >>> round(float(sem(snp.array([1.0, 2.0, 3.0, 4.0]))), 4)
    0.6455
    """
    _policy("sem", nan_policy, ("propagate", "omit"))
    (operand,) = promote_inexact(a)
    x = to_array(operand)
    if nan_policy == "omit":
        present = snp.sum(~snp.isnan(x), axis=axis, keepdims=keepdims)
        return snp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / snp.sqrt(present.astype(x.real.dtype))
    count = x.size if axis is None else x.shape[canonical_axis(axis, x.ndim, "sem")]
    if not count:
        return snp.mean(x, axis, keepdims=keepdims)
    return snp.std(x, axis, ddof=ddof, keepdims=keepdims) / snp.sqrt(snp.asarray(count, x.real.dtype))
