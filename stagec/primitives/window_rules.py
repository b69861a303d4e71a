"""Derivatives, transposes and batched forms of reductions over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.core.graph import Graph
from stagec.core.primitive import Primitive
from stagec.core.zero import is_zero, zero_of
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, spread_to, zeros
from stagec.primitives.combining import Combine, by_graph, padded_arrays, slid, with_tangents
from stagec.primitives.logic import gt, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.padding import pad_p
from stagec.primitives.shape import broadcast_in_dim

# What a window is along an axis that it does not reach over.
_NOTHING: dict[str, Any] = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def _span(size: int, step: int) -> int:
    """The size of an axis with `step - 1` holes between its elements."""
    return 0 if size == 0 else (size - 1) * step + 1


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
    """The sum of the cotangents of all windows that an element is in: a window that slides over spread cotangents."""
    shape, got = x.aval.shape, aval_of(ct).shape
    config, axes = [], []
    for n, m, size, stride, (low, _), base, hole in zip(shape, got, *[window[k] for k in _NOTHING]):
        span, spread, whole = _span(size, hole), _span(m, stride), _span(n, base)
        before = span - 1 - low
        config.append((before, whole + span - 1 - spread - before, stride - 1))
        axes.append((size, base, (0, 0), 1, hole))
    if 0 in shape or 0 in got:
        return [zeros(x.aval.strip_weak_type())]
    if not shape:
        return [ct]
    wide = pad_p(ct, literal(0, aval_of(ct).dtype), padding_config=tuple(config))
    over = dict(zip(_NOTHING, zip(*axes)))
    return [row(wide, **over)]


def with_batch(window: dict[str, Any]) -> dict[str, Any]:
    """The window that does not reach over a new leading axis."""
    return {k: (v, *window[k]) for k, v in _NOTHING.items()}


def window_batch(primitive: Primitive, args: Any, dims: Any, size: int, window: dict[str, Any]) -> Any:
    """A window of size 1 along the batch."""
    return primitive(moveaxis_to_front(args[0], dims[0]), **with_batch(window)), 0


# the general one


def general_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """As `window_jvp`, by the derivative of the user's function; its start is combined first."""
    out = primitive(*primals, **params)
    if all(map(is_zero, tangents)):
        return out, zero_of(aval_of(out))
    dots = [instantiate(t) for t in tangents]
    combine = with_tangents(params["computation"])
    starts = [primals[1], dots[1]]
    arrays = slid(combine, padded_arrays([primals[0], dots[0]], starts, params), params)
    return out, combine([spread_to(s, aval_of(out).shape) for s in starts], arrays)[1]


def general_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """As `window_batch`; with a start for each element of the batch, written out."""
    computation: Graph = params["computation"]
    x, window = moveaxis_to_front(args[0], dims[0], size), with_batch(params)
    if dims[1] is None:
        return primitive(x, args[1], computation=computation, **window), 0
    config = tuple([(low, high, b - 1) for (low, high), b in zip(params["padding"], params["base_dilation"])])
    wide, _ = pad_p.batch(pad_p, [x, args[1]], [0, 0], size, {"padding_config": config})
    combine = by_graph(computation)
    found = slid(combine, [wide], window)
    shape = aval_of(found[0]).shape
    return combine([broadcast_in_dim(args[1], shape, (0,))], found)[0], 0
