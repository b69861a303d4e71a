"""Rectangular parts of an array, at positions that are known while tracing or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.graph import Literal
from stagec.core.primitive import MultiplePrimitive, Primitive, SinglePrimitive
from stagec.core.zero import is_linear
from stagec.primitives import arithmetic
from stagec.primitives.axes import as_int, as_shape, canonical_axis, canonical_index, shape_error
from stagec.primitives.broadcast import in_front, instantiate, next_axis, zeros
from stagec.primitives.checks import i64_array, same_dtype
from stagec.primitives.convert import convert_element_type
from stagec.primitives.joining import concatenate
from stagec.primitives.logic import lt, select
from stagec.primitives.operand import Operand, as_operand, aval_of, literal, promote_weak_scalars
from stagec.primitives.padding import slice_p
from stagec.primitives.rules import each
from stagec.primitives.shape import broadcast_in_dim, reshape, squeeze
from stagec.primitives.slicing_rules import dynamic_slice_batch, dynamic_update_batch
from stagec.typing import ArrayLike

__all__ = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_slice_p",
    "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "dynamic_update_slice_p",
    "index_in_dim", "slice_in_dim", "split", "split_p",
]  # fmt: skip

Ints = tuple[int, ...]

# slice


def slice_(
    operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """The elements from `start_indices` up to `limit_indices`, at positions known while tracing.

    Raises:
      ShapeError: the bounds are not within the operand.

    >>> import stagec.numpy as snp
    >>> slice_(snp.arange(6), (1,), (6,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    starts = tuple([as_int(i, "slice", "a start") for i in start_indices])
    limits = tuple([as_int(i, "slice", "a limit") for i in limit_indices])
    steps = (1,) * len(starts) if strides is None else tuple([as_int(i, "slice", "a stride") for i in strides])
    return slice_p(as_operand(operand), start_indices=starts, limit_indices=limits, strides=steps)


def slice_in_dim(
    operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """`slice` along one axis; negative bounds count from the end.

    >>> import stagec.numpy as snp
    >>> slice_in_dim(snp.arange(6), 1, -1)
    Array([1, 2, 3, 4], dtype=int32)
    """
    operand = as_operand(operand)
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape), "slice_in_dim")
    size = shape[axis]
    start = 0 if start_index is None else as_int(start_index, "slice_in_dim", "a start")
    limit = size if limit_index is None else as_int(limit_index, "slice_in_dim", "a limit")
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = stride
    return slice_(operand, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One position of an axis, known while tracing.

    Raises:
      IndexingError: the index is out of bounds.

    >>> import stagec.numpy as snp
    >>> index_in_dim(snp.arange(6), -1, keepdims=False)
    Array(5, dtype=int32)
    """
    operand = as_operand(operand)
    axis = canonical_axis(axis, aval_of(operand).ndim, "index_in_dim")
    aval = aval_of(operand)
    position = canonical_index(index, aval.shape[axis], "index_in_dim", f"axis {axis} of {aval.long()}")
    out = slice_in_dim(operand, position, position + 1, 1, axis)
    return out if keepdims else squeeze(out, (axis,))


# split


def _split_shape(x: ShapedArray, *, sizes: Ints, axis: int) -> list[ShapedArray]:
    if sum(sizes) != x.shape[axis] or any(n < 0 for n in sizes):
        raise shape_error(
            "split",
            f"sizes {sizes} do not add up to axis {axis} of {x.long()}",
            "give sizes that add up to the size of the axis",
        )
    return [x.update(shape=(*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]


def _split_lower(cx: Any, x: Any, *, sizes: Ints, axis: int) -> Any:
    (aval,) = cx.in_avals
    out, start = [], 0
    for result, n in zip(cx.out_avals, sizes):
        starts, limits = [0] * aval.ndim, list(aval.shape)
        starts[axis], limits[axis] = start, start + n
        attributes = {
            "start_indices": i64_array(starts),
            "limit_indices": i64_array(limits),
            "strides": i64_array([1] * aval.ndim),
        }
        out.append(cx.emit("stablehlo.slice", [x], attributes, [result]))
        start += n
    return out


def _split_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    return primitive(*primals, **params), primitive(*tangents, **params)


split_p = MultiplePrimitive(
    "split",
    shape=_split_shape,
    eval=lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
    lower=_split_lower,
    jvp=_split_jvp,
    transpose=lambda cts, x, *, sizes, axis: [concatenate([instantiate(ct) for ct in cts], axis)],
    batch=in_front(axis=next_axis),
)


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cut an axis into parts of the given sizes.

    >>> import stagec.numpy as snp
    >>> split(snp.arange(3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    operand = as_operand(operand)
    axis = canonical_axis(axis, aval_of(operand).ndim, "split")
    return list(split_p(operand, sizes=as_shape(tuple(sizes), "split"), axis=axis)) if len(sizes) else []


# dynamic_slice and dynamic_update_slice


def _check_indices(name: str, x: ShapedArray, indices: tuple[ShapedArray, ...]) -> None:
    if len(indices) != x.ndim or any(i.shape for i in indices):
        raise shape_error(
            name,
            f"{x.long()} needs {x.ndim} start indices of rank 0, got {len(indices)}",
            "give one start index for each axis",
        )


def _within(part: Any, size: Any) -> bool:
    # Programs with an axis of no elements are traced for known sizes.
    return (part == 1 and is_open(size)) or bool(0 <= part <= size)


def _dynamic_slice_shape(x: ShapedArray, *indices: ShapedArray, slice_sizes: Ints) -> ShapedArray:
    _check_indices("dynamic_slice", x, indices)
    if len(slice_sizes) != x.ndim or any(not _within(s, n) for s, n in zip(slice_sizes, x.shape)):
        raise shape_error(
            "dynamic_slice",
            f"slice_sizes {slice_sizes} do not fit in {x.long()}",
            "give one size for each axis, at most the operand's",
        )
    return x.update(shape=slice_sizes)


def _clamped(indices: Sequence[Any], shape: Ints, sizes: Ints) -> tuple[slice, ...]:
    starts = [min(max(int(i), 0), n - s) for i, n, s in zip(indices, shape, sizes)]
    return tuple([slice(i, i + s) for i, s in zip(starts, sizes)])


dynamic_slice_p: SinglePrimitive = SinglePrimitive(
    "dynamic_slice",
    shape=_dynamic_slice_shape,
    eval=lambda x, *indices, slice_sizes: x[_clamped(indices, x.shape, slice_sizes)],
    lower=lambda cx, x, *indices, slice_sizes: cx.emit(
        "stablehlo.dynamic_slice", [x, *indices], {"slice_sizes": i64_array(slice_sizes)}
    ),
    jvp=each(lambda x, *rest, slice_sizes: dynamic_slice_p(rest[-1], *rest[:-1], slice_sizes=slice_sizes), None),
    transpose=lambda ct, x, *indices, slice_sizes: [
        dynamic_update_slice_p(zeros(x.aval), ct, *indices),
        *[None] * len(indices),
    ],
    batch=dynamic_slice_batch,
)


def _dynamic_update_shape(x: ShapedArray, update: ShapedArray, *indices: ShapedArray) -> ShapedArray:
    same_dtype("dynamic_update_slice", (x, update))
    _check_indices("dynamic_update_slice", x, indices)
    if update.ndim != x.ndim or any(not _within(m, n) for m, n in zip(update.shape, x.shape)):
        raise shape_error(
            "dynamic_update_slice",
            f"update {update.long()} does not fit in {x.long()}",
            "pass an update of the operand's rank, no larger than it",
        )
    return x.update(weak_type=x.weak_type and update.weak_type)


def _dynamic_update_eval(x: Any, update: Any, *indices: Any) -> Any:
    out = np.array(x)
    out[_clamped(indices, x.shape, update.shape)] = update
    return out


def _dynamic_update_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    return primitive(*primals), primitive(instantiate(tangents[0]), instantiate(tangents[1]), *primals[2:])


def _dynamic_update_transpose(ct: Any, x: Any, update: Any, *indices: Any) -> list[Any]:
    x_ct = update_ct = None
    if is_linear(x):
        written = (update.aval if is_linear(update) else aval_of(update)).update(dtype=aval_of(ct).dtype)
        x_ct = dynamic_update_slice_p(ct, zeros(written), *indices)
    if is_linear(update):
        update_ct = dynamic_slice_p(ct, *indices, slice_sizes=update.aval.shape)
    return [x_ct, update_ct, *[None] * len(indices)]


dynamic_update_slice_p: SinglePrimitive = SinglePrimitive(
    "dynamic_update_slice",
    shape=_dynamic_update_shape,
    eval=_dynamic_update_eval,
    lower=lambda cx, x, update, *indices: cx.emit("stablehlo.dynamic_update_slice", [x, update, *indices]),
    jvp=_dynamic_update_jvp,
    transpose=_dynamic_update_transpose,
    batch=dynamic_update_batch,
)


def _start_indices(name: str, indices: Any, shape: Ints, allowed: bool | Sequence[bool]) -> list[Operand]:
    """Starts as scalars of one signed dtype; negative ones count from the end, where they are allowed."""
    if not isinstance(indices, (tuple, list)):
        array = as_operand(indices)
        if aval_of(array).ndim != 1:
            raise shape_error(
                name, f"start indices {aval_of(array).long()} are not a vector", "pass a tuple of integers"
            )
        indices = [squeeze(slice_in_dim(array, i, i + 1), (0,)) for i in range(aval_of(array).shape[0])]
    if len(indices) != len(shape):
        raise shape_error(
            name, f"got {len(indices)} start indices for {len(shape)} axes", "give one start index for each axis"
        )
    out = []
    wide = any(aval_of(as_operand(i)).dtype.itemsize == 8 for i in indices)
    kind = dtypes.int64 if wide and dtypes.default_int() == dtypes.int64 else dtypes.int32
    for index, size, negative in zip(indices, shape, [allowed] * len(shape) if isinstance(allowed, bool) else allowed):
        operand = as_operand(index)
        aval = aval_of(operand)
        if not dtypes.is_integer(aval.dtype):
            raise shape_error(
                name, f"start indices must be integers, got {aval.long()}", "convert them with astype(int)"
            )
        if dtypes.is_unsigned(aval.dtype):
            if aval.dtype.itemsize >= kind.itemsize:
                operand = arithmetic.min(operand, np.asarray(np.iinfo(kind).max, aval.dtype))
            out.append(convert_element_type(operand, kind))
            continue
        if isinstance(operand, Literal):
            value = int(operand.value)
            if value < 0 and not negative:
                raise location.error(
                    errors.IndexingError,
                    f"{name}: start index {value} for an axis of size {size}",
                    fix="count from 0, or leave allow_negative_indices out",
                )
            value = max(min(value + size if value < 0 else value, size), 0)
            out.append(literal(value, kind))
            continue
        operand = convert_element_type(operand, kind)
        out.append(select(lt(operand, 0), arithmetic.add(operand, size), operand) if negative else operand)
    return out


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A part of fixed size at a position that may be traced.

    Starts are clamped so that the part lies within the operand; negative ones
    count from the end first.

    Args:
      operand: an array.
      start_indices: an integer for each axis, or a vector of them.
      slice_sizes: the result's shape.
      allow_negative_indices: whether negative starts count from the end, for all axes or for each; otherwise they
        are clamped to 0, and refused where they are known.

    >>> import stagec.numpy as snp
    >>> dynamic_slice(snp.arange(6), (5,), (3,))
    Array([3, 4, 5], dtype=int32)
    """
    operand = as_operand(operand)
    starts = _start_indices("dynamic_slice", start_indices, aval_of(operand).shape, allow_negative_indices)
    return dynamic_slice_p(operand, *starts, slice_sizes=as_shape(tuple(slice_sizes), "dynamic_slice"))


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The operand with `update` written at a position that may be traced; starts are clamped.

    >>> import stagec.numpy as snp
    >>> dynamic_update_slice(snp.arange(4), snp.array([7, 8]), (1,))
    Array([0, 7, 8, 3], dtype=int32)
    """
    operand, update = promote_weak_scalars(operand, update)
    starts = _start_indices("dynamic_update_slice", start_indices, aval_of(operand).shape, allow_negative_indices)
    return dynamic_update_slice_p(operand, update, *starts)


def row_at(array: Any, index: Operand) -> Array:
    """Entry `index` of the first axis; the index is traced, not negative, and clamped."""
    shape = aval_of(array).shape[1:]
    zeros = [literal(0, aval_of(index).dtype)] * len(shape)
    return reshape(dynamic_slice_p(array, index, *zeros, slice_sizes=(1, *shape)), shape)


def with_row(array: Any, index: Operand, row: Any) -> Array:
    """The array with another entry `index` of its first axis; the index is as for `row_at`."""
    shape = aval_of(row).shape
    zeros = [literal(0, aval_of(index).dtype)] * len(shape)
    return dynamic_update_slice_p(array, reshape(row, (1, *shape)), index, *zeros)


def dynamic_slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Array:
    """`dynamic_slice` along one axis, all of the others."""
    operand = as_operand(operand)
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape), "dynamic_slice_in_dim")
    starts: list[Any] = [0] * len(shape)
    starts[axis] = start_index
    sizes = [slice_size if i == axis else n for i, n in enumerate(shape)]
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One position of an axis, which may be traced."""
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else squeeze(out, (axis,))


def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """`dynamic_update_slice` along one axis; the update covers the others."""
    operand = as_operand(operand)
    ndim = aval_of(operand).ndim
    starts: list[Any] = [0] * ndim
    starts[canonical_axis(axis, ndim, "dynamic_update_slice_in_dim")] = start_index
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """Write one position of an axis; `update` may lack that axis."""
    operand, update = promote_weak_scalars(operand, update)
    aval, have = aval_of(operand), aval_of(update)
    axis = canonical_axis(axis, aval.ndim, "dynamic_update_index_in_dim")
    if have.ndim != aval.ndim:
        if have.ndim not in (0, aval.ndim - 1):
            raise location.error(
                errors.ShapeError,
                f"dynamic_update_index_in_dim: {have.long()} does not fit {aval.long()}",
                fix=f"give the update {aval.ndim - 1} axes, or {aval.ndim} with size 1 along axis {axis}",
            )
        from_axes = [i for i in range(aval.ndim) if i != axis]
        shape = [1 if i == axis else n for i, n in enumerate(aval.shape)]
        update = _broadcast(update, shape, from_axes)
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)


def _broadcast(x: Operand, shape: Sequence[int], axes: Sequence[int]) -> Operand:
    from_rank = aval_of(x).ndim
    return broadcast_in_dim(x, shape, tuple(axes)[len(axes) - from_rank :])
