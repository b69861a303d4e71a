"""Exact laws of conversions."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import dtype_of, is_boolean, is_floating, is_integer, is_splat, producer
from passes.patterns import pattern
from passes.types import is_lossless


@pattern("stablehlo.convert", of="stablehlo.convert")
def convert_of_convert(op: Any) -> Any:
    """convert(convert(x, wide), t) -> convert(x, t) where `wide` holds every value of x.

    Exact; a conversion of booleans and one to booleans are covered. Integers that
    go through another integer type of at least their width wrap the same way.
    """
    inner = producer(op.operand, "stablehlo.convert")
    if inner is None:
        return None
    source, wide, target = dtype_of(inner.operand), dtype_of(op.operand), dtype_of(op.operation.results[0])
    if not is_lossless(source, wide):
        return None
    # An integer read as a float saturates where the integer itself would wrap.
    if (
        is_integer(inner.operand)
        and is_floating(op.operand)
        and is_integer(op.operation.results[0])
        and not (is_lossless(source, target))
    ):
        return None
    if target == source:
        return inner.operand
    return build.convert(inner.operand, target)


@pattern("stablehlo.compare", of="stablehlo.convert")
def compare_converted_boolean(op: Any) -> Any:
    """convert(p) != 0 -> p and convert(p) == 0 -> !p for a boolean p. Exact."""
    inner = producer(op.lhs, "stablehlo.convert")
    direction = attrs.word(op, "comparison_direction")
    if inner is None or not is_boolean(inner.operand) or direction not in ("EQ", "NE"):
        return None
    if not (is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0)):
        return None
    return inner.operand if direction == "NE" else build.op("stablehlo.not", [inner.operand])


@pattern("stablehlo.bitcast_convert", of="stablehlo.bitcast_convert")
def bitcast_of_bitcast(op: Any) -> Any:
    """bitcast(bitcast(x, t), u) -> bitcast(x, u) for types of one width. Exact."""
    inner = producer(op.operand, "stablehlo.bitcast_convert")
    if inner is None:
        return None
    source, middle, target = dtype_of(inner.operand), dtype_of(op.operand), dtype_of(op.operation.results[0])
    if not source.itemsize == middle.itemsize == target.itemsize or {source.kind, middle.kind, target.kind} & {"c"}:
        return None
    if inner.operand.type == op.operation.results[0].type:
        return inner.operand
    return build.op("stablehlo.bitcast_convert", [inner.operand], op.operation.results[0].type)


PATTERNS = (convert_of_convert, compare_converted_boolean, bitcast_of_bitcast)
