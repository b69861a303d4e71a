"""Exact laws of maxima, minima and clamps."""

from __future__ import annotations

import math
from typing import Any

from passes import build
from passes.analysis.facts import KNOWN, of
from passes.match import (
    has_one_use,
    is_boolean,
    is_complex,
    producer,
    shape_of,
    splat_of,
)
from passes.patterns import laws_of, pattern

MAXIMUM, MINIMUM, CLAMP = "stablehlo.maximum", "stablehlo.minimum", "stablehlo.clamp"
# A value, its lower bound and its upper bound.
Bounds = tuple[Any, Any, Any]


def _order(number: Any) -> tuple[Any, float]:
    """Return a sort key that orders numbers as maximum and minimum do: -0.0 comes before 0.0."""
    return number, math.copysign(1.0, number) if number == 0 and isinstance(number, float) else 1.0


def _bounds(op: Any) -> Bounds | None:
    """Return x and the bounds of max(x, c), min(x, d) or clamp(c, x, d) for constants c and d, or None."""
    if op is None or op.operation.name not in (MAXIMUM, MINIMUM, CLAMP):
        return None
    name = op.operation.name
    value, low, high = (op.operand, op.min, op.max) if name == CLAMP else (op.lhs, op.rhs, op.rhs)
    if is_complex(value) or is_boolean(value):
        return None
    numbers = [splat_of(bound) for bound in (low, high)]
    if any(number is None for number in numbers):
        return None
    lower, upper = (number.item() if hasattr(number, "item") else float(number) for number in numbers)  # type: ignore
    if lower != lower or upper != upper or not isinstance(lower, (int, float)):
        return None
    if name == CLAMP:
        return (value, lower, upper) if _order(lower) <= _order(upper) else None
    return (value, lower, None) if name == MAXIMUM else (value, None, upper)


@pattern(MAXIMUM, MINIMUM, CLAMP, of=(MAXIMUM, MINIMUM, CLAMP))
def nested_bounds(op: Any) -> Any:
    """min(max(x, c), d) -> clamp(c, x, d), and one clamp for each nest of max, min and clamp with constants.

    Exact: NaN stays NaN, and -0.0 is less than 0.0. The law requires that nothing else reads the inner ops.
    """
    outer = _bounds(op)
    inner = _bounds(producer(outer[0])) if outer is not None else None
    if outer is None or inner is None or not has_one_use(outer[0]):
        return None
    value, low, high = inner
    _, least, most = outer
    cut = [_clamped(bound, least, most) for bound in (low, high)]
    low = least if cut[0] is None else cut[0]
    high = most if cut[1] is None else cut[1]
    if low is not None and high is not None:
        if tuple(op.operation.results[0].type.shape) != shape_of(value):
            return None
        scalar = build.tensor_type((), value.type.element_type)
        operands = [build.full(low, scalar), value, build.full(high, scalar)]
        return build.op(CLAMP, operands, value.type)
    return build.op(MAXIMUM if high is None else MINIMUM, [value, build.full(low if high is None else high, value)])


def _clamped(bound: Any, least: Any, most: Any) -> Any:
    if bound is not None and least is not None:
        bound = max(bound, least, key=_order)
    if bound is not None and most is not None:
        bound = min(bound, most, key=_order)
    return bound


@pattern(CLAMP, of=KNOWN)
def clamp_on_one_side(op: Any) -> Any:
    """clamp(a, x, b) -> min(x, b) where no x is less than a, and max(x, a) where none is greater than b.

    Exact, for constants a < b.
    """
    x, bounds = of(op.operand), _bounds(op)
    if x is None or bounds is None or bounds[1] >= bounds[2]:
        return None
    _, low, high = bounds
    if low < x.low or (low == x.low and (low != 0 or not x.minus_zero)):
        return build.op(MINIMUM, [op.operand, build.full(high, op.operand)])
    if x.high < high or (x.high == high and high != 0):
        return build.op(MAXIMUM, [op.operand, build.full(low, op.operand)])
    return None


PATTERNS = laws_of(globals())
