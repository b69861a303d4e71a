"""Scatters whose indices are known, or which have one window, become updates of slices. Exact.

A window that reaches out of the array is dropped, as in XLA.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.facts import of
from passes.analysis.strided import Box, View, boxes
from passes.match import dtype_of, is_assignment, producer, shape_of, single_op, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.indexing import Windows
from passes.simplify.moves import cloned, is_static_op

_SCATTER = "stablehlo.scatter"
_UPDATE = "stablehlo.dynamic_update_slice"
_IOTA = "stablehlo.iota"
# A larger part of an array is selected from its elements, where a scatter would write the same elements one by one.
_SELECTED = 8


def _is_known(op: Any) -> bool:
    """Whether a scatter updates one array of a known shape."""
    return len(op.operation.operands) == 3 and is_static_op(op)


def _is_combined(op: Any) -> bool:
    """Whether a scatter writes its updates, or combines them with the old elements by one operation."""
    region = op.operation.regions[0]
    return is_assignment(region) or single_op(region) is not None


def _combined(op: Any, old: Any, new: Any) -> Any:
    """Return what a scatter writes in the place of `old`, for whole arrays."""
    block = op.operation.regions[0].blocks[0]
    if is_assignment(op.operation.regions[0]):
        return new
    inner = block.operations[0].operation
    values = {block.arguments[0]: old, block.arguments[1]: new}
    return build.op(inner.name, [values[value] for value in inner.operands], old.type, attributes=attrs.copied(inner))


@pattern(_SCATTER)
def scatter_of_nothing(op: Any) -> Any:
    """scatter of updates without elements, or without a window in the array -> the array. Exact."""
    if not _is_known(op):
        return None
    x, indices, updates = op.operation.operands
    if size_of(updates) == 0 or size_of(x) == 0:
        return x
    windows = Windows.of(op)
    starts = windows.starts(indices) if windows.targets else None
    if starts is None:
        return None
    return x if not ((starts >= 0) & (starts <= windows.limits)).all(-1).any() else None


@pattern(_SCATTER)
def scatter_at_known_indices(op: Any) -> Any:
    """scatter at constant or counted indices -> an update of a slice, a pad, or an op on the whole array. Exact.

    Windows must be in the array and at regular steps, without overlapping. If they are apart, and only a small part of
    the array, they stay a scatter.
    """
    if not _is_known(op) or not _is_combined(op):
        return None
    x, indices, updates = op.operation.operands
    windows, shape = Windows.of(op), shape_of(x)
    starts = windows.starts(indices) if size_of(updates) else None
    if starts is None or ((starts < 0) | (starts > windows.limits)).any():
        return None
    view = windows.view(windows.positions(starts), shape_of(updates))
    if view is None or not view.is_injective:
        return None
    found = list(boxes(shape, view))
    if not found:
        return None
    number = splat_of(x)
    cut = found[0] if number is not None else next((one for one in found if one.is_dense), found[0])
    if number is None and not cut.is_dense and size_of(x) > _SELECTED * size_of(updates):
        return None
    return _written(op, view, cut, number)


def _written(op: Any, view: View, cut: Box, number: Any) -> Any:
    """Return the array with the updates of a scatter in the slice that `cut` describes."""
    x, _, updates = op.operation.operands
    shape, new = shape_of(x), _arranged(updates, view, cut)
    if number is not None and not cut.is_whole:
        fill = build.full(number, build.tensor_type((), x.type.element_type))
        value = _padded(_combined(op, build.full(number, new), new), fill, cut)
        return build.reshape(value, shape)
    whole = build.reshape(x, cut.form)
    if cut.is_whole:
        return build.reshape(_combined(op, whole, new), shape)
    if cut.is_dense:
        value = _combined(op, build.slice_(whole, cut.starts, cut.limits), new)
        starts = [build.full(start, build.tensor_type((), np.int32)) for start in cut.starts]
        return build.reshape(build.op(_UPDATE, [whole, value, *starts]), shape)
    inside = _padded(build.full(True, build.tensor_type(cut.sizes, np.bool_)), build.constant(False), cut)
    padded = _padded(new, build.constant(0, dtype=dtype_of(x)), cut)
    return build.reshape(build.select(inside, _combined(op, whole, padded), whole), shape)


def _arranged(updates: Any, view: View, cut: Box) -> Any:
    """Return updates as the elements of the slice that `cut` describes."""
    dims = sorted(cut.dims)
    value = build.reshape(updates, [view.shape[d] for d in dims])
    value = build.transpose(value, [dims.index(d) for d in cut.dims])
    if cut.reverse:
        value = build.reverse(value, cut.reverse)
    return build.reshape(value, cut.sizes)


def _padded(value: Any, number: Any, cut: Box) -> Any:
    """Return an array of the form of `cut` with `value` in its slice, and a number elsewhere."""
    high = [n - limit for n, limit in zip(cut.form, cut.limits)]
    return build.pad(value, number, cut.starts, high, [step - 1 for step in cut.steps])


@pattern(_SCATTER)
def scatter_of_one_window(op: Any) -> Any:
    """scatter with one index -> dynamic_update_slice, of the old elements where the window is out of range. Exact."""
    if not _is_known(op) or not _is_combined(op):
        return None
    x, indices, updates = op.operation.operands
    windows = Windows.of(op)
    if size_of(updates) == 0 or not windows.targets or min(windows.limits) < 0:
        return None
    if prod(shape_of(updates)[axis] for axis in windows.outer) != 1:
        return None
    known = of(indices)
    starts, new = windows.scalar_starts(indices), build.reshape(updates, windows.sizes)
    is_inside = known is not None and known.within(0, min(windows.limits))
    if is_inside and is_assignment(op.operation.regions[0]):
        return build.op(_UPDATE, [x, new, *starts])
    old = build.dynamic_slice(x, starts, windows.sizes)
    value = _combined(op, old, new)
    if not is_inside:
        tests = [
            build.compare(starts[axis], build.full(bound, starts[axis]), direction)
            for axis, limit in zip(windows.targets, windows.limits)
            for bound, direction in ((0, "GE"), (limit, "LE"))
        ]
        value = build.select(reduce(lambda a, b: build.op("stablehlo.and", [a, b]), tests), value, old)
    return build.op(_UPDATE, [x, value, *starts])


@pattern(_SCATTER)
def scatter_at_unique_indices(op: Any) -> Any:
    """scatter at constant or counted indices that all differ, or at those of a sort -> with unique_indices. Exact.

    Targets with threads write the windows of such a scatter side by side, and others one after the other.
    """
    if not _is_known(op) or attrs.boolean(op, "unique_indices") or not size_of(op.operation.operands[2]):
        return None
    x, indices, updates = op.operation.operands
    windows = Windows.of(op)
    if not windows.targets or any(windows.sizes[axis] != 1 for axis in windows.targets):
        return None
    if len(windows.targets) > 1 or not _are_of_a_sort(indices, shape_of(x)[windows.targets[0]]):
        starts = windows.starts(indices)
        if starts is None or ((starts < 0) | (starts > windows.limits)).any():
            return None
        positions = windows.positions(starts)
        if len(np.unique(positions)) < positions.size:
            return None
    (result,) = cloned(op, [x, indices, updates], [x.type])
    result.owner.attributes["unique_indices"] = build.attribute("true")
    return result


def _are_of_a_sort(indices: Any, size: int) -> bool:
    """Whether indices are the numbers from 0 to at most `size - 1` in the order of a sort along their only axis."""
    value = indices
    # Shorter integers wrap around, and floats round.
    while (maker := producer(value)) is not None and dtype_of(value).kind in "iu" and dtype_of(value).itemsize >= 4:
        op = maker.operation
        if op.name == "stablehlo.sort":
            given = op.operands[list(op.results).index(value)]
            return len(shape_of(value)) == 1 and shape_of(value)[0] <= size and producer(given, _IOTA) is not None
        if op.name != "stablehlo.convert" and op.name != "stablehlo.reshape":
            return False
        value = op.operands[0]
    return False


PATTERNS = laws_of(globals())
