"""Exact laws of logic, comparisons and selections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.analysis.facts import of
from passes.match import (
    SPLATS,
    dtype_of,
    has_one_use,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_splat,
    producer,
    same_type,
    sides,
    splat_of,
)
from passes.operations import Precision
from passes.patterns import pattern
from passes.simplify.constants import is_folded
from passes.types import is_lossless

AND, OR, XOR, NOT = "stablehlo.and", "stablehlo.or", "stablehlo.xor", "stablehlo.not"
COMPARE, SELECT, CONVERT = "stablehlo.compare", "stablehlo.select", "stablehlo.convert"
NEGATE, ADD = "stablehlo.negate", "stablehlo.add"
EXCHANGED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
_OTHER_WAY = {AND: OR, OR: AND, "stablehlo.maximum": "stablehlo.minimum", "stablehlo.minimum": "stablehlo.maximum"}


def _direction(op: Any) -> str:
    return attrs.word(op, "comparison_direction")


def _total(op: Any) -> bool:
    return attrs.word(op, "compare_type") == "TOTALORDER"


def _compare(like: Any, lhs: Any, rhs: Any, direction: str) -> Any:
    return build.compare(lhs, rhs, direction, attrs.word(like, "compare_type") or None)


# Logic


@pattern(*_OTHER_WAY, of=tuple(_OTHER_WAY))
def absorption(op: Any) -> Any:
    """x & (x | y) -> x, x | (x & y) -> x, max(x, min(x, y)) -> x, min(x, max(x, y)) -> x.

    Exact; for extremes of floats, where y is never NaN.
    """
    for value, other in sides(op):
        inner = producer(value, _OTHER_WAY[op.operation.name])
        if inner is None or other not in (inner.lhs, inner.rhs) or is_complex(other):
            continue
        if is_floating(other):
            rest = of(inner.rhs if other == inner.lhs else inner.lhs)
            if rest is None or rest.nan:
                continue
        return other
    return None


@pattern(AND, OR, XOR, of=NOT)
def logic_with_complement(op: Any) -> Any:
    """x & ~x -> 0, x | ~x -> all ones, x ^ ~x -> all ones. Exact."""
    for value, other in sides(op):
        inner = producer(value, NOT)
        if inner is not None and inner.operand == other:
            ones = np.bool_(True) if is_boolean(other) else ~np.zeros((), dtype_of(other))
            return build.full(0 if op.operation.name == AND else ones, other)
    return None


@pattern(AND, OR, of=NOT)
def complements(op: Any) -> Any:
    """~x & ~y -> ~(x | y) and ~x | ~y -> ~(x & y), where nothing else reads ~x and ~y. Exact."""
    left, right = producer(op.lhs, NOT), producer(op.rhs, NOT)
    if left is None or right is None or not has_one_use(op.lhs) or not has_one_use(op.rhs):
        return None
    return build.op(NOT, [build.op(_OTHER_WAY[op.operation.name], [left.operand, right.operand])])


@pattern(AND, OR, of=(AND, OR))
def absorbed_complement(op: Any) -> Any:
    """x & (~x | y) -> x & y and x | (~x & y) -> x | y. Exact."""
    for value, other in sides(op):
        inner = producer(value, _OTHER_WAY[op.operation.name])
        for part, rest in sides(inner) if inner is not None else ():
            complement, own = producer(part, NOT), producer(other, NOT)
            if (complement is not None and complement.operand == other) or (own is not None and own.operand == part):
                return build.op(op.operation.name, [other, rest])
    return None


@pattern(XOR, of=NOT)
def xor_of_complement(op: Any) -> Any:
    """~x ^ ~y -> x ^ y, and ~x ^ c -> x ^ ~c for a constant. Exact."""
    left, right = producer(op.lhs, NOT), producer(op.rhs, NOT)
    if left is not None and right is not None:
        return build.op(XOR, [left.operand, right.operand])
    if left is not None and is_constant(op.rhs):
        return build.op(XOR, [left.operand, build.op(NOT, [op.rhs])])
    return None


# Comparisons


@pattern(COMPARE, of=SPLATS)
def compare_constant_second(op: Any) -> Any:
    """c < x -> x > c. Exact; other laws look for constants there."""
    if not is_constant(op.lhs) or is_constant(op.rhs):
        return None
    return _compare(op, op.rhs, op.lhs, EXCHANGED[_direction(op)])


@pattern(COMPARE, of=(NEGATE, NOT, ADD, XOR))
def compare_of_same_step(op: Any) -> Any:
    """-x < -y -> x > y for floats, ~x < ~y -> x > y for integers, x + z == y + z -> x == y for integers.

    Exact; a sum or a negation of integers may wrap, so only == and != of them.
    """
    left, right = producer(op.lhs), producer(op.rhs)
    if left is None or right is None or left.operation.name != right.operation.name or is_complex(op.lhs):
        return None
    name, direction = left.operation.name, _direction(op)
    equality = direction in ("EQ", "NE")
    if name in (NEGATE, NOT):
        if name == NEGATE and not equality and not is_floating(op.lhs):
            return None
        return _compare(op, left.operand, right.operand, EXCHANGED[direction])
    if name in (ADD, XOR) and equality and not is_floating(op.lhs) and (name == XOR or is_integer(op.lhs)):
        for common, x in sides(left):
            for other, y in sides(right):
                if common == other:
                    return _compare(op, x, y, direction)
    return None


@pattern(COMPARE, of=(NEGATE, NOT, ADD, "stablehlo.subtract", XOR))
def compare_step_with_constant(op: Any) -> Any:
    """-x < c -> x > -c for floats, ~x < c -> x > ~c, x + c == d -> x == d - c, c - x == d -> x == c - d.

    Exact; integers may wrap, so an order of sums is moved only where the range of x says that they do not.
    """
    inner, direction = producer(op.lhs), _direction(op)
    if inner is None or not is_constant(op.rhs) or is_complex(op.lhs) or is_boolean(op.lhs):
        return None
    name, equality = inner.operation.name, direction in ("EQ", "NE")
    if name == NEGATE and (equality or is_floating(op.lhs)):
        return _compare(op, inner.operand, build.op(NEGATE, [op.rhs]), EXCHANGED[direction])
    if name == NOT:
        return _compare(op, inner.operand, build.op(NOT, [op.rhs]), EXCHANGED[direction])
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
    if inner is None or not is_integer(op.lhs) or _direction(op) not in ("EQ", "NE") or not is_splat(op.rhs, 0):
        return None
    return _compare(op, inner.lhs, inner.rhs, _direction(op))


@pattern(COMPARE, of="stablehlo.abs")
def compare_abs_with_zero(op: Any) -> Any:
    """|x| == 0 -> x == 0, and the same for !=, for real numbers. Exact."""
    inner = producer(op.lhs, "stablehlo.abs")
    if inner is None or is_complex(inner.operand) or _direction(op) not in ("EQ", "NE") or _total(op):
        return None
    zero = is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0)
    return _compare(op, inner.operand, op.rhs, _direction(op)) if zero else None


_NATURAL = {"f": "FLOAT", "V": "FLOAT", "i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}


@pattern(COMPARE, of=CONVERT)
def compare_converted(op: Any) -> Any:
    """convert(x) < convert(y) -> x < y, where the type has all values of x and y. Exact."""
    left, right = producer(op.lhs, CONVERT), producer(op.rhs, CONVERT)
    if left is None or right is None or _total(op) or not same_type(left.operand, right.operand):
        return None
    source = dtype_of(left.operand)
    if source.kind == "c" or not is_lossless(source, dtype_of(op.lhs)):
        return None
    return build.compare(left.operand, right.operand, _direction(op), _NATURAL[source.kind])


@pattern(COMPARE, of=CONVERT)
def compare_converted_with_constant(op: Any) -> Any:
    """convert(x) < c -> x < c' for an integer x of which the type has all values.

    Exact: c' is the whole number next to c on the right side. Where the type of x has no c', ranges decide.
    """
    inner, limit = producer(op.lhs, CONVERT), splat_of(op.rhs)
    if inner is None or limit is None or not is_integer(inner.operand) or _total(op):
        return None
    source, direction, number = dtype_of(inner.operand), _direction(op), limit.item()
    if isinstance(number, complex) or not is_lossless(source, dtype_of(op.lhs)) or not math.isfinite(number):
        return None
    whole = math.ceil(number) if direction in ("LT", "GE") else math.floor(number)
    if direction in ("EQ", "NE") and whole != number:
        return build.full(direction == "NE", op.operation.results[0].type)
    if not np.iinfo(source).min <= whole <= np.iinfo(source).max:
        return None
    return build.compare(inner.operand, build.full(whole, inner.operand), direction, _NATURAL[source.kind])


# The outcomes of comparing two numbers for which each comparison holds: less, equal, greater, unordered.
_OUTCOMES = {name: frozenset(text) for name, text in
             {"LT": "<", "LE": "<=", "EQ": "=", "NE": "<>?", "GT": ">", "GE": "=>"}.items()}  # fmt: skip
_SETS = {AND: frozenset.intersection, OR: frozenset.union, XOR: frozenset.symmetric_difference}


@pattern(*_SETS, of=COMPARE)
def logic_of_comparisons(op: Any) -> Any:
    """x < y | x == y -> x <= y, x < y & x > y -> false, and the like. Exact: NaN counts as a fourth outcome."""
    left, right = producer(op.lhs, COMPARE), producer(op.rhs, COMPARE)
    if left is None or right is None or _total(left) or _total(right) or is_complex(left.lhs):
        return None
    first, second = _direction(left), _direction(right)
    if (left.lhs, left.rhs) == (right.rhs, right.lhs):
        second = EXCHANGED[second]
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
    if left is None or right is None or left.lhs != right.lhs or _direction(left) != _direction(right):
        return None
    c, d, direction = splat_of(left.rhs), splat_of(right.rhs), _direction(left)
    if c is None or d is None or _total(left) or _total(right) or is_complex(left.lhs) or direction in ("EQ", "NE"):
        return None
    if c != c or d != d:
        return None
    # A lower limit that both must keep is the greater one.
    greater = (direction in ("GT", "GE")) == (op.operation.name == AND)
    first = np.greater_equal(c, d) if greater else np.less_equal(c, d)
    return op.lhs if bool(first) else op.rhs


# Selections


@pattern(SELECT, of=COMPARE)
def select_extreme(op: Any) -> Any:
    """select(x < y, x, y) -> min(x, y), select(x > y, x, y) -> max(x, y), for integers. Exact."""
    compare = producer(op.pred, COMPARE)
    if compare is None or not is_integer(op.on_true) or _direction(compare) in ("EQ", "NE"):
        return None
    return extreme(op, compare)


def extreme(op: Any, compare: Any) -> Any:
    """What a selection by the order of the two values it selects from is."""
    direction = _direction(compare)
    if (compare.lhs, compare.rhs) == (op.on_false, op.on_true):
        direction = EXCHANGED[direction]
    elif (compare.lhs, compare.rhs) != (op.on_true, op.on_false):
        return None
    name = "minimum" if direction in ("LT", "LE") else "maximum"
    return build.op(f"stablehlo.{name}", [op.on_true, op.on_false])


@pattern(SELECT, of=COMPARE)
def select_by_equality(op: Any) -> Any:
    """select(x == y, x, y) -> y and select(x != y, x, y) -> x.

    Exact; for floats, where one of them is never zero: zeros of both signs are equal.
    """
    compare = producer(op.pred, COMPARE)
    if compare is None or _direction(compare) not in ("EQ", "NE") or is_complex(op.on_true) or _total(compare):
        return None
    if (compare.lhs, compare.rhs) not in ((op.on_true, op.on_false), (op.on_false, op.on_true)):
        return None
    if is_floating(op.on_true):
        known = (of(op.on_true), of(op.on_false))
        if all(facts is None or facts.zero for facts in known):
            return None
    return op.on_false if _direction(compare) == "EQ" else op.on_true


@pattern(SELECT, of=COMPARE)
def select_abs(op: Any) -> Any:
    """select(x < 0, -x, x) -> |x| and select(x > 0, x, -x) -> |x| for integers. Exact: both wrap."""
    compare = producer(op.pred, COMPARE)
    if compare is None or not is_integer(op.on_true) or dtype_of(op.on_true).kind == "u":
        return None
    return absolute(op, compare)


def absolute(op: Any, compare: Any) -> Any:
    """|x| of a selection between x and -x by its sign, or None."""
    direction, x = _direction(compare), compare.lhs
    positive, negative = (op.on_false, op.on_true) if direction in ("LT", "LE") else (op.on_true, op.on_false)
    negated = producer(negative, NEGATE)
    zero = is_splat(compare.rhs, 0) or is_splat(compare.rhs, -0.0)
    if direction in ("EQ", "NE") or not zero or x != positive or negated is None or negated.operand != x:
        return None
    return build.op("stablehlo.abs", [x])


@pattern(SELECT, of=SPLATS)
def select_logic(op: Any) -> Any:
    """select(p, x, false) -> p & x and select(p, true, x) -> p | x for booleans. Exact."""
    if not is_boolean(op.on_true) or not same_type(op.pred, op.on_true):
        return None
    if is_splat(op.on_false, 0):
        return build.op(AND, [op.pred, op.on_true])
    return build.op(OR, [op.pred, op.on_false]) if is_splat(op.on_true, 1) else None


@pattern(SELECT)
def select_predicate(op: Any) -> Any:
    """select(p, p, x) -> p | x and select(p, x, p) -> p & x. Exact."""
    if op.pred == op.on_true:
        return build.op(OR, [op.pred, op.on_false])
    return build.op(AND, [op.pred, op.on_true]) if op.pred == op.on_false else None


@pattern(SELECT, of=SELECT)
def select_twice(op: Any) -> Any:
    """select(p, select(q, x, y), y) -> select(p & q, x, y) and select(p, x, select(q, x, y)) -> select(p | q, x, y).

    Exact. Nothing else reads the inner one.
    """
    inner = producer(op.on_true, SELECT)
    if inner is not None and inner.on_false == op.on_false and _merges(op, inner, op.on_true):
        return build.select(build.op(AND, [op.pred, inner.pred]), inner.on_true, op.on_false)
    inner = producer(op.on_false, SELECT)
    if inner is not None and inner.on_true == op.on_true and _merges(op, inner, op.on_false):
        return build.select(build.op(OR, [op.pred, inner.pred]), op.on_true, inner.on_false)
    return None


def _merges(op: Any, inner: Any, value: Any) -> bool:
    return same_type(op.pred, inner.pred) and has_one_use(value)


@pattern(SELECT, of=SPLATS)
def select_one_or_zero(op: Any) -> Any:
    """select(p, 1, 0) -> convert(p). Exact."""
    if is_complex(op.on_true) or is_boolean(op.on_true) or tuple(op.pred.type.shape) != tuple(op.on_true.type.shape):
        return None
    if (
        not is_splat(op.on_true, 1)
        or not is_splat(op.on_false, 0)
        or not is_lossless(np.dtype(bool), dtype_of(op.on_true))
    ):
        return None
    return build.op(CONVERT, [op.pred], op.on_true.type)


_EXACT = tuple(
    name
    for name in operations.where(elementwise=True)
    if operations.of(name).precision is not Precision.OPEN
    and (operations.of(name).numpy is not None or name in (COMPARE, CONVERT))
    and name not in ("stablehlo.divide", "stablehlo.remainder", "stablehlo.complex")
)


@pattern(*_EXACT, of=(SELECT, CONVERT))
def function_of_chosen_constants(op: Any) -> Any:
    """f(select(p, c, d), e) -> select(p, f(c, e), f(d, e)) for constants, and f(convert(p), e) for booleans p.

    Exact: both are folded. Nothing else reads the selection.
    """
    operands, result = list(op.operation.operands), op.operation.results[0]
    varying = [i for i, value in enumerate(operands) if splat_of(value) is None]
    if len(varying) != 1 or not has_one_use(operands[varying[0]]) or is_complex(result) or not is_folded(op):
        return None
    (at,) = varying
    chosen = _chosen_constants(operands[at])
    if chosen is None or (op.operation.name == CONVERT and not _folds_conversion(operands[at], result)):
        return None
    pred, *values = chosen
    attributes = attrs.copied(op)
    variants = [[*operands[:at], value, *operands[at + 1 :]] for value in values]
    made = [build.op(op.operation.name, variant, result.type, attributes=attributes) for variant in variants]
    return build.select(pred, *made)


def _folds_conversion(value: Any, result: Any) -> bool:
    """Whether conversions of all constants are folded, and not those of booleans, which are the selections."""
    return not is_boolean(value) and not (is_floating(value) and is_integer(result))


def _chosen_constants(value: Any) -> tuple[Any, Any, Any] | None:
    """(p, c, d) for a selection select(p, c, d) of constants or the conversion of a boolean."""
    inner = producer(value)
    if inner is None or is_complex(value):
        return None
    if inner.operation.name == CONVERT and is_boolean(inner.operand):
        return inner.operand, build.full(1, value), build.full(0, value)
    if inner.operation.name != SELECT or splat_of(inner.on_true) is None or splat_of(inner.on_false) is None:
        return None
    return inner.pred, inner.on_true, inner.on_false


_ELEMENTWISE = tuple(
    name for name in operations.where(elementwise=True) if name != SELECT and name.startswith("stablehlo.")
)


@pattern(SELECT, of=_ELEMENTWISE)
def select_of_same_function(op: Any) -> Any:
    """select(p, f(x, z), f(y, z)) -> f(select(p, x, y), z). Exact. Nothing else reads the two."""
    left, right = producer(op.on_true), producer(op.on_false)
    if left is None or right is None or left.operation.name != right.operation.name:
        return None
    if left.operation.name not in _ELEMENTWISE or op.on_true == op.on_false:
        return None
    if not has_one_use(op.on_true) or not has_one_use(op.on_false) or attrs.copied(left) != attrs.copied(right):
        return None
    pairs = list(zip(left.operation.operands, right.operation.operands))
    different = [i for i, (x, y) in enumerate(pairs) if x != y]
    if len(different) != 1:
        return None
    (at,) = different
    x, y = pairs[at]
    # Constants are chosen from at no cost; operations on constants are better known than on choices.
    if x.type != y.type or tuple(x.type.shape) != tuple(op.on_true.type.shape) or (is_constant(x) and is_constant(y)):
        return None
    operands = [pair[0] for pair in pairs]
    operands[at] = build.select(op.pred, x, y)
    return build.op(left.operation.name, operands, op.on_true.type, attributes=attrs.copied(left))


@pattern(AND, OR, XOR, "stablehlo.maximum", "stablehlo.minimum", of=CONVERT)
def logic_of_converted(op: Any) -> Any:
    """convert(x) & convert(y) -> convert(x & y), and the same for or, xor, max, min.

    Exact, where the type has all values of x and y. Nothing else reads the two.
    """
    left, right = producer(op.lhs, CONVERT), producer(op.rhs, CONVERT)
    if left is None or right is None or not same_type(left.operand, right.operand):
        return None
    source, name = dtype_of(left.operand), op.operation.name
    if source.kind == "c" or not is_lossless(source, dtype_of(op.lhs)):
        return None
    if not has_one_use(op.lhs) or not has_one_use(op.rhs):
        return None
    inner = (operations.of(name).of_booleans or name) if source.kind == "b" else name
    return build.op(CONVERT, [build.op(inner, [left.operand, right.operand])], op.lhs.type)


PATTERNS = (
    absorption,
    logic_with_complement,
    complements,
    absorbed_complement,
    xor_of_complement,
    compare_constant_second,
    compare_of_same_step,
    compare_step_with_constant,
    compare_difference_with_zero,
    compare_abs_with_zero,
    compare_converted,
    compare_converted_with_constant,
    logic_of_comparisons,
    logic_of_limits,
    select_extreme,
    select_by_equality,
    select_abs,
    select_logic,
    select_predicate,
    select_twice,
    select_one_or_zero,
    function_of_chosen_constants,
    select_of_same_function,
    logic_of_converted,
)
