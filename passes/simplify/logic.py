"""Exact laws of logic."""

from __future__ import annotations

from typing import Any

from passes import build, operations
from passes.match import (
    dtype_of,
    has_one_use,
    producer,
    same_type,
)
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law
from passes.types import is_lossless

AND, OR, XOR, NOT = "stablehlo.and", "stablehlo.or", "stablehlo.xor", "stablehlo.not"
CONVERT = "stablehlo.convert"
# By operation, the one that it absorbs and distributes over.
DUAL = {row.name: row.dual for row in operations.TABLE.values() if row.dual}


absorption = law(
    "f(x, g(x, y)) -> x for dual f g, integers|booleans; f(x, g(x, y)) -> x for dual f g, floats where not y.nan. "
    "Exact, for and with or, and for max with min."
)
logic_with_complement = law("x & ~x -> 0 and x | ~x -> ones and x ^ ~x -> ones. Exact.")
complements = law("[~x] & [~y] -> ~(x | y) and [~x] | [~y] -> ~(x & y). Exact.")
absorbed_complement = law(
    "x & (~x | y) -> x & y and ~x & (x | y) -> ~x & y and x | (~x & y) -> x | y and ~x | (x & y) -> ~x | y. Exact."
)
xor_of_complement = law("~x ^ ~y -> x ^ y and ~x ^ c -> x ^ ~c. Exact.")


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


PATTERNS = laws_of(globals())
