"""Exact laws of comparisons, and of logic between them."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import (
    SPLAT,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    producer,
    splat_of,
)
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law

COMPARE, ADD = "stablehlo.compare", "stablehlo.add"
MAXIMUM, MINIMUM = "stablehlo.maximum", "stablehlo.minimum"
AND, OR, XOR, CONVERT = "stablehlo.and", "stablehlo.or", "stablehlo.xor", "stablehlo.convert"


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


compare_of_same_step = law(
    "f(-x, -y) -> g(x, y) for exchanged f g, floats; f(-x, -y) -> f(x, y) for f in EQ|NE, integers; "
    "f(~x, ~y) -> g(x, y) for exchanged f g; f(x + z, y + z) -> f(x, y) for f in EQ|NE, integers; "
    "f(x ^ z, y ^ z) -> f(x, y) for f in EQ|NE. Exact; "
    "sums and negations of integers may wrap, so only == and != of those are rewritten."
)
compare_step_with_constant = law(
    "f(-x, c) -> g(x, -c) for exchanged f g, floats; f(-x, c) -> f(x, -c) for f in EQ|NE, integers; "
    "f(~x, c) -> g(x, ~c) for exchanged f g, integers; f(x ^ c, d) -> f(x, d ^ c) and f(x + c, d) -> f(x, d - c) "
    "and f(c - x, d) -> f(x, c - d) for f in EQ|NE, integers; "
    "f(x + m, n) -> f(x, n - m) for f in LT|LE|GT|GE, integers "
    "where smallest <= x.low + m and x.high + m <= largest and smallest <= n - m <= largest. "
    "Exact: no order of sums is rewritten that may wrap."
)
compare_difference_with_zero = law("f(x - y, 0) -> f(x, y) for f in EQ|NE, integers. Exact.")
compare_abs_with_zero = law("f(abs(x), zero) -> f(x, 0) for f in EQ|NE, real. Exact.")
compare_with_own_extreme = law(
    "x == max(x, y) -> x >= y and x == min(x, y) -> x <= y for numbers; x != max(x, y) -> x < y "
    "and x != min(x, y) -> x > y for integers. "
    "Exact: comparisons with NaN are false, and the larger of zeros is equal to both."
)


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


PATTERNS = laws_of(globals())
