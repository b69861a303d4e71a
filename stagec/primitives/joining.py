"""Rows that put elements beside others: concatenate, pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives.axes import as_int, canonical_axis, shape_error
from stagec.primitives.operand import aval_of, is_own_array, uniform
from stagec.primitives.rules import linear, spread_to, to_front, zeros
from stagec.primitives.shape import broadcast_in_dim_p
from stagec.primitives.table import i64_array, same_dtype
from stagec.typing import ArrayLike


def _concatenate_shape(*avals: ShapedArray, dimension: int) -> ShapedArray:
    same_dtype("concatenate", avals)
    first = avals[0]
    for a in avals[1:]:
        if a.ndim != first.ndim or any(m != n for i, (m, n) in enumerate(zip(a.shape, first.shape)) if i != dimension):
            raise shape_error(
                "concatenate",
                f"shapes differ outside of axis {dimension}: {', '.join(v.long() for v in avals)}",
                f"all sizes but that of axis {dimension} must agree; slice or pad one of them",
            )
    shape = list(first.shape)
    shape[dimension] = sum(a.shape[dimension] for a in avals)
    return ShapedArray.of(tuple(shape), first.dtype, all(a.weak_type for a in avals))


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    cts, start = [], 0
    for x in xs:
        shape = aval_of(x).shape if not is_linear(x) else x.aval.shape
        stop = start + shape[dimension]
        low = [start if i == dimension else 0 for i in range(len(shape))]
        high = [stop if i == dimension else n for i, n in enumerate(shape)]
        cts.append(
            Primitive.registry["slice"](
                ct, start_indices=tuple(low), limit_indices=tuple(high), strides=(1,) * len(shape)
            )
            if is_linear(x)
            else None
        )
        start = stop
    return cts


concatenate_p = SinglePrimitive(
    "concatenate",
    shape=_concatenate_shape,
    eval=lambda *xs, dimension: np.concatenate(xs, dimension),
    lower=lambda cx, *xs, dimension: cx.emit("stablehlo.concatenate", xs, {"dimension": f"{dimension} : i64"}),
    jvp=linear(),
    transpose=_concatenate_transpose,
    batch=lambda row, args, dims, size, params: (
        row(*[to_front(a, d, size) for a, d in zip(args, dims)], dimension=params["dimension"] + 1),
        0,
    ),
)


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Join arrays of one dtype along an axis.

    Raises:
      ShapeError: the sizes of other axes differ, or there is nothing to join.
      DtypeError: the dtypes differ.

    >>> import stagec.numpy as snp
    >>> concatenate([snp.arange(2), snp.arange(3)], 0)
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    if operands is None or not len(operands):
        raise shape_error("concatenate", "need at least one array to concatenate", "pass one or more arrays")
    values = uniform(*operands)
    axis = canonical_axis(dimension, aval_of(values[0]).ndim, "concatenate")
    return values[0] if len(values) == 1 and is_own_array(values[0]) else concatenate_p(*values, dimension=axis)


PaddingConfig = tuple[tuple[int, int, int], ...]


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
        [low + high + n + max(n - 1, 0) * interior for n, (low, high, interior) in zip(x.shape, padding_config)]
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
    (out,) = cx.out_avals
    if out.dtype != dtypes.complex128:
        return cx.emit("stablehlo.pad", [x, value], attributes)
    # The compiler cannot fill memory with elements of 128 bits.
    avals = [a.update(dtype=dtypes.float64) for a in (*cx.in_avals, out)]
    parts = [
        cx.emit(
            "stablehlo.pad", [cx.emit(name, [v], avals=[a]) for v, a in zip((x, value), avals)], attributes, avals[2:]
        )
        for name in ("stablehlo.real", "stablehlo.imag")
    ]
    return cx.emit("stablehlo.complex", parts)


def _pad_transpose(ct: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> list[Any]:
    inside = None
    if is_linear(x) or is_linear(value):
        # Cut what was added outside, then take what lies between the interior padding.
        nothing = zeros(ShapedArray.of((), aval_of(ct).dtype))
        cut = pad_p(ct, nothing, padding_config=tuple([(-low, -high, 0) for low, high, _ in padding_config]))
        strides = tuple([interior + 1 for _, _, interior in padding_config])
        shape = aval_of(cut).shape
        inside = Primitive.registry["slice"](cut, start_indices=(0,) * len(shape), limit_indices=shape, strides=strides)
    if not is_linear(value):
        return [inside, None]
    every = Primitive.registry["reduce_sum"]
    axes = tuple(range(len(padding_config)))
    rest = Primitive.registry["sub"](every(ct, axes=axes), every(inside, axes=axes))
    return [inside if is_linear(x) else None, rest]


def _pad_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    (x, value), (x_dim, value_dim) = args, dims
    config = ((0, 0, 0), *params["padding_config"])
    x = to_front(x, x_dim, size)
    if value_dim is None:
        return primitive(x, value, padding_config=config), 0
    # A value for each element of the batch: pad with false to see where they belong.
    shape = aval_of(x).shape
    nothing = zeros(ShapedArray.of((), aval_of(x).dtype))
    inner = primitive(x, nothing, padding_config=config)
    no, yes = (Literal(np.asarray(flag), ShapedArray.of((), dtypes.bool_)) for flag in (False, True))
    where = primitive(spread_to(yes, shape), no, padding_config=config)
    fill = broadcast_in_dim_p(value, shape=aval_of(inner).shape, broadcast_dimensions=(0,))
    return Primitive.registry["select_n"](where, fill, inner), 0


pad_p = SinglePrimitive(
    "pad",
    shape=_pad_shape,
    eval=_pad_eval,
    lower=_pad_lower,
    jvp=linear(),
    transpose=_pad_transpose,
    batch=_pad_batch,
)


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Surround and interleave with a value; negative edges cut off.

    Args:
      operand: an array.
      padding_value: a scalar of the same dtype.
      padding_config: `(low, high, interior)` for each axis.

    >>> import stagec.numpy as snp
    >>> pad(snp.array([1, 2, 3]), 0, [(1, -1, 1)])
    Array([0, 1, 0, 2, 0], dtype=int32)
    """
    if any(not isinstance(axis, (tuple, list)) or len(axis) != 3 for axis in padding_config):
        text = f"padding_config is {list(padding_config)}"
        raise shape_error("pad", text, "give (low, high, interior) for each axis")
    config = tuple([tuple([as_int(n, "pad", "a padding") for n in axis]) for axis in padding_config])
    x, value = uniform(operand, padding_value)
    return pad_p(x, value, padding_config=config)
