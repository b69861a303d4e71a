"""Continued fractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec import numpy as snp
from stagec.control.loops import while_loop
from stagec.core.array import Array
from stagec.core.dtype_info import finfo
from stagec.numpy.arithmetic import dtype_of

_LIMIT = 2000


def continued_fraction(first: Any, coefficients: Callable[[Any], tuple[Any, Any]]) -> Any:
    """`first + a_1 / (b_1 + a_2 / (b_2 + ...))`, element by element, until it has converged.

    Args:
      first: of the result's shape.
      coefficients: `i -> (a_i, b_i)`, for i = 1, 2, ... as a float of rank 0.

    Source: Lentz's method as modified by Thompson and Barnett, J. Comput. Phys. 64 (1986).
    """
    dtype = dtype_of(first)
    eps, tiny = float(finfo(dtype).eps), float(finfo(dtype).tiny) * 1e10

    def away(value: Any) -> Array:
        return snp.where(abs(value) < tiny, tiny, value)

    def unfinished(state: Any) -> Any:
        i, *_, going = state
        return snp.any(going) & (i < _LIMIT)

    def step(state: Any) -> Any:
        i, c, d, value, going = state
        a, b = coefficients(i)
        d = 1 / away(b + a * d)
        c = away(b + a / c)
        factor = c * d
        # Elements that have converged do not change, as further factors would only add rounding errors.
        value = snp.where(going, value * factor, value)
        return i + 1, c, d, value, going & (abs(factor - 1) > 2 * eps)

    start = away(first)
    state = (snp.asarray(1, dtype), start, start * 0, start, start == start)
    return while_loop(unfinished, step, state)[3]
