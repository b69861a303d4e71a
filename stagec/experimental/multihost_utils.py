"""What `jax.experimental.multihost_utils` has, for a program that runs in one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.api.blocks import gathered
from stagec.api.sharded import make_array_from_process_local_data
from stagec.core import pytree
from stagec.core.boundary import publish as _publish
from stagec.core.callables import X
from stagec.runtime.mesh import Mesh
from stagec.runtime.processes import all_gather, world
from stagec.runtime.sharding import NamedSharding

__all__ = [
    "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array", "host_local_array_to_global_array",
    "process_allgather", "reached_preemption_sync_point", "sync_global_devices",
]  # fmt: skip


def sync_global_devices(name: str) -> None:
    """Wait until all processes are here.

    Args:
      name: for messages.
    """
    found = world()
    if found is not None:
        found.comm.barrier()


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes should save their state at a step, as they will be stopped: nobody announces that here.

    >>> reached_preemption_sync_point(3)
    False
    """
    return False


def broadcast_one_to_all(in_tree: X, is_source: bool | None = None) -> X:
    """The pytree of the first process, in all, as NumPy arrays.

    Args:
      is_source: whether this process's is taken; by default that of process 0.

    >>> broadcast_one_to_all({"a": 1})
    {'a': array(1)}
    """
    known = world()
    if known is None:
        alone: X = pytree.map_leaves(np.asarray, in_tree)
        return alone
    source = known.comm.allreduce(known.rank if is_source else 0) if is_source is not None else 0

    def one(leaf: Any) -> Any:
        value = np.array(leaf)
        return all_gather(known.comm, 0, value[None])[source]

    found: X = pytree.map_leaves(one, in_tree)
    return found


def process_allgather(in_tree: X, tiled: bool = False) -> X:
    """The arrays of all processes, stacked, or joined where `tiled`; an array of several devices is whole already.

    >>> import stagec.numpy as snp
    >>> process_allgather(snp.ones(2)).shape
    (1, 2)
    """

    def one(leaf: Any) -> Any:
        if getattr(getattr(leaf, "sharding", None), "num_devices", 1) > 1:
            return gathered(leaf)
        value = np.asarray(leaf)
        found = world()
        if found is None:
            return value if tiled else value[None]
        stacked = all_gather(found.comm, 0, value[None])
        return stacked.reshape(-1, *value.shape[1:]) if tiled else stacked

    found: X = pytree.map_leaves(one, in_tree)
    return found


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values.

    Raises:
      AssertionError: one has others.
    """
    for leaf in pytree.leaves(in_tree):
        everyone = process_allgather(np.asarray(leaf))
        if not all(np.array_equal(one, everyone[0]) for one in everyone):
            raise AssertionError(fail_message or "the processes have different values")


def host_local_array_to_global_array(local_inputs: X, global_mesh: Mesh, pspecs: Any) -> X:
    """Arrays of this process as arrays on the devices of a mesh.

    >>> import stagec, stagec.numpy as snp
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(snp.ones(2), mesh, stagec.P("x")).sharding.spec
    P('x',)
    """
    leaves, tree = pytree.flatten(local_inputs)
    specs = pytree.broadcast_prefix(pspecs, local_inputs)
    rows = zip(leaves, specs)
    found: X = tree.unflatten([make_array_from_process_local_data(NamedSharding(global_mesh, s), v) for v, s in rows])
    return found


def global_array_to_host_local_array(global_inputs: X, global_mesh: Mesh, pspecs: Any) -> X:
    """The blocks of arrays that this process has."""
    found: X = pytree.map_leaves(lambda v: v if getattr(v, "local", None) is None else v.local, global_inputs)
    return found


_publish(globals())
