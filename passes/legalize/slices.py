"""Slices with a step, which the CPU backend fuses wrongly."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build
from passes.match import producer, shape_of
from passes.pattern import Pattern, pattern
from passes.types import numpy_dtype


def _steps(op: Any) -> bool:
    """Whether a slice skips elements."""
    return any(
        step > 1 and size > 1 for step, size in zip(attrs.ints(op, "strides"), shape_of(op.operation.results[0]))
    )


def _is_computed(value: Any) -> bool:
    if isinstance(value.owner, bindings.ir.Block):
        return False
    return value.owner.name not in ("stablehlo.optimization_barrier", "stablehlo.constant")


@pattern("stablehlo.slice")
def slice_with_step_of_computed(op: Any) -> Any:
    """A slice with a step reads memory, not the computation before it. Exact.

    Seen: with a widening conversion fused into it, `convert(x)[::2]` read
    `x[0], x[1], ...`. A conversion moves behind the slice; before any other
    operation a barrier keeps the two apart.
    """
    (operand,) = op.operation.operands
    if not _steps(op) or not _is_computed(operand):
        return None
    bounds = [attrs.ints(op, name) for name in ("start_indices", "limit_indices", "strides")]
    conversion = producer(operand, "stablehlo.convert")
    if conversion is not None:
        (source,) = conversion.operation.operands
        return build.convert(build.slice_(source, *bounds), numpy_dtype(operand.type.element_type))
    return build.slice_(build.op("stablehlo.optimization_barrier", [operand]), *bounds)


@pattern("stablehlo.reverse")
def reverse_of_slice_with_step(op: Any) -> Any:
    """reverse(slice with a step) with a barrier between: the compiler merges them and then fails. Exact."""
    (operand,) = op.operation.operands
    inner = producer(operand, "stablehlo.slice")
    if inner is None or not _steps(inner):
        return None
    dimensions = {"dimensions": build.i64_array(attrs.ints(op, "dimensions"))}
    return build.op("stablehlo.reverse", [build.op("stablehlo.optimization_barrier", [operand])], attributes=dimensions)


PATTERNS: list[Pattern] = [slice_with_step_of_computed, reverse_of_slice_with_step]
