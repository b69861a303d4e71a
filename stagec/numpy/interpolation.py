"""interp and polyval: functions given by points or coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.control.scan import scan
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument, to_array
from stagec.numpy.conditionals import where
from stagec.numpy.creation import zeros_like
from stagec.numpy.extremes import clip
from stagec.numpy.joining import concatenate
from stagec.numpy.promotion import broadcast_to_shape, promote_dtypes, promote_inexact
from stagec.numpy.sorting import argsort, searchsorted
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike

__all__ = ["interp", "polyval"]
# More coefficients than this are a loop.
UNROLL = 16


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Values at `x` of the piecewise linear function through the points `(xp, fp)`.

    Args:
      x: where to evaluate it, of any shape.
      xp: abscissas of the points, of rank 1; ascending unless `period` is given.
      fp: values at `xp`, of its shape.
      left, right: values before the first point and after the last; the first
        and the last value by default. `"extrapolate"` continues the line.
      period: the period of the function; `left` and `right` are ignored then.

    Raises:
      ShapeError: `xp` and `fp` are not two arrays of rank 1 and of one size above 0.

    >>> import stagec.numpy as snp
    >>> snp.interp(snp.array([0.5, 1.5, 9.0]), snp.array([0.0, 1.0, 2.0]), snp.array([0.0, 10.0, 30.0]))
    Array([ 5., 20., 30.], dtype=float32)
    """
    values = array_argument(fp, "interp's fp")
    at, known = promote_inexact(array_argument(x, "interp's x"), array_argument(xp, "interp's xp"))
    given, points = aval_of(values), aval_of(known)
    if dtypes.is_complex(points.dtype):
        raise location.error(
            errors.DtypeError,
            f"interp does not accept {points.dtype.name} positions",
            fix="take the parts of x and xp with real() and imag() first; fp may be complex",
        )
    if points.ndim != 1 or given.shape != points.shape or points.size == 0:
        raise location.error(
            errors.ShapeError,
            f"interp: xp is {points.long()}, fp is {given.long()}",
            fix="pass two vectors of one size, which is not 0",
        )
    (values,) = promote_inexact(values)
    if period is not None:
        left = right = None
        period = abs(array_argument(period, "interp's period"))
        at, known = at % period, known % period
        order = argsort(known)
        known, values = known[order], values[order]
        known = concatenate([known[-1:] - period, known, known[:1] + period])
        values = concatenate([values[-1:], values, values[:1]])
    last = known.shape[0] - 1
    after = clip(searchsorted(known, at, side="right"), 0 if last == 0 else 1, last)
    before = after - 1 if last else after
    width = known[after] - known[before]
    slope = where(width == 0, 0, (values[after] - values[before]) / where(width == 0, 1, width))
    result = values[before] + slope * (at - known[before])
    below, above = _beyond(left, "left", values[0]), _beyond(right, "right", values[last])
    if below is not None:
        result = where(at < known[0], below, result)
    return result if above is None else where(at > known[last], above, result)


def _beyond(side: ArrayLike | str | None, name: str, end: Array) -> ArrayLike | None:
    """Return the value beyond an end; None if the line continues."""
    if isinstance(side, str):
        if side == "extrapolate":
            return None
        fix = f'pass a number, or {name}="extrapolate"'
        raise location.error(ValueError, f"interp: {name} is {side!r}", fix=fix)
    return end if side is None else side


def horner(first: Any, rest: Sequence[Any] | Array, at: Any, unroll: int | None = None) -> Array:
    """The polynomial at `at` whose leading coefficient is `first`, which has the result's shape, and then `rest`."""
    terms, result = unroll or UNROLL, to_array(first)
    if not isinstance(rest, list) and len(rest) >= terms:
        result, _ = scan(lambda result, factor: (result * at + factor, None), result, rest, unroll=terms)
        return result
    for i in range(len(rest)):
        result = result * at + rest[i]
    return result


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | None = None) -> Array:
    """The polynomial with coefficients `p`, the highest power first, at `x`.

    Args:
      p: coefficients, of rank 1.
      x: where to evaluate it, of any shape.
      unroll: more coefficients than this, by default 16, are a loop, with so many in each round.

    Raises:
      ShapeError: `p` does not have rank 1.

    >>> import stagec.numpy as snp
    >>> float(snp.polyval(snp.array([1.0, 0.0, 2.0]), 3.0))
    11.0
    """
    factors, at = promote_dtypes(array_argument(p, "polyval's p"), array_argument(x, "polyval's x"))
    if aval_of(factors).ndim != 1:
        raise location.error(
            errors.ShapeError,
            f"polyval: p is {aval_of(factors).long()}",
            fix="pass a vector of coefficients, the highest power first",
        )
    if not len(factors):
        return zeros_like(at)
    return horner(broadcast_to_shape(factors[0], aval_of(at).shape), factors[1:], at, unroll)
