"""Exact laws of sums, products, quotients and shifts: they hold because integers wrap."""

from __future__ import annotations

from typing import Any

from passes import build, operations
from passes.match import (
    SPLAT,
    dtype_of,
    has_one_use,
    is_complex,
    is_constant,
    is_integer,
    producer,
    splat_of,
)
from passes.operations import Precision
from passes.patterns import laws_of, pattern
from passes.simplify.proven import exact_if_proven
from passes.simplify.terms import law

_COMMUTATIVE = tuple(name for name in operations.where(commutative=True) if name.startswith("stablehlo."))
_ASSOCIATIVE = operations.where(associative=True)
_SHIFTS = ("stablehlo.shift_left", "stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic")


def _splat_integer(value: Any) -> int | None:
    """Return the integer that a splat of at least 8 bits repeats, or None."""
    if not is_integer(value) or dtype_of(value).isbuiltin != 1:
        return None
    found = splat_of(value)
    return None if found is None else int(found)


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


@exact_if_proven(*_ASSOCIATIVE, of=_ASSOCIATIVE, assumes="reassoc,nsz")
def constants_of_both(op: Any, exactly: bool) -> Any:
    """(x + c) + (y + d) -> (x + y) + (c + d), and the same for each associative operation.

    Exact for integers, and for floats where nothing is rounded. The law requires that nothing else reads the operands.
    """
    name = op.operation.name
    first, second = producer(op.lhs, name), producer(op.rhs, name)
    if first is None or second is None or op.lhs == op.rhs or is_complex(op.lhs):
        return None
    exact = operations.of(name).precision is Precision.EXACT or is_integer(op.lhs)
    if exact != exactly or not is_constant(first.rhs) or not is_constant(second.rhs):
        return None
    if not has_one_use(op.lhs) or not has_one_use(op.rhs):
        return None
    return build.op(name, [build.op(name, [first.lhs, second.lhs]), build.op(name, [first.rhs, second.rhs])])


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


def _shift(value: Any, bits: int) -> int | None:
    """Return the constant number of bits to shift by, at most `bits`, or None."""
    number = _splat_integer(value)
    return None if number is None else min(number, bits) if number >= 0 else bits


@pattern(*_SHIFTS, of=_SHIFTS)
def shift_twice(op: Any) -> Any:
    """(x << a) << b -> x << (a + b), and the same to the right. Exact: a shift by all bits gives 0, or the sign
    in each bit."""
    name, bits = op.operation.name, dtype_of(op.lhs).itemsize * 8
    inner = producer(op.lhs, name)
    if inner is None:
        return None
    first, second = _shift(inner.rhs, bits), _shift(op.rhs, bits)
    if first is None or second is None:
        return None
    arithmetic = name == "stablehlo.shift_right_arithmetic"
    amount = min(first + second, bits - 1 if arithmetic else bits)
    return build.full(0, op.lhs) if amount == bits else build.op(name, [inner.lhs, build.full(amount, op.lhs)])


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

PATTERNS = laws_of(globals())
