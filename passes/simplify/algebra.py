"""Laws of arithmetic, comparison and logic, of integers, and of maxima, minima and clamps.

They keep the bits of every result, for every input: both zeros, infinities and NaN included. Where a law says that it
is exact for integers alone, floats need what it assumes. Laws of floats alone are in `fast_math`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import build, operations
from passes.analysis.facts import KNOWN, of
from passes.match import (
    SPLAT,
    dtype_of,
    has_one_use,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    producer,
    shape_of,
    splat_of,
)
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law

add_identity = law(
    "x + -0.0 -> x for floats; x + 0 -> x for integers|booleans. Exact: -0.0 is the identity of IEEE addition; "
    "+0.0 is not, because -0.0 + 0.0 is +0.0."
)
subtract_identity = law("x - 0 -> x for real. Exact with +0.0; -0.0 - (-0.0) is +0.0, so not with -0.0.")
subtract_itself = law("x - x -> 0 for integers. Exact; floats may hold infinity or NaN.")
subtract_from_negative_zero = law("-0.0 - x -> -x for floats; 0 - x -> -x for integers. Exact.")
multiply_identity = law(
    "x * 1 -> x for real. Exact for real numbers; a complex product also multiplies infinities by zero."
)
multiply_zero = law("x * 0 -> 0 for integers. Exact; float zero times infinity is NaN.")
multiply_minus_one = law("x * -1 -> -x for signed. Exact.")
divide_identity = law("x / 1 -> x for real. Exact.")


@pattern("stablehlo.divide", of=SPLAT)
def divide_by_power_of_two(op: Any) -> Any:
    """x / 2**k -> x * 2**-k for floats.

    Exact: both round the same real number, since 2**-k is representable.
    """
    if not is_floating(op.lhs) or dtype_of(op.lhs).isbuiltin != 1:
        return None
    number: Any = splat_of(op.rhs)
    if number is None or not np.isfinite(number) or number == 0:
        return None
    fraction, exponent = np.frexp(number)
    limits = np.finfo(dtype_of(op.lhs))
    # Subnormal divisors and reciprocals are left: some targets flush them.
    if abs(fraction) != 0.5 or not limits.minexp < exponent - 1 < -limits.minexp or abs(number) == 1:
        return None
    return build.op("stablehlo.multiply", [op.lhs, build.full(1 / number, op.lhs)])


involution = law("f(f(x)) -> x for f in negate|not|conj. Exact.")
add_negated = law("x + -y -> x - y for real. Exact.")
subtract_negated = law("x - -y -> x + y for real. Exact.")
negated_factors = law(
    "-x * -y -> x * y for real; -x / -y -> x / y for floats. Exact; "
    "integer division is left: the smallest integer is its own negation."
)
abs_of_same_size = law("abs(-x) -> abs(x) and abs(abs(x)) -> abs(x) for real. Exact.")
same_operands = law("f(x, x) -> x for idempotent f. Exact, for max, min, and, or; NaN stays NaN.")
logic_with_constant = law(
    "x & ones -> x and x & 0 -> 0 and x | 0 -> x and x | ones -> ones and x ^ 0 -> x and x ^ ones -> ~x. Exact."
)
xor_itself = law("x ^ x -> 0. Exact.")
select_same = law("select(p, x, x) -> x. Exact.")
select_constant = law("select(true, x, y) -> x and select(false, x, y) -> y. Exact.")
select_not = law("select(~p, x, y) -> select(p, y, x). Exact.")
select_booleans = law("select(p, true, false) -> p and select(p, false, true) -> ~p. Exact.")
select_of_select = law(
    "select(p, select(p, x, y), z) -> select(p, x, z) and select(p, x, select(p, y, z)) -> select(p, x, z). Exact."
)
compare_itself = law(
    "f(x, x) -> true for f in EQ|LE|GE, integers|booleans; f(x, x) -> false for f in NE|LT|GT, integers|booleans. "
    "Exact; floats are left, because NaN is not equal to itself."
)
compare_boolean = law(
    "p == true -> p and p == false -> ~p and p != true -> ~p and p != false -> p for booleans p. Exact."
)
not_compare = law(
    "~(x == y) -> x != y and ~(x != y) -> x == y; ~f(x, y) -> g(x, y) for opposite f g, integers|booleans. Exact; "
    "an order of floats is left, because NaN makes both sides false."
)
power_two = law("x ** 2 -> x * x for real. The product is correctly rounded; pow need not be.")
part_of_complex = law("real(complex(a, b)) -> a and imag(complex(a, b)) -> b. Exact.")
complex_of_parts = law("complex(real(z), imag(z)) -> z for complex z. Exact.")

complements = law("[~x] & [~y] -> ~(x | y) and [~x] | [~y] -> ~(x & y). Exact.")
absorbed_complement = law(
    "x & (~x | y) -> x & y and ~x & (x | y) -> ~x & y and x | (~x & y) -> x | y and ~x | (x & y) -> ~x | y. Exact."
)
part_of_sum = law(
    "g([f(z, w)]) -> f(g(z), g(w)) for g in real|imag, f in add|subtract, complex z; "
    "g([-z]) -> -g(z) for g in real|imag, complex z. Exact: real and imaginary parts are added separately."
)
part_of_converted = law("real(convert(x)) -> convert(x) and imag(convert(x)) -> 0 for real. Exact.")
complex_of_negated_parts = law(
    "complex([-a], [-b]) -> -complex(a, b); complex(real(z), -imag(z)) -> conj(z) for complex z. Exact."
)
conjugate_of_parts = law("conj(complex(a, b)) -> complex(a, -b). Exact; other laws may simplify the parts.")


_COMMUTATIVE = tuple(name for name in operations.where(commutative=True) if name.startswith("stablehlo."))


@pattern(*_COMMUTATIVE, of=(SPLAT, "stablehlo.constant"))
def constant_second(op: Any) -> Any:
    """c + x -> x + c, and the same for each commutative operation. Exact; other laws look for constants there."""
    if not is_constant(op.lhs) or is_constant(op.rhs):
        return None
    return build.op(op.operation.name, [op.rhs, op.lhs])


regroup_constants = law(
    "f(f(v, c), d) -> f(v, f(c, d)) for associative f, integers v; "
    "f(f(v, c), d) -> f(v, f(c, d)) for f in maximum|minimum|and|or|xor, real v. Exact for integers, and for floats "
    "where nothing is rounded: max, min."
)
operand_again = law("f(x, f(x, y)) -> f(x, y) for idempotent f. Exact, for max, min, and, or.")
operand_of_both = law("f(f(x, y), [f(x, z)]) -> f(f(x, y), z) for idempotent f. Exact, for max, min, and, or.")


subtract_constant = law("v - n -> v + -n for integers v. Exact; sums are what other laws look for.")
constant_of_difference = law(
    "(c - x) + d -> (c + d) - x and c - (x + d) -> (c - d) - x and c - (d - x) -> x + (c - d) for integers. Exact."
)
subtract_part = law(
    "(x + y) - y -> x and y - (x + y) -> -x and x - (x - y) -> y and (x - y) - x -> -y for integers. Exact."
)
negated_sum_with_constant = law("-(x + n) -> -n - x for integers. Exact.")
negated_product_with_constant = law(
    "-[x * c] -> x * -c for real; -[x / c] -> x / -c and -[c / x] -> -c / x for floats. Exact."
)
negated_factor_and_constant = law(
    "-v * c -> v * -c for real v; -v / c -> v / -c and c / -v -> -c / v for floats v. Exact."
)
divide_twice = law(
    "(x / m) / n -> x / (m * n) for integers where m > 0 and n > 0 and m * n <= largest. Exact: both round toward zero."
)
remainder_of_one = law("x % 1 -> 0 and x % -1 -> 0 for integers. Exact.")


common_factor = law(
    "[x * y] + [x * z] -> (y + z) * x and [x * y] - [x * z] -> (y - z) * x for integers; "
    "[x & y] ^ [x & z] -> (y ^ z) & x; f([g(x, y)], [g(x, z)]) -> g(f(y, z), x) for dual f g, real. "
    "Exact for integers, and for floats where nothing is rounded."
)
one_more_times = law("[x * n] + x -> x * (n + 1) and [x * n] - x -> x * (n - 1) for integers. Exact.")
product_of_abs = law(
    "abs(x) * abs(x) -> x * x for real; [abs(x)] * [abs(y)] -> abs(x * y) "
    "and [abs(x)] / [abs(y)] -> abs(x / y) for floats, floats y. Exact."
)
even_function = law("f(-x) -> f(x) and f(abs(x)) -> f(x) for even f, real. Exact, for functions such as the cosine.")
odd_function = law(
    "f(-x) -> -f(x) for odd f, real. Exact, for functions such as the sine; other ops may use f(x), too."
)
larger_and_smaller = law("max(x, y) + min(x, y) -> x + y and max(x, y) * min(x, y) -> x * y for numbers. Exact.")


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
