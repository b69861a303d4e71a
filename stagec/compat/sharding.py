"""Stand-ins for `jax.sharding`: names for annotations and `isinstance`, as stagec has no such objects.

Making one raises `UnsupportedError`.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from stagec.core import errors, location


class _Absent:
    """A class of JAX without instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


def _refuse(name: str) -> NoReturn:
    raise location.error(
        errors.UnsupportedError,
        f"jax.sharding.{name}: stagec runs a program on one device, and has no shardings",
        fix="leave the sharding out; stagec.device_put(x, device) chooses a device",
    )


class Sharding(_Absent):
    """Where the parts of an array are. No array of stagec has parts."""


class NamedSharding(Sharding):
    """A sharding by the names of a mesh's axes."""


class SingleDeviceSharding(Sharding):
    """A sharding on one device."""


class Mesh(_Absent):
    """Devices, arranged along named axes."""


class AbstractMesh(_Absent):
    """The shape of a mesh."""


class PartitionSpec(_Absent):
    """Which axes of an array are split along which axes of a mesh."""


class AxisType(enum.Enum):
    """How an axis of a mesh takes part in a program."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()
