"""Elementwise operations on vectors, for what a kernel does with its sums before it stores them."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs
from passes.kernels.products.vectors import Vectors, is_float
from passes.kernels.writer import spelled_float
from passes.match import element_name

_FLOAT = {
    "stablehlo.add": "arith.addf",
    "stablehlo.subtract": "arith.subf",
    "stablehlo.multiply": "arith.mulf",
    "stablehlo.divide": "arith.divf",
    "stablehlo.maximum": "arith.maximumf",
    "stablehlo.minimum": "arith.minimumf",
    "stablehlo.negate": "arith.negf",
    "stablehlo.abs": "math.absf",
    "stablehlo.sqrt": "math.sqrt",
}
# The code for these in float64 is a call for each lane; the passes have expanded most of them before.
_SINGLE = {
    "stablehlo.rsqrt": "math.rsqrt",
    "stablehlo.exponential": "math.exp",
    "stablehlo.exponential_minus_one": "math.expm1",
    "stablehlo.log_plus_one": "math.log1p",
    "stablehlo.tanh": "math.tanh",
}
_BOOLEAN = {"stablehlo.and": "arith.andi", "stablehlo.or": "arith.ori", "stablehlo.xor": "arith.xori"}
_PREDICATES = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}
_FLOATS = ("f16", "bf16", "f32", "f64")
# Narrow floats are computed with in float32, and rounded after each operation.
_WIDE = {"f16": "f32", "bf16": "f32"}


def can(op: Any) -> bool:
    """Whether `apply` knows an operation, for its element types."""
    name, elements = op.name, [element_name(value) for value in op.operands]
    result = element_name(op.results[0])
    if name == "stablehlo.convert":
        return all(element in _FLOATS or element == "i1" for element in (*elements, result)) and result != "i1"
    if name == "stablehlo.select":
        return op.operands[0].type.shape == op.operands[1].type.shape and elements[1] in (*_FLOATS, "i1")
    if name == "stablehlo.compare":
        return elements[0] in _FLOATS and attrs.word(op, "compare_type") != "TOTALORDER"
    if name == "stablehlo.clamp":
        return elements[0] in _FLOATS and len({tuple(value.type.shape) for value in op.operands}) == 1
    if name in _BOOLEAN:
        return elements[0] == "i1"
    if name in _SINGLE or name == "stablehlo.logistic":
        return _WIDE.get(elements[0], elements[0]) == "f32"
    return name in _FLOAT and elements[0] in _FLOATS


def apply(v: Vectors, op: Any, values: list[str]) -> str:
    """The operation's result, for vectors in the place of its operands."""
    name, element, result = op.name, element_name(op.operands[0]), element_name(op.results[0])
    if name == "stablehlo.convert":
        return v.cast(values[0], element, result)
    if name == "stablehlo.select":
        kind = v.of(element_name(op.operands[1]))
        return v.w.op(f"arith.select {', '.join(values)} : {v.of('i1')}, {kind}")
    if name in _BOOLEAN:
        return v.w.op(f"{_BOOLEAN[name]} {', '.join(values)} : {v.of('i1')}")
    wide = _WIDE.get(element, element)
    values = [v.cast(value, element, wide) for value in values]
    if name == "stablehlo.compare":
        predicate = _PREDICATES[attrs.word(op, "comparison_direction")]
        return v.w.op(f"arith.cmpf {predicate}, {', '.join(values)} : {v.of(wide)}")
    return v.cast(_computed(v, name, wide, values), wide, result)


def _computed(v: Vectors, name: str, element: str, values: list[str]) -> str:
    kind = v.of(element)
    if name == "stablehlo.clamp":
        low, x, high = values
        larger = v.w.op(f"arith.maximumf {low}, {x} : {kind}")
        return v.w.op(f"arith.minimumf {larger}, {high} : {kind}")
    if name == "stablehlo.logistic":
        power = v.w.op(f"math.exp {v.w.op(f'arith.negf {values[0]} : {kind}')} : {kind}")
        one = v.full("1.0", element)
        return v.w.op(f"arith.divf {one}, {v.w.op(f'arith.addf {one}, {power} : {kind}')} : {kind}")
    found = _FLOAT.get(name) or _SINGLE[name]
    return v.w.op(f"{found} {', '.join(values)} : {kind}")


def number(value: float, element: str) -> str:
    """A number as MLIR writes it in a `dense` of that element type."""
    if is_float(element):
        return spelled_float(value, element)
    return "true" if value else "false"
