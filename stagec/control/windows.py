"""Reductions over windows by a user's function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control.combining import by_graph, with_tangents
from stagec.control.reduce import fold, single_operation, traced_computation
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal
from stagec.core.primitive import NOT_LINEAR, Primitive, SinglePrimitive
from stagec.core.zero import is_zero, zero_of
from stagec.primitives.axes import dilated, shape_error
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, spread_to
from stagec.primitives.checks import check_dtype, same_dtype
from stagec.primitives.combining import padded_arrays, slid
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.padding import pad_p
from stagec.primitives.reduce import highest, lowest
from stagec.primitives.shape import broadcast_in_dim
from stagec.primitives.window import (
    Pairs,
    explicit_padding,
    padded,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_prod_p,
    reduce_window_sum_p,
    sizes,
    window_attributes,
    window_shape,
    windows,
)
from stagec.primitives.window_rules import with_batch
from stagec.typing import ArrayLike


def _general_shape(x: ShapedArray, init: ShapedArray, *, computation: Graph, **window: Any) -> ShapedArray:
    check_dtype("reduce_window", same_dtype("reduce_window", (x, init)), dtypes.ORDINARY)
    if init.shape:
        raise shape_error(
            "reduce_window",
            f"the initial value must have rank 0, got {init.long()}",
            "pass one element of it, as in value[0]",
        )
    return ShapedArray.of(window_shape("reduce_window", x, **window), x.dtype)


def _general_eval(
    x: Any, init: Any, *, computation: Graph, padding: Pairs, base_dilation: tuple[int, ...], **window: Any
) -> Any:
    view = windows(padded(x, init, padding, base_dilation), **window)
    front = np.moveaxis(view, range(x.ndim, 2 * x.ndim), range(x.ndim))
    count = int(np.prod(front.shape[: x.ndim], dtype=np.int64))
    return fold(computation, [front.reshape(count, *front.shape[x.ndim :])], [init])[0]


def _general_lower(cx: Any, x: Any, init: Any, *, computation: Graph, **window: Any) -> Any:
    if cx.in_avals[0].size == 0 or cx.out_avals[0].size == 0:
        return cx.broadcast(init, cx.out_avals[0], ())
    return cx.emit(
        "stablehlo.reduce_window", [x, init], window_attributes(**window), None, [cx.graph_region(computation)]
    )


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """As `window_jvp`, by the derivative of the user's function; its start is combined first."""
    out = primitive(*primals, **params)
    if all(map(is_zero, tangents)):
        return out, zero_of(aval_of(out))
    dots = [instantiate(t) for t in tangents]
    combine = with_tangents(params["computation"])
    starts = [primals[1], dots[1]]
    arrays = slid(combine, padded_arrays([primals[0], dots[0]], starts, params), params)
    return out, combine([spread_to(s, aval_of(out).shape) for s in starts], arrays)[1]


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
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


reduce_window_p = SinglePrimitive(
    "reduce_window",
    shape=_general_shape,
    eval=_general_eval,
    lower=_general_lower,
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=_batch,
)

_NAMED: dict[str, tuple[SinglePrimitive, Callable[..., Any]]] = {
    "add": (reduce_window_sum_p, lambda d: 0),
    "mul": (reduce_window_prod_p, lambda d: 1),
    "max": (reduce_window_max_p, lowest),
    "min": (reduce_window_min_p, highest),
}


def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """Combine the elements of each position of a sliding window.

    Args:
      operand: an array.
      init_value: a scalar that each result starts from, and that fills the padding.
      computation: `(x, y) -> z` of scalars, associative.
      window_dimensions: the window's sizes, one for each axis.
      window_strides: how far the window moves along each axis.
      padding: `"VALID"`, `"SAME"`, `"SAME_LOWER"`, or `(low, high)` for each axis.
      base_dilation: distance of the operand's elements once holes are put between them.
      window_dilation: distance of the window's elements.

    Raises:
      ShapeError: a list does not have one entry for each axis.

    >>> import numpy as np
    >>> import stagec.lax as lax
    >>> reduce_window(np.array([1, 5, 2, 4]), 0, lax.max, (2,), (2,))
    Array([5, 4], dtype=int32)
    """
    x = as_operand(operand)
    aval = aval_of(x)
    name, rank = "reduce_window", aval.ndim
    dimensions = sizes(window_dimensions, rank, name, "window_dimensions")
    strides = sizes(window_strides, rank, name, "window_strides")
    base = sizes(base_dilation, rank, name, "base_dilation")
    dilation = sizes(window_dilation, rank, name, "window_dilation")
    window = {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": explicit_padding(
            [dilated(n, b) for n, b in zip(aval.shape, base)],
            [dilated(n, h) for n, h in zip(dimensions, dilation)],
            strides,
            padding,
            name,
        ),
        "base_dilation": base,
        "window_dilation": dilation,
    }
    init = convert_element_type(as_operand(init_value), aval.dtype)
    if aval.small:
        # `computation` combines wider numbers, and their last one is rounded.
        wide, start = (convert_element_type(v, dtypes.COMPUTED_IN[aval.dtype]) for v in (x, init))
        found = reduce_window(wide, start, computation, dimensions, strides, padding, base, dilation)
        return convert_element_type(found, aval.dtype)
    graph = traced_computation(name, computation, [aval.dtype], single=True)
    operation = single_operation(graph)
    if operation is not None and operation.name in _NAMED:
        row, identity = _NAMED[operation.name]
        value = init.value if isinstance(init, Literal) else None
        if value is not None and value == np.asarray(identity(aval.dtype)).astype(aval.dtype):
            return row(x, **window)
    return reduce_window_p(x, init, computation=graph, **window)
