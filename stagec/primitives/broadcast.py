"""Broadcasting and summing, which are each other's transposes, and moves of axes: the rows that all rules use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.core.zero import is_zero
from stagec.primitives.axes import shape_error
from stagec.primitives.checks import i64_array
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.reduction import reduction

__all__ = ["broadcast_in_dim_p", "reduce_sum_p", "reshape_p", "transpose_p"]

Ints = tuple[int, ...]
# For each axis of a result, the operand and the axis that it is.
Follows = list[tuple[int, int] | None]


def spread_to(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand of rank 0 with the shape of what it is combined with."""
    if aval_of(x).shape == shape:
        return x
    return broadcast_in_dim_p(x, shape=shape, broadcast_dimensions=())


def linear(*positions: int) -> Callable[..., Any]:
    """The jvp rule of a row that is linear in the operands at `positions` together; in all of them by default."""

    def rule(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
        out = primitive(*primals, **params)
        indices = positions or range(len(primals))
        operands = list(primals)
        for i in indices:
            operands[i] = instantiate(tangents[i])
        return out, primitive(*operands, **params)

    return rule


def zeros(aval: ShapedArray) -> Any:
    """An array of zeros."""
    return spread_to(literal(0, aval.dtype), aval.shape)


def instantiate(tangent: Any) -> Any:
    """A tangent as a value."""
    return zeros(tangent.aval) if is_zero(tangent) else tangent


def moveaxis_to_front(x: Any, dim: int | None, size: int | None = None) -> Any:
    """An operand with its batch axis first; without one, and with a size, repeated along a new one."""
    aval = aval_of(x)
    if dim is None:
        if size is None:
            return x
        shape = (size, *aval.shape)
        axes = tuple(range(1, len(shape)))
        return broadcast_in_dim_p(x, shape=shape, broadcast_dimensions=axes)
    if dim == 0:
        return x
    order = (dim, *[i for i in range(aval.ndim) if i != dim])
    return transpose_p(x, permutation=order)


def in_front(**moved: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """The batching rule of a row for which a batch is one more axis, in front.

    For each parameter that tells of axes, `moved` has a function of its value and of the batch's size.
    """

    def rule(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
        operands = [moveaxis_to_front(a, d, size) for a, d in zip(args, dims)]
        out = primitive(*operands, **{k: moved[k](v, size) if k in moved else v for k, v in params.items()})
        return out, [0] * len(out) if primitive.multiple else 0

    return rule


def next_axis(axis: int, _: int) -> int:
    return axis + 1


def next_axes(axes: Ints, _: int) -> Ints:
    return tuple([a + 1 for a in axes])


def _sized(sizes: Ints, size: int) -> Ints:
    return (size, *sizes)


def _kept_first(axes: Ints, size: int) -> Ints:
    return (0, *next_axes(axes, size))


# broadcast_in_dim and reduce_sum


def _broadcast_shape(x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise shape_error(
            "broadcast_in_dim",
            f"{x.long()} needs one broadcast dimension for each of its {x.ndim} axes, got {broadcast_dimensions}",
            "name the result's axis that each axis of the operand becomes",
        )
    previous = -1
    for size, axis in zip(x.shape, broadcast_dimensions):
        if not previous < axis < len(shape) or size not in (1, shape[axis]):
            raise shape_error(
                "broadcast_in_dim",
                f"{x.long()} does not broadcast to {shape} along {broadcast_dimensions}",
                "name distinct dimensions, along which the operand's size is 1 or that of the result",
            )
        previous = axis
    return x.update(shape=shape)


def _broadcast_eval(x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Any:
    if len(shape) != x.ndim:
        unit = [1] * len(shape)
        for size, axis in zip(x.shape, broadcast_dimensions):
            unit[axis] = size
        x = x.reshape(unit)
    return repeated(x, shape)


# Up to this many elements, a copy is faster than a view that repeats them.
_SMALL = 1024


def repeated(x: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """NumPy's `broadcast_to`, of an array of the result's rank."""
    size = math.prod(shape)
    if size == x.size:
        return x.reshape(shape)
    if size > _SMALL:
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def _broadcast_python(code: Any, x: Any, *, shape: Ints, broadcast_dimensions: Ints) -> Any:
    (aval,) = code.in_avals
    unit = [1] * len(shape)
    for size, axis in zip(aval.shape, broadcast_dimensions):
        unit[axis] = size
    # Elements are repeated only for operations that do not broadcast themselves.
    return code.view(f"{code.array(x)}.reshape({tuple(unit)})", x, tuple(unit))


def _broadcast_lower(cx: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Any:
    if cx.in_avals[0].shape == shape:
        return x
    if cx.in_avals[0].size == cx.out_avals[0].size:
        return cx.emit("stablehlo.reshape", [x])
    return cx.broadcast(x, cx.out_avals[0], broadcast_dimensions)


def _broadcast_transpose(ct: Any, x: Any, *, shape: Ints, broadcast_dimensions: Ints) -> list[Any]:
    grown = {d for d, n in zip(broadcast_dimensions, x.aval.shape) if n != shape[d]}
    axes = tuple([i for i in range(len(shape)) if i not in broadcast_dimensions or i in grown])
    total = reduce_sum_p(ct, axes=axes) if axes else ct
    return [reshape_p(total, new_sizes=x.aval.shape) if grown else total]


def _broadcast_follows(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> Follows:
    whole = zip(params["broadcast_dimensions"], avals[0].shape)
    axes = {d: (0, i) for i, (d, n) in enumerate(whole) if n == out.shape[d]}
    return [axes.get(d) for d in range(out.ndim)]


broadcast_in_dim_p = SinglePrimitive(
    "broadcast_in_dim",
    shape=_broadcast_shape,
    follows=_broadcast_follows,
    eval=_broadcast_eval,
    lower=_broadcast_lower,
    python=_broadcast_python,
    jvp=linear(),
    transpose=_broadcast_transpose,
    batch=in_front(shape=_sized, broadcast_dimensions=_kept_first),
    numpy_ns=0,
)


def repeat_along(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Operand:
    """The result of a reduction over `axes`, repeated along them to the operand's shape."""
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    return broadcast_in_dim_p(x, shape=shape, broadcast_dimensions=kept)


reduce_sum_p = reduction(
    "reduce_sum",
    accepts=dtypes.NUMERIC,
    eval=np.add,
    combine="stablehlo.add",
    identity=lambda d: 0,
    rounds=True,
    jvp=linear(),
    transpose=lambda ct, x, *, axes: [repeat_along(ct, x.aval.shape, axes)],
)


# reshape and transpose


def _reshape_shape(x: ShapedArray, *, new_sizes: tuple[int, ...]) -> ShapedArray:
    if math.prod(new_sizes) != x.size:
        raise shape_error(
            "reshape",
            f"cannot reshape array of size {x.size} into shape {new_sizes}",
            "keep the number of elements; -1 stands for the size that fits",
        )
    return x.update(shape=new_sizes)


def _reshape_follows(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> Follows:
    """The first axis of each group that is split or joined, as the parts of an axis are blocks of it."""
    found: Follows = [None] * out.ndim
    # Axes that begin after equally many elements belong together.
    starts = {}
    before = 1
    for i, n in enumerate(avals[0].shape):
        if n != 1:
            starts[before] = i
        before *= n
    before = 1
    for i, n in enumerate(out.shape):
        if n != 1 and before in starts:
            found[i] = (0, starts[before])
        before *= n
    return found


reshape_p: SinglePrimitive = SinglePrimitive(
    "reshape",
    shape=_reshape_shape,
    follows=_reshape_follows,
    eval=lambda x, *, new_sizes: x.reshape(new_sizes),
    python=lambda code, x, *, new_sizes: code.view(f"{code.array(x)}.reshape({new_sizes})", x),
    lower=lambda cx, x, *, new_sizes: x if cx.in_avals[0].shape == new_sizes else cx.emit("stablehlo.reshape", [x]),
    jvp=linear(),
    transpose=lambda ct, x, *, new_sizes: [reshape_p(ct, new_sizes=x.aval.shape)],
    batch=in_front(new_sizes=_sized),
    numpy_ns=0,
)


def _transpose_shape(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise shape_error(
            "transpose",
            f"axes {permutation} do not match array {x.long()}",
            f"name each of the {x.ndim} axes once",
        )
    return x.update(shape=[x.shape[i] for i in permutation])


def _inverse(permutation: Ints) -> Ints:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


transpose_p: SinglePrimitive = SinglePrimitive(
    "transpose",
    shape=_transpose_shape,
    follows=lambda avals, out, params: [(0, i) for i in params["permutation"]],
    eval=lambda x, *, permutation: x.transpose(permutation),
    python=lambda code, x, *, permutation: code.view(f"{code.array(x)}.transpose({permutation})", x),
    lower=lambda cx, x, *, permutation: cx.emit("stablehlo.transpose", [x], {"permutation": i64_array(permutation)}),
    jvp=linear(),
    transpose=lambda ct, x, *, permutation: [transpose_p(ct, permutation=_inverse(permutation))],
    batch=in_front(permutation=_kept_first),
    numpy_ns=0,
)
