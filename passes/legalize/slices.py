"""Barriers around slices where IREE miscompiles, or refuses, the dispatch that it would fuse them into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import before_barriers, producer, shape_of
from passes.operations import Memory
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype


def _steps(op: Any) -> bool:
    """Whether a slice skips elements."""
    return any(
        step > 1 and size > 1 for step, size in zip(attrs.ints(op, "strides"), shape_of(op.operation.results[0]))
    )


def _is_computed(value: Any) -> bool:
    op = producer(value)
    return op is not None and before_barriers(value) == value and producer(value, "stablehlo.constant") is None


@pattern("stablehlo.slice")
def slice_with_step_of_computed(op: Any) -> Any:
    """Separate a slice with a step from the computation of its operand. Exact.

    When IREE fused a widening conversion into it, `convert(x)[::2]` read `x[0],
    x[1], ...`. A conversion moves after the slice; a barrier separates any other
    operation from the slice.
    """
    (operand,) = op.operation.operands
    if not _steps(op) or not _is_computed(operand):
        return None
    bounds = attrs.cut(op)
    conversion = producer(operand, "stablehlo.convert")
    if conversion is not None:
        (source,) = conversion.operation.operands
        return build.convert(build.slice_(source, *bounds), numpy_dtype(operand.type.element_type))
    return build.slice_(build.op("stablehlo.optimization_barrier", [operand]), *bounds)


# The operations that IREE merges with the one after them.
_MERGED = (*operations.where(layout=True), "stablehlo.convert")


def _cut_from(value: Any, cuts: Callable[[Any], bool]) -> bool:
    """Whether `value`, seen through merged operations and slices, is the result of an op for which `cuts` holds."""
    while True:
        op = producer(value)
        if op is None:
            return False
        if cuts(op):
            return True
        if op.operation.name not in (*_MERGED, "stablehlo.slice"):
            return False
        value = op.operation.operands[0]


_PARTS = operations.where(memory=Memory.PART)


def _leaves_gaps(op: Any) -> bool:
    """Whether neighbouring elements of a slice may be apart in memory."""
    if op.operation.name not in _PARTS:
        return False
    operand, result = op.operation.operands[0], op.operation.results[0]
    single = [axis for axis, (n, m) in enumerate(zip(shape_of(operand), shape_of(result))) if m == 1 < n]
    if any(axis > 0 or _cut_from(operand, _is_transpose) for axis in single):
        return True
    return op.operation.name == "stablehlo.slice" and _steps(op)


def _is_transpose(op: Any) -> bool:
    return op.operation.name == "stablehlo.transpose"


@pattern("stablehlo.gather", "stablehlo.reverse")
def pick_from_gaps(op: Any) -> Any:
    """x[:, ::2][i], x[:, 1][i] and the same with [::-1], with a barrier before the gather or reverse. Exact.

    The compiler merges the two and then fails: it has no code for gathers of strided elements.
    """
    return _with_barriers(op, [0]) if _cut_from(op.operation.operands[0], _leaves_gaps) else None


@pattern("stablehlo.reshape")
def one_element_with_more_axes(op: Any) -> Any:
    """x[-1:][:, None], with a barrier between the two if x has fewer axes than the result. Exact.

    The compiler merges the two into a slice of an array without these axes, and refuses it.
    """
    (operand,), (result,) = op.operation.operands, op.operation.results
    cut = producer(operand)
    if cut is None or cut.operation.name not in _PARTS or any(n != 1 for n in shape_of(result)):
        return None
    source = cut.operation.operands[0]
    return _with_barriers(op, [0]) if len(shape_of(source)) < len(shape_of(result)) else None


@pattern("stablehlo.sort")
def sort_of_part(op: Any) -> Any:
    """sort(slice(x)), sort(pad(x)) or sort(broadcast_in_dim(x)), with a barrier between the two. Exact.

    The compiler merges them and then fails. It crashes on a broadcast number, if it is sorted with another array.
    """
    cut = [i for i, value in enumerate(op.operation.operands) if _cut_from(value, _is_joined_or_cut)]
    return _with_barriers(op, cut) if cut else None


def _is_joined_or_cut(op: Any) -> bool:
    """Whether an array consists of parts of others, is a part itself, or has had a part replaced; or is a broadcast."""
    row = operations.of(op.operation.name)
    return row.joins or row.memory in (Memory.PART, Memory.UPDATED) or row.name == "stablehlo.broadcast_in_dim"


def _with_barriers(op: Any, numbers: list[int]) -> Any:
    """A clone of the op, with barriers before the operands at these indices."""
    ir = bindings.ir
    operation = op.operation.clone(ir.InsertionPoint.current).operation
    with ir.InsertionPoint(operation):
        for i in numbers:
            operation.operands[i] = build.op("stablehlo.optimization_barrier", [operation.operands[i]])
    return operation


PATTERNS: list[Pattern] = [
    slice_with_step_of_computed,
    pick_from_gaps,
    one_element_with_more_axes,
]
