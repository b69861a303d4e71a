"""Transposes and batched forms of convolutions: convolutions whose axes have other meanings."""

from __future__ import annotations

from typing import Any

from stagec.core.primitive import Primitive
from stagec.core.zero import is_linear
from stagec.primitives.axes import dilated
from stagec.primitives.broadcast import moveaxis_to_front, zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import reshape, rev, transpose
from stagec.primitives.window import Pairs

Ints = tuple[int, ...]


def conv_transpose(row: Primitive, ct: Any, x: Any, kernel: Any, **params: Any) -> list[Any]:
    """The cotangent of one operand, from that of the result and the other operand."""
    operand, other = (x, kernel) if is_linear(x) else (kernel, x)
    if 0 in (*operand.aval.shape, *aval_of(other).shape, *aval_of(ct).shape):
        found = zeros(operand.aval.strip_weak_type())
    else:
        pull = _pull_operand if is_linear(x) else _pull_kernel
        found = pull(row, convert_element_type(ct, aval_of(other).dtype), operand.aval.shape, other, params)
    return [found, None] if is_linear(x) else [None, found]


def _spatial(shape: Ints, spec: Ints) -> Ints:
    return tuple([shape[i] for i in spec[2:]])


def _pull_operand(row: Primitive, ct: Any, shape: Ints, kernel: Any, params: dict[str, Any]) -> Any:
    """Spread cotangents under the flipped kernel, inputs and outputs swapped in each group."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    kernel = rev(kernel, rhs_spec[2:])
    spec = (rhs_spec[1], rhs_spec[0], *rhs_spec[2:])
    if groups > 1:
        kernel = transpose(kernel, rhs_spec)
        outputs, inputs, *space = aval_of(kernel).shape
        kernel = reshape(kernel, (groups, outputs // groups, inputs, *space))
        kernel = transpose(kernel, (0, 2, 1, *range(3, 3 + len(space))))
        kernel = reshape(kernel, (groups * inputs, outputs // groups, *space))
        spec = tuple(range(2 + len(space)))
    ct_shape, kernel_shape = aval_of(ct).shape, aval_of(kernel).shape
    padding: list[tuple[int, int]] = []
    for n, m, k, stride, (low, _), base, dilation in zip(
        _spatial(shape, lhs_spec),
        _spatial(ct_shape, out_spec),
        _spatial(kernel_shape, spec),
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    ):
        span = dilated(k, dilation)
        before = span - 1 - low
        padding.append((before, dilated(n, base) + span - 1 - dilated(m, stride) - before))
    out = row(
        ct,
        kernel,
        window_strides=params["lhs_dilation"],
        padding=tuple(padding),
        lhs_dilation=params["window_strides"],
        rhs_dilation=params["rhs_dilation"],
        dimension_numbers=(out_spec, spec, lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        preferred_element_type=None,
    )
    if params["batch_group_count"] > 1:
        # The groups are in the features, and must come before the batch.
        out = _merged(_split(out, lhs_spec[1], 1, groups), lhs_spec[0], 1)
    return out


def _pull_kernel(row: Primitive, ct: Any, shape: Ints, x: Any, params: dict[str, Any]) -> Any:
    """Slide the spread cotangents over the operand: batch and features swap parts, and so do their groups."""
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    ct_shape, x_shape = aval_of(ct).shape, aval_of(x).shape
    padding: Pairs = ()
    for n, m, k, stride, (low, _), base, dilation in zip(
        _spatial(x_shape, lhs_spec),
        _spatial(ct_shape, out_spec),
        _spatial(shape, rhs_spec),
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
    ):
        padding = (*padding, (low, dilated(k, dilation) - 1 + dilated(m, stride) - dilated(n, base) - low))
    return row(
        x,
        ct,
        window_strides=params["rhs_dilation"],
        padding=padding,
        lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["window_strides"],
        dimension_numbers=tuple([(spec[1], spec[0], *spec[2:]) for spec in (lhs_spec, out_spec, rhs_spec)]),
        feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        preferred_element_type=None,
    )


# Batching: the batch becomes part of an axis that is there already.


def _merged(x: Any, axis: int, groups: int) -> Any:
    """A leading axis merged into `axis` of the others, inside of its `groups`."""
    size, *shape = aval_of(x).shape
    inner = shape[axis] // groups
    x = reshape(x, (size, *shape[:axis], groups, inner, *shape[axis + 1 :]))
    order = [*range(1, axis + 2), 0, *range(axis + 2, len(shape) + 2)]
    shape[axis] *= size
    return reshape(transpose(x, order), shape)


def _split(x: Any, axis: int, groups: int, size: int) -> Any:
    """The reverse of `_merged`."""
    shape = list(aval_of(x).shape)
    inner = shape[axis] // (groups * size)
    x = reshape(x, (*shape[:axis], groups, size, inner, *shape[axis + 1 :]))
    order = [axis + 1, *range(axis + 1), *range(axis + 2, len(shape) + 2)]
    shape[axis] = groups * inner
    return reshape(transpose(x, order), (size, *shape))


def conv_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """A batch of operands joins their batch; one of kernels joins the features; one of both makes groups."""
    (x, kernel), (x_dim, kernel_dim) = args, dims
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    x, kernel = moveaxis_to_front(x, x_dim), moveaxis_to_front(kernel, kernel_dim)
    if kernel_dim is None:
        count = params["batch_group_count"]
        out = primitive(_merged(x, lhs_spec[0], count), kernel, **params)
        return _split(out, out_spec[0], 1, size), 0
    if x_dim is None:
        groups = params["feature_group_count"] * params["batch_group_count"]
        out = primitive(x, _merged(kernel, rhs_spec[0], groups), **params)
        return _split(out, out_spec[1], groups, size), 0
    # Features are grouped, unless the batch is.
    by_batch = params["batch_group_count"] > 1
    name = "batch_group_count" if by_batch else "feature_group_count"
    x = _merged(x, lhs_spec[0 if by_batch else 1], 1)
    out = primitive(x, _merged(kernel, rhs_spec[0], 1), **{**params, name: size * params[name]})
    return _split(out, out_spec[1], 1, size), 0
