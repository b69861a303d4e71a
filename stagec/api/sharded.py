"""Arrays that are split among devices: made from parts, and as arguments and results of jitted functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.api.arguments import ArgumentRules
from stagec.api.blocks import local_factors, of_block
from stagec.core import errors, location, pytree
from stagec.core.array import Array
from stagec.core.callables import X
from stagec.core.wrapping import wraps
from stagec.numpy.arguments import OUT_SHARDINGS, constrained, from_numpy
from stagec.runtime.array import Array as Value
from stagec.runtime.devices import Device
from stagec.runtime.mesh import UNCONSTRAINED, PartitionSpec
from stagec.runtime.sharding import NamedSharding, Sharding, SingleDeviceSharding, as_sharding
from stagec.typing import ArrayLike, DTypeLike


def reshard(xs: X, out_shardings: Any) -> X:
    """Arrays, split in another way. Nothing is copied, since the devices of a mesh share their memory.

    Args:
      xs: pytree of arrays.
      out_shardings: a `NamedSharding`, or a `PartitionSpec` for the mesh in force; or a pytree prefix of these.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.sharding import PartitionSpec as P
    >>> with stagec.set_mesh(stagec.make_mesh((1,), ("x",))):
    ...     stagec.reshard(snp.ones(4), P("x")).sharding.spec
    P('x',)
    """
    leaves, tree = pytree.flatten(xs)
    wanted = pytree.broadcast_prefix(out_shardings, xs)
    found: X = tree.unflatten([constrained(v, s, "reshard") for v, s in zip(leaves, wanted)])
    return found


def put(value: Any, sharding: Sharding) -> Any:
    """An array on the devices of a sharding."""
    if isinstance(sharding, NamedSharding):
        return constrained(value, sharding, "device_put")
    return value.on(next(iter(sharding.device_set)), True)


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | PartitionSpec,
    data_callback: Callable[[Any], ArrayLike],
    dtype: DTypeLike | None = None,
) -> Array:
    """An array whose parts a function makes.

    Args:
      shape: of the whole.
      sharding: which device has which part.
      data_callback: `index -> part`, where the index is a tuple of slices of the whole; called once for each part.
      dtype: of the array; by default that of the parts.

    Raises:
      ShapeError: a part has another shape than its index.

    >>> import stagec, numpy as np
    >>> from stagec.sharding import NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(stagec.make_mesh((1,), ("x",)), P("x"))
    >>> data = np.arange(4.0, dtype=np.float32)
    >>> stagec.make_array_from_callback((4,), rows, lambda index: data[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    found = as_sharding(sharding, "make_array_from_callback")
    whole = tuple(shape)
    parts: dict[Any, Any] = {}
    for index in found.addressable_devices_indices_map(whole).values():
        key = _bounds(index, whole)
        if key not in parts:
            parts[key] = np.asarray(data_callback(index))
    made: Array = _joined("make_array_from_callback", whole, found, parts, dtype)
    return made


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding | PartitionSpec,
    arrays: Sequence[ArrayLike],
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """An array of its parts.

    Args:
      shape: of the whole.
      sharding: which device has which part.
      arrays: the part of each device, in any order if they are on different devices, else in that of the mesh.
      dtype: of the array; by default that of the parts.

    Raises:
      ShapeError: there are too many or too few parts, or one has another shape than its place.
      DeviceError: parts are committed to one device, or to one that has none.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec.sharding import NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(stagec.make_mesh((1,), ("x",)), P("x"))
    >>> stagec.make_array_from_single_device_arrays((2,), rows, [snp.ones(2)])
    Array([1., 1.], dtype=float32)
    """
    found = as_sharding(sharding, "make_array_from_single_device_arrays")
    whole = tuple(shape)
    places = found.addressable_devices_indices_map(whole)
    if len(arrays) != len(places):
        raise location.error(
            errors.ShapeError,
            f"make_array_from_single_device_arrays: {len(arrays)} arrays for {len(places)} devices",
            fix="give one array for each device of the sharding",
        )
    owners = [a.device if type(a) is Value else None for a in arrays]
    fixed = [a.device for a in arrays if type(a) is Value and a.committed]
    if len(set(fixed)) < len(fixed) or not set(fixed) <= set(places):
        raise location.error(
            errors.DeviceError,
            f"make_array_from_single_device_arrays: arrays on {', '.join(map(repr, fixed))}, and the sharding has "
            f"parts on {', '.join(map(repr, places))}",
            fix="put the part of each device of the sharding on that device",
        )
    if set(owners) == set(places):
        by_device = dict(zip(owners, arrays))
        arrays = [by_device[device] for device in places]
    parts = {_bounds(index, whole): np.asarray(a) for index, a in zip(places.values(), arrays)}
    made: Array = _joined("make_array_from_single_device_arrays", whole, found, parts, dtype)
    return made


def make_array_from_process_local_data(
    sharding: Sharding | PartitionSpec, local_data: ArrayLike, global_shape: Sequence[int] | None = None
) -> Array:
    """An array of the data that each process has.

    Args:
      local_data: the block of the whole that this process's devices have.
      global_shape: of the whole; by default as follows from the sharding.

    Raises:
      ShapeError: the data has another shape than the block.

    >>> import stagec, numpy as np
    >>> from stagec.sharding import NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(stagec.make_mesh((1,), ("x",)), P("x"))
    >>> stagec.make_array_from_process_local_data(rows, np.zeros(2, np.float32))
    Array([0., 0.], dtype=float32)
    """
    data = np.asarray(local_data)
    found = as_sharding(sharding, "make_array_from_process_local_data")
    factors = local_factors(found, data.ndim)
    whole = tuple([n * k for n, k in zip(data.shape, factors)]) if global_shape is None else tuple(global_shape)
    if whole != tuple([n * k for n, k in zip(data.shape, factors)]):
        raise location.error(
            errors.ShapeError,
            f"make_array_from_process_local_data: data of shape {data.shape} for an array of {whole}, which processes "
            f"divide by {factors}",
            fix="pass the block of the array that this process has",
        )
    made: Array = of_block(from_numpy(data), whole, found)
    return made


def _bounds(index: Any, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple([s.indices(n)[:2] for s, n in zip(index, shape)])


def _joined(
    what: str, shape: tuple[int, ...], sharding: Sharding, parts: dict[Any, Any], dtype: DTypeLike | None
) -> Any:
    kinds = {p.dtype for p in parts.values()}
    if dtype is None and len(kinds) > 1:
        raise location.error(
            errors.DtypeError, f"{what}: parts of dtypes {sorted(map(str, kinds))}", fix="give parts of one dtype"
        )
    # The block of this process, of which the parts are pieces.
    starts = [min(b[axis][0] for b in parts) for axis in range(len(shape))]
    ends = [max(b[axis][1] for b in parts) for axis in range(len(shape))]
    block = np.empty([e - b for b, e in zip(starts, ends)], next(iter(kinds)) if dtype is None else np.dtype(dtype))
    for bounds, part in parts.items():
        place = block[tuple([slice(a - s, b - s) for (a, b), s in zip(bounds, starts)])]
        if place.shape != part.shape:
            raise location.error(
                errors.ShapeError,
                f"{what}: a part of shape {part.shape}, where the sharding has one of {place.shape}",
                fix="cut the parts as sharding.devices_indices_map(shape) says",
            )
        place[...] = part
    return of_block(from_numpy(block), shape, sharding)


def with_shardings(
    fun: Callable[..., Any], rules: ArgumentRules, in_shardings: Any, out_shardings: Any
) -> Callable[..., Any]:
    """A function whose arguments and results are split: what `jit(in_shardings=, out_shardings=)` traces.

    Args:
      rules: which arguments are static; those have no entry in `in_shardings`.

    Raises:
      ValueError: an entry of `in_shardings` leaves an axis unconstrained.
    """
    for sharding in pytree.leaves(in_shardings):
        if isinstance(sharding, NamedSharding) and UNCONSTRAINED in sharding.spec.partitions:
            raise location.error(
                ValueError,
                f"jit: Unconstrained dims are not allowed in in_shardings, got {sharding.spec}",
                fix="write None for an axis that is whole, or leave in_shardings out",
            )

    @wraps(fun)
    def split(*args: Any, **kwargs: Any) -> Any:
        dynamic = [i for i in range(len(args)) if i not in rules.static_nums]
        given = _each_split("in_shardings", in_shardings, tuple([args[i] for i in dynamic]))
        found = list(args)
        for i, value in zip(dynamic, given):
            found[i] = value
        return _each_split("out_shardings", out_shardings, fun(*found, **kwargs))

    return split


def refuse_others(in_shardings: Any, rules: ArgumentRules, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise for arguments of a call that `in_shardings` says nothing of, or that are committed to be otherwise."""
    named = [name for name in kwargs if name not in rules.static_names]
    if named and any(s is not None for s in pytree.leaves(in_shardings)):
        raise location.error(
            ValueError,
            f"jit: in_shardings is of positional arguments, and {named[0]!r} was passed by name: kwargs are not split",
            fix="pass by position what in_shardings is of",
        )
    if rules.static_names & set(kwargs):
        return
    given = tuple([v for i, v in enumerate(args) if i not in rules.static_nums])
    try:
        wanted = pytree.broadcast_prefix(in_shardings, given, is_leaf=lambda s: s is None)
    except errors.PytreeError:
        return  # the traced function raises the error
    paths, _ = pytree.flatten_with_path(given, lambda v: v is None)
    for (path, value), w in zip(paths, wanted):
        if w is None or type(value) is not Value or not value.committed:
            continue
        target = as_sharding(w, "jit(in_shardings=)")
        single = type(target) is type(value.sharding) is SingleDeviceSharding  # which moves
        if not single and not value.sharding.is_equivalent_to(target, value.ndim):
            raise location.error(
                ValueError,
                f"jit: in_shardings does not match the sharding on the respective argument{pytree.keystr(path)}",
                [("in_shardings", str(target), ""), ("argument", str(value.sharding), "")],
                "leave in_shardings out, or move the argument first, with stagec.device_put(x, sharding)",
            )


def single_device(*shardings: Any) -> Device | None:
    """The device of shardings that are all of one device; None where others are among them."""
    found = {s.device if type(s) is SingleDeviceSharding else None for s in pytree.flatten(list(shardings))[0]}
    return found.pop() if len(found) == 1 else None


def _each_split(name: str, shardings: Any, tree: X) -> X:
    """The leaves of a tree, each as a prefix of the tree says; None leaves one as it is."""
    if shardings is None:
        return tree
    leaves, definition = pytree.flatten(tree)
    try:
        wanted = pytree.broadcast_prefix(shardings, tree, is_leaf=lambda s: s is None)
        wanted = [w for w, v in zip(wanted, pytree.flatten(tree, lambda s: s is None)[0]) if v is not None]
    except errors.PytreeError as error:
        raise errors.PytreeError(f"jit: {name} does not fit what it describes: {error}") from None
    split = [
        v if s is None else constrained(v, s, OUT_SHARDINGS if name == "out_shardings" else f"jit({name}=)")
        for v, s in zip(leaves, wanted)
    ]
    found: X = definition.unflatten(split)
    return found
