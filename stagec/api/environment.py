"""Queries of the environment: types, processes, devices, arrays, versions."""

from __future__ import annotations

import builtins
import contextlib
import gc
import platform as _platform
import sys
from importlib import metadata
from typing import Any, overload

import numpy as np

from stagec.api.arguments import ShapeDtypeStruct, leaf_aval
from stagec.api.flat import operand
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.axis import typed_axes
from stagec.core.callables import X
from stagec.primitives import hitypes
from stagec.primitives.operand import aval_of
from stagec.primitives.references import AbstractRef, Ref
from stagec.runtime import devices as _devices
from stagec.runtime.array import Array
from stagec.runtime.devices import Device
from stagec.runtime.mesh import PartitionSpec, current_mesh
from stagec.runtime.propagation import explicit_mesh, spec_of
from stagec.runtime.sharding import SplitType
from stagec.transforms.varying import varies


@overload
def typeof(x: Ref) -> AbstractRef: ...


@overload
def typeof(x: Any) -> ShapedArray: ...


def typeof(x: Any) -> ShapedArray | AbstractRef:
    """Shape, dtype and weak type of an array, a number, a traced value, a reference, or a `ShapeDtypeStruct`.

    Under a mesh with explicit axes, its `sharding` is how the value is split. Inside of `shard_map`, `mat.varying` are
    the axes along which it differs.

    Raises:
      ArgumentTypeError: `x` is none of these.

    >>> import stagec, numpy
    >>> stagec.typeof(numpy.ones((2, 3), numpy.float32))
    ShapedArray(float32[2,3])
    """
    if isinstance(x, Ref):
        return AbstractRef(x.aval)
    if type(x) in hitypes.types:
        of_library: ShapedArray = hitypes.types[type(x)](x)
        return of_library
    found: ShapedArray = leaf_aval(x) if isinstance(x, ShapeDtypeStruct) else aval_of(operand(x, "x"))
    mesh = current_mesh()
    own = explicit_mesh(x, own=True)
    if mesh is None or (own is not None and own.shape_tuple != mesh.shape_tuple and not mesh.manual_axes):
        mesh = own
    if mesh is None or not (mesh.explicit_axes or mesh.manual_axes):
        return found
    spec = spec_of(x) if mesh.explicit_axes else None
    if spec is None and not mesh.manual_axes:
        return found
    # What is recorded for a later call of a loop or of a jitted function may differ along all axes.
    varying = frozenset([n for n in typed_axes() if varies(x, n) is not False])
    explicit = (spec or PartitionSpec()).only(mesh.explicit_axes)
    return SplitType.of_split(found, mesh.abstract_mesh, explicit, varying)


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """A block without effect: traced values that outlive their function always raise when they are used."""
    return contextlib.nullcontext()


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """A block without effect: traced values that outlive their function always raise when they are used.

    >>> import stagec
    >>> with stagec.checking_leaks():
    ...     stagec.jit(lambda x: x + 1)(1)
    Array(2, dtype=int32, weak_type=True)
    """
    return contextlib.nullcontext()


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform, in all processes.

    >>> import stagec
    >>> stagec.device_count("cpu")
    1
    """
    return len(_devices.devices(backend))


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices of a platform that belong to a process.

    Args:
      process_index: the number of the process; by default this one's.

    >>> import stagec
    >>> stagec.local_devices(backend="cpu")
    [CpuDevice(id=0)]
    """
    chosen = _devices.processes[0] if process_index is None else process_index
    if not 0 <= chosen < _devices.processes[1]:
        raise location.error(
            errors.DeviceError,
            f"local_devices: process_index={process_index!r}, and there are {_devices.processes[1]} processes",
            fix="leave process_index out for those of this process",
        )
    return [d for d in _devices.devices(backend) if d.process_index == chosen]


def process_count(backend: str | None = None) -> int:
    """The number of processes that a program runs in: one, unless `distributed.initialize` has joined more."""
    return _devices.processes[1]


def process_index(backend: str | None = None) -> int:
    """The number of this process among those of a program."""
    return _devices.processes[0]


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of a program's processes."""
    return list(range(_devices.processes[1]))


def effects_barrier() -> None:
    """Wait for callbacks: there is nothing to wait for, as they have run when a call returns."""


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays of this process that somebody refers to and that are not deleted.

    Args:
      platform: only those on its devices, such as `"cpu"`.

    >>> import stagec, stagec.numpy as snp
    >>> x = snp.arange(7.0)
    >>> any(y is x for y in stagec.live_arrays())
    True
    """
    gc.collect()  # arrays that only garbage refers to do not live
    found = [a for a in gc.get_objects() if type(a) is Array and not a.is_deleted()]
    return found if platform is None else [a for a in found if a.home.platform == platform]


def copy_to_host_async(x: X) -> X:
    """Begin to copy the arrays of a pytree to the host's memory, and return the pytree.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.copy_to_host_async([snp.arange(2), 3])
    [Array([0, 1], dtype=int32), 3]
    """
    for leaf in pytree.leaves(x):
        if type(leaf) is Array:
            leaf.copy_to_host_async()
    return x


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions and devices that a bug report should name.

    Args:
      return_string: return the text instead.

    >>> import stagec
    >>> stagec.print_environment_info(return_string=True).splitlines()[0].split(":")[0]
    'stagec'
    """
    rows = [("stagec", sys.modules["stagec"].__version__)]
    for name in ("iree-base-compiler", "iree-base-runtime"):
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    rows += [
        ("numpy", np.__version__),
        ("python", sys.version.replace("\n", " ")),
        ("platform", _platform.platform()),
        ("devices", ", ".join(map(repr, _devices.devices()))),
    ]
    text = "\n".join(f"{name + ':':<20}{value}" for name, value in rows)
    if return_string:
        return text
    builtins.print(text)
    return None
