"""Operations of `jax.lax` that are composed of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.trace import operand_rows
from stagec.numpy.arguments import Placement, array_argument, on_device, placed_like, requested_dtype, to_array
from stagec.numpy.interpolation import UNROLL, horner
from stagec.numpy.promotion import broadcast_to_shape
from stagec.primitives import arithmetic as ar, convert, iota, logic
from stagec.primitives.axes import as_shape, canonical_axis
from stagec.primitives.checks import check_dtype, same_dtype
from stagec.primitives.operand import aval_of, promote_weak_scalars
from stagec.primitives.precision import Accuracy, check_accuracy
from stagec.primitives.sort import top_k
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "approx_max_k", "approx_min_k", "broadcast_like", "broadcast_to_rank", "convert_element_type", "dtype", "empty",
    "full", "full_like", "index_take", "log2", "mulhi", "polynomial", "shape_as_value", "stack", "tile", "unstack",
]  # fmt: skip


def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike = None, *, sharding: Placement = None) -> Array:
    """An array whose elements are all `fill_value`, a scalar.

    >>> full((2,), 7)
    Array([7, 7], dtype=int32, weak_type=True)
    """
    return on_device(iota.full(shape, fill_value, dtype), sharding)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Sequence[int] | None = None,
    sharding: Placement = None,
) -> Array:
    """An array of the shape and dtype of `x`, and on its devices, whose elements are all `fill_value`.

    >>> import stagec.numpy as snp
    >>> full_like(snp.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    return on_device(iota.full_like(x, fill_value, dtype, shape), placed_like(x, shape, sharding))


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """The operand repeated along each axis, as often as `reps` says.

    >>> import stagec.numpy as snp
    >>> tile(snp.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    x = array_argument(operand, "tile")
    times = as_shape(reps, "tile")
    if len(times) != x.ndim:
        raise location.error(
            errors.ShapeError,
            f"tile: reps={times} for {aval_of(x).long()}",
            fix="give a number for each axis; stagec.numpy.tile adds axes",
        )
    return snp.tile(x, times)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of one shape and dtype, along a new axis.

    >>> import stagec.numpy as snp
    >>> stack([snp.array([1, 2]), snp.array([3, 4])], 1).tolist()
    [[1, 3], [2, 4]]
    """
    arrays = [array_argument(o, "stack") for o in operands]
    if arrays:
        same_dtype("stack", tuple(aval_of(a) for a in arrays))
    return snp.stack(arrays, axis)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, which they do not have.

    >>> import stagec.numpy as snp
    >>> unstack(snp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    return snp.unstack(array_argument(x, "unstack"), axis=axis)


def log2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """The logarithm to base 2.

    Args:
      accuracy: None, the only accuracy that there is.

    Raises:
      DtypeError: `x` has neither floats nor complex numbers.

    >>> log2(8.0)
    Array(3., dtype=float32, weak_type=True)
    """
    check_accuracy("log2", accuracy)
    x = array_argument(x, "log2")
    check_dtype("log2", aval_of(x).dtype, dtypes.INEXACT)
    return snp.log2(x)


def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike] | Array, *, unroll: int | None = None) -> Array:
    """The polynomial with coefficients `coeffs`, the lowest power first, at `x`, whose dtype it has.

    Args:
      coeffs: numbers, or arrays that broadcast with `x`.
      unroll: more numbers than this, by default 16, are a loop, with so many in each round.

    Raises:
      DtypeError: `x` has bools.

    >>> polynomial(3.0, [1.0, 5.0, 2.0])
    Array(34., dtype=float32, weak_type=True)
    """
    at = array_argument(x, "polynomial")
    check_dtype("polynomial", at.dtype, dtypes.NUMERIC)
    weak = aval_of(at).weak_type
    factors = [convert.convert_element_type(array_argument(c, "polynomial"), at.dtype, weak) for c in coeffs][::-1]
    if not factors:
        return snp.zeros_like(at)
    shapes = [aval_of(f).shape for f in factors]
    first = broadcast_to_shape(factors[0], snp.broadcast_shapes(aval_of(at).shape, *shapes))
    looped = len(factors) > (unroll or UNROLL) and not any(shapes)
    return horner(first, snp.stack(factors[1:]) if looped else factors[1:], at, unroll)


def empty(shape: Sequence[int], dtype: DTypeLike) -> Array:
    """Zeros: an array whose elements are to be replaced.

    >>> empty((2,), "float32").shape
    (2,)
    """
    return snp.zeros(shape, dtype)


def dtype(x: ArrayLike) -> np.dtype[Any]:
    """The dtype that an array or a number has here.

    >>> dtype(1.0)
    dtype('float32')
    """
    if isinstance(x, (type, np.dtype)):
        return requested_dtype(x, "dtype")
    return aval_of(array_argument(x, "dtype")).dtype


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """The array with axes of size 1 added in front, up to a number of axes.

    >>> import stagec.numpy as snp
    >>> broadcast_to_rank(snp.ones(3), 3).shape
    (1, 1, 3)
    """
    value = array_argument(x, "broadcast_to_rank")
    return value.reshape((1,) * (rank - value.ndim) + value.shape)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """The array broadcast to the shape of another one.

    >>> import stagec.numpy as snp
    >>> broadcast_like(snp.ones(3), snp.ones((2, 3))).shape
    (2, 3)
    """
    return snp.broadcast_to(array_argument(arr, "broadcast_like"), array_argument(like_arr, "broadcast_like").shape)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The upper half of the bits of a product of integers, which has twice as many.

    >>> import stagec.numpy as snp
    >>> mulhi(snp.array([2**31], "uint32"), snp.array([6], "uint32"))
    Array([3], dtype=uint32)
    """
    a, b = promote_weak_scalars(x, y)
    kind = same_dtype("mulhi", (aval_of(a), aval_of(b)))
    check_dtype("mulhi", kind, dtypes.INTEGER)
    if len({aval_of(v).ndim for v in (a, b) if aval_of(v).ndim}) > 1:
        raise location.error(
            errors.ShapeError,
            f"mulhi: {aval_of(a).long()} and {aval_of(b).long()} differ in their number of axes",
            operand_rows((a, b)),
            "add axes with x[None]",
        )
    shape = np.broadcast_shapes(aval_of(a).shape, aval_of(b).shape)
    first, second = (array_argument(broadcast_to_shape(o, shape), "mulhi") for o in (a, b))
    # By halves, h * 2^k + l, whose products fit into the dtype.
    half = kind.itemsize * 4
    low = (1 << half) - 1
    unsigned = np.iinfo(kind).min == 0
    shift = logic.shift_right_logical if unsigned else logic.shift_right_arithmetic

    def parts(v: Array) -> tuple[Array, Array]:
        return shift(v, np.asarray(half, kind)), v & np.asarray(low, kind)

    (a_high, a_low), (b_high, b_low) = parts(first), parts(second)
    carry = logic.shift_right_logical(a_low * b_low, np.asarray(half, kind))
    middle = a_high * b_low + carry
    other = a_low * b_high + (middle & np.asarray(low, kind))
    return a_high * b_high + shift(middle, np.asarray(half, kind)) + shift(other, np.asarray(half, kind))


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Convert each element to `new_dtype`.

    Floats out of an integer dtype's range saturate, NaN becomes 0; integers wrap around; complex to
    real drops the imaginary part; to bool is `x != 0`.

    >>> import numpy as np
    >>> convert_element_type(-1, np.uint8)
    Array(255, dtype=uint8)
    """
    return to_array(convert.convert_element_type(operand, new_dtype))


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The `k` largest elements along an axis, and where they are.

    They are exact here: the arguments after `reduction_dimension` are accepted, and change nothing.

    >>> import stagec.numpy as snp
    >>> approx_max_k(snp.array([1.0, 3.0, 2.0]), 2)[1]
    Array([1, 2], dtype=int32)
    """
    if not 0 < recall_target <= 1:
        raise location.error(
            ValueError, f"approx_max_k: recall_target={recall_target!r}", fix="give a share above 0, and 1 at most"
        )
    x = array_argument(operand, "approx_max_k")
    axis = canonical_axis(reduction_dimension, x.ndim, "approx_max_k")
    values, indices = top_k(snp.moveaxis(x, axis, -1), k)
    return snp.moveaxis(values, -1, axis), snp.moveaxis(indices, -1, axis)


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The `k` smallest elements along an axis, and where they are; exact, as `approx_max_k`.

    >>> import stagec.numpy as snp
    >>> approx_min_k(snp.array([1.0, 3.0, 2.0]), 2)[0]
    Array([1., 2.], dtype=float32)
    """
    x = array_argument(operand, "approx_min_k")
    # What reverses the order of all values: -x of the smallest integer is itself.
    reverse = logic.bitwise_not if dtypes.is_integer(x.dtype) else ar.neg
    values, indices = approx_max_k(reverse(x), k, reduction_dimension)
    return reverse(values), indices


def shape_as_value(shape: Sequence[int]) -> Array:
    """A shape as an array of integers.

    >>> shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    return snp.array(as_shape(shape, "shape_as_value"), dtype="int32")


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """The parts of an array at the positions that index arrays give along `axes`.

    Args:
      idxs: arrays of integers of one shape, one for each of `axes`.

    Returns:
      An array with the axis of the index arrays, and then the other axes of `src`.

    >>> import stagec.numpy as snp
    >>> index_take(snp.arange(6).reshape(2, 3), (snp.array([0, 1, 1]), snp.array([2, 0, 1])), (0, 1))
    Array([2, 3, 4], dtype=int32)
    """
    x = array_argument(src, "index_take")
    positive = [canonical_axis(axis, x.ndim, "index_take") for axis in axes]
    if len(idxs) != len(positive):
        raise location.error(
            errors.ShapeError,
            f"index_take: {len(idxs)} index arrays for {len(positive)} axes",
            fix="give an array of integers for each axis",
        )
    return snp.moveaxis(x, positive, range(len(positive)))[tuple([array_argument(i, "index_take") for i in idxs])]
