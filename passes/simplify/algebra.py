"""Exact laws of arithmetic, comparison and logic.

Every law here keeps the bits of every result, for every input: both zeros,
infinities and NaN included. Laws that need finite numbers are in `fast_math`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import (
    SPLAT,
    dtype_of,
    is_boolean,
    is_complex,
    is_floating,
    is_integer,
    is_real,
    is_splat,
    producer,
    same_type,
    splat_of,
)
from passes.patterns import pattern


@pattern("stablehlo.add", of=SPLAT)
def add_identity(op: Any) -> Any:
    """x + (-0.0) -> x for floats, x + 0 -> x for integers, from either side.

    Exact: -0.0 is the identity of IEEE addition; +0.0 is not, because
    -0.0 + 0.0 is +0.0.
    """
    zero = -0.0 if is_floating(op.lhs) else 0
    if is_complex(op.lhs):
        return None
    if is_splat(op.rhs, zero):
        return op.lhs
    if is_splat(op.lhs, zero):
        return op.rhs
    return None


@pattern("stablehlo.subtract", of=SPLAT)
def subtract_identity(op: Any) -> Any:
    """x - 0 -> x.

    Exact with +0.0; -0.0 - (-0.0) is +0.0, so not with -0.0.
    """
    return op.lhs if not is_complex(op.lhs) and is_splat(op.rhs, 0.0) else None


@pattern("stablehlo.subtract")
def subtract_itself(op: Any) -> Any:
    """x - x -> 0 for integers. Exact; floats may hold infinity or NaN."""
    return build.full(0, op.lhs) if op.lhs == op.rhs and is_integer(op.lhs) else None


@pattern("stablehlo.subtract", of=SPLAT)
def subtract_from_negative_zero(op: Any) -> Any:
    """-0.0 - x -> -x for floats, 0 - x -> -x for integers. Exact."""
    if is_complex(op.lhs):
        return None
    zero = -0.0 if is_floating(op.lhs) else 0
    return build.op("stablehlo.negate", [op.rhs]) if is_splat(op.lhs, zero) else None


@pattern("stablehlo.multiply", of=SPLAT)
def multiply_identity(op: Any) -> Any:
    """x * 1 -> x. Exact for real numbers; a complex product also multiplies
    infinities by zero."""
    if is_complex(op.lhs):
        return None
    if is_splat(op.rhs, 1):
        return op.lhs
    if is_splat(op.lhs, 1):
        return op.rhs
    return None


@pattern("stablehlo.multiply", of=SPLAT)
def multiply_zero(op: Any) -> Any:
    """x * 0 -> 0 for integers. Exact; float zero times infinity is NaN."""
    if not is_integer(op.lhs):
        return None
    return next((side for side in (op.lhs, op.rhs) if is_splat(side, 0)), None)


@pattern("stablehlo.multiply", of=SPLAT)
def multiply_minus_one(op: Any) -> Any:
    """x * -1 -> -x for real floats and signed integers. Exact."""
    if not is_real(op.lhs) or dtype_of(op.lhs).kind == "u":
        return None
    for one, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if is_splat(one, -1):
            return build.op("stablehlo.negate", [other])
    return None


@pattern("stablehlo.divide", of=SPLAT)
def divide_identity(op: Any) -> Any:
    """x / 1 -> x. Exact for real numbers."""
    return op.lhs if not is_complex(op.lhs) and is_splat(op.rhs, 1) else None


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


@pattern(
    "stablehlo.negate",
    "stablehlo.not",
    "stablehlo.reverse",
    "chlo.conj",
    of=("stablehlo.negate", "stablehlo.not", "stablehlo.reverse", "chlo.conj"),
)
def involution(op: Any) -> Any:
    """f(f(x)) -> x for negation, bitwise not, reversal and conjugation. Exact."""
    inner = producer(op.operand, op.operation.name)
    if inner is None:
        return None
    if op.operation.name == "stablehlo.reverse" and attrs.ints(op, "dimensions") != attrs.ints(inner, "dimensions"):
        return None
    return inner.operation.operands[0]


@pattern("stablehlo.add", of="stablehlo.negate")
def add_negated(op: Any) -> Any:
    """x + (-y) -> x - y and (-x) + y -> y - x. Exact."""
    if is_complex(op.lhs):
        return None
    right = producer(op.rhs, "stablehlo.negate")
    if right is not None:
        return build.op("stablehlo.subtract", [op.lhs, right.operand])
    left = producer(op.lhs, "stablehlo.negate")
    return None if left is None else build.op("stablehlo.subtract", [op.rhs, left.operand])


@pattern("stablehlo.subtract", of="stablehlo.negate")
def subtract_negated(op: Any) -> Any:
    """x - (-y) -> x + y. Exact."""
    inner = producer(op.rhs, "stablehlo.negate")
    return None if inner is None or is_complex(op.lhs) else build.op("stablehlo.add", [op.lhs, inner.operand])


@pattern("stablehlo.multiply", "stablehlo.divide", of="stablehlo.negate")
def negated_factors(op: Any) -> Any:
    """(-x) * (-y) -> x * y, and the same for division of floats. Exact for real numbers.

    Integer division is left: the smallest integer is its own negation.
    """
    if is_complex(op.lhs) or (op.operation.name == "stablehlo.divide" and not is_floating(op.lhs)):
        return None
    left, right = producer(op.lhs, "stablehlo.negate"), producer(op.rhs, "stablehlo.negate")
    if left is None or right is None:
        return None
    return build.op(op.operation.name, [left.operand, right.operand])


@pattern("stablehlo.abs", of=("stablehlo.abs", "stablehlo.negate"))
def abs_of_same_size(op: Any) -> Any:
    """|-x| -> |x| and ||x|| -> |x|, for real numbers. Exact."""
    inner = producer(op.operand)
    if inner is None or is_complex(inner.operation.results[0]):
        return None
    if inner.operation.name == "stablehlo.abs" and same_type(op.operand, op.operation.results[0]):
        return op.operand
    if inner.operation.name == "stablehlo.negate":
        return build.op("stablehlo.abs", [inner.operand], op.operation.results[0].type)
    return None


@pattern("stablehlo.sign", of="stablehlo.sign")
def sign_of_sign(op: Any) -> Any:
    """sign(sign(x)) -> sign(x) for real numbers. Exact."""
    inner = producer(op.operand, "stablehlo.sign")
    return None if inner is None or is_complex(op.operand) else op.operand


@pattern("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or")
def same_operands(op: Any) -> Any:
    """max(x, x), min(x, x), x & x, x | x -> x. Exact; NaN stays NaN."""
    return op.lhs if op.lhs == op.rhs else None


@pattern("stablehlo.and", "stablehlo.or", "stablehlo.xor", of=SPLAT)
def logic_with_constant(op: Any) -> Any:
    """x & 1s -> x, x & 0 -> 0, x | 0 -> x, x | 1s -> 1s, x ^ 0 -> x, x ^ 1s -> ~x. Exact."""
    name = op.operation.name.split(".")[1]
    for side, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        number = splat_of(side)
        if number is None or not (is_boolean(side) or dtype_of(side).isbuiltin == 1):
            continue
        ones = bool(number == (True if is_boolean(side) else ~np.zeros((), dtype_of(side))))
        zero = bool(number == 0)
        if (name == "and" and ones) or (name != "and" and zero):
            return other
        if (name == "and" and zero) or (name == "or" and ones):
            return build.full(number, op.lhs)
        if name == "xor" and ones:
            return build.op("stablehlo.not", [other])
    return None


@pattern("stablehlo.xor")
def xor_itself(op: Any) -> Any:
    """x ^ x -> 0. Exact."""
    return build.full(0, op.lhs) if op.lhs == op.rhs else None


@pattern("stablehlo.shift_left", "stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic", of=SPLAT)
def shift_by_zero(op: Any) -> Any:
    """x << 0, x >> 0 -> x. Exact."""
    return op.lhs if is_splat(op.rhs, 0) else None


@pattern("stablehlo.select")
def select_same(op: Any) -> Any:
    """select(p, x, x) -> x. Exact."""
    return op.on_true if op.on_true == op.on_false else None


@pattern("stablehlo.select", of=SPLAT)
def select_constant(op: Any) -> Any:
    """select(true, x, y) -> x and select(false, x, y) -> y. Exact."""
    pred = splat_of(op.pred)
    return None if pred is None else op.on_true if pred else op.on_false


@pattern("stablehlo.select", of="stablehlo.not")
def select_not(op: Any) -> Any:
    """select(!p, x, y) -> select(p, y, x). Exact."""
    inner = producer(op.pred, "stablehlo.not")
    return None if inner is None else build.select(inner.operand, op.on_false, op.on_true)


@pattern("stablehlo.select", of=SPLAT)
def select_booleans(op: Any) -> Any:
    """select(p, true, false) -> p and select(p, false, true) -> !p. Exact."""
    if not is_boolean(op.on_true) or not same_type(op.pred, op.on_true):
        return None
    if is_splat(op.on_true, 1) and is_splat(op.on_false, 0):
        return op.pred
    if is_splat(op.on_true, 0) and is_splat(op.on_false, 1):
        return build.op("stablehlo.not", [op.pred])
    return None


@pattern("stablehlo.select", of="stablehlo.select")
def select_of_select(op: Any) -> Any:
    """select(p, select(p, x, y), z) -> select(p, x, z), and on the other side. Exact."""
    inner = producer(op.on_true, "stablehlo.select")
    if inner is not None and inner.pred == op.pred:
        return build.select(op.pred, inner.on_true, op.on_false)
    inner = producer(op.on_false, "stablehlo.select")
    if inner is not None and inner.pred == op.pred:
        return build.select(op.pred, op.on_true, inner.on_false)
    return None


@pattern("stablehlo.compare")
def compare_itself(op: Any) -> Any:
    """x == x, x <= x, x >= x -> true; x != x, x < x, x > x -> false, for integers and booleans.

    Exact; floats are left, because NaN is not equal to itself.
    """
    if op.lhs != op.rhs or not (is_integer(op.lhs) or is_boolean(op.lhs)):
        return None
    direction = attrs.word(op, "comparison_direction")
    return build.full(direction in ("EQ", "LE", "GE"), op.operation.results[0].type)


@pattern("stablehlo.compare", of=SPLAT)
def compare_boolean(op: Any) -> Any:
    """p == true -> p, p == false -> !p, and the same for !=. Exact."""
    direction = attrs.word(op, "comparison_direction")
    if not is_boolean(op.lhs) or direction not in ("EQ", "NE"):
        return None
    for side, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        number = splat_of(side)
        if number is not None:
            return other if bool(number) == (direction == "EQ") else build.op("stablehlo.not", [other])
    return None


@pattern("stablehlo.not", of="stablehlo.compare")
def not_compare(op: Any) -> Any:
    """!(x < y) -> x >= y, for integers and booleans, and == and != for every type.

    Exact; an order of floats is left, because NaN makes both sides false.
    """
    inner = producer(op.operand, "stablehlo.compare")
    if inner is None:
        return None
    direction = attrs.word(inner, "comparison_direction")
    if direction not in ("EQ", "NE") and not (is_integer(inner.lhs) or is_boolean(inner.lhs)):
        return None
    return build.compare(inner.lhs, inner.rhs, attrs.OPPOSITE[direction], attrs.word(inner, "compare_type") or None)


@pattern("stablehlo.power", of=SPLAT)
def power_one(op: Any) -> Any:
    """x ** 1 -> x, and x ** 0 -> 1 for floats and integers. Exact: IEEE pow(NaN, 0) is 1."""
    if is_complex(op.lhs):
        return None
    if is_splat(op.rhs, 1):
        return op.lhs
    return build.full(1, op.lhs) if is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0) else None


@pattern("stablehlo.power", of=SPLAT)
def power_two(op: Any) -> Any:
    """x ** 2 -> x * x. The product is correctly rounded; pow need not be."""
    if is_complex(op.lhs) or not is_splat(op.rhs, 2):
        return None
    return build.op("stablehlo.multiply", [op.lhs, op.lhs])


@pattern("stablehlo.clamp", of="stablehlo.clamp")
def clamp_of_same_clamp(op: Any) -> Any:
    """clamp(a, clamp(a, x, b), b) -> clamp(a, x, b). Exact."""
    inner = producer(op.operand, "stablehlo.clamp")
    return op.operand if inner is not None and inner.min == op.min and inner.max == op.max else None


@pattern("stablehlo.real", "stablehlo.imag", of="stablehlo.complex")
def part_of_complex(op: Any) -> Any:
    """real(complex(a, b)) -> a and imag(complex(a, b)) -> b. Exact."""
    inner = producer(op.operand, "stablehlo.complex")
    if inner is None:
        return None
    return inner.lhs if op.operation.name == "stablehlo.real" else inner.rhs


@pattern("stablehlo.complex", of="stablehlo.real")
def complex_of_parts(op: Any) -> Any:
    """complex(real(z), imag(z)) -> z. Exact."""
    real, imag = producer(op.lhs, "stablehlo.real"), producer(op.rhs, "stablehlo.imag")
    if real is None or imag is None or real.operand != imag.operand:
        return None
    return real.operand if is_complex(real.operand) else None


PATTERNS = (
    add_identity,
    subtract_identity,
    subtract_itself,
    subtract_from_negative_zero,
    multiply_identity,
    multiply_zero,
    multiply_minus_one,
    divide_identity,
    divide_by_power_of_two,
    involution,
    add_negated,
    subtract_negated,
    negated_factors,
    abs_of_same_size,
    sign_of_sign,
    same_operands,
    logic_with_constant,
    xor_itself,
    shift_by_zero,
    select_same,
    select_constant,
    select_not,
    select_booleans,
    select_of_select,
    compare_itself,
    compare_boolean,
    not_compare,
    power_one,
    power_two,
    clamp_of_same_clamp,
    part_of_complex,
    complex_of_parts,
)
