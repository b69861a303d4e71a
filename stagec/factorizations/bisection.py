"""Eigenvalues of real tridiagonal matrices by bisection."""

from __future__ import annotations

import math
from typing import Any

from stagec.control.loops import fori_loop
from stagec.core.aval import ShapedArray
from stagec.core.dtype_info import finfo
from stagec.factorizations.vectors import at, in_vectors
from stagec.numpy.conditionals import where
from stagec.numpy.creation import arange
from stagec.numpy.padding import pad
from stagec.primitives.broadcast import zeros
from stagec.primitives.operand import Operand, aval_of


def bisected(d: Any, e: Any, first: int = 0) -> Operand:
    """Return the eigenvalues from number `first` on, in ascending order.

    The absolute error of each is a few roundings of the largest.

    Args:
      d: the diagonal.
      e: the off-diagonal, one element shorter.

    Every eigenvalue has an interval, and all intervals are halved at once. The number of eigenvalues below x is the
    number of negative pivots when the matrix, less x times the identity, is factorized.

    Source: Barth, Martin and Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method
    of bisection" (1967).
    """
    n = aval_of(d).shape[0]
    wide = in_vectors(n - first)
    number = arange(first, first + wide)
    squares = pad(e * e, ((1, 0),))
    info = finfo(aval_of(d).dtype)
    bound = abs(d).max() + 2 * abs(e).max(initial=0)
    least = float(info.tiny) * where(bound > 1, bound * bound, 1)
    like = zeros(ShapedArray.of((wide,), aval_of(d).dtype))
    counts = zeros(ShapedArray.of((wide,), aval_of(number).dtype))

    def halve(_: Any, state: Any) -> Any:
        low, high = state
        middle = (low + high) / 2

        def pivot(i: Any, state: Any) -> Any:
            before, count = state
            found = (at(d, i) - middle) - at(squares, i) / before
            found = where(abs(found) < least, -least, found)
            return found, count + (found < 0)

        _, below = fori_loop(0, n, pivot, (like + 1, counts))
        return where(below > number, low, middle), where(below > number, middle, high)

    steps = math.ceil(-math.log2(float(info.eps))) + 3
    low, high = fori_loop(0, steps, halve, (like - bound, like + bound))
    return ((low + high) / 2)[: n - first]
