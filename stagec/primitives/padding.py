"""Slicing and padding, each other's transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import maximum
from stagec.core.graph import Literal
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives.arithmetic import sub_p
from stagec.primitives.axes import shape_error
from stagec.primitives.broadcast import (
    broadcast_in_dim_p,
    in_front,
    linear,
    moveaxis_to_front,
    reduce_sum_p,
    spread_to,
    zeros,
)
from stagec.primitives.checks import i64_array, same_dtype
from stagec.primitives.logic import select_n_p
from stagec.primitives.operand import aval_of

__all__ = ["pad_p", "slice_p"]

Ints = tuple[int, ...]
PaddingConfig = tuple[tuple[int, int, int], ...]


def _slice_shape(x: ShapedArray, *, start_indices: Ints, limit_indices: Ints, strides: Ints) -> ShapedArray:
    if not len(start_indices) == len(limit_indices) == len(strides) == x.ndim:
        raise shape_error(
            "slice",
            f"{x.long()} needs {x.ndim} starts, limits and strides",
            f"give {x.ndim} of each; these are {start_indices}, {limit_indices} and {strides}",
        )
    for n, start, limit, stride in zip(x.shape, start_indices, limit_indices, strides):
        if not 0 <= start <= limit <= n or stride < 1:
            raise shape_error(
                "slice",
                f"{start}:{limit}:{stride} is not within an axis of size {n} of {x.long()}",
                "keep 0 <= start <= limit <= size and strides positive; x[start:stop] clips",
            )
    return x.update(shape=[(b - a + s - 1) // s for a, b, s in zip(start_indices, limit_indices, strides)])


def _slice_eval(x: Any, *, start_indices: Ints, limit_indices: Ints, strides: Ints) -> Any:
    return x[tuple([slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, strides)])]


def _slice_python(code: Any, x: Any, *, start_indices: Ints, limit_indices: Ints, strides: Ints) -> Any:
    # The ellipsis lets an array without axes stay an array.
    where = (*[slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, strides)], ...)
    return code.view(f"{code.array(x)}[{code.constant(where)}]", x)


def _slice_lower(cx: Any, x: Any, *, start_indices: Ints, limit_indices: Ints, strides: Ints) -> Any:
    return cx.emit(
        "stablehlo.slice",
        [x],
        {
            "start_indices": i64_array(start_indices),
            "limit_indices": i64_array(limit_indices),
            "strides": i64_array(strides),
        },
    )


def _slice_transpose(ct: Any, x: Any, *, start_indices: Ints, limit_indices: Ints, strides: Ints) -> list[Any]:
    shape, got = x.aval.shape, aval_of(ct).shape
    spans = [(n - 1) * s + 1 if n else 0 for n, s in zip(got, strides)]
    config = tuple([(a, n - a - m, s - 1) for a, n, m, s in zip(start_indices, shape, spans, strides)])
    return [pad_p(ct, zeros(ShapedArray.of((), aval_of(ct).dtype)), padding_config=config)]


slice_p = SinglePrimitive(
    "slice",
    shape=_slice_shape,
    eval=_slice_eval,
    lower=_slice_lower,
    python=_slice_python,
    jvp=linear(),
    transpose=_slice_transpose,
    batch=in_front(
        start_indices=lambda v, size: (0, *v), limit_indices=lambda v, size: (size, *v), strides=lambda v, size: (1, *v)
    ),
    numpy_ns=0,
)


def _pad_shape(x: ShapedArray, value: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
    same_dtype("pad", (x, value))
    if value.shape:
        raise shape_error(
            "pad", f"the padding value must have rank 0, got {value.long()}", "pass one element of it, as in value[0]"
        )
    if len(padding_config) != x.ndim or any(interior < 0 for _, _, interior in padding_config):
        raise shape_error(
            "pad",
            f"padding {padding_config} does not fit {x.long()}",
            "give (low, high, interior) for each axis, interior not negative",
        )
    shape = tuple(
        [
            low + high + n + (maximum(n - 1, 0) * interior if interior else 0)
            for n, (low, high, interior) in zip(x.shape, padding_config)
        ]
    )
    if any(n < 0 for n in shape):
        raise shape_error(
            "pad",
            f"padding {padding_config} cuts more than {x.long()} has",
            "cut no more than the axis has: a pad is -size or more",
        )
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def _pad_eval(x: Any, value: Any, *, padding_config: PaddingConfig) -> Any:
    spread = [n + max(n - 1, 0) * interior for n, (_, _, interior) in zip(x.shape, padding_config)]
    out = np.full([n + max(lo, 0) + max(hi, 0) for n, (lo, hi, _) in zip(spread, padding_config)], value, x.dtype)
    where = [slice(max(lo, 0), max(lo, 0) + n, k + 1) for n, (lo, _, k) in zip(spread, padding_config)]
    out[tuple(where)] = x
    cut = [slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi, _) in zip(out.shape, padding_config)]
    return out[tuple(cut)]


def _pad_lower(cx: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> Any:
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    attributes = {
        "edge_padding_low": i64_array(low),
        "edge_padding_high": i64_array(high),
        "interior_padding": i64_array(interior),
    }
    return cx.emit("stablehlo.pad", [x, value], attributes)


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> list[Any]:
    # Cut off the edges, then take the elements between the interior padding.
    nothing = zeros(ShapedArray.of((), aval_of(ct).dtype))
    cut = pad_p(ct, nothing, padding_config=tuple([(-low, -high, 0) for low, high, _ in padding_config]))
    strides = tuple([interior + 1 for _, _, interior in padding_config])
    shape = aval_of(cut).shape
    inside = slice_p(cut, start_indices=(0,) * len(shape), limit_indices=shape, strides=strides)
    if not is_linear(value):
        return [inside, None]
    axes = tuple(range(len(padding_config)))
    remainder = sub_p(reduce_sum_p(ct, axes=axes), reduce_sum_p(inside, axes=axes))
    return [inside if is_linear(x) else None, remainder]


def _pad_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    (x, value), (x_dim, value_dim) = args, dims
    config = ((0, 0, 0), *params["padding_config"])
    x = moveaxis_to_front(x, x_dim, size)
    if value_dim is None:
        return primitive(x, value, padding_config=config), 0
    # A padding value for each element of the batch: pad a mask to find the positions of the padding.
    shape = aval_of(x).shape
    nothing = zeros(ShapedArray.of((), aval_of(x).dtype))
    inner = primitive(x, nothing, padding_config=config)
    no, yes = (Literal(np.asarray(flag), ShapedArray.of((), dtypes.bool_)) for flag in (False, True))
    where = primitive(spread_to(yes, shape), no, padding_config=config)
    fill = broadcast_in_dim_p(value, shape=aval_of(inner).shape, broadcast_dimensions=(0,))
    return select_n_p(where, fill, inner), 0


def _pad_python(code: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> Any:
    return None if any(map(any, padding_config)) else code.view(code.array(x), x)


pad_p = SinglePrimitive(
    "pad",
    shape=_pad_shape,
    eval=_pad_eval,
    lower=_pad_lower,
    python=_pad_python,
    jvp=linear(),
    transpose=_pad_transpose,
    batch=_pad_batch,
)
