"""Derivatives, transposes and batched forms of reductions over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.core.primitive import Primitive
from stagec.primitives.axes import dilated
from stagec.primitives.broadcast import moveaxis_to_front, zeros
from stagec.primitives.combining import Combine, padded_arrays, slid
from stagec.primitives.logic import gt, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.padding import pad_p

# The window along an axis that it does not extend over.
_UNIT_WINDOW: dict[str, Any] = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def window_jvp(combine: Combine, identity: Callable[[Any], Any]) -> Callable[..., Any]:
    """Values and tangents are combined together."""

    def rule(primitive: Primitive, primals: Any, tangents: Any, window: dict[str, Any]) -> Any:
        (x,), (t,) = primals, tangents
        dtype = aval_of(x).dtype
        arrays = padded_arrays([x, t], [literal(identity(dtype), dtype), literal(0, dtype)], window)
        return primitive(x, **window), slid(combine, arrays, window)[1]

    return rule


def first_larger(a: list[Any], b: list[Any]) -> list[Any]:
    """The larger value, and what comes with it; of equal ones the first."""
    after = gt(b[0], a[0])
    return [select(after, y, x) for x, y in zip(a, b)]


def first_smaller(a: list[Any], b: list[Any]) -> list[Any]:
    """The smaller value, and what comes with it; of equal ones the first."""
    after = gt(a[0], b[0])
    return [select(after, y, x) for x, y in zip(a, b)]


def sum_transpose(row: Primitive, ct: Any, x: Any, **window: Any) -> list[Any]:
    """The sum of the cotangents of all windows that an element is in: a window over dilated cotangents."""
    shape, ct_shape = x.aval.shape, aval_of(ct).shape
    config, axes = [], []
    for n, m, size, stride, (low, _), base, dilation in zip(shape, ct_shape, *[window[k] for k in _UNIT_WINDOW]):
        span, spread, whole = dilated(size, dilation), dilated(m, stride), dilated(n, base)
        before = span - 1 - low
        config.append((before, whole + span - 1 - spread - before, stride - 1))
        axes.append((size, base, (0, 0), 1, dilation))
    if 0 in shape or 0 in ct_shape:
        return [zeros(x.aval.strip_weak_type())]
    if not shape:
        return [ct]
    wide = pad_p(ct, literal(0, aval_of(ct).dtype), padding_config=tuple(config))
    over = dict(zip(_UNIT_WINDOW, zip(*axes)))
    return [row(wide, **over)]


def with_batch(window: dict[str, Any]) -> dict[str, Any]:
    """The window that does not reach over a new leading axis."""
    return {k: (v, *window[k]) for k, v in _UNIT_WINDOW.items()}


def window_batch(primitive: Primitive, args: Any, dims: Any, size: int, window: dict[str, Any]) -> Any:
    """A window of size 1 along the batch."""
    return primitive(moveaxis_to_front(args[0], dims[0]), **with_batch(window)), 0
