"""Collective operations of a program that runs as one process, in which each group has one member."""

from __future__ import annotations

import numpy as np

from stagec import lax
from stagec.foreign.site import Site, Value, rule


def _alone(site: Site) -> None:
    """Refuse groups of several processes."""
    for name in ("replica_groups", "source_target_pairs"):
        if site.has(name):
            numbers = np.asarray(site.op.attributes[name])
            several = name == "replica_groups" and numbers.shape[-1] > 1
            if numbers.size and (several or numbers.max() > 0):
                raise site.refusal("is between several processes", "export the program for one device")


@rule("partition_id", "replica_id")
def _number(site: Site) -> Value:
    return np.asarray(0, np.uint32)


@rule("all_reduce", "cross-replica-sum", "all_gather", "all_to_all", "collective_broadcast", "reduce_scatter")
def _same(site: Site, *operands: Value) -> list[Value]:
    _alone(site)
    return list(operands)


@rule("collective_permute")
def _permute(site: Site, x: Value) -> Value:
    _alone(site)
    pairs = np.asarray(site.op.attributes["source_target_pairs"])
    # A process that receives nothing gets zeros.
    return x if pairs.size else lax.full(x.shape, 0, x.dtype)
