"""Conversion and checks of the arguments of NumPy's functions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Literal
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import Operand, as_operand, aval_of
from stagec.runtime.array import Array as ConcreteArray
from stagec.runtime.devices import Device, find
from stagec.runtime.memory import aligned_empty
from stagec.runtime.mesh import Axes, Mesh, PartitionSpec, current_mesh
from stagec.runtime.propagation import source_of, spec_of, spread
from stagec.runtime.sharding import NamedSharding, Sharding, SingleDeviceSharding, as_sharding

# What `constrained` is told of the argument of `jit`, whose specs results have as they are written.
OUT_SHARDINGS = "jit(out_shardings=)"
# What says where an array is: a device, or how it is split among several.
Placement: TypeAlias = Device | str | Sharding | PartitionSpec | None


def requested_dtype(dtype: Any, name: str) -> np.dtype[Any]:
    """The dtype that a user asked for by name, with a warning where 64 bits become 32.

    Args:
      dtype: anything that `np.dtype` accepts, or a Python scalar type.
      name: the function that was called.
    """
    found = dtypes.canonicalize(dtype)
    # `float` and `int` mean the default width, and are not a request for 64 bits.
    if isinstance(dtype, type) and dtype in dtypes.python_scalar_types:
        return found
    try:
        asked = np.dtype(dtype)
    except TypeError:
        return found
    if asked != found and asked.itemsize > found.itemsize:
        location.warn(
            f"Explicitly requested dtype {asked.name} in {name} is not available, and will be truncated to dtype "
            f"{found.name}. Set STAGEC_ENABLE_X64=1 or call stagec.config.update('enable_x64', True) to enable it.",
            UserWarning,
        )
    return found


def requested_dtype_of(kind: str, dtype: Any, name: str) -> np.dtype[Any]:
    """As `requested_dtype`, of one kind alone: "an integer", "an inexact" or "a complex" dtype."""
    found = requested_dtype(dtype, name)
    if not _KINDS[kind](found):
        raise location.error(
            errors.DtypeError,
            f"{name}: dtype must be {kind} dtype, got {found.name}",
            fix=f"leave dtype out, or pass {kind} dtype; convert the result with astype",
        )
    return found


_KINDS = {"an integer": dtypes.is_integer, "an inexact": dtypes.is_inexact, "a complex": dtypes.is_complex}


def from_numpy(value: np.ndarray[Any, Any], dtype: np.dtype[Any] | None = None, weak_type: bool = False) -> Array:
    """Copy a NumPy array into an Array with memory of its own."""
    dtype = value.dtype if dtype is None else dtype
    fresh = aligned_empty(value.shape, dtype)
    with np.errstate(all="ignore"):
        fresh[...] = value
    return ConcreteArray.of(fresh, ShapedArray.of(value.shape, dtype, weak_type))


def to_array(operand: Operand) -> Array:
    """Convert an operand to an Array or a tracer, as users get it."""
    if isinstance(operand, ArrayOperators):
        return operand
    if isinstance(operand, Literal):
        return from_numpy(operand.value, operand.aval.dtype, operand.aval.weak_type)
    return from_numpy(operand)


def on_device(array: Array, device: Placement) -> Array:
    """The array, committed to a device or split among several; as it is where it is traced.

    Without a device, it is as it is, or on the mesh of `set_mesh`.

    Raises:
      DeviceError: there is no such device.
    """
    if device is None:
        if state.plain or type(array) is not ConcreteArray or array.committed:
            return array
        whole = spread(array.ndim)
        found: Array = array if whole is None else array.split(whole)
        return found
    if isinstance(device, SingleDeviceSharding):
        device = device.device
    if isinstance(device, (Sharding, PartitionSpec)):
        split: Array = constrained(array, device, "device")
        return split
    target = find(device)
    return array.on(target, True) if type(array) is ConcreteArray else array


def placed_like(a: Any, shape: Any, device: Placement) -> Any:
    """Where an array that is made like `a` is to be: there too, unless it gets another shape, or a place is given."""
    if device is None and shape is None and not isinstance(a, Tracer) and getattr(a, "committed", True):
        return getattr(a, "sharding", None)  # of an array, or of what describes one
    if device is None and shape is None and state.mesh is not None and state.mesh.explicit_axes:
        spec = spec_of(a)  # of a traced value, whose type has it
        return None if spec is None else PartitionSpec(*spec)
    return device


def array_argument(value: Any, name: str) -> Array:
    """Convert an argument that must be an array or a number to an Array or a tracer, of a dtype that is enabled."""
    found: Array = value if isinstance(value, ArrayOperators) else to_array(as_operand(value, name))
    dtype = aval_of(found).dtype
    if dtype in dtypes.WIDE and dtypes.default_int() == dtypes.int32:
        return convert_element_type(found, dtype)
    return found


def constrained(value: Any, sharding: Any, what: str) -> Any:
    """A value, split among devices; `what` is the function that the user called."""
    target = as_sharding(sharding, what)
    array = array_argument(value, what)
    aval = aval_of(array)
    # A mesh without axes is that of a type outside of any mesh.
    if isinstance(target, SingleDeviceSharding) and type(array) is ConcreteArray and state.trace is None:
        return array.on(target.device, True)
    if not isinstance(target, NamedSharding) or target.mesh.empty:
        return array
    target.shard_shape(aval.shape)
    if type(array) is ConcreteArray and not isinstance(target.mesh, Mesh):
        target = _on_devices_of(array, target, what)
    if what == "reshard" or (type(array) is not ConcreteArray and what != OUT_SHARDINGS):
        target = target.filled(aval.ndim)
    manual = () if state.mesh is None else state.mesh.manual_axes
    for name in (n for names in target.spec.axes() for n in names if n in manual):
        raise location.error(
            ValueError,
            f"{what}: {target.spec} names {name!r}, which is a manual axis: the shard_map around it has split along it",
            fix="leave the name out, or leave it out of shard_map's axis_names",
        )
    stays = what == "with_sharding_constraint" and type(array) is ConcreteArray and array.committed
    if stays and array.sharding.assignment != target.assignment:
        raise location.error(
            errors.DeviceError,
            f"{what}: incompatible devices: the array is committed to {array.sharding}, and {target} has others",
            fix="move the array, with stagec.device_put(x, sharding)",
        )
    if type(array) is ConcreteArray and target.is_fully_addressable and array.is_fully_addressable:
        return array.split(target)
    source = source_of(array, target) if what == "device_put" else None
    spec = Axes.of(target.spec, aval.ndim, kept=_kept(target, what), source=source)
    return sharding_constraint_p(array, mesh=target.mesh, spec=spec)


def _kept(target: NamedSharding, what: str) -> frozenset[Any]:
    """The axes of a mesh with axes of both types of which a constraint on a traced value says nothing."""
    explicit, others = frozenset(target.mesh.explicit_axes), frozenset(target.mesh.auto_axes)
    if not explicit or not others or what in ("device_put", "device", OUT_SHARDINGS):
        return frozenset()
    return explicit if what == "with_sharding_constraint" else others


def explicitly_split(value: Any, sharding: Any, what: str) -> Any:
    """A result, split along explicit axes as the argument `out_sharding` says; `what` is the function that has it.

    Raises:
      ValueError: the axes are of another mesh than that in force, or not explicit.
    """
    target = as_sharding(sharding, what)
    if isinstance(target, NamedSharding):
        mesh, given = current_mesh(), target.mesh.abstract_mesh
        if mesh is not None and mesh.abstract_mesh != given:
            raise location.error(
                ValueError,
                f"{what}: out_sharding is of {given}, and the mesh in force is {mesh.abstract_mesh}",
                fix="pass a PartitionSpec for the mesh in force",
            )
        names = [n for entry in target.spec.axes() for n in entry if n not in target.mesh.explicit_axes]
        if names:
            kind = dict(zip(target.mesh.axis_names, target.mesh.axis_types))[names[0]]
            raise location.error(
                ValueError,
                f"{what}: out_sharding {target.spec} names {names[0]!r}, an axis of type {kind!r}",
                fix="name explicit axes alone; stagec.lax.with_sharding_constraint takes those of type Auto",
            )
        target = target.filled(np.ndim(value))
    return constrained(value, target, what)


def _on_devices_of(array: ConcreteArray, target: NamedSharding, what: str) -> NamedSharding:
    """A sharding of axes without devices, on the devices that an array is split among along the same axes."""
    given = array.sharding
    if not isinstance(given, NamedSharding) or given.mesh.abstract_mesh != target.mesh:
        raise location.error(
            ValueError,
            f"{what}: {target.mesh} has no devices, and the array, of sharding {given}, is not on a mesh of that shape",
            fix="pass a NamedSharding of a Mesh, which has devices",
        )
    return NamedSharding(given.mesh, target.spec)


def is_traced(*values: Any) -> bool:
    """Whether one of the values is a tracer."""
    return any(isinstance(v, Tracer) for v in values)


def concrete(value: Any, name: str, what: str, instead: str = "") -> np.ndarray[Any, Any]:
    """Return the value of an argument that shapes depend on.

    Args:
      instead: how to do without a known value, for the error's fix.

    Raises:
      ConcretizationError: the argument is traced.
    """
    if isinstance(value, Tracer):
        raise location.error(
            errors.ConcretizationError,
            f"{name}: {what} must be known while tracing, since shapes depend on it",
            [(what, value.aval.long(), value.origin())],
            f"{instead}, or call {name} outside of jit" if instead else f"call {name} outside of jit",
        )
    return np.asarray(value.value if isinstance(value, Literal) else value)


def immutable(name: str) -> ValueError:
    """Return the error for a NumPy function that would write to its argument."""
    return location.error(ValueError, f"{name}: arrays are immutable", fix="pass inplace=False and use the result")


def refuse_out(out: Any, name: str) -> None:
    """Raise for NumPy's `out=`: arrays are immutable."""
    if out is not None:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: out= is not supported, arrays are immutable",
            fix="use the returned array; under jit, memory is reused by donate_argnums",
        )
