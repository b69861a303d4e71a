"""Exact laws of arithmetic, comparison and logic.

Every law here keeps the bits of every result, for every input: both zeros,
infinities and NaN included. Laws that need finite numbers are in `fast_math`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import build
from passes.match import SPLAT, dtype_of, is_floating, splat_of
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

PATTERNS = laws_of(globals())
