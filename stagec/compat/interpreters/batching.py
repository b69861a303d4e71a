"""`jax.interpreters.batching`: batching rules of primitives that users define."""

from __future__ import annotations

from typing import Any

from stagec.api.batching import own_batching
from stagec.compat.primitive import (
    Primitive,
    axis_batchers as axis_primitive_batchers,
    batchers as primitive_batchers,
    fancy_batchers as fancy_primitive_batchers,
)
from stagec.core.containers import node_of
from stagec.numpy.manipulation import broadcast_to, expand_dims, moveaxis

__all__ = [
    "axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting", "defreducer", "defvectorized",
    "fancy_primitive_batchers", "not_mapped", "primitive_batchers", "register_vmappable", "unregister_vmappable",
]  # fmt: skip

# The dimension of an operand that is the same for all elements of a batch.
not_mapped = None


def broadcast(x: Any, sz: int, axis: int, mesh_axis: None = None) -> Any:
    """An array with a new axis of some size, along which it repeats."""
    x = expand_dims(x, axis)
    return broadcast_to(x, (*x.shape[:axis], sz, *x.shape[axis + 1 :]))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: None = None) -> Any:
    """An operand of a batching rule with the batch as its first axis."""
    return broadcast(x, size, 0) if bdim is None else moveaxis(x, bdim, 0)


def defvectorized(prim: Primitive) -> None:
    """Declare that a primitive computes element by element, of operands of one shape."""

    def batch(args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        assert all(d == dims[0] for d in dims), "a batch has one axis in all operands"
        return prim.bind(*args, **params), dims[0]

    primitive_batchers[prim] = batch


def defbroadcasting(prim: Primitive) -> None:
    """Declare that a primitive computes element by element, and that operands broadcast as in NumPy."""

    def batch(args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        rank = max(a.ndim - (d is not None) for a, d in zip(args, dims))
        moved = []
        for a, d in zip(args, dims):
            x = a if d is None else moveaxis(a, d, 0)
            fill = rank - x.ndim + (d is not None)
            moved.append(x if d is None else x.reshape(x.shape[0], *(1,) * fill, *x.shape[1:]))
        out = prim.bind(*moved, **params)
        return out, [0] * len(out) if prim.multiple else 0

    primitive_batchers[prim] = batch


def defreducer(prim: Primitive) -> None:
    """Declare that a primitive reduces its operand along the axes of its parameter `axes`."""

    def batch(args: Any, dims: Any, *, axes: Any, **params: Any) -> tuple[Any, Any]:
        (dim,) = dims
        moved = tuple([a + (a >= dim) for a in axes])
        return prim.bind(*args, axes=moved, **params), dim - sum(a < dim for a in moved)

    primitive_batchers[prim] = batch


def register_vmappable(
    data_type: type, spec_type: type, axis_size_type: type, to_elt: Any, from_elt: Any, make_iota: Any
) -> None:
    """Accept a class that `jax.vmap` maps in a way of its own; `stagec.vmap` refuses its values."""
    if node_of(data_type) is not None:
        own_batching.add(data_type)


def unregister_vmappable(data_type: type) -> None:
    """Forget what `register_vmappable` accepted."""
    own_batching.discard(data_type)
