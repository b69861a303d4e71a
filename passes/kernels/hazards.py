"""Dependence tests between linear forms: which values read memory that is about to be written.

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
    """How the element that is read relates to the element that is written at the same index."""

    DISJOINT = "never the same element"
    SAME = "the element that is written, and no other"
    AHEAD = "an element that is written later"
    CONFLICT = "an element that may have been written"


def compare(read: Linear, space: Space, target: View, symbols: Symbols, others: Collection[int]) -> Order:
    """The order of a read in the target's buffer and the write at the same index of `space`.

    Args:
      read: the address that is read, in symbols of `space` and of the loops around it.
      others: the symbols of all spaces.
    """
    written = target.address(space.symbols)
    if read == written:
        return Order.SAME
    difference = read - written
    if difference.is_constant and difference.constant > 0 and _ascends(space, target):
        return Order.AHEAD
    return Order.DISJOINT if are_disjoint(read, written, symbols, others) else Order.CONFLICT


def _ascends(space: Space, target: View) -> bool:
    """Whether addresses increase in the order in which a nest visits them."""
    reach = 0
    for n, stride in reversed(list(zip(space.shape, target.strides))):
        if n == 1:
            continue
        if stride <= reach:
            return False
        reach += (n - 1) * stride
    return True


def are_disjoint(a: Linear, b: Linear, symbols: Symbols, inner: Collection[int]) -> bool:
    """Whether two accesses of one buffer never overlap, for any indices in their own spaces.

    The bounds test and the GCD test of loop dependence analysis.
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
