"""Exact laws of conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.match import dtype_of, is_floating, is_integer, producer, shape_of
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law
from passes.types import is_lossless


@pattern("stablehlo.convert", of="stablehlo.convert")
def convert_of_convert(op: Any) -> Any:
    """convert(convert(x, wide), t) -> convert(x, t) where `wide` holds every value of x.

    Exact, also from and to booleans. Integers that go through another integer type of at least their width wrap the
    same way.
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


compare_converted_boolean = law("convert(p) != zero -> p and convert(p) == zero -> ~p for booleans p. Exact.")


@pattern("stablehlo.convert", of="stablehlo.iota")
def convert_of_iota(op: Any) -> Any:
    """convert(iota) -> iota of the other type, where both types represent all of its numbers. Exact."""
    inner, result = producer(op.operand, "stablehlo.iota"), op.operation.results[0]
    if inner is None or dtype_of(result).kind == "b":
        return None
    most = shape_of(result)[attrs.integer(inner, "iota_dimension")] - 1
    if any(not _represents_integers_to(dtype_of(value), most) for value in (op.operand, result)):
        return None
    return build.op("stablehlo.iota", [], result.type, attributes=attrs.copied(inner))


def _represents_integers_to(dtype: np.dtype[Any], number: int) -> bool:
    """Whether a type represents every integer from 0 to this one."""
    if dtype.kind in "iu" and dtype.isbuiltin == 1:
        return number <= int(np.iinfo(dtype).max)
    return number <= {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8}.get(dtype.name, -1)


PATTERNS = laws_of(globals())
