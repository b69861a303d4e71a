"""Meshes: devices arranged along named axes, and the specs that say which axes of an array are split along them."""

from __future__ import annotations

import contextlib
import enum
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from stagec.core import errors, location
from stagec.core.config import state
from stagec.runtime import devices as device_module
from stagec.runtime.devices import Device, devices as devices_of


class AxisType(enum.Enum):
    """How an axis of a mesh takes part in a program; `shard_map` makes the axes that it maps manual."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """Stands in a spec for a dimension that may be split in any way."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()
# The name that `state.overrides` has for the mesh of `set_mesh`.
SPREAD = "mesh"


class PartitionSpec:
    """For each dimension of an array, the axis of a mesh along which it is split.

    An entry is a name, a tuple of names, None for a dimension that is whole, or `PartitionSpec.UNCONSTRAINED`.
    Dimensions beyond the entries are whole. A spec is a sequence of its entries, and a leaf of pytrees.

    Attributes:
      unreduced: axes along which each device has a term of a sum, which is the array. Outside of `shard_map`, the sum
        is what is held, as the term of the first device, and others have zeros.
      reduced: axes along which all devices have the same, and each a term of its cotangent.

    >>> from stagec.sharding import PartitionSpec as P
    >>> P("rows", None, ("x", "y"))
    P('rows', None, ('x', 'y'))
    """

    __slots__ = ("partitions", "reduced", "unreduced")
    UNCONSTRAINED = UNCONSTRAINED
    partitions: tuple[Any, ...]

    def __init__(self, *partitions: Any, unreduced: Set[Any] = frozenset(), reduced: Set[Any] = frozenset()) -> None:
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(axes, Set):
                raise location.error(
                    TypeError,
                    f"PartitionSpec: {name} is {errors.brief(axes)}",
                    fix=f"give a set of names: {{{axes!r}}}",
                )
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        found = []
        for entry in partitions:
            if isinstance(entry, (tuple, list)):
                entry = tuple(entry)
                entry = entry[0] if len(entry) == 1 else (entry or None)
            found.append(entry)
        self.partitions = tuple(found)

    def axes(self, ndim: int = 0) -> tuple[tuple[Any, ...], ...]:
        """For each entry, the names in it; and none for each dimension beyond, up to `ndim`."""
        found = [_names(entry) for entry in self.partitions]
        return (*found, *[()] * (ndim - len(found)))

    def update(self, partitions: Sequence[Any] | None = None, **kwargs: Any) -> PartitionSpec:
        """A spec with other entries."""
        terms = {"unreduced": self.unreduced, "reduced": self.reduced} | kwargs
        return PartitionSpec(*(self.partitions if partitions is None else partitions), **terms)

    def only(self, names: Sequence[Any]) -> PartitionSpec:
        """The spec without other names than these."""
        return self.update([tuple([n for n in entry if n in names]) for entry in self.axes()])

    def of_cotangent(self) -> PartitionSpec:
        """The spec of the cotangents of arrays that have this one."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def index(self, value: Any) -> int:
        """The first dimension with an entry."""
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        """How many dimensions have an entry."""
        return self.partitions.count(value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return self.update([*self, *other])

    def __radd__(self, other: Any) -> PartitionSpec:
        return self.update([*other, *self])

    def __eq__(self, other: object) -> bool:
        return type(other) is PartitionSpec and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.partitions, self.unreduced, self.reduced

    def __reduce__(self) -> Any:
        return _spec_of, self._key()

    def __repr__(self) -> str:
        terms = [
            f"{k}={{{', '.join(sorted(map(repr, v)))}}}" for k in ("unreduced", "reduced") if (v := getattr(self, k))
        ]
        return f"P({', '.join([*map(repr, self.partitions), *terms])})" if terms else f"P{self.partitions!r}"


def _spec_of(partitions: tuple[Any, ...], unreduced: Set[Any], reduced: Set[Any]) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


class Axes(tuple[tuple[Any, ...], ...]):
    """For each axis of a value, the names of a mesh's axes along which it is split, and how the user wrote them.

    Attributes:
      manual: names along which no unconstrained axis is split.
      kept: names along which a value stays split as it is, besides those written.
      source: the mesh and the spec of a value that moves from there to other devices.
    """

    written: PartitionSpec
    manual: frozenset[Any]
    kept: frozenset[Any]
    source: tuple[Mesh, PartitionSpec] | None

    @staticmethod
    def of(
        spec: PartitionSpec,
        ndim: int,
        manual: frozenset[Any] = frozenset(),
        kept: frozenset[Any] = frozenset(),
        source: tuple[Mesh, PartitionSpec] | None = None,
    ) -> Axes:
        made = Axes(spec.axes(ndim))
        made.written, made.manual, made.kept, made.source = spec, manual, kept, source
        return made

    def batched(self, dim: int, names: tuple[Any, ...]) -> Axes:
        """The same for a batch of values along another axis, which is split along `names`, or unconstrained."""
        if not {*names}.isdisjoint([n for entry in self for n in entry]):
            raise location.error(
                ValueError,
                f"vmap: spmd_axis_name={names if len(names) > 1 else names[0]!r} cannot appear in {self.written}, by "
                "which the function splits a value",
                fix="split the batch along another axis of the mesh",
            )
        entries = [*self.written, *[None] * (len(self) - len(self.written))]
        spec = self.written.update([*entries[:dim], names or UNCONSTRAINED, *entries[dim:]])
        return Axes.of(spec, len(self) + 1, self.manual, self.kept)

    def of_cotangent(self, mesh: Any) -> tuple[Any, Axes]:
        """The mesh and the spec for the cotangent of a value that has these."""
        if self.source is not None:
            return self.source[0], Axes.of(self.source[1].of_cotangent(), len(self), source=(mesh, self.written))
        return mesh, Axes.of(self.written.of_cotangent(), len(self), self.manual, self.kept)

    def after(self, given: Sequence[tuple[Any, ...]] | None) -> tuple[tuple[Any, ...], ...]:
        """How a value that is split as `given` is split after this constraint."""
        if given is None or not (self.kept or UNCONSTRAINED in self.written.partitions):
            return self
        taken = self.manual.union(*self)
        free = [i for i, entry in enumerate(self.written) if entry is UNCONSTRAINED]
        found = []
        for i, s in enumerate(self):
            found.append((*[n for n in given[i] if n not in taken and (i in free or n in self.kept)], *s))
        return self if found == [*self] and not free else tuple(found)


def _names(entry: Any) -> tuple[Any, ...]:
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


class _Axes:
    """What meshes of devices and abstract meshes have in common: names, sizes and types of axes."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of each axis, by its name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The name and the size of each axis."""
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types) if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The axes whose use the compiler chooses."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The axes whose use is part of an array's type in JAX."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The axes that a `shard_map` in force maps."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return all(t is AxisType.Auto for t in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        return all(t is AxisType.Explicit for t in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        return all(t is AxisType.Manual for t in self.axis_types)

    def _described(self) -> str:
        shape = ", ".join(f"{n!r}: {s}" for n, s in self.shape_tuple)
        return f"{shape}, axis_types={self.axis_types}" if shape else ""


def _typed(axis_types: Any, names: tuple[Any, ...], default: AxisType) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (default,) * len(names)
    found = (axis_types,) * len(names) if isinstance(axis_types, AxisType) else tuple(axis_types)
    if len(found) != len(names) or not all(isinstance(t, AxisType) for t in found):
        raise location.error(
            ValueError,
            f"Mesh: axis_types={errors.brief(axis_types)} for axes {names}",
            fix="give one AxisType for each axis",
        )
    return found


class AbstractMesh(_Axes):
    """The axes of a mesh without its devices.

    >>> from stagec.sharding import AbstractMesh
    >>> AbstractMesh((2, 4), ("x", "y")).size
    8
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Any],
        axis_types: Any = None,
        *,
        abstract_device: Any = None,
    ) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        self.axis_types = _typed(axis_types, self.axis_names, AxisType.Auto)
        self.abstract_device = abstract_device
        if len(self.axis_sizes) != len(self.axis_names):
            raise location.error(
                ValueError,
                f"AbstractMesh: {len(self.axis_sizes)} sizes for {len(self.axis_names)} names",
                fix="give one size for each name",
            )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def update_axis_types(self, axis_types: Mapping[Any, AxisType]) -> AbstractMesh:
        """A mesh in which some axes, by their names, have other types."""
        known = dict(zip(self.axis_names, self.axis_types))
        return self.update(axis_types=tuple((known | dict(axis_types)).values()))

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None) -> AbstractMesh:
        """A mesh with some of its properties replaced."""
        names = self.axis_names if axis_names is None else tuple(axis_names)
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractMesh and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.axis_sizes, self.axis_names, self.axis_types

    def __repr__(self) -> str:
        return f"AbstractMesh({self._described()})"


class Mesh(_Axes, contextlib.ContextDecorator):
    """Devices arranged along named axes.

    As a context manager, or a decorator, it is the mesh of its block, as `set_mesh` makes it.

    Args:
      devices: an array of devices with one dimension for each name.
      axis_names: a name, or a sequence of names.
      axis_types: an `AxisType` for each axis; by default Auto.

    Raises:
      ValueError: the names do not fit the array.
      UnsupportedError: the devices do not share one memory.

    >>> import stagec, numpy as np
    >>> from stagec.sharding import Mesh
    >>> Mesh(np.array(stagec.devices("cpu")), ("x",)).shape
    OrderedDict([('x', 1)])
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        found = np.asarray(devices, dtype=object)
        if axis_names == () and found.size <= 1:  # a mesh without axes
            found = np.empty((), dtype=object) if found.size == 0 else found
        names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        if found.ndim != len(names):
            raise location.error(
                ValueError,
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got devices.ndim == {found.ndim} and len(axis_names) == {len(names)}",
                fix="reshape the array of devices, as in numpy.array(devices).reshape(2, 4)",
            )
        if len(set(names)) < len(names) or None in names:
            raise location.error(ValueError, f"Mesh: axis names {names}", fix="give each axis a name of its own")
        for device in found.flat:
            if names and not isinstance(device, Device):
                raise location.error(
                    TypeError, f"Mesh: {errors.brief(device)} is no device", fix="pass some of stagec.devices()"
                )
        self.devices = found
        self.axis_names = names
        self.axis_sizes = found.shape
        self.axis_types = _typed(axis_types, names, AxisType.Auto)
        self._before: list[Any] = []
        _check_shared(found)
        self._key = (names, self.axis_sizes, self.axis_types, tuple(found.flat))
        self._hash = hash(self._key)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, in their arrangement."""
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_mesh(self) -> Mesh:
        """The mesh itself, where all of its devices are in this process."""
        if self.is_multi_process:
            raise location.error(
                errors.UnsupportedError,
                f"local_mesh: {self} has devices of several processes",
                fix="make a mesh of stagec.local_devices()",
            )
        return self

    @property
    def local_devices(self) -> list[Device]:
        """The devices that belong to this process."""
        return [d for d in self.devices.flat if d.process_index == device_module.processes[0]]

    @property
    def is_multi_process(self) -> bool:
        """Whether there are devices of several processes."""
        return len({d.process_index for d in self.devices.flat}) > 1

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A mesh with some of its properties replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        self._before.append(state.mesh)
        state.mesh = self
        return self

    def __exit__(self, *_: Any) -> None:
        state.mesh = self._before.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and (self is other or self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def fingerprint(self) -> str:
        """The mesh as text, the same in every process."""
        return f"{self!r} of {', '.join(map(repr, self.devices.flat))}"

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __repr__(self) -> str:
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"

    def __str__(self) -> str:
        return f"Mesh({self._described()})"


def _check_shared(found: np.ndarray[Any, Any]) -> None:
    rank = device_module.processes[0]
    homes = {d.home for d in found.flat if d is not None and d.process_index == rank}
    if len(homes) > 1:
        raise location.error(
            errors.UnsupportedError,
            f"Mesh: {', '.join(map(repr, found.flat))} do not share one memory",
            fix="make a mesh of CPU devices, of which the option num_cpu_devices makes several, or of one other device",
        )


def current_mesh() -> Mesh | AbstractMesh | None:
    """The mesh of the block, or None. A trace that asks is for this mesh alone."""
    state.mesh_reads += 1
    found: Mesh | AbstractMesh | None = state.mesh
    return found


class set_mesh:
    """Make a mesh the one in force, in this thread: for the block of a `with` statement, else from here on.

    >>> import stagec
    >>> from stagec.sharding import PartitionSpec as P
    >>> with stagec.set_mesh(stagec.make_mesh((1,), ("x",))):
    ...     stagec.sharding.get_mesh().axis_names
    ('x',)
    """

    def __init__(self, mesh: Mesh | AbstractMesh | None) -> None:
        if mesh is not None and not isinstance(mesh, _Axes):
            raise location.error(
                TypeError, f"set_mesh: {errors.brief(mesh)} is no mesh", fix="pass what stagec.make_mesh returns"
            )
        if mesh is not None and mesh.manual_axes:
            raise location.error(
                ValueError,
                f"set_mesh: {mesh} contains manual axes: {', '.join(map(repr, mesh.manual_axes))}",
                fix="leave axis_types out, or give axes of type Auto or Explicit; shard_map makes axes manual",
            )
        self._before = state.mesh, spread_mesh()
        self._mesh = mesh
        _put_in_force(None if mesh is None or mesh.empty else mesh, mesh)

    def __enter__(self) -> Mesh | AbstractMesh | None:
        return self._mesh

    def __exit__(self, *_: Any) -> None:
        _put_in_force(*self._before)


def spread_mesh() -> Mesh | None:
    """The mesh whose devices have what no argument says the devices of: that of `set_mesh`."""
    found: Mesh | None = state.overrides.get(SPREAD)
    return found


def _put_in_force(mesh: Mesh | AbstractMesh | None, spread: Any) -> None:
    state.mesh = mesh
    # Among the overrides, which are part of the keys by which calls are found.
    kept = {name: value for name, value in state.overrides.items() if name != SPREAD}
    is_spread = isinstance(spread, Mesh) and not spread.empty and not spread.is_multi_process
    state.override({**kept, SPREAD: spread} if is_spread else kept)


@contextlib.contextmanager
def in_force(mesh: Mesh | AbstractMesh) -> Iterator[None]:
    """Make a mesh the one in force for a block, as `set_mesh` does; it may have manual axes."""
    before = state.mesh, spread_mesh()
    _put_in_force(mesh, mesh)
    try:
        yield
    finally:
        _put_in_force(*before)


def get_mesh() -> Mesh:
    """The mesh of devices in force; one without axes where there is none.

    >>> import stagec
    >>> stagec.sharding.get_mesh().empty
    True
    """
    found = current_mesh()
    return found if isinstance(found, Mesh) else Mesh(np.empty((0,), object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in force; those that a `shard_map` in force maps are manual.

    >>> import stagec
    >>> stagec.sharding.get_abstract_mesh().empty
    True
    """
    found = current_mesh()
    return AbstractMesh((), ()) if found is None else found.abstract_mesh


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices.

    Args:
      axis_sizes: the size of each axis.
      axis_names: their names.
      axis_types: an `AxisType` for each; by default Explicit, as in JAX.
      devices: which devices; by default those of the default platform.

    Raises:
      DeviceError: there are too few devices.
      ValueError: a size is no integer, or the names do not fit the sizes.

    >>> import stagec
    >>> stagec.make_mesh((1, 1), ("x", "y"))
    Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Explicit, Explicit))
    """
    sizes = tuple(axis_sizes)
    wrong = [n for n in sizes if not isinstance(n, (int, np.integer))]
    if wrong:
        raise location.error(
            ValueError,
            f"make_mesh: axis_sizes must be a sequence of ints, got {errors.brief(wrong[0])} in it",
            fix="give the size of each axis, such as make_mesh((2, 4), ('x', 'y'))",
        )
    known = list(devices_of() if devices is None else devices)
    count = math.prod(sizes)
    if len(sizes) != len(axis_names):
        raise location.error(
            ValueError,
            f"make_mesh: {len(sizes)} sizes for {len(axis_names)} names",
            fix="give one size for each name, such as make_mesh((2, 4), ('x', 'y'))",
        )
    if len(known) < count:
        raise location.error(
            errors.DeviceError,
            f"make_mesh: {sizes} needs {count} devices, and there are {len(known)}",
            fix=f"divide the CPU with stagec.config.update('num_cpu_devices', {count}), or make a smaller mesh",
        )
    names = tuple(axis_names)
    arranged = np.array([*known[:count], None], dtype=object)[:-1].reshape(sizes)
    return Mesh(arranged, names, _typed(axis_types, names, AxisType.Explicit))


@contextlib.contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """Make an abstract mesh the one in force for a block, in this thread; with the devices of that of `set_mesh`.

    Raises:
      ValueError: `set_mesh` has a mesh of another number of devices.
    """
    known = spread_mesh()
    chosen: Mesh | AbstractMesh = mesh
    if known is not None and not mesh.empty:
        if mesh.size != known.size:
            raise location.error(
                ValueError,
                f"use_abstract_mesh: {mesh} cannot change the size of the mesh in force, {known}",
                fix=f"use a mesh of {known.size} devices",
            )
        chosen = Mesh(known.devices.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    with in_force(chosen):
        yield
