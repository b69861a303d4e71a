"""linspace, logspace and geomspace."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from stagec.core import dims, dtypes, location
from stagec.core.array import Array
from stagec.numpy.arguments import Placement, on_device, requested_dtype, to_array
from stagec.numpy.promotion import broadcast_to_shape, promote_floating
from stagec.primitives import arithmetic, transcendental
from stagec.primitives.axes import as_int, canonical_axis
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import broadcasted_iota, full_like
from stagec.primitives.logic import eq, select
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import expand_dims, transpose
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["geomspace", "linspace", "logspace"]


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Placement = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike = None,
    axis: int = 0,
    device: Placement = None,
) -> tuple[Array, Array]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Placement = None,
) -> Array | tuple[Array, Array]:
    """`num` evenly spaced numbers from `start` to `stop`.

    Args:
      start, stop: numbers or arrays, which are broadcast; they may be traced.
      num: how many numbers.
      endpoint: whether `stop` is the last.
      retstep: also return the difference of neighbors.
      dtype: of the result; floating by default. Integers are rounded down.
      axis: position of the new axis.

    >>> linspace(0, 1, 3)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    count = _count(num, "linspace")
    first, last = (to_array(v) for v in promote_floating("linspace", start, stop))
    computed = first.dtype
    wanted = computed if dtype is None else requested_dtype(dtype, "linspace")
    shape = np.broadcast_shapes(first.shape, last.shape)
    first, last = (convert_element_type(broadcast_to_shape(v, shape), computed) for v in (first, last))
    intervals = count - 1 if endpoint else count
    rank = len(shape) + 1
    full = (count, *shape)
    part = computed if not dtypes.is_complex(computed) else dtypes.real_dtype(computed)
    fraction = arithmetic.div(broadcasted_iota(part, full, 0), literal(dims.maximum(intervals, 1), part))
    fraction = convert_element_type(fraction, computed)
    rows = broadcast_to_shape(expand_dims(first, (0,)), full)
    ends = broadcast_to_shape(expand_dims(last, (0,)), full)
    out = arithmetic.add(arithmetic.mul(rows, arithmetic.sub(1, fraction)), arithmetic.mul(ends, fraction))
    if endpoint and (dims.is_open(count) or count > 1):
        # Rounding must not move the last number away from `stop`. A single number is `start`.
        out = select(eq(broadcasted_iota(dtypes.int32, full, 0), dims.maximum(intervals, 1)), ends, out)
    if dtypes.is_integer(wanted):
        out = arithmetic.floor(out)
    new_axis = canonical_axis(axis, rank, "linspace")
    if new_axis:
        out = transpose(out, [*range(1, new_axis + 1), 0, *range(new_axis + 1, rank)])
    out = on_device(convert_element_type(out, wanted), device)
    if not retstep:
        return out
    step = arithmetic.div(arithmetic.sub(last, first), intervals) if intervals > 0 else full_like(first, np.nan)
    return out, step


def _count(num: Any, name: str) -> int:
    count = as_int(num, name, "num")
    if count < 0:
        raise location.error(
            ValueError, f"{name}: number of samples, {count}, must not be negative", fix="give num of 0 or more"
        )
    return count


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """`num` numbers from `base**start` to `base**stop`, evenly spaced in their logarithm.

    >>> logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    start, stop = promote_floating("logspace", start, stop)
    powers = linspace(start, stop, num, endpoint, axis=axis)
    base, powers = promote_floating("logspace", base, powers)
    shape = aval_of(powers).shape
    out = arithmetic.pow(to_array(broadcast_to_shape(base, shape)), powers)
    wanted = out.dtype if dtype is None else requested_dtype(dtype, "logspace")
    return convert_element_type(out, wanted)


def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0
) -> Array:
    """`num` numbers from `start` to `stop`, each a constant multiple of the one before.

    >>> geomspace(1, 8, 4)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    count = _count(num, "geomspace")
    first, last = (to_array(v) for v in promote_floating("geomspace", start, stop))
    computed = first.dtype
    wanted = computed if dtype is None else requested_dtype(dtype, "geomspace")
    shape = np.broadcast_shapes(first.shape, last.shape)
    first, last = (convert_element_type(broadcast_to_shape(v, shape), computed) for v in (first, last))
    # Steps of log(stop / start), so that two negative ends work, too.
    ratio = transcendental.log(arithmetic.div(last, first))
    new_axis = canonical_axis(axis, len(shape) + 1, "geomspace")
    steps = linspace(full_like(ratio, 0), ratio, count, endpoint, axis=new_axis)
    full = steps.shape
    rows = broadcast_to_shape(expand_dims(first, (new_axis,)), full)
    ends = broadcast_to_shape(expand_dims(last, (new_axis,)), full)
    out = arithmetic.mul(rows, transcendental.exp(steps))
    position = broadcasted_iota(dtypes.int32, full, new_axis)
    if count > 0:
        out = select(eq(position, 0), rows, out)
    if endpoint and count > 1:
        out = select(eq(position, count - 1), ends, out)
    return convert_element_type(out, wanted)
