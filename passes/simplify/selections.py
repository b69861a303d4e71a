"""Exact laws of selections."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.match import (
    SPLAT,
    dtype_of,
    has_one_use,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_splat,
    producer,
    splat_of,
)
from passes.operations import Precision
from passes.patterns import laws_of, pattern
from passes.simplify.comparisons import COMPARE, CONVERT
from passes.simplify.constants import is_folded
from passes.simplify.terms import law
from passes.types import is_lossless

SELECT = "stablehlo.select"


select_extreme = law(
    "select(f(x, y), x, y) -> min(x, y) and select(f(x, y), y, x) -> max(y, x) for f in LT|LE, integers; "
    "select(f(x, y), x, y) -> max(x, y) and select(f(x, y), y, x) -> min(y, x) for f in GT|GE, integers. Exact."
)
select_abs = law(
    "select(f(x, 0), -x, x) -> abs(x) for f in LT|LE, signed_integers; "
    "select(f(x, 0), x, -x) -> abs(x) for f in GT|GE, signed_integers. "
    "Exact: the smallest integer is its own negation and its own absolute value."
)
select_by_equality = law(
    "select(x == y, x, y) -> y and select(x != y, x, y) -> x for integers|booleans; select(x == y, x, y) -> y "
    "and select(x != y, x, y) -> x for floats where not (x.zero and y.zero). "
    "Exact: zeros of both signs compare equal."
)


mirrored_selections = law("f(select(p, x, y), select(p, y, x)) -> f(x, y) for commutative f. Exact.")
select_logic = law("select(p, x, false) -> p & x and select(p, true, x) -> p | x for booleans. Exact.")
select_twice = law(
    "select(p, [select(q, x, y)], y) -> select(p & q, x, y) "
    "and select(p, x, [select(q, x, y)]) -> select(p | q, x, y). Exact."
)


@pattern(SELECT, of=SPLAT)
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
    and not operations.of(name).partial
)


@pattern(*_EXACT, of=(SELECT, CONVERT))
def function_of_selected_constants(op: Any) -> Any:
    """f(select(p, c, d), e) -> select(p, f(c, e), f(d, e)) for constants, and f(convert(p), e) for booleans p.

    Exact: both are folded. The law requires that nothing else reads the selection.
    """
    operands, result = list(op.operation.operands), op.operation.results[0]
    varying = [i for i, value in enumerate(operands) if splat_of(value) is None]
    if len(varying) != 1 or not has_one_use(operands[varying[0]]) or is_complex(result) or not is_folded(op):
        return None
    (at,) = varying
    chosen = _selected_constants(operands[at])
    if chosen is None or (op.operation.name == CONVERT and not _folds_conversion(operands[at], result)):
        return None
    pred, *values = chosen
    attributes = attrs.copied(op)
    variants = [[*operands[:at], value, *operands[at + 1 :]] for value in values]
    made = [build.op(op.operation.name, variant, result.type, attributes=attributes) for variant in variants]
    return build.select(pred, *made)


def _folds_conversion(value: Any, result: Any) -> bool:
    """Whether conversions of these constants are folded. Those of booleans are the selections themselves."""
    return not is_boolean(value) and not (is_floating(value) and is_integer(result))


def _selected_constants(value: Any) -> tuple[Any, Any, Any] | None:
    """Return (p, c, d) for select(p, c, d) of constants, or for the conversion of a boolean; None for other values."""
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
    """select(p, f(x, z), f(y, z)) -> f(select(p, x, y), z). Exact. The law requires that nothing else reads
    the two."""
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
    # With two constants, `function_of_selected_constants` folds f into both: the opposite direction.
    if x.type != y.type or tuple(x.type.shape) != tuple(op.on_true.type.shape) or (is_constant(x) and is_constant(y)):
        return None
    operands = [pair[0] for pair in pairs]
    operands[at] = build.select(op.pred, x, y)
    return build.op(left.operation.name, operands, op.on_true.type, attributes=attrs.copied(left))


PATTERNS = laws_of(globals())
