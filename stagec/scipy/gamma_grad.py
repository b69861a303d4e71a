"""How a gamma number depends on the parameter of its distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.control.loops import while_loop
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.core.primitive import SinglePrimitive
from stagec.numpy.reductions import any as any_of
from stagec.primitives import arithmetic as ar, logic, transcendental as tr
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full
from stagec.primitives.operand import Operand, literal
from stagec.primitives.special import digamma
from stagec.scipy.derived import value_with_slopes

_LIMIT = 2000


def random_gamma_grad(a: Any, x: Any) -> Array:
    """The derivative of a gamma number `x` by the parameter `a` it was drawn with.

    With P(a, x) the distribution function, it is -(dP/da) / (dP/dx): the number that stays at its
    quantile. NaN outside of a > 0 and x >= 0.

    Sources: series and continued fraction of the incomplete gamma functions, DLMF 8.11.4 and 8.9.2, differentiated
    term by term.
    """
    invalid = (x < 0) | (a <= 0) | (x != x) | (a != a)
    skipped = invalid | (x == 0)
    one = full(x.shape, literal(1, x.dtype))
    tail = (x > 1) & (x > a)
    # Elements that do not use this sum get operands for which it converges at once.
    x_series, a_series = (logic.select(skipped | tail, one, v) for v in (x, a))
    x_tail, a_tail = (logic.select(skipped | ~tail, v, w) for v, w in ((one + 1, x), (one, a)))
    found = logic.select(tail, _by_fraction(a_tail, x_tail), _by_series(a_series, x_series))
    found = logic.select(x == 0, one - 1, found)
    return logic.select(invalid, full(x.shape, literal(np.nan, x.dtype)), found)


def _by_series(a: Any, x: Any) -> Operand:
    """From P = x^a e^-x / Gamma(a+1) * (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...)."""
    eps = float(finfo(x.dtype).eps)
    zero = a * 0

    def unfinished(state: Any) -> Any:
        n, _, _, _, slope, slope_sum = state
        return any_of(ar.abs(slope) > eps * ar.abs(slope_sum)) & (n < _LIMIT)

    def step(state: Any) -> Any:
        n, r, term, total, slope, slope_sum = state
        r = r + 1
        slope = (slope - term / r) * (x / r)
        term = term * (x / r)
        return n + 1, r, term, total + term, slope, slope_sum + slope

    # The slope begins above what ends the sum.
    start = (full((), literal(0, dtypes.int32)), a, zero + 1, zero + 1, zero, zero)
    state = step(start)
    _, _, _, total, _, slope_sum = while_loop(unfinished, step, state)
    return -(slope_sum + total * (tr.log(x) - digamma(a + 1))) * x / a


def _by_fraction(a: Any, x: Any) -> Operand:
    """From Q = 1 - P = x^a e^-x / Gamma(a) * 1/(x+1-a- (1-a)/(x+3-a- ...)), numerators and denominators scaled."""
    eps = float(finfo(x.dtype).eps)
    zero = a * 0

    def unfinished(state: Any) -> Any:
        n, change = state[0], state[-1]
        return any_of(change > eps) & (n < _LIMIT)

    def step(state: Any) -> Any:
        n, y, z, values, slopes, value, slope, least = state
        n, y, z = n + 1, y + 1, z + 2
        c = convert_element_type(n, x.dtype)
        yc = y * c
        (p1, p2), (q1, q2) = values
        (dp1, dp2), (dq1, dq2) = slopes
        p, q = p1 * z - p2 * yc, q1 * z - q2 * yc
        dp = dp1 * z - p1 - dp2 * yc + p2 * c
        dq = dq1 * z - q1 - dq2 * yc + q2 * c
        usable = q != 0
        safe = logic.select(usable, q, zero + 1)
        value = logic.select(usable, p / safe, value)
        fresh = logic.select(usable, (dp - value * dq) / safe, slope)
        # An element that has converged once is done, as its rounding errors may never end all at the same step.
        change = ar.min(least, logic.select(usable, ar.abs(fresh - slope), zero + 1))
        scale = logic.select(ar.abs(p) > 1 / eps, zero + eps, zero + 1)
        values = (p * scale, p1 * scale), (q * scale, q1 * scale)
        slopes = (dp * scale, dp1 * scale), (dq * scale, dq1 * scale)
        return n, y, z, values, slopes, value, fresh, change

    y = 1 - a
    z = x + y + 1
    values = (x + 1, zero + 1), (z * x, x)
    slopes = (zero, zero), (-x, zero)
    value = values[0][0] / values[1][0]
    slope = value * x / values[1][0]
    start = (full((), literal(0, dtypes.int32)), y, z, values, slopes, value, slope, zero + 1)
    _, _, _, _, _, value, slope, _ = while_loop(unfinished, step, start)
    return (slope + value * (tr.log(x) - digamma(a))) * x


def _log_slope(out: Any, a: Any) -> Operand:
    tiny = literal(float(finfo(out.dtype).tiny), out.dtype)
    sample = tr.exp(out)
    sample = logic.select(sample == 0, full(sample.shape, tiny), sample)
    return random_gamma_grad(a, sample) / sample


# Numbers that were drawn, and depend on the parameter of their distribution.
gamma_sample_p = value_with_slopes(SinglePrimitive, "gamma_sample", lambda sample, a: random_gamma_grad(a, sample))
log_gamma_sample_p = value_with_slopes(SinglePrimitive, "log_gamma_sample", _log_slope)
