"""What reads memory that is about to be written: dependence tests between linear forms.

A write to a buffer is a hazard for every value that is still needed and is computed from the buffer's old
contents. Two accesses are compared as linear forms of loop symbols.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection

from passes.kernels.builder import Symbols
from passes.kernels.linear import Linear
from passes.kernels.nests import Space
from passes.kernels.values import View


class Order(enum.Enum):
    """How a read of a value lies to the write of its element."""

    APART = "never the same element"
    SAME = "the element that is written, and no other"
    AHEAD = "an element that is written later"
    CONFLICT = "an element that may have been written"


def compare(read: Linear, space: Space, target: View, symbols: Symbols, others: Collection[int]) -> Order:
    """How a read in the target's buffer lies to the write at the same index of `space`.

    Args:
      read: the place that is read, in symbols of `space` and of the loops around.
      others: the symbols of all spaces.
    """
    written = target.address(space.symbols)
    if read == written:
        return Order.SAME
    difference = read - written
    if difference.is_constant and difference.constant > 0 and _ascends(space, target):
        return Order.AHEAD
    return Order.APART if are_apart(read, written, symbols, others) else Order.CONFLICT


def _ascends(space: Space, target: View) -> bool:
    """Whether places grow in the order in which a nest visits them."""
    reach = 0
    for n, stride in reversed(list(zip(space.shape, target.strides))):
        if n == 1:
            continue
        if stride <= reach:
            return False
        reach += (n - 1) * stride
    return True


def are_apart(a: Linear, b: Linear, symbols: Symbols, inner: Collection[int]) -> bool:
    """Whether two accesses of one buffer never meet, whatever the indices of each in its own space are.

    The bounds test and the test of the greatest common divisor, of the dependence analysis of loops.
    """
    outer = [Linear(form.constant, tuple(t for t in form.terms if t[0] not in inner)) for form in (a, b)]
    own = [form.only(inner) for form in (a, b)]
    distance = outer[0] - outer[1]
    bounds = symbols.bounds(distance)
    reach = [symbols.bounds(form) for form in own]
    if bounds is not None and reach[0] is not None and reach[1] is not None:
        low = bounds[0] + reach[0][0] - reach[1][1]
        high = bounds[1] + reach[0][1] - reach[1][0]
        if low > 0 or high < 0:
            return True
    if distance.terms:
        return False
    divisor = math.gcd(*(c for form in own for _, c in form.terms)) if any(form.terms for form in own) else 0
    return distance.constant % divisor != 0 if divisor else distance.constant != 0
