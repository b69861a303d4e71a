"""Moving pytrees between devices and the host."""

from __future__ import annotations

import gc
from typing import Any, overload

import numpy as np

from stagec.api.arguments import leaf_value
from stagec.api.sharded import put
from stagec.core import errors, location, pytree
from stagec.core.array import Array
from stagec.core.callables import X
from stagec.core.dtypes import KEY
from stagec.core.graph import Literal
from stagec.core.trace import Tracer
from stagec.numpy.arguments import Placement, constrained, from_numpy
from stagec.runtime import devices as _devices
from stagec.runtime.array import Array as ConcreteArray
from stagec.runtime.devices import Device
from stagec.runtime.mesh import PartitionSpec
from stagec.runtime.sharding import Sharding, as_sharding
from stagec.typing import ArrayLike


@overload
def device_put(
    x: ArrayLike, device: Placement = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Array: ...
@overload
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any: ...
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Move data to a device, and keep it there: what is computed from it runs on that device.

    Args:
      x: an array, a NumPy array, a number, or a pytree of these.
      device: a `Device`, a description such as `"vulkan"` or `"cuda:1"`, a sharding, a `PartitionSpec` for the mesh in
        force, or a pytree prefix of these.
        With None, data that is on a device already stays as it is, and other data goes to the
        default device without being committed to it.
      src, donate: accepted for code written for JAX. Arrays are immutable, and those that are passed stay usable.
      may_alias: with False, data that is there already is copied, so that either array can be donated.

    Returns:
      The same pytree of `Array`s. Inside a traced function, tracers are passed through.

    Raises:
      DeviceError: there is no such device.
      ShapeError: an axis is not a multiple of the parts that a sharding splits it into.
      ArgumentTypeError: a leaf is not an array or a number.

    >>> import stagec, numpy as np
    >>> x = stagec.device_put({"w": np.ones(2, np.float32)}, "cpu")
    >>> x["w"].committed
    True
    """
    leaves, tree = pytree.flatten(x)
    targets = (
        pytree.broadcast_prefix(device, x, is_leaf=lambda d: d is None) if device is not None else [None] * len(leaves)
    )
    made = [_put(leaf, d) for leaf, d in zip(leaves, targets)]
    if may_alias is False:
        made = [v.private_copy() if v is leaf and type(v) is ConcreteArray else v for v, leaf in zip(made, leaves)]
    return tree.unflatten(made)


def _put(leaf: Any, device: Any) -> Any:
    value = leaf_value(leaf)
    split = isinstance(device, (Sharding, PartitionSpec))
    if isinstance(value, Tracer):
        return constrained(value, device, "device_put") if split else value
    if type(value) is not ConcreteArray and not isinstance(value, (Literal, np.ndarray, np.generic)):
        raise location.error(
            errors.ArgumentTypeError,
            f"device_put takes arrays and numbers, not {type(leaf).__name__}",
            fix="pass arrays, numbers, or containers of them",
        )
    array: Any
    if isinstance(value, Literal):
        array = from_numpy(value.value, weak_type=value.aval.weak_type)
    else:
        array = value if type(value) is ConcreteArray else from_numpy(np.asarray(value))
    if split:
        return put(array, as_sharding(device, "device_put"))
    if device is not None:
        return array.on(_devices.find(device), True)
    return array if type(value) is ConcreteArray else array.on(_devices.default(), False)


@overload
def device_get(x: Array) -> np.ndarray[Any, Any]: ...
@overload
def device_get(x: Any) -> Any: ...
def device_get(x: Any) -> Any:
    """The arrays of a pytree as NumPy arrays, when they are computed; other leaves, and traced ones, as they are.

    On the CPU they are read-only views of the same memory. Random keys, which NumPy does not have, stay arrays.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.device_get([snp.arange(3), 1.5])
    [array([0, 1, 2], dtype=int32), 1.5]
    """

    def got(leaf: Any) -> Any:
        is_kept = isinstance(leaf, Tracer) or (type(leaf) is ConcreteArray and leaf.dtype == KEY)
        return np.asarray(leaf) if hasattr(leaf, "__array__") and not is_kept else leaf

    return pytree.map_leaves(got, x)


def block_until_ready(x: X) -> X:
    """Wait until every array of a pytree is computed; returns the pytree.

    Raises:
      ExecutionError: a call that computes one of them failed.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.block_until_ready([snp.ones(2), 3])
    [Array([1., 1.], dtype=float32), 3]
    """
    for leaf in pytree.flatten(x)[0]:
        if type(leaf) is ConcreteArray:
            leaf.block_until_ready()
    return x


def memory_stats(device: Device | str | None = None) -> dict[str, int]:
    """Memory on a device, by default the default one, in bytes.

    Returns:
      For a CPU, what the runtime allocated: `bytes_in_use`, `peak_bytes_in_use` and `bytes_freed`. Memory
      that NumPy owns is not counted. For another device `bytes_in_use`, the size of the arrays on it, and
      `bytes_allocated`, all that programs and transfers ever took; what is freed goes to a pool.

    >>> import stagec
    >>> sorted(stagec.memory_stats("cpu"))
    ['bytes_freed', 'bytes_in_use', 'peak_bytes_in_use']
    """
    chosen = _devices.default() if device is None else _devices.find(device)
    found = chosen.memory_stats()
    if chosen.is_cpu:
        return found
    gc.collect()  # arrays that only garbage refers to are not in use
    there = [a for a in gc.get_objects() if type(a) is ConcreteArray and a.home is chosen and not a.is_deleted()]
    return {"bytes_in_use": sum(a.nbytes for a in there), **found}
