"""More laws of real numbers that floats follow up to rounding; they run under `fast_math` only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.match import (
    SPLAT,
    dtype_of,
    has_one_use,
    is_boolean,
    is_floating,
    is_splat,
    other_operand,
    producer,
    sides,
    splat_of,
)
from passes.patterns import pattern
from passes.simplify import selections
from passes.simplify.integers import ADD, DIVIDE, MULTIPLY, NEGATE, SUBTRACT, factored

SQRT, RSQRT, CBRT, POWER = "stablehlo.sqrt", "stablehlo.rsqrt", "stablehlo.cbrt", "stablehlo.power"
EXP, EXPM1 = "stablehlo.exponential", "stablehlo.exponential_minus_one"
LOG, LOG1P = "stablehlo.log", "stablehlo.log_plus_one"
LOGISTIC, SINE, COSINE, TAN = "stablehlo.logistic", "stablehlo.sine", "stablehlo.cosine", "stablehlo.tan"
SINH, COSH, TANH = "chlo.sinh", "chlo.cosh", "stablehlo.tanh"


def _float_producer(value: Any, name: str) -> Any | None:
    """Return the op of that name that produces a float value, or None."""
    return producer(value, name) if is_floating(value) else None


def _scaled(value: Any, factor: float) -> Any:
    return build.op(MULTIPLY, [value, build.full(factor, value)])


@pattern(NEGATE, of=SUBTRACT, assumes="nsz")
def negated_difference(op: Any) -> Any:
    """-(x - y) -> y - x. Differs in the sign of zero."""
    inner = _float_producer(op.operand, SUBTRACT)
    return None if inner is None else build.op(SUBTRACT, [inner.rhs, inner.lhs])


@pattern(SUBTRACT, of=ADD, assumes="reassoc,nnan")
def subtract_part(op: Any) -> Any:
    """(x + y) - y -> x. Differs by rounding, and for infinities."""
    inner = _float_producer(op.lhs, ADD)
    return None if inner is None else other_operand(inner, op.rhs)


@pattern(SUBTRACT, of=(ADD, SUBTRACT), assumes="reassoc,nnan,nsz")
def subtract_from_part(op: Any) -> Any:
    """y - (x + y) -> -x, x - (x - y) -> y and (x - y) - x -> -y. Differs by rounding, and for infinities."""
    left, right = _float_producer(op.lhs, SUBTRACT), _float_producer(op.rhs, ADD)
    if right is not None and (other := other_operand(right, op.lhs)) is not None:
        return build.op(NEGATE, [other])
    right = _float_producer(op.rhs, SUBTRACT)
    if right is not None and right.lhs == op.lhs:
        return right.rhs
    return build.op(NEGATE, [left.rhs]) if left is not None and left.lhs == op.rhs else None


@pattern(ADD, of=SUBTRACT, assumes="reassoc,nnan")
def add_difference(op: Any) -> Any:
    """(x - y) + y -> x. Differs by rounding, and for infinities."""
    for value, other in sides(op):
        inner = _float_producer(value, SUBTRACT)
        if inner is not None and inner.rhs == other:
            return inner.lhs
    return None


@pattern(ADD, SUBTRACT, of=MULTIPLY, assumes="reassoc,nnan")
def common_factor(op: Any) -> Any:
    """x * y + x * z -> x * (y + z), and the same for differences. Differs by rounding."""
    left, right = _float_producer(op.lhs, MULTIPLY), _float_producer(op.rhs, MULTIPLY)
    if left is None or right is None or op.lhs == op.rhs or not (has_one_use(op.lhs) and has_one_use(op.rhs)):
        return None
    return factored(op.operation.name, left, right)


@pattern(ADD, SUBTRACT, of=DIVIDE, assumes="reassoc,arcp,nnan")
def common_divisor(op: Any) -> Any:
    """x / z + y / z -> (x + y) / z, and the same for differences. Differs by rounding."""
    left, right = _float_producer(op.lhs, DIVIDE), _float_producer(op.rhs, DIVIDE)
    if left is None or right is None or left.rhs != right.rhs or not (has_one_use(op.lhs) and has_one_use(op.rhs)):
        return None
    return build.op(DIVIDE, [build.op(op.operation.name, [left.lhs, right.lhs]), left.rhs])


@pattern(DIVIDE, of=DIVIDE, assumes="reassoc,arcp,nnan")
def divide_twice(op: Any) -> Any:
    """(x / y) / z -> x / (y * z) and x / (y / z) -> x * z / y. Differs by rounding, and where y * z overflows."""
    inner = _float_producer(op.lhs, DIVIDE)
    if inner is not None and has_one_use(op.lhs):
        return build.op(DIVIDE, [inner.lhs, build.op(MULTIPLY, [inner.rhs, op.rhs])])
    inner = _float_producer(op.rhs, DIVIDE)
    if inner is None or not has_one_use(op.rhs):
        return None
    return build.op(DIVIDE, [build.op(MULTIPLY, [op.lhs, inner.rhs]), inner.lhs])


@pattern(DIVIDE, of=MULTIPLY, assumes="reassoc,arcp,nnan")
def divide_product_by_factor(op: Any) -> Any:
    """(x * y) / y -> x. Differs by rounding, and where y is zero."""
    inner = _float_producer(op.lhs, MULTIPLY)
    return None if inner is None else other_operand(inner, op.rhs)


@pattern(MULTIPLY, of=DIVIDE, assumes="reassoc,arcp,nnan")
def multiply_quotient(op: Any) -> Any:
    """(x / y) * y -> x, and (1 / y) * x -> x / y. Differs by rounding, and where y is zero."""
    for value, other in sides(op):
        inner = _float_producer(value, DIVIDE)
        if inner is not None and inner.rhs == other:
            return inner.lhs
        if inner is not None and is_splat(inner.lhs, 1) and has_one_use(value):
            return build.op(DIVIDE, [other, inner.rhs])
    return None


@pattern(DIVIDE, of=RSQRT, assumes="arcp,afn")
def divide_by_reciprocal_root(op: Any) -> Any:
    """x / rsqrt(y) -> x * sqrt(y). Differs by rounding."""
    inner = _float_producer(op.rhs, RSQRT)
    return None if inner is None else build.op(MULTIPLY, [op.lhs, build.op(SQRT, [inner.operand])])


@pattern(MULTIPLY, of=RSQRT, assumes="afn,nnan,ninf")
def product_with_reciprocal_root(op: Any) -> Any:
    """x * rsqrt(x) -> sqrt(x), and rsqrt(x) * rsqrt(x) -> 1 / x. Differs by rounding, and for zero and infinity."""
    for value, other in sides(op):
        inner = _float_producer(value, RSQRT)
        if inner is not None and inner.operand == other:
            return build.op(SQRT, [other])
        if inner is not None and value == other:
            return build.op(DIVIDE, [build.full(1, value), inner.operand])
    return None


@pattern(SQRT, RSQRT, of=DIVIDE, assumes="afn")
def root_of_reciprocal(op: Any) -> Any:
    """sqrt(1 / x) -> rsqrt(x) and rsqrt(1 / x) -> sqrt(x). Differs by rounding."""
    inner = _float_producer(op.operand, DIVIDE)
    if inner is None or not is_splat(inner.lhs, 1):
        return None
    return build.op(RSQRT if op.operation.name == SQRT else SQRT, [inner.rhs])


@pattern(MULTIPLY, of=SQRT, assumes="afn,reassoc,nnan,ninf")
def product_of_roots(op: Any) -> Any:
    """sqrt(x) * sqrt(y) -> sqrt(x * y). Differs by rounding, and where x * y over- or underflows."""
    left, right = _float_producer(op.lhs, SQRT), _float_producer(op.rhs, SQRT)
    if left is None or right is None or op.lhs == op.rhs or not (has_one_use(op.lhs) and has_one_use(op.rhs)):
        return None
    return build.op(SQRT, [build.op(MULTIPLY, [left.operand, right.operand])])


_COMPLEMENTED = tuple(row.name for row in operations.TABLE.values() if row.complement)
_INVERSE = tuple(row.name for row in operations.TABLE.values() if row.inverse)


@pattern(*_INVERSE, of=tuple(operations.of(name).inverse for name in _INVERSE), assumes="afn,nnan,ninf")
def inverse_function(op: Any) -> Any:
    """f(g(x)) -> x for functions that undo each other: tanh and atanh, log(1 + x) and exp(x) - 1, and others.

    Differs by rounding, and where g has no result or over- or underflows.
    """
    (value,) = op.operation.operands
    inner = _float_producer(value, operations.of(op.operation.name).inverse)
    return None if inner is None else inner.operation.operands[0]


@pattern(LOG, of=ADD, assumes="afn")
def log_of_one_more(op: Any) -> Any:
    """log(x + 1) -> log_plus_one(x). Differs by rounding: the law is more precise for small x."""
    inner = _float_producer(op.operand, ADD)
    for value, other in sides(inner) if inner is not None else ():
        if is_splat(other, 1):
            return build.op(LOG1P, [value])
    return None


@pattern(SUBTRACT, ADD, of=EXP, assumes="afn")
def exponential_less_one(op: Any) -> Any:
    """exp(x) - 1 -> exponential_minus_one(x). Differs by rounding: the law is more precise for small x."""
    inner, one = _float_producer(op.lhs, EXP), 1 if op.operation.name == SUBTRACT else -1
    if inner is None or not is_splat(op.rhs, one) or not has_one_use(op.lhs):
        return None
    return build.op(EXPM1, [inner.operand])


@pattern(LOG1P, of=SUBTRACT, assumes="afn")
def log_plus_one_of_less(op: Any) -> Any:
    """log_plus_one(x - 1) -> log(x). Differs by rounding."""
    inner = _float_producer(op.operand, SUBTRACT)
    return build.op(LOG, [inner.lhs]) if inner is not None and is_splat(inner.rhs, 1) else None


@pattern(LOG, of=DIVIDE, assumes="afn")
def log_of_reciprocal(op: Any) -> Any:
    """log(1 / x) -> -log(x). Differs by rounding."""
    inner = _float_producer(op.operand, DIVIDE)
    if inner is None or not is_splat(inner.lhs, 1):
        return None
    return build.op(NEGATE, [build.op(LOG, [inner.rhs])])


@pattern(LOG, of=MULTIPLY, assumes="afn,ninf,nnan")
def log_of_product_with_exponential(op: Any) -> Any:
    """log(exp(x) * y) -> x + log(y). Differs by rounding, and where the exponential over- or underflows."""
    inner = _float_producer(op.operand, MULTIPLY)
    for value, other in sides(inner) if inner is not None else ():
        exponential = producer(value, EXP)
        if exponential is not None:
            return build.op(ADD, [exponential.operand, build.op(LOG, [other])])
    return None


@pattern(SQRT, RSQRT, CBRT, of=EXP, assumes="afn,ninf")
def root_of_exponential(op: Any) -> Any:
    """sqrt(exp(x)) -> exp(x / 2), rsqrt(exp(x)) -> exp(-x / 2), cbrt(exp(x)) -> exp(x / 3). Differs by rounding."""
    inner = _float_producer(op.operand, EXP)
    factor = {SQRT: 0.5, RSQRT: -0.5, CBRT: 1 / 3}[op.operation.name]
    return None if inner is None else build.op(EXP, [_scaled(inner.operand, factor)])


@pattern(POWER, of=EXP, assumes="afn,ninf")
def power_of_exponential(op: Any) -> Any:
    """exp(x) ** y -> exp(x * y). Differs by rounding, and where exp(x) over- or underflows."""
    inner = _float_producer(op.lhs, EXP)
    return None if inner is None else build.op(EXP, [build.op(MULTIPLY, [inner.operand, op.rhs])])


@pattern(POWER, of=SPLAT, assumes="afn,nnan")
def power_of_constant(op: Any) -> Any:
    """c ** x -> exp(x * log(c)) for a positive c, and e ** x -> exp(x). Differs by rounding."""
    base = splat_of(op.lhs) if is_floating(op.lhs) else None
    if base is None or splat_of(op.rhs) is not None or not 0 < float(base) < math.inf or float(base) == 1:
        return None
    number = float(base)
    is_e = np.asarray(math.e).astype(dtype_of(op.lhs)) == base
    return build.op(EXP, [op.rhs if is_e else _scaled(op.rhs, math.log(number))])


@pattern(POWER, of=(SQRT, RSQRT, CBRT), assumes="afn,nnan,ninf,nsz")
def power_of_root(op: Any) -> Any:
    """sqrt(x) ** c -> x ** (c / 2), and the same for rsqrt and cbrt. Differs by rounding, and for negative x."""
    exponent, inner = splat_of(op.rhs), producer(op.lhs)
    factors = {SQRT: 0.5, RSQRT: -0.5, CBRT: 1 / 3}
    if exponent is None or inner is None or inner.operation.name not in factors or not is_floating(op.lhs):
        return None
    factor = factors[inner.operation.name]
    if inner.operation.name == CBRT and float(exponent) % 3:
        return None
    return build.op(POWER, [inner.operand, build.full(float(exponent) * factor, op.rhs)])


@pattern(POWER, of=POWER, assumes="afn,nnan,ninf")
def power_of_power(op: Any) -> Any:
    """(x ** c) ** d -> x ** (c * d) for constants, where d is a whole number. Differs by rounding and overflow."""
    inner = _float_producer(op.lhs, POWER)
    first, second = (splat_of(inner.rhs), splat_of(op.rhs)) if inner is not None else (None, None)
    if inner is None or first is None or second is None or float(second) % 1:
        return None
    return build.op(POWER, [inner.lhs, build.full(float(first) * float(second), op.rhs)])


@pattern(POWER, of=SPLAT, assumes="afn,nnan,ninf,nsz")
def power_of_known_exponent(op: Any) -> Any:
    """x ** n -> products and quotients for n = -4, -3, -2, 5 to 8, and x ** 1.5 -> x * sqrt(x). Differs by rounding."""
    number = splat_of(op.rhs) if is_floating(op.lhs) else None
    if number is None:
        return None
    exponent = float(number)
    if exponent == 1.5:
        return build.op(MULTIPLY, [op.lhs, build.op(SQRT, [op.lhs])])
    if exponent not in (-4, -3, -2, 5, 6, 7, 8):
        return None
    product, square, bits = None, op.lhs, int(abs(exponent))
    while bits:
        if bits & 1:
            product = square if product is None else build.op(MULTIPLY, [product, square])
        bits >>= 1
        square = build.op(MULTIPLY, [square, square]) if bits else square
    return product if exponent > 0 else build.op(DIVIDE, [build.full(1, op.lhs), product])


@pattern(DIVIDE, of=ADD, assumes="afn")
def logistic(op: Any) -> Any:
    """1 / (1 + exp(-x)) -> logistic(x), and exp(x) / (1 + exp(x)) -> logistic(x). Differs by rounding and overflow."""
    inner = _float_producer(op.rhs, ADD)
    for value, other in sides(inner) if inner is not None else ():
        exponential = producer(value, EXP)
        if exponential is None or not is_splat(other, 1):
            continue
        if op.lhs == value:
            return build.op(LOGISTIC, [exponential.operand])
        if is_splat(op.lhs, 1):
            negated = producer(exponential.operand, NEGATE)
            x = build.op(NEGATE, [exponential.operand]) if negated is None else negated.operand
            return build.op(LOGISTIC, [x])
    return None


@pattern(SUBTRACT, of=(LOGISTIC, *_COMPLEMENTED), assumes="afn")
def one_less_function(op: Any) -> Any:
    """1 - logistic(x) -> logistic(-x), 1 - erf(x) -> erfc(x), 1 - erfc(x) -> erf(x).

    Differs by rounding: the law is more precise where the function is close to 1.
    """
    inner = producer(op.rhs)
    if inner is None or not is_splat(op.lhs, 1) or not is_floating(op.lhs) or not has_one_use(op.rhs):
        return None
    (x,) = inner.operation.operands
    name = inner.operation.name
    if name == LOGISTIC:
        return build.op(name, [build.op(NEGATE, [x])])
    other = operations.of(name).complement
    return build.op(other, [x]) if other else None


@pattern(DIVIDE, of=(SINE, SINH), assumes="afn,arcp")
def tangent(op: Any) -> Any:
    """sin(x) / cos(x) -> tan(x) and sinh(x) / cosh(x) -> tanh(x). Differs by rounding and overflow."""
    for name, dividend, divisor in ((TAN, SINE, COSINE), (TANH, SINH, COSH)):
        left, right = _float_producer(op.lhs, dividend), _float_producer(op.rhs, divisor)
        if left is not None and right is not None and left.operand == right.operand:
            return build.op(name, [left.operand])
    return None


@pattern(ADD, of=MULTIPLY, assumes="afn,nnan,reassoc")
def squares_of_sine_and_cosine(op: Any) -> Any:
    """sin(x) * sin(x) + cos(x) * cos(x) -> 1. Differs by rounding, and for infinities."""
    left, right = _float_producer(op.lhs, MULTIPLY), _float_producer(op.rhs, MULTIPLY)
    if left is None or right is None or left.lhs != left.rhs or right.lhs != right.rhs:
        return None
    for first, second in ((left.lhs, right.lhs), (right.lhs, left.lhs)):
        sine, cosine = producer(first, SINE), producer(second, COSINE)
        if sine is not None and cosine is not None and sine.operand == cosine.operand:
            return build.full(1, op.lhs)
    return None


@pattern("stablehlo.select", of="stablehlo.compare", assumes="nnan,nsz")
def select_extreme(op: Any) -> Any:
    """select(x < y, x, y) -> min(x, y), and the same for max. Differs for NaN and in the sign of zero."""
    compare = producer(op.pred, "stablehlo.compare")
    if compare is None or not is_floating(op.on_true) or attrs.word(compare, "comparison_direction") in ("EQ", "NE"):
        return None
    return selections.extreme(op, compare)


@pattern("stablehlo.select", of="stablehlo.compare", assumes="nsz")
def select_abs(op: Any) -> Any:
    """select(x < 0, -x, x) -> |x| and select(x > 0, x, -x) -> |x|. Differs in the sign of zero."""
    compare = producer(op.pred, "stablehlo.compare")
    if compare is None or not is_floating(op.on_true):
        return None
    return selections.absolute(op, compare)


@pattern(MULTIPLY, of=("stablehlo.convert", "stablehlo.select"), assumes="nnan,ninf,nsz")
def multiply_by_boolean(op: Any) -> Any:
    """convert(p) * x -> select(p, x, 0) for a boolean p, and select(p, 0, 1) * x -> select(p, 0, x).

    Differs for NaN and infinities, and in the sign of zero.
    """
    for value, other in sides(op):
        inner = _float_producer(value, "stablehlo.convert")
        if inner is not None and is_boolean(inner.operand):
            return build.select(inner.operand, other, build.full(0, other))
        inner = _float_producer(value, "stablehlo.select")
        if inner is not None and is_splat(inner.on_true, 0) and is_splat(inner.on_false, 1):
            return build.select(inner.pred, build.full(0, other), other)
    return None


@pattern("stablehlo.compare", of=SUBTRACT, assumes="nnan,ninf")
def compare_difference_with_zero(op: Any) -> Any:
    """x - y < 0 -> x < y. Differs for infinities."""
    inner = _float_producer(op.lhs, SUBTRACT)
    if inner is None or not (is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0)):
        return None
    if attrs.word(op, "compare_type") == "TOTALORDER":
        return None
    return build.compare(inner.lhs, inner.rhs, attrs.word(op, "comparison_direction"), "FLOAT")


@pattern(DIVIDE, of=SPLAT, assumes="nnan,nsz")
def divide_zero(op: Any) -> Any:
    """0 / x -> 0. Differs for zero and NaN, and in the sign of zero."""
    zero = is_splat(op.lhs, 0) or is_splat(op.lhs, -0.0)
    return op.lhs if zero and is_floating(op.lhs) else None


PATTERNS = (
    negated_difference,
    subtract_part,
    subtract_from_part,
    add_difference,
    common_factor,
    common_divisor,
    divide_twice,
    divide_product_by_factor,
    multiply_quotient,
    divide_by_reciprocal_root,
    product_with_reciprocal_root,
    root_of_reciprocal,
    product_of_roots,
    inverse_function,
    log_of_one_more,
    exponential_less_one,
    log_plus_one_of_less,
    log_of_reciprocal,
    log_of_product_with_exponential,
    root_of_exponential,
    power_of_exponential,
    power_of_constant,
    power_of_root,
    power_of_power,
    power_of_known_exponent,
    logistic,
    one_less_function,
    tangent,
    squares_of_sine_and_cosine,
    select_extreme,
    select_abs,
    multiply_by_boolean,
    compare_difference_with_zero,
    divide_zero,
)
