"""Parts of iotas: counted from their start instead of being cut out. Exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import dtype_of, is_static, producer, shape_of, size_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import rebuilt

_IOTA = "stablehlo.iota"


def _made(op: Any) -> tuple[Any, int] | None:
    """Return the iota that an op moves, and the dimension along which it counts, if results are exact; else None."""
    inner, result = producer(op.operand, _IOTA), op.operation.results[0]
    if inner is None or not is_static(result) or size_of(result) == 0:
        return None
    dim, dtype = attrs.integer(inner, "iota_dimension"), dtype_of(result)
    most = {"f": 2**24, "i": 2**31, "u": 2**31}.get(dtype.kind, 0)
    exact = dtype.itemsize >= 4 and shape_of(op.operand)[dim] <= most
    return (inner, dim) if exact else None


def _sum(value: Any, number: int) -> Any:
    return build.op("stablehlo.add", [value, build.full(number, value)]) if number else value


@pattern("stablehlo.slice", of=_IOTA)
def part_of_iota(op: Any) -> Any:
    """iota[a:b:s] -> iota * s + a. Exact: integers, or floats that represent them."""
    found = _made(op)
    if found is None:
        return None
    inner, dim = found
    starts, _, strides = attrs.cut(op)
    if starts[dim] == 0 and strides[dim] == 1:
        return None
    counted = rebuilt(inner, [], shape_of(op.operation.results[0]))
    if strides[dim] != 1:
        counted = build.op("stablehlo.multiply", [counted, build.full(strides[dim], counted)])
    return _sum(counted, starts[dim])


@pattern("stablehlo.reverse", of=_IOTA)
def reverse_of_iota(op: Any) -> Any:
    """reverse(iota) -> n - 1 - iota, or the iota where the reversal is along other dimensions. Exact."""
    found = _made(op)
    if found is None:
        return None
    inner, dim = found
    value = inner.operation.results[0]
    if dim not in attrs.ints(op, "dimensions"):
        return value
    return build.op("stablehlo.subtract", [build.full(shape_of(value)[dim] - 1, value), value])


@pattern("stablehlo.dynamic_slice", of=_IOTA)
def dynamic_part_of_iota(op: Any) -> Any:
    """dynamic_slice(iota, i) -> iota + i, with i clamped as dynamic_slice clamps it. Exact."""
    found = _made(op)
    if found is None:
        return None
    inner, dim = found
    result, start = op.operation.results[0], op.start_indices[dim]
    limit = shape_of(op.operand)[dim] - shape_of(result)[dim]
    if limit == 0:
        return None
    most = min(limit, np.iinfo(dtype_of(start)).max)
    start = build.op("stablehlo.clamp", [build.full(0, start), start, build.full(most, start)], start.type)
    start = build.broadcast_in_dim(build.convert(start, dtype_of(result)), shape_of(result), ())
    return build.op("stablehlo.add", [rebuilt(inner, [], shape_of(result)), start])


PATTERNS = laws_of(globals())
