"""Arrays without operands: counters along an axis, and constants of a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NO_OPERANDS, SinglePrimitive
from stagec.primitives.axes import as_shape, canonical_axis, shape_error
from stagec.primitives.broadcast import repeated
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import as_operand, aval_of, promotable
from stagec.primitives.shape import broadcast_in_dim
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["broadcasted_iota", "iota", "iota_p", "uninitialized_p", "zeros_like"]


def _iota_shape(*, dtype: np.dtype[Any], shape: tuple[int, ...], dimension: int) -> ShapedArray:
    check_dtype("iota", dtype, dtypes.NUMERIC)
    return ShapedArray.of(shape, dtype)


def _iota_eval(*, dtype: np.dtype[Any], shape: tuple[int, ...], dimension: int) -> Any:
    count = shape[dimension]
    counter = np.arange(count, dtype=dtype) if dtype == dtypes.int32 else np.arange(count).astype(dtype)
    return repeated(counter.reshape([-1 if i == dimension else 1 for i in range(len(shape))]), shape)


def _iota_lower(cx: Any, *, dtype: np.dtype[Any], shape: tuple[int, ...], dimension: int) -> Any:
    return cx.emit("stablehlo.iota", [], {"iota_dimension": f"{dimension} : i64"})


iota_p = SinglePrimitive(
    "iota",
    shape=_iota_shape,
    eval=_iota_eval,
    lower=_iota_lower,
    jvp=NO_OPERANDS,
    transpose=NO_OPERANDS,
    batch=NO_OPERANDS,
    numpy_ns=0.4,
)


def _uninitialized_lower(cx: Any, *, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    from passes.match import UNINITIALIZED  # the compiler's bindings come with it

    # Not a marked constant: MLIR merges equal constants, whatever their marks.
    (aval,) = cx.out_avals
    return cx.emit("stablehlo.optimization_barrier", [cx.constant(np.zeros((), dtype), aval)], {UNINITIALIZED: "unit"})


# Memory whose elements the program writes before it reads them: kernels leave it as it is, others begin with zeros.
uninitialized_p = SinglePrimitive(
    "uninitialized",
    shape=lambda *, dtype, shape: ShapedArray.of(shape, dtype),
    eval=lambda *, dtype, shape: np.zeros(shape, dtype),
    lower=_uninitialized_lower,
    jvp=NO_OPERANDS,
    transpose=NO_OPERANDS,
    batch=NO_OPERANDS,
)


def broadcasted_iota(dtype: DTypeLike, shape: Sequence[int], dimension: int) -> Array:
    """An array whose elements are their own index along `dimension`.

    >>> broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    sizes = as_shape(shape, "broadcasted_iota")
    axis = canonical_axis(dimension, len(sizes), "broadcasted_iota")
    return iota_p(dtype=dtypes.canonicalize(dtype), shape=sizes, dimension=axis)


def iota(dtype: DTypeLike, size: int) -> Array:
    """The numbers 0 to `size - 1`.

    >>> iota("float32", 3)
    Array([0., 1., 2.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike = None) -> Array:
    """An array whose elements are all `fill_value`, a scalar."""
    if dtype is None:
        value = as_operand(fill_value, "fill_value")
    else:
        value = convert_element_type(promotable(fill_value, "fill_value"), dtype)
    sizes = as_shape(shape, "full")
    if aval_of(value).ndim:
        fix = "pass one number, or use stagec.numpy.full, which broadcasts"
        raise shape_error("full", f"fill_value is {aval_of(value).long()}", fix, (value,), ("fill_value",))
    return _spread(value, sizes)


def _spread(value: Any, sizes: Sequence[int]) -> Array:
    return broadcast_in_dim(value, sizes, tuple(range(len(sizes) - aval_of(value).ndim, len(sizes))))


def full_like(
    x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike = None, shape: Sequence[int] | None = None
) -> Array:
    """An array of the shape and dtype of `x` whose elements are all `fill_value`."""
    aval = aval_of(as_operand(x))
    weak = dtype is None and aval.weak_type
    value = convert_element_type(fill_value, aval.dtype if dtype is None else dtype, weak)
    return _spread(value, aval.shape if shape is None else as_shape(shape, "full_like"))


def zeros_like(x: ArrayLike) -> Array:
    """Zeros of the shape and dtype of `x`."""
    return full_like(x, 0)
