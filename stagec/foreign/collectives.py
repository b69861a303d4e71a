"""Collective operations of a program that runs as one process, in which each group has one member."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings, printed
from stagec import lax
from stagec.foreign.site import Site, Value, rule


def _alone(site: Site, name: str = "replica_groups") -> np.ndarray[Any, Any]:
    """The numbers of the processes that an operation names; any but 0 is refused. -1 stands for none."""
    if not site.has(name):
        return np.zeros(1, np.int64)
    given = site.op.attributes[name]
    if isinstance(given, bindings.ir.DenseElementsAttr):
        # One number may stand for any number of elements.
        numbers = np.asarray(given.get_splat_value().value if given.is_splat else given)
    else:
        numbers = np.asarray(printed.mesh_sizes(given)) - 1
    if np.any(numbers > 0):
        raise site.refusal("is between several processes", "export the program for one device")
    return numbers


@rule("partition_id", "replica_id")
def _number(site: Site) -> Value:
    return np.asarray(0, np.uint32)


@rule("all_reduce", "cross-replica-sum", "all_gather", "all_to_all", "reduce_scatter", "collective_reduce")
def _same(site: Site, *operands: Value) -> list[Value]:
    _alone(site)
    return list(operands)


@rule("collective_broadcast")
def _broadcast(site: Site, *operands: Value) -> list[Value]:
    _alone(site)
    # A root that is an operand is the last one.
    return list(operands[: len(site.op.results)])


@rule("collective_permute")
def _permute(site: Site, x: Value) -> Value:
    # A process that receives nothing gets zeros.
    return x if _alone(site, "source_target_pairs").size else lax.full(x.shape, 0, x.dtype)


@rule("async_start")
def _start(site: Site, *operands: Value) -> tuple[Value, ...]:
    return tuple(site.region()(*operands))


@rule("async_done")
def _done(site: Site, results: tuple[Value, ...]) -> list[Value]:
    return list(results)
