"""The rows `gather` and `scatter`, which are each other's transposes, with their derivatives and batched forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.primitive import NOT_LINEAR, Primitive, SinglePrimitive
from stagec.core.zero import is_linear, is_zero
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import instantiate, linear, moveaxis_to_front, reshape_p, zeros
from stagec.primitives.convert import convert_element_type
from stagec.primitives.gather_parts import (
    GatherDimensionNumbers,
    Ints,
    ScatterDimensionNumbers,
    gather_eval,
    gather_lower,
    gather_shape,
)
from stagec.primitives.iota import iota_p
from stagec.primitives.logic import eq, select
from stagec.primitives.operand import aval_of
from stagec.primitives.scatter_parts import (
    scatter_eval,
    scatter_lower,
    scatter_shape,
    window_sizes,
    write_at,
    written_by,
)

__all__ = ["gather_p", "scatter_add_p", "scatter_max_p", "scatter_min_p", "scatter_mul_p", "scatter_p", "scatter_sub_p"]


def _zeros_like(x: Any) -> Any:
    """Zeros of an operand's shape and dtype."""
    aval = x.aval if is_linear(x) else aval_of(x)
    return zeros(aval.strip_weak_type())


def _read(x: Any, indices: Any, updates: ShapedArray, params: dict[str, Any]) -> Any:
    """The elements that a scatter with these parameters would overwrite; 0 for updates that it drops."""
    d = params["dimension_numbers"]
    return gather_p(
        x,
        indices,
        dimension_numbers=d.as_gather(),
        slice_sizes=window_sizes(d, aval_of(x).ndim, updates.shape),
        mode=params["mode"],
        fill_value=0,
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
    )


def _add_at(x: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    return scatter_add_p(x, indices, updates, **params)


def _distinct(indices: Any, params: dict[str, Any]) -> bool:
    """Whether indices are distinct: by promise, or because there is only one."""
    return params["unique_indices"] or math.prod(aval_of(indices).shape[:-1]) <= 1


def _repeated(name: str, what: str) -> errors.StagecError:
    return location.error(
        errors.UnsupportedError,
        f"{name}: {what} where an index may occur twice",
        fix="pass unique_indices=True if no index does",
    )


# scatter


def _scatter_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    x, indices, updates = primals
    out = primitive(*primals, **params)
    x_dot, updates_dot = tangents[0], tangents[2]
    if is_zero(updates_dot) or _distinct(indices, params):
        return out, primitive(instantiate(x_dot), indices, instantiate(updates_dot), **params)
    # Of several updates at one index, one is written: number the updates, and read which number was written.
    aval = aval_of(updates)
    counter = iota_p(dtype=dtypes.int32, shape=(aval.size,), dimension=0)
    numbers = reshape_p(ar.add(counter, 1), new_sizes=aval.shape)
    written = primitive(zeros(aval_of(x).update(dtype=dtypes.int32, weak_type=False)), indices, numbers, **params)
    stays = eq(_read(written, indices, aval, params), numbers)
    kept_dot = instantiate(x_dot)
    if not is_zero(x_dot):
        kept_dot = select(eq(written, 0), kept_dot, _zeros_like(kept_dot))
    return out, _add_at(kept_dot, indices, select(stays, updates_dot, _zeros_like(updates_dot)), params)


def _scatter_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    x_ct = updates_ct = None
    if is_linear(x):
        x_ct = scatter_p(ct, indices, _zeros_like(updates), **params)
    if is_linear(updates):
        if not _distinct(indices, params):
            raise _repeated("scatter", "it has no transpose")
        updates_ct = _read(ct, indices, updates.aval, params)
    return [x_ct, None, updates_ct]


# scatter_add and scatter_sub


def _sum_transpose(pull: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    def transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        updates_ct = pull(_read(ct, indices, updates.aval, params)) if is_linear(updates) else None
        return [ct if is_linear(x) else None, None, updates_ct]

    return transpose


# scatter_mul


def _mul_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    x, indices, updates = primals
    out = primitive(*primals, **params)
    terms = []
    if not is_zero(tangents[0]):
        terms.append(primitive(tangents[0], indices, updates, **params))
    if not is_zero(tangents[2]):
        if not _distinct(indices, params):
            raise _repeated("scatter_mul", "it has no derivative by its updates")
        terms.append(ar.mul(x, _add_at(_zeros_like(x), indices, tangents[2], params)))
    return out, terms[0] if len(terms) == 1 else ar.add(*terms)


def _mul_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if is_linear(x):
        return [scatter_mul_p(ct, indices, updates, **params), None, None]
    if not _distinct(indices, params):
        raise _repeated("scatter_mul", "it has no transpose")
    return [None, None, _read(ar.mul(ct, x), indices, updates.aval, params)]


# scatter_min and scatter_max


def _extreme_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    """The mean of the tangents of all elements with the extreme value."""
    x, indices, updates = primals
    out = primitive(*primals, **params)
    dtype, update_aval = aval_of(x).dtype, aval_of(updates)
    old = convert_element_type(eq(x, out), dtype)
    new = convert_element_type(eq(updates, _read(out, indices, update_aval, params)), dtype)
    total = _add_at(ar.mul(instantiate(tangents[0]), old), indices, ar.mul(instantiate(tangents[2]), new), params)
    return out, ar.div(total, _add_at(old, indices, new, params))


def _scatter_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """The operand and the updates have the batch first; the indices, if they have one, go along with both."""
    d = params["dimension_numbers"]
    x, updates = moveaxis_to_front(args[0], dims[0], size), moveaxis_to_front(args[2], dims[2], size)
    indices = moveaxis_to_front(args[1], dims[1])

    moved = ScatterDimensionNumbers(
        _after(d.update_window_dims),
        _after(d.inserted_window_dims),
        _after(d.scatter_dims_to_operand_dims),
        _after(d.operand_batching_dims),
        d.scatter_indices_batching_dims,
    )
    if dims[1] is None:
        moved = moved._replace(update_window_dims=(0, *moved.update_window_dims))
    else:
        moved = moved._replace(
            operand_batching_dims=(0, *moved.operand_batching_dims),
            scatter_indices_batching_dims=(0, *_after(d.scatter_indices_batching_dims)),
        )
    return primitive(x, indices, updates, **{**params, "dimension_numbers": moved}), 0


# gather


def _gather_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    # Fill values do not depend on the operand.
    return primitive(*primals, **params), primitive(tangents[0], primals[1], **{**params, "fill_value": 0})


def _gather_transpose(
    ct: Any, x: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers, mode: str, **params: Any
) -> list[Any]:
    target = zeros(x.aval.update(dtype=aval_of(ct).dtype))
    hints = {k: params[k] for k in ("indices_are_sorted", "unique_indices")}
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    return [
        scatter_add_p(target, indices, ct, dimension_numbers=numbers, mode=mode, **hints),
        None,
    ]


def _gather_batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    (x, indices), (x_dim, index_dim) = args, dims
    d, sizes = params["dimension_numbers"], params["slice_sizes"]
    x, indices = moveaxis_to_front(x, x_dim), moveaxis_to_front(indices, index_dim)
    others = dict(params)
    if x_dim is None:
        moved = d._replace(
            offset_dims=_after(d.offset_dims), start_indices_batching_dims=_after(d.start_indices_batching_dims)
        )
        # Each element of the batch may read what another one reads.
        others.update(indices_are_sorted=False, unique_indices=False)
    else:
        moved = GatherDimensionNumbers(
            _after(d.offset_dims),
            _after(d.collapsed_slice_dims),
            _after(d.start_index_map),
            _after(d.operand_batching_dims),
            d.start_indices_batching_dims,
        )
        if index_dim is None:
            moved = moved._replace(offset_dims=(0, *moved.offset_dims))
            sizes = (size, *sizes)
        else:
            moved = moved._replace(
                operand_batching_dims=(0, *moved.operand_batching_dims),
                start_indices_batching_dims=(0, *_after(d.start_indices_batching_dims)),
            )
            # Of an empty batch, no element is read.
            sizes = (0 if isinstance(size, int) and size == 0 else 1, *sizes)
    return primitive(x, indices, **{**others, "dimension_numbers": moved, "slice_sizes": sizes}), 0


def _after(axes: Ints) -> Ints:
    """Axes after a new leading one."""
    return tuple([a + 1 for a in axes])


gather_p = SinglePrimitive(
    "gather",
    shape=gather_shape,
    eval=gather_eval,
    lower=gather_lower,
    jvp=_gather_jvp,
    transpose=_gather_transpose,
    batch=_gather_batch,
    numpy_ns=10,
)


# The rows of the scatters.


def _row(
    name: str,
    accepts: frozenset[Any],
    write: Callable[[Any, Any, Any], None],
    combine: Callable[[Any, Any], Any],
    jvp: Any,
    transpose: Any,
) -> SinglePrimitive:
    def shape(
        x: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> ShapedArray:
        return scatter_shape(name, accepts, x, indices, updates, dimension_numbers)

    return SinglePrimitive(
        name,
        shape=shape,
        eval=scatter_eval(write),
        lower=scatter_lower(combine),
        jvp=jvp,
        transpose=transpose,
        batch=_scatter_batch,
        numpy_ns=20,
    )


scatter_p = _row("scatter", dtypes.ELEMENTS, write_at, lambda old, new: new, _scatter_jvp, _scatter_transpose)
scatter_add_p = _row(
    "scatter_add", dtypes.NUMERIC, written_by(np.add), ar.add, linear(0, 2), _sum_transpose(lambda ct: ct)
)
scatter_sub_p = _row(
    "scatter_sub", dtypes.NUMERIC, written_by(np.subtract), ar.sub, linear(0, 2), _sum_transpose(ar.neg)
)
scatter_mul_p = _row("scatter_mul", dtypes.NUMERIC, written_by(np.multiply), ar.mul, _mul_jvp, _mul_transpose)
scatter_min_p = _row("scatter_min", dtypes.ORDINARY, written_by(np.minimum), ar.min, _extreme_jvp, NOT_LINEAR)
scatter_max_p = _row("scatter_max", dtypes.ORDINARY, written_by(np.maximum), ar.max, _extreme_jvp, NOT_LINEAR)
