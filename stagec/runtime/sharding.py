"""Shardings: which device has which part of an array.

The devices of one mesh share their memory. A sharded array is one buffer, of which each device has a part, and
`addressable_shards` are views of it; nothing is copied when the sharding of an array changes.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stagec.core import errors, location
from stagec.core.aval import ManualAxisType, ShapedArray
from stagec.runtime import devices as device_module
from stagec.runtime.devices import Device, find
from stagec.runtime.mesh import AbstractMesh, Mesh, PartitionSpec, current_mesh

if TYPE_CHECKING:
    from stagec.runtime.array import Array

# A part of an array: a slice of each dimension.
Index = tuple[slice, ...]


class Sharding(abc.ABC):
    """Which device has which part of an array."""

    memory_kind: str | None = None

    @property
    def device_set(self) -> set[Device]:
        """The devices that have parts."""
        return set(self.assignment)

    @property
    @abc.abstractmethod
    def assignment(self) -> tuple[Device, ...]:
        """The devices in the order of the mesh."""

    @property
    def home(self) -> Device:
        """The device whose memory holds this process's part."""
        rank = device_module.processes[0]
        return next(d.home for d in self.assignment if d.process_index == rank)

    @property
    def addressable_devices(self) -> set[Device]:
        """Those of the devices that belong to this process."""
        return {d for d in self.assignment if d.process_index == device_module.processes[0]}

    # The name that libraries written for JAX know.
    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        here = self.addressable_devices
        return tuple([d for d in self.assignment if d in here])

    @property
    def num_devices(self) -> int:
        """How many devices have parts."""
        return len(self.assignment)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return len(self.addressable_devices) == len(self.device_set)

    @property
    def has_addressable_devices(self) -> bool:
        """Whether one of the devices belongs to this process."""
        return bool(self.addressable_devices)

    @property
    @abc.abstractmethod
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole."""

    @abc.abstractmethod
    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a part of an array of this shape.

        Raises:
          ShapeError: the parts would not be of one size.
        """

    @abc.abstractmethod
    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        """The part that each device has, as slices of an array of this shape."""

    def addressable_devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        """The same for the devices of this process."""
        here = self.addressable_devices
        return {d: index for d, index in self.devices_indices_map(global_shape).items() if d in here}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether each device has the same part of an array with so many dimensions under both."""
        if self.assignment != other.assignment:
            return False
        if self._cuts(ndim) == other._cuts(ndim):
            return True
        if not isinstance(self, NamedSharding) or not isinstance(other, NamedSharding) or self.mesh == other.mesh:
            return False
        counts = self.factors(ndim)  # along axes of other names
        whole = not (self.spec.unreduced or other.spec.unreduced)
        return whole and counts == other.factors(ndim) and _indices(self, counts) == _indices(other, counts)

    @abc.abstractmethod
    def _cuts(self, ndim: int) -> Any:
        """What distinguishes this sharding from others of the same devices."""

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Raise `ShapeError` unless arrays of this shape can be split so."""
        self.shard_shape(aval_shape)

    def with_memory_kind(self, kind: str) -> Sharding:
        """The sharding itself: a device has one kind of memory."""
        return self


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    >>> import stagec
    >>> from stagec.sharding import SingleDeviceSharding
    >>> SingleDeviceSharding(stagec.devices("cpu")[0])
    SingleDeviceSharding(device=CpuDevice(id=0))
    """

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self.device = device

    @property
    def assignment(self) -> tuple[Device, ...]:
        return (self.device,)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        return {self.device: (slice(None),) * len(global_shape)}

    def _cuts(self, ndim: int) -> Any:
        return ()

    def __eq__(self, other: object) -> bool:
        return type(other) is SingleDeviceSharding and self.device is other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __reduce__(self) -> Any:
        return SingleDeviceSharding, (self.device,)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r})"


def make_single_device_sharding(device: Device, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays that are whole on one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class NamedSharding(Sharding):
    """Dimensions of an array, split along the axes of a mesh.

    Args:
      mesh: the devices.
      spec: which dimension is split along which axes.

    Raises:
      ValueError: the spec names an axis twice, or one that the mesh has not.

    >>> import stagec
    >>> from stagec.sharding import NamedSharding, PartitionSpec as P
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> NamedSharding(mesh, P("x")).shard_shape((4, 2))
    (4, 2)
    """

    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        if not isinstance(spec, PartitionSpec):
            raise location.error(
                TypeError, f"NamedSharding: {errors.brief(spec)} is no spec", fix="pass a PartitionSpec, such as P('x')"
            )
        self.mesh = mesh
        self.spec = spec
        used: set[Any] = set()
        split = [n for names in self.spec.axes() for n in names]
        for name in (*split, *self.spec.unreduced, *self.spec.reduced):
            if name not in mesh.axis_names:
                raise location.error(
                    ValueError,
                    f"NamedSharding: axis {name!r} of {self.spec} is not found in mesh {mesh}",
                    fix=f"use {', '.join(map(repr, mesh.axis_names))}",
                )
            if name in used:
                raise location.error(
                    ValueError,
                    f"NamedSharding: {self.spec} has duplicate entries for {name!r}",
                    fix="use each axis of the mesh once",
                )
            used.add(name)
        self._hash = hash((mesh, self.spec))

    @property
    def assignment(self) -> tuple[Device, ...]:
        return tuple(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else ()

    @property
    def is_fully_replicated(self) -> bool:
        names = [n for names in self.spec.axes() for n in names]
        return all(self.mesh.shape[n] == 1 for n in (*names, *self.spec.unreduced))

    @property
    def without_terms(self) -> frozenset[Device]:
        """The devices whose terms of an unreduced array are zero: all but the first along each of those axes."""
        if not self.spec.unreduced or not isinstance(self.mesh, Mesh):
            return frozenset()
        first = self.mesh.devices[tuple([0 if n in self.spec.unreduced else slice(None) for n in self.mesh.axis_names])]
        return frozenset(self.assignment) - set(np.ravel(first))

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh along which the parts are the same."""
        split = {n for names in self.spec.axes() for n in names}
        return frozenset(self.mesh.axis_names) - split - self.spec.unreduced

    def factors(self, ndim: int) -> tuple[int, ...]:
        """Into how many parts each of so many dimensions is split."""
        sizes = self.mesh.shape
        return tuple([math.prod(sizes[n] for n in names) for names in self.spec.axes(ndim)])

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        shape = tuple(global_shape)
        if len(self.spec) > len(shape):
            raise location.error(
                errors.ShapeError,
                f"{self!r} is only valid for values of rank at least {len(self.spec)}, but the shape is {shape}",
                fix="leave the last entries of the spec out",
            )
        counts = self.factors(len(shape))
        for axis, (size, count) in enumerate(zip(shape, counts)):
            if size % count:
                raise location.error(
                    errors.ShapeError,
                    f"{self!r} implies that array axis {axis} is partitioned {count} times, but the dimension size is "
                    f"{size} (full shape: {shape})",
                    fix=f"pad the axis to a multiple of {count}, or leave it whole",
                )
        return tuple([size // count for size, count in zip(shape, counts)])

    def filled(self, ndim: int) -> NamedSharding:
        """The sharding with an entry for each axis, as that of results along explicit axes is written in JAX."""
        explicit, spec = self.mesh.explicit_axes, self.spec
        if not explicit or len(spec) == ndim or not all(n in explicit for names in spec.axes() for n in names):
            return self
        return NamedSharding(self.mesh, spec.update([*spec, *[None] * (ndim - len(spec))]))

    def dividing(self, shape: tuple[int, ...]) -> NamedSharding:
        """The sharding that leaves those axes of an array of this shape whole which it cannot divide evenly."""
        entries = [e if n % count == 0 else None for e, n, count in zip(self.spec, shape, self.factors(len(shape)))]
        return NamedSharding(self.mesh, self.spec.update([*entries, *self.spec[len(shape) :]]))

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        return _indices(self, tuple(global_shape))

    def _cuts(self, ndim: int) -> Any:
        if self.is_fully_replicated:
            return ()
        sizes = self.mesh.shape
        terms = frozenset([n for n in self.spec.unreduced if sizes[n] > 1])
        return terms, *[tuple([n for n in names if sizes[n] > 1]) for names in self.spec.axes(ndim)]

    def update(self, **kwargs: Any) -> NamedSharding:
        """A sharding with some of `mesh`, `spec` replaced."""
        return NamedSharding(kwargs.get("mesh", self.mesh), kwargs.get("spec", self.spec))

    def __eq__(self, other: object) -> bool:
        return type(other) is NamedSharding and self.spec == other.spec and self.mesh == other.mesh

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec!r})"


@functools.lru_cache(256)
def _indices(sharding: NamedSharding, shape: tuple[int, ...]) -> Mapping[Device, Index]:
    part = sharding.shard_shape(shape)
    counts = sharding.factors(len(shape))
    mesh = sharding.mesh
    assert isinstance(mesh, Mesh), "an abstract mesh has no devices"
    found: dict[Device, Index] = {}
    for place in np.ndindex(*mesh.axis_sizes):
        at = dict(zip(mesh.axis_names, place))
        index = []
        for names, size, count in zip(sharding.spec.axes(len(shape)), part, counts):
            number = 0
            for name in names:
                number = number * mesh.shape[name] + at[name]
            index.append(slice(number * size, (number + 1) * size) if count > 1 else slice(None))
        found[mesh.devices[place]] = tuple(index)
    return found


class SplitType(ShapedArray):
    """The type of a value that is split among devices, under a mesh with explicit or manual axes."""

    __slots__ = ("manual", "split")
    split: NamedSharding
    manual: ManualAxisType

    @staticmethod
    def of_split(aval: ShapedArray, mesh: AbstractMesh, spec: PartitionSpec, varying: frozenset[Any]) -> SplitType:
        """The type `aval` of a value that is split so, and differs along the manual axes `varying`."""
        made: SplitType = object.__new__(SplitType)
        for name in ShapedArray.__slots__:
            setattr(made, name, getattr(aval, name))
        entries = [*spec, *[None] * (aval.ndim - len(spec))]
        made.split = NamedSharding(mesh, spec.update(entries))
        made.manual = ManualAxisType(varying)
        return made

    @property
    def sharding(self) -> NamedSharding:
        return self.split

    @property
    def mat(self) -> ManualAxisType:
        return self.manual

    def long(self) -> str:
        names = [
            "" if n is None else f"@{n if isinstance(n, str) else '({})'.format(','.join(map(str, n)))}"
            for n in self.split.spec
        ]
        text = f"{self.dtype.name}[{','.join(f'{n}{name}' for n, name in zip(self.shape, names))}]"
        axes = [str(n) for n in self.split.mesh.axis_names if n in self.manual.varying]
        return text + (f"{{V:{axes[0] if len(axes) == 1 else '(' + ','.join(axes) + ')'}}}" if axes else "")

    def _key(self) -> Any:
        return self.update(), self.split, self.manual

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SplitType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Shard:
    """The part of an array that a device has.

    Attributes:
      device: whose it is.
      index: which part, as slices of the whole.
      replica_id: the number of the device among those that have the same part.
      data: the part as an array on the device, which shares its memory with the whole.
    """

    def __init__(
        self, device: Device, index: Index, replica_id: int, block: Array, place: Index, committed: bool, term: bool
    ) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        # The data of this process, and where the part is in it.
        self._block = block
        self._place = place
        self._committed = committed
        # Whether the device has the part, or zeros that others are added to.
        self._term = term

    @property
    def data(self) -> Array:
        part = self._block.part(self._place, self.device, self._committed)
        return part if self._term else type(part).of(np.zeros_like(part.numpy()), part.aval).on(self.device, True)

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


def shards(array: Array, sharding: Sharding) -> list[Shard]:
    """The parts of an array that this process has, in the order of the sharding's devices."""
    shape = array.aval.shape
    here = sharding.addressable_devices
    rows = sharding.devices_indices_map(shape)
    bounds = {d: tuple([s.indices(n)[:2] for s, n in zip(index, shape)]) for d, index in rows.items()}
    starts = [min(bounds[d][axis][0] for d in here) for axis in range(len(shape))]
    block = array if array.local is None else array.local
    if array.local is None:
        starts = [0] * len(shape)
    seen: dict[Any, int] = {}
    zeros = sharding.without_terms if isinstance(sharding, NamedSharding) else ()
    found = []
    for device, index in rows.items():
        key = bounds[device]
        replica = seen[key] = seen.get(key, -1) + 1
        if device in here:
            place = tuple([slice(a - start, b - start) for (a, b), start in zip(key, starts)])
            found.append(Shard(device, index, replica, block, place, array.committed, device not in zeros))
    return found


# Which functions raise RuntimeError without a mesh, as JAX's do.
_RUNTIME_ERRORS = ("jit(in_shardings=)", "jit(out_shardings=)", "with_sharding_constraint")


def as_sharding(given: Any, what: str) -> Sharding:
    """A sharding from itself, a device, or a spec for the mesh in force.

    Args:
      what: the function that takes it, for errors.
    """
    if isinstance(given, NamedSharding) and not isinstance(given.mesh, Mesh):
        # The axes of a mesh, without its devices: those are of the mesh in force.
        mesh = current_mesh()
        if isinstance(mesh, Mesh) and mesh.shape_tuple == given.mesh.shape_tuple:
            return NamedSharding(mesh.update(axis_types=given.mesh.axis_types), given.spec)
    if isinstance(given, Sharding):
        return given
    if isinstance(given, (Device, str)):
        return SingleDeviceSharding(find(given))
    if not isinstance(given, PartitionSpec):
        raise location.error(
            TypeError,
            f"{what}: {errors.brief(given)} is no sharding",
            fix="pass a NamedSharding, a PartitionSpec under stagec.set_mesh(mesh), or a device",
        )
    mesh = current_mesh()
    if not isinstance(mesh, Mesh):
        raise location.error(
            RuntimeError if what in _RUNTIME_ERRORS else ValueError,
            f"{what}: {given} names axes of a mesh, and no mesh is in force: it requires a non-empty mesh",
            fix="call it under `with stagec.set_mesh(mesh):`, or pass NamedSharding(mesh, spec)",
        )
    return NamedSharding(mesh, given)


ShapedArray.sharding_of = lambda aval: NamedSharding(AbstractMesh((), ()), PartitionSpec(*[None] * aval.ndim))
