"""Laws of updates of parts of arrays: writes that are overwritten or not read are dropped. Exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import attributes as attrs, build
from passes.match import SPLAT, dtype_of, is_splat, is_static, producer, same_type, shape_of, size_of, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.moves import used_once

_UPDATE = "stablehlo.dynamic_update_slice"
_DYNAMIC = (_UPDATE, "stablehlo.dynamic_slice")


def _starts(op: Any) -> list[int] | None:
    """Return the start indices of an update of static shape at constant indices; None for other updates."""
    numbers = [splat_of(value) for value in op.start_indices]
    if any(number is None for number in numbers) or not is_static(op.operand) or not is_static(op.update):
        return None
    bounds = zip(numbers, shape_of(op.operand), shape_of(op.update))
    return [max(0, min(int(start), n - k)) for start, n, k in bounds]  # type: ignore[arg-type]


# The value that is clamped, and the least and the greatest result.
_CLAMPED: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "stablehlo.clamp": lambda op: (op.operand, op.min, op.max),
    "stablehlo.maximum": lambda op: (op.lhs, op.rhs, None),
    "stablehlo.minimum": lambda op: (op.lhs, None, op.rhs),
}


@pattern(_UPDATE)
def update_with_nothing(op: Any) -> Any:
    """dynamic_update_slice(x, y) for a y without elements -> x. Exact."""
    return op.operand if is_static(op.update) and size_of(op.update) == 0 else None


@pattern(*_DYNAMIC)
def start_along_whole_axis(op: Any) -> Any:
    """A start along an axis that a dynamic slice or an update takes whole -> 0. Exact: it is clamped to that."""
    limits, starts = _limits(op), list(op.start_indices)
    at = [k for k, limit in enumerate(limits or ()) if limit == 0 and not is_splat(starts[k], 0)]
    for k in at:
        starts[k] = build.full(0, starts[k])
    return _with_starts(op, starts) if at else None


@pattern(*_DYNAMIC, of=tuple(_CLAMPED))
def start_that_is_clamped(op: Any) -> Any:
    """dynamic_slice(x, clamp(0, i, n)) -> dynamic_slice(x, i), and the same for updates.

    Exact where the slice at n ends at the end of x or after it: it clamps its start itself.
    """
    limits, starts = _limits(op), list(op.start_indices)
    found = [_before_clamp(start, limit) for start, limit in zip(starts, limits or ())]
    return _with_starts(op, found) if limits is not None and found != starts else None


@pattern(_UPDATE, of=_UPDATE)
def update_of_update(op: Any) -> Any:
    """Two updates, the second one of at least the size of the first and at the same indices -> the second one.

    Exact: starts that are clamped are those of the larger part, or lie in it. Starts along axes that are updated whole
    do not matter. The law requires that nothing else reads the first update: two updates of one array are a copy of it.
    """
    inner = producer(op.operand, _UPDATE)
    if inner is None or not used_once(inner) or not all(map(is_static, (op.operand, inner.update, op.update))):
        return None
    starts = zip(inner.start_indices, op.start_indices)
    sizes = zip(shape_of(inner.update), shape_of(op.update), shape_of(op.operand), strict=True)
    if any(b < n and (a > b or i != j) for (i, j), (a, b, n) in zip(starts, sizes)):
        return None
    return build.op(_UPDATE, [inner.operand, op.update, *op.start_indices])


@pattern("stablehlo.dynamic_slice", of=_UPDATE)
def read_of_update(op: Any) -> Any:
    """dynamic_slice(dynamic_update_slice(x, y, i), i) of y's size -> y. Exact: both clamp i in the same way."""
    inner = producer(op.operand, _UPDATE)
    if inner is None or not same_type(inner.update, op.operation.results[0]):
        return None
    return inner.update if list(inner.start_indices) == list(op.start_indices) else None


@pattern("stablehlo.slice", of=_UPDATE)
def slice_of_update(op: Any) -> Any:
    """A slice inside the updated region -> a slice of the update; outside of it -> a slice of the operand. Exact.

    A slice that reads both, and is alone to read them, is an update of a slice: fewer elements are copied.
    """
    inner = producer(op.operand, _UPDATE)
    begin = _starts(inner) if inner is not None else None
    if inner is None or begin is None or size_of(op.operation.results[0]) == 0:
        return None
    starts, limits, strides = attrs.cut(op)
    ends = [b + n for b, n in zip(begin, shape_of(inner.update))]
    if any(hi <= b or lo >= e for lo, hi, b, e in zip(starts, limits, begin, ends)):
        return build.slice_(inner.operand, starts, limits, strides)
    low, high = ([k - b for k, b in zip(bounds, begin)] for bounds in (starts, limits))
    if all(b <= lo and hi <= e for lo, hi, b, e in zip(starts, limits, begin, ends)):
        return build.slice_(inner.update, low, high, strides)
    if any(step != 1 for step in strides) or not used_once(inner) or same_type(op.operand, op.operation.results[0]):
        return None
    part = [max(k, 0) for k in low], [min(k, n) for k, n in zip(high, shape_of(inner.update))]
    at = [build.full(max(b - k, 0), index) for b, k, index in zip(begin, starts, inner.start_indices)]
    old, new = build.slice_(inner.operand, starts, limits), build.slice_(inner.update, *part)
    return build.op(_UPDATE, [old, new, *at])


def _limits(op: Any) -> list[int] | None:
    """Return the largest start along each axis of a dynamic slice or an update; None for unknown shapes."""
    part = op.update if op.operation.name == _UPDATE else op.operation.results[0]
    if not is_static(op.operand) or not is_static(part):
        return None
    return [n - k for n, k in zip(shape_of(op.operand), shape_of(part))]


def _with_starts(op: Any, starts: list[Any]) -> Any:
    """Return a copy of a dynamic slice or an update at other starts."""
    operands = list(op.operation.operands)
    kept = operands[: len(operands) - len(starts)]
    return build.op(op.operation.name, [*kept, *starts], op.operation.results[0].type, attributes=attrs.copied(op))


def _before_clamp(start: Any, limit: int) -> Any:
    maker = producer(start)
    rule = _CLAMPED.get(maker.operation.name) if maker is not None else None
    if rule is None:
        return start
    value, low, high = rule(maker)
    least, most = splat_of(low) if low is not None else 0, splat_of(high) if high is not None else limit
    return value if least is not None and most is not None and int(least) <= 0 and int(most) >= limit else start


@pattern(_UPDATE, of=SPLAT)
def update_of_splat(op: Any) -> Any:
    """dynamic_update_slice(c, y) at constant indices, where c repeats one number -> pad(y, c). Exact."""
    number, begin = splat_of(op.operand), _starts(op)
    if number is None or begin is None or dtype_of(op.operand).kind == "c" or size_of(op.update) == 0:
        return None
    fill = build.full(number, build.tensor_type((), op.operand.type.element_type))
    high = [n - start - k for n, start, k in zip(shape_of(op.operand), begin, shape_of(op.update))]
    return build.pad(op.update, fill, begin, high)


@pattern("stablehlo.select", of=_UPDATE)
def select_of_update(op: Any) -> Any:
    """select(p, dynamic_update_slice(x, y, i), x) -> dynamic_update_slice(x, select(p, y, x at i), i). Exact.

    The law requires that nothing else reads the update.
    """
    for value, other in ((op.on_true, op.on_false), (op.on_false, op.on_true)):
        inner = producer(value, _UPDATE)
        if inner is None or inner.operand != other or not used_once(inner) or _limits(inner) is None:
            continue
        starts, sizes = list(inner.start_indices), shape_of(inner.update)
        old = build.dynamic_slice(other, starts, sizes)
        pred = build.dynamic_slice(op.pred, starts, sizes) if op.pred.type.shape else op.pred
        new = (inner.update, old) if value == op.on_true else (old, inner.update)
        return build.op(_UPDATE, [other, build.select(pred, *new), *starts])
    return None


PATTERNS = laws_of(globals())
