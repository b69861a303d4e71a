"""What `jax.experimental.multihost_utils` has, for a program that runs in one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.api.sharded import put
from stagec.core import pytree
from stagec.core.boundary import publish as _publish
from stagec.core.callables import X
from stagec.numpy.arguments import array_argument
from stagec.runtime.mesh import Mesh
from stagec.runtime.sharding import NamedSharding

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]


def sync_global_devices(name: str) -> None:
    """Wait until all processes are here: there is one."""


def broadcast_one_to_all(in_tree: X, is_source: bool | None = None) -> X:
    """The pytree of the first process, in all: there is one.

    >>> broadcast_one_to_all({"a": 1})
    {'a': array(1)}
    """
    found: X = pytree.map_leaves(np.asarray, in_tree)
    return found


def process_allgather(in_tree: X, tiled: bool = False) -> X:
    """The arrays of all processes, stacked, or joined where `tiled`; an array of several devices is whole already.

    >>> import stagec.numpy as snp
    >>> process_allgather(snp.ones(2)).shape
    (1, 2)
    """

    def one(leaf: Any) -> Any:
        value = np.asarray(leaf)
        split = getattr(getattr(leaf, "sharding", None), "num_devices", 1) > 1
        return value if tiled or split else value[None]

    found: X = pytree.map_leaves(one, in_tree)
    return found


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values: there is one."""


def host_local_array_to_global_array(local_inputs: X, global_mesh: Mesh, pspecs: Any) -> X:
    """Arrays of this process as arrays on the devices of a mesh.

    >>> import stagec, stagec.numpy as snp
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(snp.ones(2), mesh, stagec.P("x")).sharding.spec
    P('x',)
    """
    leaves, tree = pytree.flatten(local_inputs)
    specs = pytree.broadcast_prefix(pspecs, local_inputs)
    values = [array_argument(v, "host_local_array_to_global_array") for v in leaves]
    found: X = tree.unflatten([put(v, NamedSharding(global_mesh, s)) for v, s in zip(values, specs)])
    return found


def global_array_to_host_local_array(global_inputs: X, global_mesh: Mesh, pspecs: Any) -> X:
    """The parts of arrays that this process has: all of them."""
    return host_local_array_to_global_array(global_inputs, global_mesh, pspecs)


_publish(globals())
