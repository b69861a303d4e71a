"""top_k with equal elements in the order in which they stand."""

from __future__ import annotations

from typing import Any

from passes import build
from passes.legalize.expressions import Tensor, where
from passes.match import is_static
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype, tensor_type


def ordered_bits(x: Tensor) -> Tensor:
    """Signed integers in the order of `x`; NaN above infinity, -0.0 beside 0.0."""
    kind, bits = x.dtype.kind, x.dtype.itemsize * 8
    if kind == "i":
        return x
    if kind == "u":
        return x.bits() ^ -(1 << (bits - 1))
    x = where(x.equals(0), abs(x), x)
    pattern_ = x.bits()
    ordered = where(pattern_ < 0, pattern_ ^ ((1 << (bits - 1)) - 1), pattern_)
    return where(x.is_nan(), ordered.like((1 << (bits - 1)) - 1), ordered)


@pattern("chlo.top_k")
def stable_top_k(op: Any) -> Any:
    """top_k as a sort of (key, index) pairs, the greatest key first.

    Exact. The backend's own top_k returns equal elements in no defined order; here
    the lower index comes first and NaN counts as the greatest, as in XLA.
    """
    (operand,) = op.operation.operands
    values, indices = op.operation.results
    dtype = numpy_dtype(operand.type.element_type)
    if not is_static(operand) or (dtype.kind not in "iuf" and dtype.name != "bfloat16") or dtype.itemsize > 8:
        return None
    if dtype.name in ("int2", "int4", "uint2", "uint4") or dtype.name.startswith("float8"):
        return None
    shape, last = list(operand.type.shape), len(operand.type.shape) - 1
    index = numpy_dtype(indices.type.element_type)
    keys = ordered_bits(Tensor(operand))
    position = build.op("stablehlo.iota", [], tensor_type(shape, index), attributes={"iota_dimension": f"{last} : i64"})
    # Keys of integers turn back into the integers; floats go along, for the sake of -0.0 and NaN.
    carried = [keys.value, position, *([] if dtype.kind in "iu" else [operand])]
    made = build.op(
        "stablehlo.sort",
        carried,
        [value.type for value in carried],
        attributes={"dimension": f"{last} : i64", "is_stable": "true"},
        regions=1,
    )
    arguments = [tensor_type((), value.type.element_type) for value in carried for _ in range(2)]

    def before(*pairs: Any) -> Any:
        a, b, i, j = (Tensor(value) for value in pairs[:4])
        return ((a > b) | (a.equals(b) & (i < j))).value

    build.unary_region(made, 0, arguments, before)
    limit = list(values.type.shape)
    start = [0] * len(limit)
    best, order = build.slice_(made.results[-1], start, limit), build.slice_(made.results[1], start, limit)
    if dtype.kind in "iu":
        best = build.slice_(made.results[0], start, limit)
    if dtype.kind == "u":
        best = (Tensor(best) ^ -(1 << (dtype.itemsize * 8 - 1))).bitcast(dtype).value
    return best, order


PATTERNS: list[Pattern] = [stable_top_k]
__all__ = ["PATTERNS", "ordered_bits", "stable_top_k"]
