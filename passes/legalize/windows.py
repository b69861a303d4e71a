"""Windows that leave elements at the end of an axis out, or whose array has others between or around its own."""

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


@pattern("stablehlo.reduce_window")
def pad_before_windows(op: Any) -> Any:
    """reduce_window of an array with others between its elements -> pad, reduce_window. Exact.

    What is put between them and around them is the initial value. The compiler
    miscounts the windows over dilated arrays, ends the process at dilated windows
    over padded complex numbers, and has no code for negative padding.
    """
    operation = op.operation
    count = len(operation.results)
    values, first = list(operation.operands)[:count], list(operation.operands)[count:]
    if not all(is_static(value) for value in values):
        return None
    rank = len(shape_of(values[0]))
    ones = (1,) * rank
    between, dilations = attrs.ints(op, "base_dilations", ones), attrs.ints(op, "window_dilations", ones)
    padding = attrs.pairs(op, "padding", rank)
    is_dilated = max(dilations, default=1) > 1 and any(low or high for low, high in padding)
    if set(between) <= {1} and not is_dilated and all(min(ends) >= 0 for ends in padding):
        return None
    low, high = [ends[0] for ends in padding], [ends[1] for ends in padding]
    ir = bindings.ir
    made = operation.clone(ir.InsertionPoint.current).operation
    with ir.InsertionPoint(made):
        for i, (value, initial) in enumerate(zip(values, first)):
            made.operands[i] = build.pad(value, initial, low, high, [n - 1 for n in between])
    for name in ("base_dilations", "padding"):
        if name in made.attributes:
            del made.attributes[name]
    return made


PATTERNS: list[Pattern] = [pad_before_windows, read_no_more_than_windows]
