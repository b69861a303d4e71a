"""Exact laws that use what `passes.analysis.facts` knows of values: bounds, signs, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis.facts import KNOWN, Facts, of
from passes.match import (
    SPLAT,
    dtype_of,
    is_boolean,
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
from passes.simplify.joins import same_number
from passes.types import is_lossless


@pattern("stablehlo.abs", of=KNOWN)
def abs_of_known_sign(op: Any) -> Any:
    """|x| -> x where x is never negative, and -x for integers that are never positive. Exact."""
    x = of(op.operand)
    if x is None or not same_type(op.operand, op.operation.results[0]):
        return None
    if x.nonnegative:
        return op.operand
    return build.op("stablehlo.negate", [op.operand]) if x.high <= 0 and is_integer(op.operand) else None


@pattern("stablehlo.maximum", "stablehlo.minimum", of=KNOWN)
def extreme_of_ranges(op: Any) -> Any:
    """max(x, y) -> x where no y is greater than any x, and min(x, y) -> x where no y is less.

    Exact: y is never NaN, and the two never compare zeros of different signs.
    """
    largest = op.operation.name == "stablehlo.maximum"
    left, right = of(op.lhs), of(op.rhs)
    if left is None or right is None or is_boolean(op.lhs):
        return None
    for x, y, value in ((left, right, op.lhs), (right, left, op.rhs)):
        wins = y.high <= x.low if largest else x.high <= y.low
        same_zeros = not (x.zero and y.zero) or not (x if largest else y).minus_zero
        if wins and not y.nan and same_zeros:
            return value
    return None


@pattern("stablehlo.clamp", of=KNOWN)
def clamp_of_range(op: Any) -> Any:
    """clamp(a, x, b) -> x where x lies between a and b. Exact."""
    x, low, high = of(op.operand), of(op.min), of(op.max)
    if x is None or low is None or high is None or low.nan or high.nan:
        return None
    # A zero bound of the other sign would replace a zero.
    inside = low.high < x.low or (low.high == x.low and (x.low != 0 or not x.minus_zero))
    inside = inside and (x.high < high.low or (x.high == high.low and (x.high != 0 or not high.minus_zero)))
    return op.operand if inside else None


def _holds(direction: str, x: Facts, y: Facts) -> bool:
    """Whether all numbers of these ranges, apart from NaN, compare in this direction."""
    return {
        "LT": x.high < y.low,
        "LE": x.high <= y.low,
        "GT": x.low > y.high,
        "GE": x.low >= y.high,
        "EQ": x.low == x.high == y.low == y.high,
        "NE": x.high < y.low or x.low > y.high,
    }[direction]


@pattern("stablehlo.compare", of=KNOWN)
def compare_ranges(op: Any) -> Any:
    """x < y -> true where every x is less than every y, and the like. Exact: with NaN, only != is true."""
    y = of(op.rhs)
    x = of(op.lhs) if y is not None and not y.low == -np.inf == -y.high else None
    if x is None or y is None or attrs.word(op, "compare_type") == "TOTALORDER":
        return None
    direction = attrs.word(op, "comparison_direction")
    nan = x.nan or y.nan
    if _holds(direction, x, y) and (not nan or direction == "NE"):
        return build.full(True, op.operation.results[0].type)
    if _holds(attrs.OPPOSITE[direction], x, y) and (not nan or direction != "NE"):
        return build.full(False, op.operation.results[0].type)
    return None


@pattern("stablehlo.compare", of=KNOWN)
def compare_with_end_of_range(op: Any) -> Any:
    """x > c -> x != c and x <= c -> x == c where no x is less than c, and the same at the other end.

    Exact, for integers and booleans; other laws know more about equality.
    """
    direction = attrs.word(op, "comparison_direction")
    number = None if direction in ("EQ", "NE") or is_floating(op.lhs) else splat_of(op.rhs)
    x = of(op.lhs) if number is not None else None
    if x is None or number is None or x.low == x.high:
        return None
    end = x.low if direction in ("GT", "LE") else x.high
    if int(number) != end:
        return None
    return build.compare(
        op.lhs, op.rhs, "NE" if direction in ("GT", "LT") else "EQ", attrs.word(op, "compare_type") or None
    )


@pattern("stablehlo.compare", of=KNOWN)
def compare_number_with_itself(op: Any) -> Any:
    """x == x -> true and x != x -> false for floats that are never NaN. Exact."""
    if op.lhs != op.rhs or not is_floating(op.lhs):
        return None
    x = of(op.lhs)
    if x is None or x.nan:
        return None
    direction = attrs.word(op, "comparison_direction")
    return build.full(direction in ("EQ", "LE", "GE"), op.operation.results[0].type)


@pattern("stablehlo.is_finite", of=KNOWN)
def is_finite_known(op: Any) -> Any:
    """is_finite(x) -> true where the range of x says so. Exact."""
    x = of(op.operation.operands[0])
    return build.full(True, op.operation.results[0].type) if x is not None and x.finite else None


@pattern("chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf", of=KNOWN)
def is_infinite_known(op: Any) -> Any:
    """is_inf(x) -> false where the range of x says so. Exact."""
    name, x = op.operation.name, of(op.operation.operands[0])
    if x is None:
        return None
    above, below = x.high == np.inf and name != "chlo.is_neg_inf", x.low == -np.inf and name != "chlo.is_pos_inf"
    return None if above or below else build.full(False, op.operation.results[0].type)


@pattern(*operations.where(integral=True), of=KNOWN)
def round_whole_number(op: Any) -> Any:
    """floor(x), ceil(x), round(x) -> x where x is a whole number, such as one that was rounded before. Exact."""
    x = of(op.operand)
    return op.operand if x is not None and x.whole else None


@pattern("stablehlo.sign", of=KNOWN)
def sign_known(op: Any) -> Any:
    """sign(x) -> 1 where x is positive, and -1 where it is negative. Exact."""
    x = of(op.operand)
    if x is None or x.nan or x.zero:
        return None
    return build.full(1 if x.low > 0 else -1, op.operand)


@pattern("stablehlo.convert", of="stablehlo.convert")
def convert_there_and_back(op: Any) -> Any:
    """convert(convert(x, t), u) -> convert(x, u) where t represents all numbers in the range of x. Exact."""
    inner = producer(op.operand, "stablehlo.convert")
    if inner is None:
        return None
    source, middle, target = dtype_of(inner.operand), dtype_of(op.operand), dtype_of(op.operation.results[0])
    x = of(inner.operand)
    if x is None or source.kind == "b" or is_lossless(source, middle) or not _holds_values(middle, x):
        return None
    # Out of range, conversions of integers wrap and conversions of floats saturate.
    if target.kind in "bc" or (target.kind in "iu" and not _holds_values(target, x)):
        return None
    return inner.operand if target == source else build.convert(inner.operand, target)


def _holds_values(dtype: np.dtype[Any], x: Facts) -> bool:
    """Whether a value is a finite whole number, never -0.0, and a type represents its whole range."""
    if not x.whole or x.minus_zero or x.nan or not x.finite:
        return False
    if dtype.kind in "iu" and dtype.isbuiltin == 1:
        info = np.iinfo(dtype)
        return x.within(int(info.min), int(info.max))
    most = {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8}.get(dtype.name, -1)
    return x.within(-most, most)


@pattern("stablehlo.remainder", of=KNOWN)
def remainder_of_less(op: Any) -> Any:
    """x % y -> x where |x| is less than any |y|. Exact."""
    x, y = of(op.lhs), of(op.rhs)
    if x is None or y is None or y.nan or y.zero:
        return None
    return op.lhs if x.size < min(abs(y.low), abs(y.high)) else None


@pattern("stablehlo.divide", of=KNOWN)
def divide_less(op: Any) -> Any:
    """x / y -> 0 for integers where |x| is less than any |y|. Exact."""
    x, y = (of(op.lhs), of(op.rhs)) if is_integer(op.lhs) else (None, None)
    if x is None or y is None or y.zero:
        return None
    return build.full(0, op.lhs) if x.size < min(abs(y.low), abs(y.high)) else None


def _exponent(divisor: Any) -> int:
    """k where a divisor of integers is 2**k, and more than 1; else 0."""
    number = splat_of(divisor) if is_integer(divisor) and dtype_of(divisor).isbuiltin == 1 else None
    if number is None or int(number) < 2 or int(number) & (int(number) - 1):
        return 0
    return int(number).bit_length() - 1


@pattern("stablehlo.divide", "stablehlo.remainder", of=KNOWN)
def divide_by_power_of_two_known_sign(op: Any) -> Any:
    """x / 2**k -> x >> k and x % 2**k -> x & (2**k - 1) for integers that are never negative. Exact."""
    exponent = _exponent(op.rhs)
    x = of(op.lhs) if exponent else None
    if x is None or x.low < 0:
        return None
    if op.operation.name == "stablehlo.remainder":
        return build.op("stablehlo.and", [op.lhs, build.full(2**exponent - 1, op.lhs)])
    return build.op("stablehlo.shift_right_logical", [op.lhs, build.full(exponent, op.lhs)])


@pattern("stablehlo.select", of="stablehlo.compare")
def modulo_power_of_two(op: Any) -> Any:
    """x % n < 0 ? x % n + n : x % n -> x & (n - 1) for integers, where n is a power of two. Exact.

    This is Python's modulo. Measured on a CPU with AVX-512: up to 1.3 times as fast for 200,000 elements.
    """
    rest, test = producer(op.on_false, "stablehlo.remainder"), producer(op.pred, "stablehlo.compare")
    moved = producer(op.on_true, "stablehlo.add")
    if rest is None or test is None or moved is None or not _exponent(rest.rhs):
        return None
    if attrs.word(test, "comparison_direction") != "LT" or test.lhs != op.on_false or not is_splat(test.rhs, 0):
        return None
    added = other_operand(moved, op.on_false)
    if added is None or not same_number(added, rest.rhs):
        return None
    return build.op("stablehlo.and", [rest.lhs, build.full(2 ** _exponent(rest.rhs) - 1, rest.lhs)])


@pattern("stablehlo.select", of="stablehlo.and")
def floor_of_power_of_two(op: Any) -> Any:
    """sign(x) != 1 & x % n != 0 ? x / n - 1 : x / n -> x >> k for integers, where n is 2**k. Exact.

    This is Python's division of integers. Measured on a CPU with AVX-512: 1.3 times as fast for 200,000 elements.
    """
    quotient, lowered = producer(op.on_false, "stablehlo.divide"), producer(op.on_true, "stablehlo.add")
    if quotient is None or lowered is None or dtype_of(op.on_false).kind != "i" or not _exponent(quotient.rhs):
        return None
    added = other_operand(lowered, op.on_false)
    if added is None or not is_splat(added, -1):
        return None
    found = _rounded_down(producer(op.pred, "stablehlo.and"))
    if found is None or (found.lhs, found.operation.name) != (quotient.lhs, "stablehlo.remainder"):
        return None
    if not same_number(found.rhs, quotient.rhs):
        return None
    return build.op(
        "stablehlo.shift_right_arithmetic", [quotient.lhs, build.full(_exponent(quotient.rhs), quotient.lhs)]
    )


def _rounded_down(op: Any) -> Any:
    """The remainder of x in sign(x) != 1 & x % n != 0, which decides that a quotient is rounded down, or its mask."""
    for tested, other in sides(op) if op is not None else ():
        first, second = producer(tested, "stablehlo.compare"), producer(other, "stablehlo.compare")
        if first is None or second is None or not is_splat(first.rhs, 1) or not is_splat(second.rhs, 0):
            continue
        sign, part = producer(first.lhs, "stablehlo.sign"), producer(second.lhs)
        if sign is None or part is None or not is_integer(first.lhs):
            continue
        # By a power of two, the remainder of what is never negative is a mask.
        if part.operation.name not in ("stablehlo.remainder", "stablehlo.and") or part.lhs != sign.operand:
            continue
        if {attrs.word(one, "comparison_direction") for one in (first, second)} == {"NE"}:
            return part
    return None


@pattern("stablehlo.and", of=KNOWN)
def mask_of_range(op: Any) -> Any:
    """x & (2**k - 1) -> x where x is between 0 and 2**k - 1. Exact."""
    if is_boolean(op.lhs):
        return None
    for side, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        number = splat_of(side)
        x = of(other) if number is not None and int(number) > 0 and not int(number) & (int(number) + 1) else None
        if x is not None and number is not None and x.within(0, int(number)):
            return other
    return None


@pattern("stablehlo.and", of="stablehlo.compare")
def floor_of_quotient_known_sign(op: Any) -> Any:
    """sign(x) != 1 & x % n != 0 -> false for integers x that are never negative: where x is 0, x % n is 0 as well.

    Exact. It is what decides that a quotient is rounded down.
    """
    part = _rounded_down(op)
    x = of(part.lhs) if part is not None else None
    return build.full(False, op.operation.results[0].type) if x is not None and x.low >= 0 else None


@pattern("stablehlo.add", "stablehlo.subtract", of=SPLAT)
def add_zero_to_known(op: Any) -> Any:
    """x + 0.0 -> x and x - (-0.0) -> x where x is never -0.0. Exact."""
    if not is_floating(op.lhs):
        return None
    zero = 0.0 if op.operation.name == "stablehlo.add" else -0.0
    for side, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if is_splat(side, zero) and (side == op.rhs or (zero == 0.0 and op.operation.name == "stablehlo.add")):
            x = of(other)
            return other if x is not None and not x.minus_zero else None
    return None


@pattern("stablehlo.subtract", "stablehlo.divide", of=KNOWN)
def finite_with_itself(op: Any) -> Any:
    """x - x -> 0 for finite floats, and x / x -> 1 for numbers that are not zero either. Exact."""
    x = of(op.lhs) if op.lhs == op.rhs and dtype_of(op.lhs).kind in "fViu" else None
    if x is None or not x.finite:
        return None
    if op.operation.name == "stablehlo.subtract":
        return build.full(0, op.lhs)
    return None if x.zero else build.full(1, op.lhs)


@pattern("stablehlo.multiply", of=SPLAT)
def multiply_finite_by_zero(op: Any) -> Any:
    """x * 0.0 -> 0.0 for finite x that is never negative, -0.0 included. Exact."""
    if not is_floating(op.lhs):
        return None
    for side, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if is_splat(side, 0.0):
            x = of(other)
            return side if x is not None and x.finite and x.nonnegative else None
    return None


PATTERNS = (
    abs_of_known_sign,
    extreme_of_ranges,
    clamp_of_range,
    compare_ranges,
    compare_with_end_of_range,
    compare_number_with_itself,
    is_finite_known,
    is_infinite_known,
    round_whole_number,
    sign_known,
    convert_there_and_back,
    remainder_of_less,
    divide_less,
    divide_by_power_of_two_known_sign,
    modulo_power_of_two,
    floor_of_power_of_two,
    mask_of_range,
    floor_of_quotient_known_sign,
    add_zero_to_known,
    finite_with_itself,
    multiply_finite_by_zero,
)
