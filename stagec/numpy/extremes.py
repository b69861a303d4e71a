"""Ufuncs of two arrays: maximum, minimum, clip, hypot, heaviside, gcd, lcm, logaddexp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stagec.control import custom
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arithmetic import absolute, dtype_of, nonzero_divisor, real_only, reject
from stagec.numpy.promotion import broadcast_together, promote, promote_dtypes, promote_floating
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.broadcast import instantiate
from stagec.primitives.complex_order import keeps
from stagec.primitives.convert import as_array
from stagec.primitives.gcd import gcd_p
from stagec.primitives.iota import full_like
from stagec.primitives.operand import Operand, as_operand
from stagec.typing import ArrayLike

__all__ = ["clip", "fmax", "fmin", "gcd", "heaviside", "hypot", "lcm", "logaddexp", "logaddexp2", "maximum", "minimum"]

_LOG2_E = 1.4426950408889634


def maximum(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The larger of both; NaN where either is NaN. Complex numbers compare by real part first.

    >>> round(float(maximum(2, 3.5)), 4)
    3.5
    """
    return ar.max(*promote("maximum", x1, x2))


def minimum(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The smaller of both; NaN where either is NaN. Complex numbers compare by real part first.

    >>> round(float(minimum(2, 3.5)), 4)
    2.0
    """
    return ar.min(*promote("minimum", x1, x2))


def fmax(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The larger of both; the other where one is NaN.

    >>> round(float(fmax(float('nan'), 1.0)), 4)
    1.0
    """
    x, y = promote("fmax", x1, x2)
    first = keeps(x, y, True) if dtypes.is_complex(dtype_of(x)) else logic.gt(x, y)
    take_x = logic.bitwise_or(logic.ne(y, y), logic.bitwise_and(first, logic.eq(x, x)))
    return logic.select(take_x, x, y)


def fmin(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The smaller of both; the other where one is NaN.

    >>> round(float(fmin(float('nan'), 1.0)), 4)
    1.0
    """
    x, y = promote("fmin", x1, x2)
    first = keeps(x, y, False) if dtypes.is_complex(dtype_of(x)) else logic.lt(x, y)
    take_x = logic.bitwise_or(logic.ne(y, y), logic.bitwise_and(first, logic.eq(x, x)))
    return logic.select(take_x, x, y)


def clip(
    a: ArrayLike,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> Array:
    """`a` limited to the interval from `min` to `max`, either of which may be absent.

    Args:
      a: an array.
      min, max: the bounds, which are broadcast.
      a_min, a_max: NumPy's first names of the bounds.

    Raises:
      DtypeError: an operand is complex.

    >>> int(clip(5, 0, 3))
    3
    """
    out = as_operand(a, "clip's argument")
    real_only("clip", out)
    for bound, limit in ((a_min if min is None else min, ar.max), (a_max if max is None else max, ar.min)):
        if bound is not None:
            x, y = promote("clip", out, bound)
            real_only("clip", x)
            out = limit(x, y)
    return as_array(out)


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`sqrt(x1**2 + x2**2)`, without intermediate overflow.

    >>> round(float(hypot(3.0, 4.0)), 4)
    5.0
    """
    x, y = promote_floating("hypot", x1, x2)
    real_only("hypot", x)
    x, y = ar.abs(x), ar.abs(y)
    infinite = logic.bitwise_or(logic.eq(x, float("inf")), logic.eq(y, float("inf")))
    # Derivatives at NaN are NaN. Those of the maximum would be 0, in forward and reverse mode, so that a factor of
    # NaN is applied before and after it.
    undefined = logic.bitwise_or(logic.ne(x, x), logic.ne(y, y))
    factor = logic.select(undefined, float("nan"), full_like(ar.add(x, y), 1))
    x, y = ar.mul(x, factor), ar.mul(y, factor)
    large, small = ar.max(x, y), ar.min(x, y)
    empty = logic.eq(large, 0)
    ratio = ar.div(small, logic.select(empty, 1.0, large))
    length = ar.mul(large, ar.sqrt(ar.add(ar.square(ratio), 1.0)))
    length = ar.mul(logic.select(empty, large, length), factor)
    return logic.select(infinite, float("inf"), length)


def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """0 where `x1` is negative, `x2` where it is 0, 1 where it is positive.

    >>> round(float(heaviside(0.0, 0.5)), 4)
    0.5
    """
    x, y = promote_floating("heaviside", x1, x2)
    real_only("heaviside", x)
    step = ar.max(ar.sign(x), 0.0)
    return logic.select(logic.eq(x, 0), y, step)


def gcd(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The greatest common divisor of integers, never negative.

    Raises:
      DtypeError: an operand is not an integer.

    >>> int(gcd(12, 18))
    6
    """
    return gcd_p(*_integers("gcd", x1, x2))


def lcm(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The least common multiple of integers, never negative; 0 where either is 0.

    Raises:
      DtypeError: an operand is not an integer.

    >>> int(lcm(4, 6))
    12
    """
    x, y = _integers("lcm", x1, x2)
    divisor = gcd_p(x, y)
    return ar.mul(absolute(x), ar.div(absolute(y), nonzero_divisor(divisor)))


def _integers(name: str, x1: Any, x2: Any) -> list[Operand]:
    operands = promote_dtypes(x1, x2)
    if not dtypes.is_integer(dtype_of(operands[0])):
        raise reject(name, dtype_of(operands[0]), "convert with astype(int)")
    return broadcast_together(name, operands)


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`log(exp(x1) + exp(x2))`, without intermediate overflow.

    >>> round(float(logaddexp(2.0, 3.0)), 4)
    3.3133
    """
    x, y = promote_floating("logaddexp", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        return _complex_logaddexp(x, y, tr.exp, 1.0)
    return custom.call(custom.custom_jvp_p, custom.Rule("logaddexp", _real_logaddexp, _logaddexp_derivative), [x, y])[0]


def _real_logaddexp(x: Array, y: Array) -> list[Operand]:
    top, gap = ar.max(x, y), ar.sub(x, y)
    smooth = ar.add(top, tr.log1p(tr.exp(ar.neg(ar.abs(gap)))))
    # The difference of equal infinities is NaN; their sum is correct.
    return [logic.select(logic.ne(gap, gap), ar.add(x, y), smooth)]


def _logaddexp_derivative(primals: Sequence[Operand], tangents: Sequence[Any]) -> tuple[list[Operand], list[Operand]]:
    return _weighted(tr.exp, logaddexp(*primals), primals, tangents)


def _weighted(
    exponential: Any, out: Operand, primals: Sequence[Operand], tangents: Sequence[Any]
) -> tuple[list[Operand], list[Operand]]:
    """Weight tangents by each operand's share of the sum; unlike those of max and abs, this is smooth at equality."""
    parts = []
    for v, t in zip(primals, tangents):
        # If an operand is infinite, so is the sum, and their difference is NaN.
        gap = logic.select(logic.eq(v, math.inf), 0.0, ar.sub(v, out))
        parts.append(ar.mul(instantiate(t), exponential(gap)))
    return [out], [ar.add(*parts)]


def _complex_logaddexp(x: Array, y: Array, exponential: Any, scale: float) -> Array:
    first = keeps(x, y, True)
    top, low = logic.select(first, x, y), logic.select(first, y, x)
    return ar.add(top, ar.mul(tr.log1p(exponential(ar.sub(low, top))), scale))


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`log2(2**x1 + 2**x2)`, without intermediate overflow.

    >>> round(float(logaddexp2(2.0, 3.0)), 4)
    3.585
    """
    x, y = promote_floating("logaddexp2", x1, x2)
    if dtypes.is_complex(dtype_of(x)):
        return _complex_logaddexp(x, y, tr.exp2, _LOG2_E)
    rule = custom.Rule("logaddexp2", _real_logaddexp2, _logaddexp2_derivative)
    return custom.call(custom.custom_jvp_p, rule, [x, y])[0]


def _real_logaddexp2(x: Array, y: Array) -> list[Operand]:
    top, gap = ar.max(x, y), ar.sub(x, y)
    smooth = ar.add(top, ar.mul(tr.log1p(tr.exp2(ar.neg(ar.abs(gap)))), _LOG2_E))
    return [logic.select(logic.ne(gap, gap), ar.add(x, y), smooth)]


def _logaddexp2_derivative(primals: Sequence[Operand], tangents: Sequence[Any]) -> tuple[list[Operand], list[Operand]]:
    return _weighted(tr.exp2, logaddexp2(*primals), primals, tangents)
