"""Reductions over windows by a user's function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from stagec.control.combining import by_graph, with_tangents
from stagec.control.reduce import fold, of_wider, reduced_leaves, single_operation, traced_computation
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal
from stagec.core.primitive import NOT_LINEAR, MultiplePrimitive, Primitive, SinglePrimitive
from stagec.core.zero import is_zero, zero_of
from stagec.primitives.axes import dilated, shape_error
from stagec.primitives.broadcast import instantiate, moveaxis_to_front, spread_to
from stagec.primitives.checks import check_dtype, same_dtype
from stagec.primitives.combining import padded_arrays, slid
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
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

__all__ = ["reduce_window", "reduce_window_p"]


def _general_shape(*avals: ShapedArray, computation: Graph, **window: Any) -> list[ShapedArray]:
    operands, starts = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    for x, init in zip(operands, starts):
        check_dtype("reduce_window", same_dtype("reduce_window", (x, init)), dtypes.ORDINARY)
        if init.shape:
            raise shape_error(
                "reduce_window",
                f"the initial value must have rank 0, got {init.long()}",
                "pass one element of it, as in value[0]",
            )
        if x.shape != operands[0].shape:
            raise shape_error(
                "reduce_window",
                f"operands {', '.join(a.long() for a in operands)} differ in their shapes",
                "pass operands of one shape, such as broadcast ones",
            )
    return [ShapedArray.of(window_shape("reduce_window", x, **window), x.dtype) for x in operands]


def _general_eval(
    *arrays: Any, computation: Graph, padding: Pairs, base_dilation: tuple[int, ...], **window: Any
) -> list[Any]:
    operands, starts = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
    rank = operands[0].ndim
    found = []
    for x, init in zip(operands, starts):
        view = windows(padded(x, init, padding, base_dilation), **window)
        front = np.moveaxis(view, range(rank, 2 * rank), range(rank))
        count = int(np.prod(front.shape[:rank], dtype=np.int64))
        found.append(front.reshape(count, *front.shape[rank:]))
    return fold(computation, found, starts)


def _general_lower(cx: Any, *values: Any, computation: Graph, **window: Any) -> list[Any]:
    starts = values[len(values) // 2 :]
    if cx.in_avals[0].size == 0 or cx.out_avals[0].size == 0:
        return [cx.broadcast(v, a, ()) for v, a in zip(starts, cx.out_avals)]
    attributes, region = window_attributes(**window), cx.graph_region(computation)
    out = cx.emit("stablehlo.reduce_window", list(values), attributes, None, [region])
    return out if isinstance(out, list) else [out]


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """As `window_jvp`, by the derivative of the user's function; its starts are combined first."""
    out = primitive(*primals, **params)
    if all(map(is_zero, tangents)):
        return out, [zero_of(aval_of(o)) for o in out]
    half, dots = len(primals) // 2, [instantiate(t) for t in tangents]
    combine = with_tangents(params["computation"])
    starts = [*primals[half:], *dots[half:]]
    arrays = slid(combine, padded_arrays([*primals[:half], *dots[:half]], starts, params), params)
    return out, combine([spread_to(s, aval_of(out[0]).shape) for s in starts], arrays)[half:]


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """As `window_batch`; with a start for each element of the batch, written out."""
    computation: Graph = params["computation"]
    half, window = len(args) // 2, with_batch(params)
    xs = [moveaxis_to_front(x, d, size) for x, d in zip(args[:half], dims[:half])]
    starts, axes = args[half:], dims[half:]
    if all(d is None for d in axes):
        return primitive(*xs, *starts, computation=computation, **window), [0] * half
    config = tuple([(low, high, b - 1) for (low, high), b in zip(params["padding"], params["base_dilation"])])
    starts = [v if d == 0 else broadcast_in_dim(v, (size,), ()) for v, d in zip(starts, axes)]
    wide = [pad_p.batch(pad_p, [x, v], [0, 0], size, {"padding_config": config})[0] for x, v in zip(xs, starts)]
    combine = by_graph(computation)
    found = slid(combine, wide, window)
    shape = aval_of(found[0]).shape
    return combine([broadcast_in_dim(v, shape, (0,)) for v in starts], found), [0] * half


reduce_window_p = MultiplePrimitive(
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


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array: ...
@overload
def reduce_window(
    operand: tuple[ArrayLike, ...],
    init_value: Sequence[ArrayLike],
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[Array, ...]: ...
@overload
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any: ...
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements of each position of a sliding window.

    Args:
      operand: an array, or a pytree of arrays of one shape that are reduced together.
      init_value: a scalar that each result starts from, and that fills the padding; one for each operand.
      computation: `(x, y) -> z` of scalars, or of pytrees of them if `operand` is one; associative.
      window_dimensions: the window's sizes, one for each axis.
      window_strides: how far the window moves along each axis.
      padding: `"VALID"`, `"SAME"`, `"SAME_LOWER"`, or `(low, high)` for each axis. A name stands for what it
        is without `base_dilation`.
      base_dilation: distance of the operand's elements once holes are put between them.
      window_dilation: distance of the window's elements.

    Returns:
      An array, or arrays in the structure of what `computation` returns.

    Raises:
      ShapeError: a list does not have one entry for each axis, or the operands have different shapes.

    >>> import numpy as np
    >>> import stagec.lax as lax
    >>> reduce_window(np.array([1, 5, 2, 4]), 0, lax.max, (2,), (2,))
    Array([5, 4], dtype=int32)

    The largest element of each window, and its position:

    >>> def larger(a, b):
    ...     return lax.select(a[0] >= b[0], a[0], b[0]), lax.select(a[0] >= b[0], a[1], b[1])
    >>> reduce_window((np.array([1, 5, 2, 4]), np.arange(4)), (0, 0), larger, (2,), (2,))
    (Array([5, 4], dtype=int32), Array([1, 3], dtype=int32))
    """
    name = "reduce_window"
    values, starts, tree = reduced_leaves(name, operand, init_value)
    avals = [aval_of(v) for v in values]
    aval, rank = avals[0], avals[0].ndim
    dimensions = sizes(window_dimensions, rank, name, "window_dimensions")
    strides = sizes(window_strides, rank, name, "window_strides")
    base = sizes(base_dilation, rank, name, "base_dilation")
    dilation = sizes(window_dilation, rank, name, "window_dilation")
    window = {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": explicit_padding(
            aval.shape,
            [dilated(n, h) for n, h in zip(dimensions, dilation)],
            strides,
            padding,
            name,
        ),
        "base_dilation": base,
        "window_dilation": dilation,
    }
    inits = [convert_element_type(v, a.dtype) for v, a in zip(starts, avals)]
    if any(a.small for a in avals):
        rest: Any = computation, dimensions, strides, padding, base, dilation
        return of_wider(lambda array, start: reduce_window(array, start, *rest), values, inits, tree)
    graph, out_tree = traced_computation(name, computation, [a.dtype for a in avals], tree)
    operation = single_operation(graph)
    if operation is not None and operation.name in _NAMED:
        row, identity = _NAMED[operation.name]
        value = inits[0].value if isinstance(inits[0], Literal) else None
        if value is not None and value == np.asarray(identity(aval.dtype)).astype(aval.dtype):
            return out_tree.unflatten([row(values[0], **window)])
    return out_tree.unflatten(reduce_window_p(*values, *inits, computation=graph, **window))
