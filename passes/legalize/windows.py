"""Windows that leave elements at the end of an axis out."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, bindings, build
from passes.match import is_static, shape_of
from passes.patterns import Pattern, pattern


@pattern("stablehlo.reduce_window")
def read_no_more_than_windows(op: Any) -> Any:
    """reduce_window of no more elements than its windows reach. Exact.

    The compiler takes the windows of an axis for all of it, and refuses the
    program where a stride leaves its last elements out.
    """
    operation = op.operation
    values = operation.operands[: len(operation.results)]
    if not all(is_static(value) for value in (*values, *operation.results)):
        return None
    shape, windows = shape_of(values[0]), shape_of(operation.results[0])
    rank = len(shape)
    ones = (1,) * rank
    if attrs.ints(op, "base_dilations", ones) != ones or 0 in windows:
        return None
    strides, dilations = attrs.ints(op, "window_strides", ones), attrs.ints(op, "window_dilations", ones)
    sizes = attrs.ints(op, "window_dimensions")
    limits, padding, spare = list(shape), [], 0
    for axis, (low, high) in enumerate(attrs.pairs(op, "padding", rank)):
        reached = (windows[axis] - 1) * strides[axis] + (sizes[axis] - 1) * dilations[axis] + 1
        beyond = low + shape[axis] + high - reached
        spare += beyond
        limits[axis] -= max(0, beyond - max(high, 0))
        padding.append((low, reached - low - limits[axis]))
    if not spare or min(limits) < 1:
        return None
    ir = bindings.ir
    made = operation.clone(ir.InsertionPoint.current).operation
    with ir.InsertionPoint(made):
        for i, value in enumerate(values):
            made.operands[i] = build.slice_(value, [0] * rank, limits)
    pairs = ", ".join(f"[{low}, {high}]" for low, high in padding)
    made.attributes["padding"] = build.attribute(f"dense<[{pairs}]> : tensor<{rank}x2xi64>")
    return made


PATTERNS: list[Pattern] = [read_no_more_than_windows]
