"""Exact laws of logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import build, operations
from passes.analysis.facts import of
from passes.match import (
    dtype_of,
    has_one_use,
    is_boolean,
    is_complex,
    is_constant,
    is_floating,
    other_operand,
    producer,
    same_type,
    sides,
)
from passes.patterns import pattern
from passes.types import is_lossless

AND, OR, XOR, NOT = "stablehlo.and", "stablehlo.or", "stablehlo.xor", "stablehlo.not"
CONVERT = "stablehlo.convert"
# By operation, the one that it absorbs and distributes over.
DUAL = {row.name: row.dual for row in operations.TABLE.values() if row.dual}


@pattern(*DUAL, of=tuple(DUAL))
def absorption(op: Any) -> Any:
    """x & (x | y) -> x, x | (x & y) -> x, max(x, min(x, y)) -> x, min(x, max(x, y)) -> x.

    Exact; max and min of floats only where y is never NaN.
    """
    for value, other in sides(op):
        inner = producer(value, DUAL[op.operation.name])
        remaining = other_operand(inner, other) if inner is not None else None
        if remaining is None or is_complex(other):
            continue
        if is_floating(other):
            known = of(remaining)
            if known is None or known.nan:
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
    return build.op(NOT, [build.op(DUAL[op.operation.name], [left.operand, right.operand])])


@pattern(AND, OR, of=(AND, OR))
def absorbed_complement(op: Any) -> Any:
    """x & (~x | y) -> x & y and x | (~x & y) -> x | y. Exact."""
    for value, other in sides(op):
        inner = producer(value, DUAL[op.operation.name])
        for part, remaining in sides(inner) if inner is not None else ():
            complement, own = producer(part, NOT), producer(other, NOT)
            if (complement is not None and complement.operand == other) or (own is not None and own.operand == part):
                return build.op(op.operation.name, [other, remaining])
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


@pattern(AND, OR, XOR, "stablehlo.maximum", "stablehlo.minimum", of=CONVERT)
def logic_of_converted(op: Any) -> Any:
    """convert(x) & convert(y) -> convert(x & y), and the same for or, xor, max, min.

    Exact where the wider type represents all values of x and y. The law requires that nothing else reads the
    conversions.
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
    logic_of_converted,
)
