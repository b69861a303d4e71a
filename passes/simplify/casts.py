"""Exact laws of conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.match import (
    dtype_of,
    has_one_use,
    is_floating,
    is_integer,
    is_static,
    producer,
    shape_of,
    splat_of,
)
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


@pattern("stablehlo.bitcast_convert", of="stablehlo.bitcast_convert")
def bitcast_of_bitcast(op: Any) -> Any:
    """bitcast(bitcast(x, t), u) -> bitcast(x, u) for types of one width, or with the dimensions of x. Exact."""
    inner = producer(op.operand, "stablehlo.bitcast_convert")
    if inner is None:
        return None
    source, middle, target = dtype_of(inner.operand), dtype_of(op.operand), dtype_of(op.operation.results[0])
    if source.itemsize != target.itemsize or {source.kind, middle.kind, target.kind} & {"c"}:
        return None
    if middle.itemsize != source.itemsize and inner.operand.type.shape != op.operation.results[0].type.shape:
        return None
    if inner.operand.type == op.operation.results[0].type:
        return inner.operand
    return build.op("stablehlo.bitcast_convert", [inner.operand], op.operation.results[0].type)


@pattern("stablehlo.convert", of="stablehlo.iota")
def convert_of_iota(op: Any) -> Any:
    """convert(iota) -> iota of the other type, where both types represent all of its numbers. Exact."""
    inner, result = producer(op.operand, "stablehlo.iota"), op.operation.results[0]
    if inner is None or not is_static(result) or dtype_of(result).kind == "b":
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


# Sums, products, quotients and roots of these types are the same when they are rounded to the second type first, which
# has more than twice the digits.
_ROUNDED_TWICE = {("float16", "float32"), ("float16", "float64"), ("float32", "float64"), ("bfloat16", "float64")}
_NARROWED = tuple(row.name for row in operations.TABLE.values() if row.modular or row.any_width)


@pattern("stablehlo.convert", of=_NARROWED)
def convert_result_back(op: Any) -> Any:
    """convert(f(convert(x), convert(y)), t) -> f(x, y), where x and y are of type t, and f computes in a wider type.

    x or y may be a constant that type t represents. Exact: integers wrap in the same way, and a float that is rounded
    to more than twice the digits first is rounded to the same number. The law requires that nothing else reads the
    wider result.
    """
    inner, target = producer(op.operand), op.operation.results[0].type
    if inner is None or inner.operation.name not in _NARROWED or not has_one_use(op.operand):
        return None
    name, narrow, wide = inner.operation.name, dtype_of(op.operation.results[0]), dtype_of(op.operand)
    if not is_lossless(narrow, wide) or not _is_exact_in_narrow(operations.of(name), narrow, wide):
        return None
    sources = [_in_narrow(value, narrow) for value in inner.operation.operands]
    if all(isinstance(source, np.generic) or source is None for source in sources):
        return None
    if any(source is None or not (isinstance(source, np.generic) or source.type == target) for source in sources):
        return None
    values = [build.full(source, target) if isinstance(source, np.generic) else source for source in sources]
    return build.op(name, values, target)


def _in_narrow(value: Any, narrow: np.dtype[Any]) -> Any:
    """Return a value before its conversion, or the number that fills it, if the narrow type represents that."""
    number = splat_of(value)
    if number is None:
        source = producer(value, "stablehlo.convert")
        return None if source is None else source.operand
    with np.errstate(all="ignore"):
        found = np.asarray(number).astype(narrow)
        back = found.astype(number.dtype)
    return found[()] if back.tobytes() == np.asarray(number).tobytes() else None


def _is_exact_in_narrow(row: operations.Operation, narrow: np.dtype[Any], wide: np.dtype[Any]) -> bool:
    if narrow.kind in "iu" and wide.kind in "iu" and narrow.isbuiltin == 1:
        return row.modular or row.chooses
    if narrow.kind == "b" or wide.kind in "iu" or narrow.kind in "iu":
        return False
    if row.precision is operations.Precision.ROUNDED:
        return row.any_width and (narrow.name, wide.name) in _ROUNDED_TWICE
    return row.any_width


PATTERNS = laws_of(globals())
