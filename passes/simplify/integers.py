"""Exact laws of sums, products, quotients and shifts: they hold because integers wrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import build, operations
from passes.match import (
    SPLAT,
    dtype_of,
    has_one_use,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    other_operand,
    producer,
    sides,
    splat_of,
)
from passes.operations import Precision
from passes.patterns import pattern
from passes.simplify.logic import DUAL
from passes.simplify.proven import exact_if_proven

ADD, SUBTRACT, NEGATE = "stablehlo.add", "stablehlo.subtract", "stablehlo.negate"
MULTIPLY, DIVIDE = "stablehlo.multiply", "stablehlo.divide"
_COMMUTATIVE = tuple(name for name in operations.where(commutative=True) if name.startswith("stablehlo."))
_ASSOCIATIVE = operations.where(associative=True)
_SHIFTS = ("stablehlo.shift_left", "stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic")


def _splat_integer(value: Any) -> int | None:
    """Return the integer that a splat of at least 8 bits repeats, or None."""
    if not is_integer(value) or dtype_of(value).isbuiltin != 1:
        return None
    found = splat_of(value)
    return None if found is None else int(found)


def wrapped(number: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An integer modulo the size of a type, as that type."""
    return np.array(number % 2 ** (8 * dtype.itemsize), np.uint64).astype(dtype)


def _wrapped(number: int, like: Any) -> Any:
    """A splat of an integer, modulo the size of the type of `like`."""
    return build.full(wrapped(number, dtype_of(like)), like)


@pattern(*_COMMUTATIVE, of=(SPLAT, "stablehlo.constant"))
def constant_second(op: Any) -> Any:
    """c + x -> x + c, and the same for each commutative operation. Exact; other laws look for constants there."""
    if not is_constant(op.lhs) or is_constant(op.rhs):
        return None
    return build.op(op.operation.name, [op.rhs, op.lhs])


@pattern(*_ASSOCIATIVE, of=_ASSOCIATIVE)
def regroup_constants(op: Any) -> Any:
    """(x + c) + d -> x + (c + d), and the same for each associative operation.

    Exact for integers, and for floats where nothing is rounded: max, min.
    """
    name = op.operation.name
    inner = producer(op.lhs, name)
    exact = operations.of(name).precision is Precision.EXACT and not is_complex(op.lhs)
    if inner is None or not (exact or is_integer(op.lhs)) or not is_constant(op.rhs) or not is_constant(inner.rhs):
        return None
    return None if is_constant(inner.lhs) else build.op(name, [inner.lhs, build.op(name, [inner.rhs, op.rhs])])


@pattern(*operations.where(idempotent=True), of=operations.where(idempotent=True))
def operand_again(op: Any) -> Any:
    """max(x, max(x, y)) -> max(x, y), and the same for min, and, or. Exact."""
    for value, other in sides(op):
        inner = producer(value, op.operation.name)
        if inner is not None and other in (inner.lhs, inner.rhs):
            return value
    return None


@pattern(*operations.where(idempotent=True), of=operations.where(idempotent=True))
def operand_of_both(op: Any) -> Any:
    """max(max(x, y), max(x, z)) -> max(max(x, y), z), and the same for min, and, or. Exact."""
    name = op.operation.name
    first, second = producer(op.lhs, name), producer(op.rhs, name)
    if first is None or second is None or not has_one_use(op.rhs):
        return None
    for common, other in sides(second):
        if common in (first.lhs, first.rhs):
            return build.op(name, [op.lhs, other])
    return None


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


@pattern(SUBTRACT, of=SPLAT)
def subtract_constant(op: Any) -> Any:
    """x - c -> x + (-c) for integers. Exact; sums are what other laws look for."""
    number = _splat_integer(op.rhs)
    return None if number is None or is_constant(op.lhs) else build.op(ADD, [op.lhs, _wrapped(-number, op.rhs)])


@pattern(ADD, SUBTRACT, of=(ADD, SUBTRACT))
def constant_of_difference(op: Any) -> Any:
    """(c - x) + d -> (c + d) - x, c - (x + d) -> (c - d) - x, c - (d - x) -> x + (c - d) for integers. Exact."""
    if not is_integer(op.lhs):
        return None
    if op.operation.name == ADD:
        inner = producer(op.lhs, SUBTRACT)
        if inner is None or not is_constant(op.rhs) or not is_constant(inner.lhs):
            return None
        return build.op(SUBTRACT, [build.op(ADD, [inner.lhs, op.rhs]), inner.rhs])
    inner = producer(op.rhs)
    if inner is None or not is_constant(op.lhs):
        return None
    if inner.operation.name == ADD and is_constant(inner.rhs):
        return build.op(SUBTRACT, [build.op(SUBTRACT, [op.lhs, inner.rhs]), inner.lhs])
    if inner.operation.name == SUBTRACT and is_constant(inner.lhs):
        return build.op(ADD, [inner.rhs, build.op(SUBTRACT, [op.lhs, inner.lhs])])
    return None


@pattern(SUBTRACT, of=(ADD, SUBTRACT))
def subtract_part(op: Any) -> Any:
    """(x + y) - y -> x, y - (x + y) -> -x, x - (x - y) -> y, (x - y) - x -> -y for integers. Exact."""
    if not is_integer(op.lhs):
        return None
    left, right = producer(op.lhs), producer(op.rhs)
    if left is not None and left.operation.name == ADD and (other := other_operand(left, op.rhs)) is not None:
        return other
    if right is not None and right.operation.name == ADD and (other := other_operand(right, op.lhs)) is not None:
        return build.op(NEGATE, [other])
    if right is not None and right.operation.name == SUBTRACT and op.lhs == right.lhs:
        return right.rhs
    if left is not None and left.operation.name == SUBTRACT and op.rhs == left.lhs:
        return build.op(NEGATE, [left.rhs])
    return None


@pattern(ADD, of=SUBTRACT)
def add_difference(op: Any) -> Any:
    """(x - y) + y -> x for integers. Exact."""
    if not is_integer(op.lhs):
        return None
    for value, other in sides(op):
        inner = producer(value, SUBTRACT)
        if inner is not None and inner.rhs == other:
            return inner.lhs
    return None


@pattern("stablehlo.xor", of="stablehlo.xor")
def xor_again(op: Any) -> Any:
    """x ^ (x ^ y) -> y. Exact."""
    for value, other in sides(op):
        inner = producer(value, "stablehlo.xor")
        remaining = other_operand(inner, other) if inner is not None else None
        if remaining is not None:
            return remaining
    return None


@pattern(NEGATE, of=SUBTRACT)
def negated_difference(op: Any) -> Any:
    """-(x - y) -> y - x for integers. Exact; for floats, the sign of zero would change."""
    inner = producer(op.operand, SUBTRACT)
    return None if inner is None or not is_integer(op.operand) else build.op(SUBTRACT, [inner.rhs, inner.lhs])


@pattern(NEGATE, of=ADD)
def negated_sum_with_constant(op: Any) -> Any:
    """-(x + c) -> (-c) - x for integers. Exact."""
    inner = producer(op.operand, ADD)
    number = _splat_integer(inner.rhs) if inner is not None else None
    return None if inner is None or number is None else build.op(SUBTRACT, [_wrapped(-number, inner.rhs), inner.lhs])


@pattern(NEGATE, of=(MULTIPLY, DIVIDE))
def negated_product_with_constant(op: Any) -> Any:
    """-(x * c) -> x * (-c); also -(x / c) -> x / (-c) and -(c / x) -> (-c) / x for floats. Exact."""
    inner = producer(op.operand)
    if inner is None or not has_one_use(op.operand) or is_complex(op.operand):
        return None
    name = inner.operation.name
    if name == DIVIDE and not is_floating(op.operand):
        return None
    if is_constant(inner.rhs):
        return build.op(name, [inner.lhs, build.op(NEGATE, [inner.rhs])])
    return build.op(name, [build.op(NEGATE, [inner.lhs]), inner.rhs]) if is_constant(inner.lhs) else None


@pattern(MULTIPLY, DIVIDE, of=NEGATE)
def negated_factor_and_constant(op: Any) -> Any:
    """(-x) * c -> x * (-c); also (-x) / c -> x / (-c) and c / (-x) -> (-c) / x for floats. Exact.

    A constant x is left to constant folding.
    """
    name = op.operation.name
    if is_complex(op.lhs) or (name == DIVIDE and not is_floating(op.lhs)):
        return None
    left, right = producer(op.lhs, NEGATE), producer(op.rhs, NEGATE)
    if left is not None and is_constant(op.rhs) and not is_constant(left.operand):
        return build.op(name, [left.operand, build.op(NEGATE, [op.rhs])])
    if right is not None and is_constant(op.lhs) and not is_constant(right.operand):
        return build.op(name, [build.op(NEGATE, [op.lhs]), right.operand])
    return None


@pattern(DIVIDE, of=DIVIDE)
def divide_twice(op: Any) -> Any:
    """(x / c) / d -> x / (c * d) for integers, where c * d is a number of the type. Exact: both round toward zero."""
    inner = producer(op.lhs, DIVIDE)
    if inner is None:
        return None
    first, second = _splat_integer(inner.rhs), _splat_integer(op.rhs)
    if first is None or second is None or first < 1 or second < 1 or first * second > np.iinfo(dtype_of(op.lhs)).max:
        return None
    return build.op(DIVIDE, [inner.lhs, build.full(first * second, op.lhs)])


@pattern("stablehlo.remainder", of=SPLAT)
def remainder_of_one(op: Any) -> Any:
    """x % 1 -> 0 and x % -1 -> 0 for integers. Exact."""
    return build.full(0, op.lhs) if _splat_integer(op.rhs) in (1, -1) else None


@pattern("stablehlo.remainder", of="stablehlo.remainder")
def remainder_twice(op: Any) -> Any:
    """(x % (c * k)) % c -> x % c for integers. Exact."""
    inner = producer(op.lhs, "stablehlo.remainder")
    if inner is None:
        return None
    first, second = _splat_integer(inner.rhs), _splat_integer(op.rhs)
    if first is None or second is None or first < 1 or second < 1 or first % second:
        return None
    return build.op("stablehlo.remainder", [inner.lhs, op.rhs])


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


@pattern(*_SHIFTS[:2], of=_SHIFTS[:2])
def shift_there_and_back(op: Any) -> Any:
    """(x << a) >> a -> x & the low bits, (x >> a) << a -> x & the high bits, for logical shifts. Exact."""
    inner, bits = producer(op.lhs), dtype_of(op.lhs).itemsize * 8
    if inner is None or inner.operation.name not in _SHIFTS[:2] or inner.operation.name == op.operation.name:
        return None
    first, second = _shift(inner.rhs, bits), _shift(op.rhs, bits)
    if first is None or first != second or first == bits:
        return None
    mask = (2**bits - 1) >> first
    mask = mask if op.operation.name == "stablehlo.shift_right_logical" else mask << first
    return build.op("stablehlo.and", [inner.lhs, _wrapped(mask, op.lhs)])


# They compute with bits as with booleans.
_LOGIC = tuple(row.name for row in operations.TABLE.values() if row.of_booleans == row.name)


@pattern(*_LOGIC, of=_SHIFTS)
def logic_of_shifts(op: Any) -> Any:
    """(x << a) & (y << a) -> (x & y) << a, and the same for or, xor and shifts to the right. Exact."""
    left = producer(op.lhs)
    right = producer(op.rhs, left.operation.name) if left is not None and left.operation.name in _SHIFTS else None
    if left is None or right is None or left.rhs != right.rhs:
        return None
    if not has_one_use(op.lhs) or not has_one_use(op.rhs):
        return None
    return build.op(left.operation.name, [build.op(op.operation.name, [left.lhs, right.lhs]), left.rhs])


# By operation, the one that distributes over it; multiplication only for integers.
_DISTRIBUTES = {
    ADD: MULTIPLY,
    SUBTRACT: MULTIPLY,
    "stablehlo.xor": "stablehlo.and",
    **DUAL,
}


@pattern(*_DISTRIBUTES, of=tuple(set(_DISTRIBUTES.values())))
def common_factor(op: Any) -> Any:
    """x * y + x * z -> x * (y + z), and the same for differences, for and in or, or in and, max in min, min in max.

    Exact for integers, and for floats where nothing is rounded.
    """
    name = op.operation.name
    over = _DISTRIBUTES[name]
    left, right = producer(op.lhs, over), producer(op.rhs, over)
    if left is None or right is None or op.lhs == op.rhs or not (has_one_use(op.lhs) and has_one_use(op.rhs)):
        return None
    if is_complex(op.lhs) or (over == MULTIPLY and not is_integer(op.lhs)):
        return None
    return factored(name, left, right)


def factored(name: str, left: Any, right: Any) -> Any:
    """Return x * (y + z) for the products x * y and x * z; None if they have no common factor."""
    for factor, first in sides(left):
        for other, second in sides(right):
            if factor == other:
                return build.op(left.operation.name, [build.op(name, [first, second]), factor])
    return None


@pattern(ADD, SUBTRACT, of=MULTIPLY)
def one_more_times(op: Any) -> Any:
    """x * c + x -> x * (c + 1) and x * c - x -> x * (c - 1) for integers. Exact."""
    for value, other in sides(op) if op.operation.name == ADD else ((op.lhs, op.rhs),):
        inner = producer(value, MULTIPLY)
        number = _splat_integer(inner.rhs) if inner is not None and inner.lhs == other else None
        if inner is not None and number is not None and has_one_use(value):
            return build.op(MULTIPLY, [other, _wrapped(number + (1 if op.operation.name == ADD else -1), other)])
    return None


@pattern(MULTIPLY, of="stablehlo.sign")
def sign_times_abs(op: Any) -> Any:
    """sign(x) * |x| -> x for real numbers. Exact: zeros and NaN keep their signs."""
    for value, other in sides(op):
        sign, size = producer(value, "stablehlo.sign"), producer(other, "stablehlo.abs")
        if sign is not None and size is not None and sign.operand == size.operand and not is_complex(sign.operand):
            return sign.operand
    return None


@pattern(MULTIPLY, DIVIDE, of="stablehlo.abs")
def product_of_abs(op: Any) -> Any:
    """|x| * |x| -> x * x for real numbers; |x| * |y| -> |x * y| and |x| / |y| -> |x / y| for floats. Exact."""
    left, right, name = producer(op.lhs, "stablehlo.abs"), producer(op.rhs, "stablehlo.abs"), op.operation.name
    if left is None or right is None or is_complex(left.operand) or is_complex(right.operand):
        return None
    if op.lhs == op.rhs:
        return build.op(name, [left.operand, left.operand]) if name == MULTIPLY else None
    if not is_floating(op.lhs) or not has_one_use(op.lhs) or not has_one_use(op.rhs):
        return None
    return build.op("stablehlo.abs", [build.op(name, [left.operand, right.operand])])


@pattern(*operations.where(even=True), of=(NEGATE, "stablehlo.abs"))
def even_function(op: Any) -> Any:
    """f(-x) -> f(x) and f(|x|) -> f(x) for even functions, such as the cosine. Exact."""
    inner = producer(op.operation.operands[0])
    if inner is None or inner.operation.name not in (NEGATE, "stablehlo.abs") or is_complex(inner.operand):
        return None
    return build.op(op.operation.name, [inner.operand], op.operation.results[0].type)


@pattern(*operations.where(odd=True), of=NEGATE)
def odd_function(op: Any) -> Any:
    """f(-x) -> -f(x) for odd functions, such as the sine. Exact; other ops may use f(x), too."""
    inner = producer(op.operation.operands[0], NEGATE)
    if inner is None or is_complex(inner.operand):
        return None
    return build.op(NEGATE, [build.op(op.operation.name, [inner.operand], op.operation.results[0].type)])


@pattern(ADD, MULTIPLY, of="stablehlo.maximum")
def larger_and_smaller(op: Any) -> Any:
    """max(x, y) + min(x, y) -> x + y, and the same for products. Exact."""
    for value, other in sides(op):
        larger, smaller = producer(value, "stablehlo.maximum"), producer(other, "stablehlo.minimum")
        if larger is None or smaller is None or is_complex(value) or is_boolean(value):
            continue
        if (larger.lhs, larger.rhs) in sides(smaller):
            return build.op(op.operation.name, [larger.lhs, larger.rhs])
    return None


PATTERNS = (
    constant_second,
    regroup_constants,
    operand_again,
    operand_of_both,
    *constants_of_both,
    subtract_constant,
    constant_of_difference,
    subtract_part,
    add_difference,
    xor_again,
    negated_difference,
    negated_sum_with_constant,
    negated_product_with_constant,
    negated_factor_and_constant,
    divide_twice,
    remainder_of_one,
    remainder_twice,
    shift_twice,
    shift_there_and_back,
    logic_of_shifts,
    common_factor,
    one_more_times,
    sign_times_abs,
    product_of_abs,
    even_function,
    odd_function,
    larger_and_smaller,
)
