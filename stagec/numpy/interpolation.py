"""Functions given by points or coefficients."""

from __future__ import annotations

from typing import Any

from stagec.core import errors, location
from stagec.numpy.arguments import array_argument
from stagec.numpy.choice import where
from stagec.numpy.creation import zeros_like
from stagec.numpy.extremes import clip
from stagec.numpy.joining import concatenate
from stagec.numpy.promotion import promote_dtypes, promote_inexact
from stagec.numpy.sorting import argsort, searchsorted
from stagec.primitives.operand import aval_of


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Values at `x` of the piecewise linear function through the points `(xp, fp)`.

    Args:
      x: where to evaluate it, of any shape.
      xp: the points' places, ascending unless `period` is given; of rank 1.
      fp: the values there, of the shape of `xp`.
      left, right: values before the first point and after the last; without
        them, the first and the last value. `"extrapolate"` continues the line there.
      period: the function repeats itself after this; `left` and `right` are not used.

    Raises:
      ShapeError: `xp` and `fp` are not two arrays of rank 1 and of one size above 0.

    >>> import stagec.numpy as snp
    >>> snp.interp(snp.array([0.5, 1.5, 9.0]), snp.array([0.0, 1.0, 2.0]), snp.array([0.0, 10.0, 30.0]))
    Array([ 5., 20., 30.], dtype=float32)
    """
    values = array_argument(fp, "interp's fp")
    x, xp = promote_inexact(array_argument(x, "interp's x"), array_argument(xp, "interp's xp"))
    given, places = aval_of(values), aval_of(xp)
    if places.ndim != 1 or given.shape != places.shape or places.size == 0:
        raise location.error(
            errors.ShapeError,
            f"interp: xp is {places.long()}, fp is {given.long()}",
            fix="pass two vectors of one size, which is not 0",
        )
    (values,) = promote_inexact(values)
    if period is not None:
        left = right = None
        period = abs(array_argument(period, "interp's period"))
        x, xp = x % period, xp % period
        order = argsort(xp)
        xp, values = xp[order], values[order]
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        values = concatenate([values[-1:], values, values[:1]])
    last = len(xp) - 1
    after = clip(searchsorted(xp, x, side="right"), 0 if last == 0 else 1, last)
    before = after - 1 if last else after
    width = xp[after] - xp[before]
    slope = where(width == 0, 0, (values[after] - values[before]) / where(width == 0, 1, width))
    result = values[before] + slope * (x - xp[before])
    if _is_value(left, "left"):
        result = where(x < xp[0], values[0] if left is None else left, result)
    if _is_value(right, "right"):
        result = where(x > xp[last], values[last] if right is None else right, result)
    return result


def _is_value(side: Any, name: str) -> bool:
    if isinstance(side, str) and side != "extrapolate":
        fix = f'pass a number, or {name}="extrapolate"'
        raise location.error(ValueError, f"interp: {name} is {side!r}", fix=fix)
    return not isinstance(side, str)


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The polynomial with coefficients `p`, the highest power first, at `x`.

    Args:
      p: coefficients, of rank 1.
      x: where to evaluate it, of any shape.
      unroll: accepted for JAX's sake; one step is written for each coefficient.

    Raises:
      ShapeError: `p` does not have rank 1.

    >>> import stagec.numpy as snp
    >>> float(snp.polyval(snp.array([1.0, 0.0, 2.0]), 3.0))
    11.0
    """
    p, x = promote_dtypes(array_argument(p, "polyval's p"), array_argument(x, "polyval's x"))
    if aval_of(p).ndim != 1:
        raise location.error(
            errors.ShapeError,
            f"polyval: p is {aval_of(p).long()}",
            fix="pass a vector of coefficients, the highest power first",
        )
    result = zeros_like(x)
    for i in range(len(p)):
        result = result * x + p[i]
    return result
