"""The rows of collective operations among the elements of a batch, which their batching rules compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.axis import typed_axes, unbound
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MissingRule, Primitive, SinglePrimitive
from stagec.primitives import arithmetic, joining, reduce, slicing
from stagec.primitives.broadcast import linear, moveaxis_to_front, zeros
from stagec.primitives.iota import iota
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.shape import reshape
from stagec.transforms.batch import batch_flat
from stagec.transforms.varying import varies

__all__ = ["all_gather_p", "axis_index_p", "own_part_p", "pmax_p", "pmin_p", "ppermute_p", "psum_p", "pvary_p"]


def _eval(*args: Any, axis_name: Any, **params: Any) -> Any:
    raise unbound(axis_name)


def _lower(cx: Any, *args: Any, axis_name: Any, **params: Any) -> Any:
    raise unbound(axis_name)


def _across(over: Callable[..., Any]) -> Callable[..., Any]:
    """The batching rule of a row: `over` for its own axis; for other axes it is elementwise.

    Args:
      over: `(x, dim, size) -> result`, the same for each element of the batch.
    """

    def rule(primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], size: Any, params: Any) -> Any:
        (x,), (dim,) = args, dims
        if params["axis_name"] != size.name:
            return primitive(x, **params), dim
        return over(x, dim, size), None

    return rule


def _divided(x: Any, dim: int, size: Any, is_split: bool = True) -> Any:
    """A value of all elements along an axis, of which each device has its own element, or all.

    Where devices share no memory, this is where they communicate.
    """
    division = getattr(size, "division", None)
    return x if division is None else division(x, dim, size.name if is_split else None)


def _sum_over(x: Any, dim: int | None, size: Any) -> Any:
    if dim is None:
        return arithmetic.mul(x, literal(int(size), aval_of(x).dtype))
    return reduce.reduce_sum(x, (dim,))


def _psum_transpose(ct: Any, x: Any, *, axis_name: Any) -> list[Any]:
    total = _summed(ct, axis_name)
    return [pvary_p(total, axis_name=axis_name) if axis_name in typed_axes() else total]


def _summed(ct: Any, axis_name: Any) -> Any:
    """The sum of a cotangent over an axis; over a typed one, of what varies along it, and what does not as it is."""
    known = varies(ct, axis_name) if axis_name in typed_axes() else True
    if known is None:
        return sum_of_varying_p(ct, axis_name=axis_name)
    return psum_p(ct, axis_name=axis_name) if known else ct


def _repeated(x: Any, dim: int | None, size: Any) -> tuple[Any, int]:
    return (_divided(moveaxis_to_front(x, None, size), 0, size), 0) if dim is None else (x, dim)


def _vary_batch(primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], size: Any, params: Any) -> Any:
    if params["axis_name"] != size.name:
        return primitive(args[0], **params), dims[0]
    return _repeated(args[0], dims[0], size)


def _alike_batch(primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], size: Any, params: Any) -> Any:
    (x, like), (dim, like_dim) = args, dims
    if params["axis_name"] != size.name:
        return primitive(x, like, **params), dim
    if like_dim is not None:
        return _repeated(x, dim, size)
    return (x if dim is None else reduce.reduce_sum(x, (dim,))), None


_UNDECIDED = MissingRule(
    "a derivative of a gradient that was taken inside of jit or a loop inside of shard_map does not know along which "
    "axes the gradient varies",
    "take the derivative outside of shard_map, or leave jit out inside of it",
)

# The same value, as one that varies along an axis.
pvary_p = SinglePrimitive(
    "pvary",
    shape=lambda x, *, axis_name: x,
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=lambda ct, x, *, axis_name: [psum_p(ct, axis_name=axis_name)],
    batch=_vary_batch,
)
# What `_summed` and `alike` do, where it is not known yet whether the operands vary.
sum_of_varying_p = SinglePrimitive(
    "sum_of_varying",
    shape=lambda x, *, axis_name: x.strip_weak_type(),
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=_UNDECIDED,
    batch=_across(lambda x, dim, size: x if dim is None else reduce.reduce_sum(x, (dim,))),
)
alike_p = SinglePrimitive(
    "alike",
    shape=lambda x, like, *, axis_name: x.strip_weak_type(),
    eval=_eval,
    lower=_lower,
    jvp=linear(0),
    transpose=_UNDECIDED,
    batch=_alike_batch,
)


def alike(x: Any, like: Any) -> Any:
    """A cotangent of `like`: it varies along the typed axes along which `like` does, and is summed over others.

    Where a value that does not vary is used in what does, each element of the axis has a part of its cotangent.
    """
    for name in typed_axes():
        given, wanted = varies(x, name), varies(like, name)
        if given is None or wanted is None:
            x = alike_p(x, like, axis_name=name)
        elif wanted and not given:
            x = pvary_p(x, axis_name=name)
        elif given and not wanted:
            x = psum_p(x, axis_name=name)
    return x


_NO_DERIVATIVE = MissingRule("the extreme over a batch has no rule; sum or gather instead")

psum_p: SinglePrimitive = SinglePrimitive(
    "psum",
    shape=lambda x, *, axis_name: x.strip_weak_type(),
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=_psum_transpose,
    batch=_across(_sum_over),
)


def _extreme(name: str, over: Callable[..., Any]) -> SinglePrimitive:
    return SinglePrimitive(
        name,
        shape=lambda x, *, axis_name: x,
        eval=_eval,
        lower=_lower,
        jvp=_NO_DERIVATIVE,
        transpose=NOT_LINEAR,
        batch=_across(lambda x, dim, size: x if dim is None else over(x, (dim,))),
    )


pmax_p = _extreme("pmax", reduce.reduce_max)
pmin_p = _extreme("pmin", reduce.reduce_min)


def _gather_shape(x: ShapedArray, *, axis_name: Any, size: int) -> ShapedArray:
    return x.update(shape=(size, *x.shape))


def _gather_transpose(ct: Any, x: Any, *, axis_name: Any, size: int) -> list[Any]:
    return [slicing.dynamic_index_in_dim(_summed(ct, axis_name), axis_index_p(axis_name=axis_name), 0, False)]


def _gather_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: Any) -> Any:
    (x,), (dim,) = args, dims
    if params["axis_name"] != size.name:
        return primitive(x, **params), None if dim is None else dim + 1
    return _divided(moveaxis_to_front(x, dim, size), 0, size, is_split=False), None


all_gather_p = SinglePrimitive(
    "all_gather",
    shape=_gather_shape,
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=_gather_transpose,
    batch=_gather_batch,
)


def _permuted(x: Any, perm: Sequence[int]) -> Any:
    """Rows of an array in another order, in runs; zeros where the number is -1."""
    aval = aval_of(x)
    runs: list[list[int]] = []
    for source in perm:
        if runs and (source == runs[-1][-1] + 1 if source >= 0 and runs[-1][-1] >= 0 else source == runs[-1][-1]):
            runs[-1].append(source)
        else:
            runs.append([source])
    pieces = []
    for run in runs:
        if run[0] < 0:
            pieces.append(zeros(aval.update(shape=(len(run), *aval.shape[1:]))))
        else:
            pieces.append(slicing.slice_in_dim(x, run[0], run[-1] + 1))
    return joining.concatenate(pieces, 0) if len(pieces) > 1 else pieces[0]


def _permute_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    (x,), (dim,) = args, dims
    if params["axis_name"] != size.name:
        return primitive(x, **params), dim
    return _divided(_permuted(moveaxis_to_front(x, dim, size), params["perm"]), 0, size), 0


def _inverse(perm: Sequence[int]) -> tuple[int, ...]:
    found = [-1] * len(perm)
    for there, source in enumerate(perm):
        if source >= 0:
            found[source] = there
    return tuple(found)


# `perm` has the number of the source for each element, -1 for what gets zeros.
ppermute_p: SinglePrimitive = SinglePrimitive(
    "ppermute",
    shape=lambda x, *, axis_name, perm: x,
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=lambda ct, x, *, axis_name, perm: [ppermute_p(ct, axis_name=axis_name, perm=_inverse(perm))],
    batch=_permute_batch,
)


def _index_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: Any) -> Any:
    return _divided(iota(np.dtype(np.int32), int(size)), 0, size), 0


axis_index_p = SinglePrimitive(
    "axis_index",
    shape=lambda *, axis_name: ShapedArray.of((), np.dtype(np.int32)),
    eval=_eval,
    lower=_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_index_batch,
)


def _part_shape(x: ShapedArray, *, axis_name: Any, axis: int, count: int) -> ShapedArray:
    return x.update(shape=(*x.shape[:axis], x.shape[axis] // count, *x.shape[axis + 1 :]))


def _part_transpose(ct: Any, x: Any, *, axis_name: Any, axis: int, count: int) -> list[Any]:
    start = arithmetic.mul(axis_index_p(axis_name=axis_name), np.int32(aval_of(ct).shape[axis]))
    return [slicing.dynamic_update_slice_in_dim(zeros(x.aval), ct, start, axis)]


def _part_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    (x,), (dim,), axis, count = args, dims, params["axis"], params["count"]
    if params["axis_name"] != size.name:
        return primitive(x, **{**params, "axis": axis + (dim is not None and dim <= axis)}), dim
    width = aval_of(x).shape[axis + (dim is not None and dim <= axis)] // count
    if dim is not None:

        def own(value: Any, index: Any) -> list[Any]:
            return [slicing.dynamic_slice_in_dim(value, arithmetic.mul(index, np.int32(width)), width, axis)]

        found, _ = batch_flat(own, [x, iota(np.dtype(np.int32), int(size))], [dim, 0], int(size))
        return _divided(found[0], 0, size), 0
    shape = aval_of(x).shape
    parts = reshape(_divided(x, axis, size), (*shape[:axis], count, width, *shape[axis + 1 :]))
    return moveaxis_to_front(parts, axis, size), 0


# The part of an axis that belongs to an element, of `count` parts.
own_part_p: SinglePrimitive = SinglePrimitive(
    "own_part",
    shape=_part_shape,
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=_part_transpose,
    batch=_part_batch,
)
