"""Indices of gathers and scatters: made signed, laid out with components last, and clamped to the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings, build
from passes.match import constant_of, dtype_of, is_static, producer, shape_of, splat_of
from passes.patterns import Pattern, pattern
from passes.simplify.indexing import Windows, signed

# Marks a gather or scatter without windows out of bounds, apart from those that go to a spare row.
IN_RANGE = "stagec.in_range"


def components_last(indices: Any, axis: int) -> Any:
    """Indices whose components are along `axis`, or which have one component and no such axis, with components last."""
    shape = shape_of(indices)
    if axis == len(shape):
        return build.reshape(indices, (*shape, 1))
    if axis == len(shape) - 1:
        return indices
    return build.transpose(indices, [*[i for i in range(len(shape)) if i != axis], axis])


def clamped(indices: Any, axis: int, limits: Sequence[int]) -> Any:
    """Indices with components along `axis` (or one component, and no such axis), clamped to 0..limit."""
    shape, high = shape_of(indices), build.full(limits[0], indices)
    if len(set(limits)) > 1:
        bounds = np.asarray(limits, dtype_of(indices)).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        high = build.constant(np.ascontiguousarray(np.broadcast_to(bounds, shape)))
    return build.op("stablehlo.clamp", [build.full(0, indices), indices, high], indices.type)


def are_clamped(indices: Any, limits: Sequence[int]) -> bool:
    """Whether the components along the last axis are known to be in 0..limit, by a clamp or as constants."""
    clamp = producer(indices, "stablehlo.clamp")
    low, _, high = clamp.operation.operands if clamp is not None else (indices, None, indices)
    least, most = (splat_of(value) if constant_of(value) is None else constant_of(value) for value in (low, high))
    if least is None or most is None:
        return False
    return bool(np.all(np.asarray(least) >= 0) and np.all(np.asarray(most) <= np.asarray(limits)))


def inside(indices: Any, limits: Sequence[int]) -> Any:
    """Booleans over the other axes: whether all components along the last axis are in 0..limit."""
    *outer, _ = shape_of(indices)
    mask = None
    for number, limit in enumerate(limits):
        component = build.reshape(build.slice_(indices, [0] * len(outer) + [number], [*outer, number + 1]), outer)
        for bound, direction in ((0, "GE"), (limit, "LE")):
            test = build.compare(component, build.full(bound, component), direction)
            mask = test if mask is None else build.op("stablehlo.and", [mask, test])
    return mask


@pattern("stablehlo.gather")
def gather_within_array(op: Any) -> Any:
    """Clamp the indices of a gather, so that every window is in the array. Exact: a gather clamps them in any case.

    IREE reads out of bounds at an index that is out of range.
    """
    operation = op.operation
    operand, indices = operation.operands
    if IN_RANGE in operation.attributes or not (is_static(operand) and is_static(indices)):
        return None
    windows = Windows.of(op)
    made = operation.clone(bindings.ir.InsertionPoint.current).operation
    made.attributes[IN_RANGE] = bindings.ir.UnitAttr.get()
    if windows.limits:
        with bindings.ir.InsertionPoint(made):
            made.operands[1] = clamped(signed(indices), windows.along, windows.limits)
    return made


@pattern("stablehlo.dynamic_gather")
def gather_of_known_size(op: Any) -> Any:
    """A dynamic_gather of windows whose size is known -> gather. Exact."""
    operand, indices, sizes = op.operation.operands
    known = constant_of(sizes)
    if known is None or not is_static(op.operation.results[0]):
        return None
    attributes = {**attrs.copied(op), "slice_sizes": build.i64_array(known.tolist())}
    return build.op("stablehlo.gather", [operand, indices], op.operation.results[0].type, attributes=attributes)


PATTERNS: list[Pattern] = [gather_of_known_size, gather_within_array]
