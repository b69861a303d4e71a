"""Exact laws of comparisons, and of logic between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.facts import of
from passes.match import (
    SPLAT,
    dtype_of,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_splat,
    other_operand,
    producer,
    same_type,
    sides,
    splat_of,
)
from passes.patterns import pattern
from passes.simplify.logic import AND, CONVERT, NOT, OR, XOR
from passes.types import is_lossless

COMPARE, NEGATE, ADD = "stablehlo.compare", "stablehlo.negate", "stablehlo.add"
MAXIMUM, MINIMUM = "stablehlo.maximum", "stablehlo.minimum"


def direction_of(op: Any) -> str:
    """Return the direction of a comparison, such as `"LT"`."""
    return attrs.word(op, "comparison_direction")


def is_total(op: Any) -> bool:
    """Whether a comparison orders NaN, and zeros of both signs, too."""
    return attrs.word(op, "compare_type") == "TOTALORDER"


def _compare(like: Any, lhs: Any, rhs: Any, direction: str) -> Any:
    return build.compare(lhs, rhs, direction, attrs.word(like, "compare_type") or None)


@pattern(COMPARE, of=(SPLAT, "stablehlo.constant"))
def compare_constant_second(op: Any) -> Any:
    """c < x -> x > c. Exact; other laws look for constants there."""
    if not is_constant(op.lhs) or is_constant(op.rhs):
        return None
    return _compare(op, op.rhs, op.lhs, attrs.EXCHANGED[direction_of(op)])


@pattern(COMPARE, of=(NEGATE, NOT, ADD, XOR))
def compare_of_same_step(op: Any) -> Any:
    """-x < -y -> x > y for floats, ~x < ~y -> x > y for integers, x + z == y + z -> x == y for integers.

    Exact; sums and negations of integers may wrap, so only == and != of those are rewritten.
    """
    left, right = producer(op.lhs), producer(op.rhs)
    if left is None or right is None or left.operation.name != right.operation.name or is_complex(op.lhs):
        return None
    name, direction = left.operation.name, direction_of(op)
    equality = direction in ("EQ", "NE")
    if name in (NEGATE, NOT):
        if name == NEGATE and not equality and not is_floating(op.lhs):
            return None
        return _compare(op, left.operand, right.operand, attrs.EXCHANGED[direction])
    if name in (ADD, XOR) and equality and not is_floating(op.lhs) and (name == XOR or is_integer(op.lhs)):
        for common, x in sides(left):
            for other, y in sides(right):
                if common == other:
                    return _compare(op, x, y, direction)
    return None


@pattern(COMPARE, of=(NEGATE, NOT, ADD, "stablehlo.subtract", XOR))
def compare_step_with_constant(op: Any) -> Any:
    """-x < c -> x > -c for floats, ~x < c -> x > ~c, x + c == d -> x == d - c, c - x == d -> x == c - d.

    Exact; integers may wrap, so an ordering of sums is rewritten only where the range of x excludes that.
    """
    inner, direction = producer(op.lhs), direction_of(op)
    if inner is None or not is_constant(op.rhs) or is_complex(op.lhs) or is_boolean(op.lhs):
        return None
    name, equality = inner.operation.name, direction in ("EQ", "NE")
    if name == NEGATE and (equality or is_floating(op.lhs)):
        return _compare(op, inner.operand, build.op(NEGATE, [op.rhs]), attrs.EXCHANGED[direction])
    if name == NOT:
        return _compare(op, inner.operand, build.op(NOT, [op.rhs]), attrs.EXCHANGED[direction])
    if is_floating(op.lhs):
        return None
    if name == XOR and equality and is_constant(inner.rhs):
        return _compare(op, inner.lhs, build.op(XOR, [op.rhs, inner.rhs]), direction)
    if name == "stablehlo.subtract" and equality and is_constant(inner.lhs):
        return _compare(op, inner.rhs, build.op("stablehlo.subtract", [inner.lhs, op.rhs]), direction)
    if name != ADD or not is_constant(inner.rhs):
        return None
    return _moved_sum(op, inner, direction) if not equality else _difference(op, inner, direction)


def _difference(op: Any, inner: Any, direction: str) -> Any:
    return _compare(op, inner.lhs, build.op("stablehlo.subtract", [op.rhs, inner.rhs]), direction)


def _moved_sum(op: Any, inner: Any, direction: str) -> Any:
    """x + c < d -> x < d - c, where neither wraps."""
    x, added, limit = of(inner.lhs), splat_of(inner.rhs), splat_of(op.rhs)
    dtype = dtype_of(op.lhs)
    if x is None or added is None or limit is None or dtype.isbuiltin != 1:
        return None
    info = np.iinfo(dtype)
    numbers = (x.low + int(added), x.high + int(added), int(limit) - int(added))
    if any(not int(info.min) <= number <= int(info.max) for number in numbers):
        return None
    return _difference(op, inner, direction)


@pattern(COMPARE, of="stablehlo.subtract")
def compare_difference_with_zero(op: Any) -> Any:
    """x - y == 0 -> x == y, and the same for !=, for integers. Exact."""
    inner = producer(op.lhs, "stablehlo.subtract")
    if inner is None or not is_integer(op.lhs) or direction_of(op) not in ("EQ", "NE") or not is_splat(op.rhs, 0):
        return None
    return _compare(op, inner.lhs, inner.rhs, direction_of(op))


@pattern(COMPARE, of="stablehlo.abs")
def compare_abs_with_zero(op: Any) -> Any:
    """|x| == 0 -> x == 0, and the same for !=, for real numbers. Exact."""
    inner = producer(op.lhs, "stablehlo.abs")
    if inner is None or is_complex(inner.operand) or direction_of(op) not in ("EQ", "NE") or is_total(op):
        return None
    zero = is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0)
    return _compare(op, inner.operand, op.rhs, direction_of(op)) if zero else None


@pattern(COMPARE, of=(MAXIMUM, MINIMUM))
def compare_with_own_extreme(op: Any) -> Any:
    """x == max(x, y) -> x >= y and x == min(x, y) -> x <= y; for integers, x != max(x, y) -> x < y.

    Exact: comparisons with NaN are false, and the larger of zeros is equal to both.
    """
    direction = direction_of(op)
    if direction not in ("EQ", "NE") or is_total(op) or is_complex(op.lhs) or is_boolean(op.lhs):
        return None
    if direction == "NE" and is_floating(op.lhs):
        return None
    for value, x in sides(op):
        inner = producer(value)
        y = other_operand(inner, x) if inner is not None and inner.operation.name in (MAXIMUM, MINIMUM) else None
        if inner is not None and y is not None:
            greater, less = ("GE", "LE") if direction == "EQ" else ("LT", "GT")
            return _compare(op, x, y, greater if inner.operation.name == MAXIMUM else less)
    return None


@pattern(COMPARE, of=(MAXIMUM, MINIMUM))
def compare_of_limited(op: Any) -> Any:
    """max(x, c) > d -> x > d for constants c <= d, and the same for min and other directions; max(x, c) == c -> x <= c.

    Exact: comparisons with NaN are false, != is true.
    """
    inner = producer(op.lhs)
    if inner is None or inner.operation.name not in (MAXIMUM, MINIMUM) or is_total(op) or is_boolean(op.lhs):
        return None
    c: Any = splat_of(inner.rhs)
    d: Any = splat_of(op.rhs)
    direction = direction_of(op)
    if c is None or d is None or is_complex(op.lhs):
        return None
    largest = inner.operation.name == MAXIMUM
    if c == d and (direction == "EQ" or (direction == "NE" and not is_floating(op.lhs))):
        limited = ("LE", "GT") if largest else ("GE", "LT")
        return _compare(op, inner.lhs, op.rhs, limited[direction == "NE"])
    if direction in (("GT", "LE") if largest else ("LT", "GE")):
        decided = c <= d if largest else c >= d
    else:
        decided = c < d if largest else c > d
    return _compare(op, inner.lhs, op.rhs, direction) if bool(decided) else None


_NATURAL = {"f": "FLOAT", "V": "FLOAT", "i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}


@pattern(COMPARE, of=CONVERT)
def compare_converted(op: Any) -> Any:
    """convert(x) < convert(y) -> x < y, where the wider type represents all values of x and y. Exact."""
    left, right = producer(op.lhs, CONVERT), producer(op.rhs, CONVERT)
    if left is None or right is None or is_total(op) or not same_type(left.operand, right.operand):
        return None
    source = dtype_of(left.operand)
    if source.kind == "c" or not is_lossless(source, dtype_of(op.lhs)):
        return None
    return build.compare(left.operand, right.operand, direction_of(op), _NATURAL[source.kind])


@pattern(COMPARE, of=CONVERT)
def compare_converted_with_constant(op: Any) -> Any:
    """convert(x) < c -> x < c' for an integer x whose values the wider type represents.

    Exact: c' is c, rounded to an integer up or down as the direction needs. `compare_ranges` covers a c' that does not
    fit the type of x.
    """
    inner, limit = producer(op.lhs, CONVERT), splat_of(op.rhs)
    if inner is None or limit is None or not is_integer(inner.operand) or is_total(op):
        return None
    source, direction, number = dtype_of(inner.operand), direction_of(op), limit.item()
    if isinstance(number, complex) or not is_lossless(source, dtype_of(op.lhs)) or not math.isfinite(number):
        return None
    whole = math.ceil(number) if direction in ("LT", "GE") else math.floor(number)
    if direction in ("EQ", "NE") and whole != number:
        return build.full(direction == "NE", op.operation.results[0].type)
    if not np.iinfo(source).min <= whole <= np.iinfo(source).max:
        return None
    return build.compare(inner.operand, build.full(whole, inner.operand), direction, _NATURAL[source.kind])


# For which outcomes each comparison is true: less, equal, greater, or unordered ("?").
_OUTCOMES = {name: frozenset(text) for name, text in
             {"LT": "<", "LE": "<=", "EQ": "=", "NE": "<>?", "GT": ">", "GE": "=>"}.items()}  # fmt: skip
_SETS = {AND: frozenset.intersection, OR: frozenset.union, XOR: frozenset.symmetric_difference}


@pattern(*_SETS, of=COMPARE)
def logic_of_comparisons(op: Any) -> Any:
    """x < y | x == y -> x <= y, x < y & x > y -> false, and the like. Exact: NaN counts as a fourth outcome."""
    left, right = producer(op.lhs, COMPARE), producer(op.rhs, COMPARE)
    if left is None or right is None or is_total(left) or is_total(right) or is_complex(left.lhs):
        return None
    first, second = direction_of(left), direction_of(right)
    if (left.lhs, left.rhs) == (right.rhs, right.lhs):
        second = attrs.EXCHANGED[second]
    elif (left.lhs, left.rhs) != (right.lhs, right.rhs):
        return None
    possible = frozenset("<=>?" if is_floating(left.lhs) else "<=>")
    wanted = _SETS[op.operation.name](_OUTCOMES[first], _OUTCOMES[second]) & possible
    if not wanted or wanted == possible:
        return build.full(bool(wanted), op.lhs)
    found = next((name for name, outcomes in _OUTCOMES.items() if outcomes & possible == wanted), None)
    return None if found is None else _compare(left, left.lhs, left.rhs, found)


@pattern(AND, OR, of=COMPARE)
def logic_of_limits(op: Any) -> Any:
    """x > c & x > d -> x > max(c, d), x < c | x < d -> x < max(c, d), and the like, for constants. Exact."""
    left, right = producer(op.lhs, COMPARE), producer(op.rhs, COMPARE)
    if left is None or right is None or left.lhs != right.lhs or direction_of(left) != direction_of(right):
        return None
    c, d, direction = splat_of(left.rhs), splat_of(right.rhs), direction_of(left)
    if c is None or d is None or is_total(left) or is_total(right) or is_complex(left.lhs) or direction in ("EQ", "NE"):
        return None
    if c != c or d != d:
        return None
    # Both lower limits hold where the greater one does.
    greater = (direction in ("GT", "GE")) == (op.operation.name == AND)
    first = np.greater_equal(c, d) if greater else np.less_equal(c, d)
    return op.lhs if bool(first) else op.rhs


PATTERNS = (
    compare_constant_second,
    compare_of_same_step,
    compare_step_with_constant,
    compare_difference_with_zero,
    compare_abs_with_zero,
    compare_with_own_extreme,
    compare_of_limited,
    compare_converted,
    compare_converted_with_constant,
    logic_of_comparisons,
    logic_of_limits,
)
