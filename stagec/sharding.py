"""Several devices: meshes, and how arrays are split among them. The names are those of `jax.sharding`.

The option `num_cpu_devices` divides the CPU into devices. They share its memory and its cores, so that splitting an
array copies nothing.
"""

from __future__ import annotations

from stagec.api.axis_types import auto_axes, explicit_axes
from stagec.api.shard_map import Infer
from stagec.api.sharded import reshard
from stagec.core.boundary import publish as _publish
from stagec.runtime.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    PartitionSpec,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from stagec.runtime.sharding import NamedSharding, Sharding, SingleDeviceSharding, make_single_device_sharding

__all__ = [
    "AbstractMesh", "AxisType", "Infer", "Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding",
    "auto_axes", "explicit_axes", "get_abstract_mesh", "get_mesh", "make_single_device_sharding", "reshard", "set_mesh",
    "use_abstract_mesh",
]  # fmt: skip


_publish(globals())
