"""This process's block of an array of several processes: made, put together, and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.primitives.operand import aval_of
from stagec.runtime.array import Array
from stagec.runtime.mesh import Mesh
from stagec.runtime.processes import ProcessGrid, all_gather, grid
from stagec.runtime.sharding import NamedSharding, Sharding


def divided(division: ProcessGrid, value: Any) -> tuple[tuple[Any, ...], ...]:
    """For each axis of a value, the names of the axes that divide it among processes."""
    if type(value) is Array and value.local is not None:
        return tuple(map(division.spanning, value.signature.sharding.spec.axes(value.aval.ndim)))
    return ((),) * aval_of(value).ndim


def placed(local: Array, aval: ShapedArray, sharding: Sharding) -> Array:
    """An array of this process's part, which may be the whole."""
    if local.aval.shape == aval.shape:
        return local.with_aval(aval).split(sharding)
    return Array.of_processes(local, aval, sharding)


def gathered(value: Any) -> np.ndarray[Any, Any]:
    """All of an array of several processes; each of them has to call this."""
    if type(value) is not Array or value.local is None:
        return np.asarray(value)
    mesh = value.signature.sharding.mesh
    division = grid(mesh)
    found = np.asarray(value.local)
    for axis, names in enumerate(divided(division, value)):
        if names:
            found = all_gather(division.company(names), axis, found)
    return found


def local_factors(sharding: Sharding, ndim: int) -> tuple[int, ...]:
    """Into how many blocks processes divide each of so many axes."""
    if sharding.is_fully_addressable or not isinstance(sharding, NamedSharding):
        return (1,) * ndim
    division = grid(_concrete(sharding))
    return tuple([division.parts(division.spanning(n)) for n in sharding.spec.axes(ndim)])


def of_block(block: Any, shape: tuple[int, ...], sharding: Sharding) -> Any:
    """An array of the block that this process has."""
    sharding.shard_shape(shape)
    if not isinstance(sharding, NamedSharding):
        return block.on(next(iter(sharding.device_set)), True)
    return placed(block, block.aval.update(shape=shape), sharding)


def _concrete(sharding: NamedSharding) -> Mesh:
    assert isinstance(sharding.mesh, Mesh), "an abstract mesh has no devices"
    return sharding.mesh
