"""A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5, 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stagec.control.loops import while_loop
from stagec.core.array import Array
from stagec.numpy.arithmetic import absolute, sqrt
from stagec.numpy.conditionals import where
from stagec.numpy.extremes import maximum, minimum
from stagec.numpy.linear import vdot

# Sufficient decrease, and curvature.
_DECREASE, _CURVATURE = 1e-4, 0.9
# An interval whose width is this fraction of its end points contains no other point in single precision.
_NARROW = 1e-7


class Point(NamedTuple):
    """A step along the line, the function's value and slope there."""

    step: Any
    value: Any
    slope: Any


class Found(NamedTuple):
    """The best step of a search, zero if none is good, with the value and gradient there.

    `count` points were tried, and `success` says whether the last one satisfies the conditions.
    """

    step: Any
    value: Any
    gradient: Any
    count: Any
    success: Any


class _State(NamedTuple):
    low: Point
    high: Point
    bracketed: Any
    trial: Any
    # That at `low`, the best point so far.
    gradient: Any
    count: Any
    success: Any
    narrow: Any


def wolfe_step(
    function: Callable[[Any], tuple[Any, Any]], x: Any, direction: Any, value: Any, gradient: Any, first: Any, most: int
) -> Found:
    """Return a step along a direction of descent.

    Args:
      function: maps a vector to the function's value and gradient.
      value, gradient: those at `x`.
      first: the step that is tried first.
      most: the maximum number of points to try.
    """
    slope = vdot(direction, gradient)

    def unfinished(state: _State) -> Any:
        return ~state.success & ~state.narrow & (state.count < most)

    def advance(state: _State) -> _State:
        low, high, trial = state.low, state.high, state.trial
        found, there = function(x + trial * direction)
        new = Point(trial, found, vdot(direction, there))
        too_high = ~(found <= value + _DECREASE * trial * slope) | (found >= low.value) & (low.step > 0)
        success = ~too_high & (absolute(new.slope) <= -_CURVATURE * slope)
        # In the interval, the end with the lower value stays; outside, it grows until it holds a minimum.
        is_past_minimum = where(state.bracketed, new.slope * (high.step - low.step) >= 0, new.slope >= 0)
        other = _select(is_past_minimum, low, high)
        new_high = _select(too_high, new, other)
        new_low = _select(too_high, low, new)
        bracketed = state.bracketed | too_high | is_past_minimum
        inside = _minimum(new_low, new_high)
        width = absolute(new_high.step - new_low.step)
        narrow = bracketed & (width <= _NARROW * maximum(absolute(new_high.step), absolute(new_low.step)))
        return _State(
            new_low,
            new_high,
            bracketed,
            where(bracketed, inside, 2 * trial),
            where(too_high, state.gradient, there),
            state.count + 1,
            success,
            narrow,
        )

    start = Point(0 * first, value, slope)
    begin = _State(start, start, False, first, gradient, 0, False, False)
    last = while_loop(unfinished, advance, begin)
    return Found(last.low.step, last.low.value, last.gradient, last.count, last.success)


def _select(first: Array, x: Point, y: Point) -> Point:
    return Point(*[where(first, a, b) for a, b in zip(x, y)])


def _minimum(low: Point, high: Point) -> Array:
    """Minimize the cubic with these values and slopes; return the middle if that is invalid or near an end."""
    width = high.step - low.step
    mean = low.slope + high.slope - 3 * (high.value - low.value) / where(width == 0, 1, width)
    inner = mean * mean - low.slope * high.slope
    root = where(width < 0, -1, 1) * sqrt(maximum(inner, 0))
    bottom = high.slope - low.slope + 2 * root
    found = high.step - width * (high.slope + root - mean) / where(bottom == 0, 1, bottom)
    left, right = minimum(low.step, high.step), maximum(low.step, high.step)
    margin = 0.1 * (right - left)
    is_valid = (inner >= 0) & (bottom != 0) & (found >= left + margin) & (found <= right - margin)
    return where(is_valid, found, (left + right) / 2)
