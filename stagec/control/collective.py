"""Collective operations among the elements of a batch, computed by their batching rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.axis import axis_length, unbound
from stagec.core.callables import X
from stagec.core.primitive import NOT_DIFFERENTIABLE, NOT_LINEAR, MissingRule, Primitive, SinglePrimitive
from stagec.primitives import arithmetic, reduce, shape, slicing
from stagec.primitives.broadcast import linear, moveaxis_to_front
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.iota import iota
from stagec.primitives.operand import Operand, as_operand, aval_of, literal

__all__ = ["all_gather", "axis_index", "axis_size", "pmax", "pmean", "pmin", "psum"]

# A name of a batch's axis, or a tuple of names.
AxisName: TypeAlias = Hashable


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


def _sum_over(x: Any, dim: int | None, size: Any) -> Any:
    if dim is None:
        return arithmetic.mul(x, literal(int(size), aval_of(x).dtype))
    return reduce.reduce_sum(x, (dim,))


_NO_DERIVATIVE = MissingRule("the extreme over a batch has no rule; sum or gather instead")

psum_p: SinglePrimitive = SinglePrimitive(
    "psum",
    shape=lambda x, *, axis_name: x.strip_weak_type(),
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=lambda ct, x, *, axis_name: [psum_p(ct, axis_name=axis_name)],
    batch=_across(_sum_over),
)
pmax_p = SinglePrimitive(
    "pmax",
    shape=lambda x, *, axis_name: x,
    eval=_eval,
    lower=_lower,
    jvp=_NO_DERIVATIVE,
    transpose=NOT_LINEAR,
    batch=_across(lambda x, dim, size: x if dim is None else reduce.reduce_max(x, (dim,))),
)
pmin_p = SinglePrimitive(
    "pmin",
    shape=lambda x, *, axis_name: x,
    eval=_eval,
    lower=_lower,
    jvp=_NO_DERIVATIVE,
    transpose=NOT_LINEAR,
    batch=_across(lambda x, dim, size: x if dim is None else reduce.reduce_min(x, (dim,))),
)


def _gather_shape(x: ShapedArray, *, axis_name: Any, size: int) -> ShapedArray:
    return x.update(shape=(size, *x.shape))


def _gather_transpose(ct: Any, x: Any, *, axis_name: Any, size: int) -> list[Any]:
    everything = psum_p(ct, axis_name=axis_name)
    mine = axis_index_p(axis_name=axis_name)
    return [slicing.dynamic_index_in_dim(everything, mine, 0, False)]


def _gather_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: Any) -> Any:
    (x,), (dim,) = args, dims
    if params["axis_name"] != size.name:
        return primitive(x, **params), None if dim is None else dim + 1
    return moveaxis_to_front(x, dim, size), None


all_gather_p = SinglePrimitive(
    "all_gather",
    shape=_gather_shape,
    eval=_eval,
    lower=_lower,
    jvp=linear(),
    transpose=_gather_transpose,
    batch=_gather_batch,
)


def _index_batch(primitive: Primitive, args: Any, dims: Any, size: Any, params: Any) -> Any:
    return iota(np.dtype(np.int32), int(size)), 0


axis_index_p = SinglePrimitive(
    "axis_index",
    shape=lambda *, axis_name: ShapedArray.of((), np.dtype(np.int32)),
    eval=_eval,
    lower=_lower,
    jvp=NOT_DIFFERENTIABLE,
    transpose=NOT_LINEAR,
    batch=_index_batch,
)


def _names(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _over_axes(what: str, primitive: Primitive, x: Any, axis_name: Any, groups: Any) -> Any:
    """Apply a row over each named axis to each leaf."""
    if groups is not None:
        raise location.error(
            errors.UnsupportedError,
            f"{what}: axis_index_groups is for devices, and vmap has none",
            fix="leave axis_index_groups out",
        )
    names = _names(axis_name)
    for name in names:
        axis_length(name)

    def one(leaf: Any) -> Any:
        value = as_operand(leaf, what)
        if dtypes.is_bool(aval_of(value).dtype) and primitive is psum_p:
            value = convert_element_type(value, np.dtype(np.int32))
        for name in names:
            value = primitive(value, axis_name=name)
        return as_array(value)

    return pytree.map_leaves(one, x)


def psum(x: X, axis_name: AxisName, *, axis_index_groups: None = None) -> X:
    """The sum over all elements of a batch that `vmap(..., axis_name=...)` maps.

    Args:
      x: pytree of arrays. A Python number gives a number: `psum(1, name)` is the axis's length.
      axis_name: a name, or a tuple of names.

    Raises:
      NameError: no `vmap` in force has that name.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(snp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic) and axis_index_groups is None:
        total: Any = x
        for name in _names(axis_name):
            total = total * axis_length(name)
        return total
    return _over_axes("psum", psum_p, x, axis_name, axis_index_groups)


def pmean(x: X, axis_name: AxisName, *, axis_index_groups: None = None) -> X:
    """The mean over all elements of a batch; arguments as those of `psum`."""
    count = psum(1, axis_name)

    def one(total: Any) -> Any:
        aval = aval_of(as_operand(total))
        if not dtypes.is_inexact(aval.dtype):
            total = convert_element_type(total, dtypes.canonicalize(float))
        return arithmetic.div(total, count)

    return pytree.map_leaves(one, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: X, axis_name: AxisName, *, axis_index_groups: None = None) -> X:
    """The largest over all elements of a batch; arguments as those of `psum`. It has no derivative."""
    return _over_axes("pmax", pmax_p, x, axis_name, axis_index_groups)


def pmin(x: X, axis_name: AxisName, *, axis_index_groups: None = None) -> X:
    """The smallest over all elements of a batch; arguments as those of `psum`. It has no derivative."""
    return _over_axes("pmin", pmin_p, x, axis_name, axis_index_groups)


def all_gather(x: X, axis_name: AxisName, *, axis_index_groups: None = None, axis: int = 0, tiled: bool = False) -> X:
    """All elements of a batch, in each of them.

    Args:
      x: pytree of arrays.
      axis: where the batch's axis goes.
      tiled: join the elements along `axis` rather than stack them.
    """
    if axis_index_groups is not None or isinstance(axis_name, (tuple, list)):
        raise location.error(
            errors.UnsupportedError,
            "all_gather: one axis at a time, without groups",
            fix="gather along one axis after the other",
        )
    size = axis_length(axis_name)

    def one(leaf: Any) -> Operand:
        value = as_operand(leaf, "all_gather")
        rank = aval_of(value).ndim + (not tiled)
        position = axis + rank if axis < 0 else axis
        if not 0 <= position < rank:
            raise location.error(
                errors.AxisError,
                f"all_gather: axis {axis} of {rank} axes",
                fix=f"give an axis from {-rank} to {rank - 1}",
            )
        out = all_gather_p(value, axis_name=axis_name, size=size)
        count = aval_of(out).ndim
        order = [*range(1, position + 1), 0, *range(position + 1, count)]
        out = shape.transpose(out, order) if position else out
        if tiled:
            full = list(aval_of(value).shape)
            full[position] *= size
            out = shape.reshape(out, full)
        return out

    return pytree.map_leaves(one, x)


def axis_index(axis_name: AxisName) -> Array:
    """The position of this element in the batch.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> stagec.vmap(lambda x: lax.axis_index("i") * x, axis_name="i")(snp.array([5, 7]))
    Array([0, 7], dtype=int32)
    """
    index: Any = None
    for name in _names(axis_name):
        size = axis_length(name)
        one = axis_index_p(axis_name=name)
        index = one if index is None else arithmetic.add(arithmetic.mul(index, size), one)
    return as_array(literal(0, np.dtype(np.int32))) if index is None else index


def axis_size(axis_name: AxisName) -> int:
    """The length of a named axis."""
    return psum(1, axis_name)
