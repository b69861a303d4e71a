"""Loops that end sooner on one device than on another: each device runs its own, instead of all until the last is done.

A batch of `while_loop` goes on until all elements are done. Along the axis of a mesh, an element is what a device
computes. A scan over the devices, whose rounds do not depend on one another, has their own loops, which cores share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.control.loops import while_p
from stagec.control.scan import scan_p
from stagec.core.axis import Axis
from stagec.core.graph import all_equations, graphs_in
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_closed
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.operand import aval_of
from stagec.primitives.slicing import index_in_dim
from stagec.transforms.batch import reads_axis


def batch(primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], size: Axis, params: dict[str, Any]) -> Any:
    """As the primitive's batching rule, where elements are devices: those that do not communicate stay apart."""
    is_apart = primitive.multiple and _waits(primitive, params)
    if not is_apart or (size.name is not None and reads_axis(params, size.name)):
        return primitive.batch(primitive, args, dims, size, params)
    found = _apart(primitive, args, dims, size, params)
    if not size.typed:
        return found, [0] * len(found)
    # The rule alone knows which results are the same on all devices.
    together = Axis(int(size), size.name, True, size.spmd)
    out_dims = primitive.batch(primitive, args, dims, together, params)[1]
    alike = [index_in_dim(v, 0, 0, False) if d is None else v for v, d in zip(found, out_dims)]
    return alike, [None if d is None else 0 for d in out_dims]


def _waits(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation is, or has in it, a loop whose number of rounds may differ."""
    inner = graphs_in(params)
    if primitive.effects or any(graph.effects for graph in inner):
        return False
    return primitive is while_p or any(e.primitive is while_p for graph in inner for e in all_equations(graph))


def _apart(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], size: int, params: dict[str, Any]
) -> list[Any]:
    """The results of an operation on each element of a batch."""
    order = sorted(range(len(args)), key=lambda i: dims[i] is not None)
    shared = sum(d is None for d in dims)
    values = [args[i] if dims[i] is None else moveaxis_to_front(args[i], dims[i]) for i in order]
    avals = [aval_of(v) for v in values]
    avals[shared:] = [a.update(shape=a.shape[1:]) for a in avals[shared:]]

    def one(*values: Any) -> list[Any]:
        given = dict(zip(order, values))
        return list(primitive(*[given[i] for i in range(len(args))], **params))

    graph = trace_closed(one, avals)
    sizes = {"num_consts": shared, "num_carry": 0}
    return list(scan_p(*values, graph=graph, length=int(size), reverse=False, unroll=1, **sizes))
