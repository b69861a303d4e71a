"""Laws of reductions: fewer elements to combine, or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build, operations
from passes.match import dtype_of, is_static, producer, shape_of, single_op, splat_of
from passes.patterns import pattern


def _is_exact_function(op: Any) -> bool:
    """Whether an op computes each element from one element, and all targets compute the same."""
    row = operations.of(op.operation.name)
    known = row.numpy is not None or row.name == "stablehlo.convert"
    return known and len(op.operation.operands) == 1 and row.precision is not operations.Precision.OPEN


def _combination(op: Any) -> str | None:
    """The name of the op that combines the elements of one static, real array; None for another reduction."""
    if len(op.inputs) != 1 or not is_static(op.inputs[0]) or dtype_of(op.inputs[0]).kind == "c":
        return None
    return single_op(op.operation.regions[0])


@pattern("stablehlo.reduce")
def reduce_of_unit_dimensions(op: Any) -> Any:
    """A reduction of dimensions of size 1 -> one combination with the initial value.

    Exact: there is one element. `+ 0.0` stays, which makes -0.0 of it +0.0.
    """
    name, result = _combination(op), op.operation.results[0]
    if name is None or any(shape_of(op.inputs[0])[d] != 1 for d in attrs.ints(op, "dimensions")):
        return None
    value = build.reshape(op.inputs[0], shape_of(result))
    return build.op(name, [build.broadcast_in_dim(op.init_values[0], shape_of(result), []), value])


@pattern("stablehlo.reduce")
def reduce_of_pad(op: Any) -> Any:
    """reduce(f(pad(x, c))) -> pad(reduce(f(x))), where f(c) changes no result.

    Exact apart from the order in which floats are combined: elements equal to the identity of the combination are left
    out. The identity of an addition that begins with +0.0 is either zero.
    """
    name, dimensions = _combination(op), attrs.ints(op, "dimensions")
    if name is None:
        return None
    functions = []
    value = op.inputs[0]
    while (made := producer(value)) is not None and _is_exact_function(made):
        functions.append(made)
        value = made.operation.operands[0]
    inner = producer(value, "stablehlo.pad")
    if inner is None or not is_static(inner.operand) or dtype_of(inner.operand).kind == "c":
        return None
    low, high = attrs.ints(inner, "edge_padding_low"), attrs.ints(inner, "edge_padding_high")
    between = attrs.ints(inner, "interior_padding")
    filling, initial = splat_of(inner.padding_value), splat_of(op.init_values[0])
    if filling is None or initial is None or min((*low, *high), default=0) < 0:
        return None
    number = np.asarray(filling)
    for made in reversed(functions):
        meaning = operations.of(made.operation.name).numpy or np.asarray
        number = meaning(number).astype(dtype_of(made.operation.results[0]))
    if not _changes_nothing(name, number[()], initial):
        return None
    value = inner.operand
    for made in reversed(functions):
        type_ = build.tensor_type(shape_of(value), dtype_of(made.operation.results[0]))
        value = build.op(made.operation.name, [value], type_)
    (reduced,) = build.reduce([name], [value], [op.init_values[0]], dimensions)
    kept = [d for d in range(len(low)) if d not in dimensions]
    return build.pad(
        reduced, op.init_values[0], [low[d] for d in kept], [high[d] for d in kept], [between[d] for d in kept]
    )


def _changes_nothing(name: str, number: Any, initial: Any) -> bool:
    """Whether combining a number in addition to `initial` changes no result."""
    kind = number.dtype
    if name == "stablehlo.add":
        return bool(number == 0) and (kind.kind in "iub" or bool(np.signbit(number)) or not np.signbit(initial))
    if name == "stablehlo.multiply":
        return bool(number == 1)
    if name == "stablehlo.or":
        return bool(number == 0)
    if name == "stablehlo.and":
        return bool(~number == 0)
    # Any number to which the initial value is preferred.
    if name == "stablehlo.maximum":
        return bool(number <= initial) and number != 0
    return name == "stablehlo.minimum" and bool(number >= initial) and number != 0


PATTERNS = (reduce_of_unit_dimensions, reduce_of_pad)
