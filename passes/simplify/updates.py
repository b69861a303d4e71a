"""Laws of updates of parts of arrays: writes that are overwritten or not read are dropped. Exact."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs, build
from passes.match import is_static, producer, same_type, shape_of, size_of, splat_of
from passes.patterns import pattern

_UPDATE = "stablehlo.dynamic_update_slice"


def _starts(op: Any) -> list[int] | None:
    """Return the start indices of an update of static shape at constant indices; None for other updates."""
    numbers = [splat_of(value) for value in op.start_indices]
    if any(number is None for number in numbers) or not is_static(op.operand) or not is_static(op.update):
        return None
    bounds = zip(numbers, shape_of(op.operand), shape_of(op.update))
    return [max(0, min(int(start), n - k)) for start, n, k in bounds]  # type: ignore[arg-type]


@pattern(_UPDATE)
def update_with_nothing(op: Any) -> Any:
    """dynamic_update_slice(x, y) for a y without elements -> x. Exact."""
    return op.operand if is_static(op.update) and size_of(op.update) == 0 else None


@pattern(_UPDATE, of=_UPDATE)
def update_of_update(op: Any) -> Any:
    """Two updates of the same size at the same indices -> the second one. Exact."""
    inner = producer(op.operand, _UPDATE)
    if inner is None or not same_type(inner.update, op.update) or list(inner.start_indices) != list(op.start_indices):
        return None
    return build.op(_UPDATE, [inner.operand, op.update, *op.start_indices])


@pattern(_UPDATE, of="stablehlo.dynamic_slice")
def update_with_itself(op: Any) -> Any:
    """dynamic_update_slice(x, dynamic_slice(x, i), i) -> x. Exact."""
    inner = producer(op.update, "stablehlo.dynamic_slice")
    if inner is None or inner.operand != op.operand or list(inner.start_indices) != list(op.start_indices):
        return None
    return op.operand


@pattern("stablehlo.dynamic_slice", of=_UPDATE)
def read_of_update(op: Any) -> Any:
    """dynamic_slice(dynamic_update_slice(x, y, i), i) of y's size -> y. Exact: both clamp i in the same way."""
    inner = producer(op.operand, _UPDATE)
    if inner is None or not same_type(inner.update, op.operation.results[0]):
        return None
    return inner.update if list(inner.start_indices) == list(op.start_indices) else None


@pattern("stablehlo.slice", of=_UPDATE)
def slice_of_update(op: Any) -> Any:
    """A slice inside the updated region -> a slice of the update; outside of it -> a slice of the operand. Exact."""
    inner = producer(op.operand, _UPDATE)
    begin = _starts(inner) if inner is not None else None
    if inner is None or begin is None or size_of(op.operation.results[0]) == 0:
        return None
    starts, limits, strides = attrs.cut(op)
    ends = [b + n for b, n in zip(begin, shape_of(inner.update))]
    if any(hi <= b or lo >= e for lo, hi, b, e in zip(starts, limits, begin, ends)):
        return build.slice_(inner.operand, starts, limits, strides)
    if any(lo < b or hi > e for lo, hi, b, e in zip(starts, limits, begin, ends)):
        return None
    low, high = ([k - b for k, b in zip(bounds, begin)] for bounds in (starts, limits))
    return build.slice_(inner.update, low, high, strides)


PATTERNS = (update_with_nothing, update_of_update, update_with_itself, read_of_update, slice_of_update)
