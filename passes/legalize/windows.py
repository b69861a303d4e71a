"""Window reductions: cumulative ones, and those whose windows read less or more than the array."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build, operations
from passes.analysis.identities import identity, identity_of
from passes.legalize.expressions import Tensor
from passes.match import dtype_of, is_boolean, is_static, shape_of, single_op, splat_of
from passes.patterns import Pattern, pattern
from passes.types import tensor_type


@pattern("stablehlo.reduce_window")
def read_no_more_than_windows(op: Any) -> Any:
    """Slice off the elements that no window of a reduce_window reads. Exact.

    The compiler assumes that the windows cover an axis, and refuses the program
    if a stride leaves out its last elements.
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
    made.attributes["padding"] = build.pairs(padding)
    return made


@pattern("stablehlo.reduce_window")
def pad_before_windows(op: Any) -> Any:
    """reduce_window with dilation or padding -> pad with the initial value, reduce_window. Exact.

    The compiler miscounts the windows over dilated arrays, crashes on dilated
    windows over padded complex numbers and on windows over padded complex128, and
    has no code for negative padding. It treats windows that end at each element as
    cumulative reductions, and ignores their initial value.
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
    starts = any(low or high for low, high in padding) and not _starts_from_nothing(operation, first)
    is_wide = any(map(any, padding)) and any(dtype_of(value) == np.complex128 for value in values)
    is_wide = is_wide and _running_axis(op) is None
    plain = all(min(ends) >= 0 for ends in padding) and not (is_dilated or starts or is_wide)
    if set(between) <= {1} and plain:
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


def _starts_from_nothing(operation: Any, first: list[Any]) -> bool:
    """Whether the initial value is the identity element."""
    found, number = identity(operation.regions[0]), splat_of(first[0])
    if len(first) > 1 or found is None or number is None:
        return False
    return bool(number == np.asarray(found(number.dtype)).astype(number.dtype))


# What a logical operation is for the integers 0 and 1; the compiler knows cumulative reductions by these alone.
_OF_BYTES = {
    "stablehlo.and": "stablehlo.minimum",
    "stablehlo.or": "stablehlo.maximum",
    "stablehlo.xor": "stablehlo.xor",
}


@pattern("stablehlo.reduce_window")
def running_over_booleans(op: Any) -> Any:
    """A cumulative reduction of booleans -> one of 8-bit integers. Exact.

    The compiler has no code for it.
    """
    operation = op.operation
    name = single_op(operation.regions[0])
    meant = operations.of(name).of_booleans if name is not None else ""
    if not meant or not is_boolean(operation.operands[0]) or _running_axis(op) is None:
        return None
    wide = _OF_BYTES[meant]
    bytes_ = np.dtype(np.int8)
    value, first = operation.operands
    start = Tensor(first).to(bytes_).value
    if _starts_from_nothing(operation, [first]):
        # The identity element of 8-bit integers is another number.
        start = build.full(identity_of(wide)(bytes_), tensor_type((), bytes_))
    made = build.op(
        "stablehlo.reduce_window",
        [Tensor(value).to(bytes_).value, start],
        tensor_type(shape_of(value), bytes_),
        attributes=attrs.copied(op),
        regions=1,
    )
    build.unary_region(made, 0, [tensor_type((), bytes_)] * 2, lambda a, b: build.op(wide, [a, b]))
    return Tensor(made.results[0]).differs(0).value


def _running_axis(op: Any, backwards: bool = False) -> int | None:
    """The axis of a cumulative reduction of one array, from the beginning or backwards; None if it is not one."""
    operation = op.operation
    if len(operation.operands) != 2 or not is_static(operation.operands[0]):
        return None
    shape = shape_of(operation.operands[0])
    ones = (1,) * len(shape)
    names = ("window_strides", "base_dilations", "window_dilations")
    sizes, padding = attrs.ints(op, "window_dimensions"), attrs.pairs(op, "padding", len(shape))
    long = [axis for axis, size in enumerate(sizes) if size != 1]
    if len(long) != 1 or any(attrs.ints(op, name, ones) != ones for name in names):
        return None
    (axis,) = long
    ends = [(0, 0)] * len(shape)
    ends[axis] = (0, shape[axis] - 1) if backwards else (shape[axis] - 1, 0)
    return axis if sizes[axis] == shape[axis] and padding == ends else None


@pattern("stablehlo.reduce_window")
def running_backwards(op: Any) -> Any:
    """A cumulative reduction from the end of an axis -> one from its beginning, between reversals. Exact.

    The compiler, and the kernels, have a loop for the latter only, and reduce each window of the former separately.
    """
    axis = _running_axis(op, backwards=True)
    if axis is None:
        return None
    operation = op.operation
    padding = attrs.pairs(op, "padding", len(shape_of(operation.operands[0])))
    made = operation.clone(bindings.ir.InsertionPoint.current).operation
    if splat_of(operation.operands[0]) is None:
        with bindings.ir.InsertionPoint(made):
            made.operands[0] = build.reverse(operation.operands[0], [axis])
    made.attributes["padding"] = build.pairs([(high, low) for low, high in padding])
    return build.reverse(made.results[0], [axis])


PATTERNS: list[Pattern] = [read_no_more_than_windows]
FORMS: list[Pattern] = [running_over_booleans, pad_before_windows, running_backwards]
