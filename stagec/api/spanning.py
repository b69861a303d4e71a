"""Calls on arrays of several processes: each process runs the part of the program for the parts that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.api.partition import Spec, partitioned
from stagec.api.program import runnable_graph
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, all_equations
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.operand import aval_of
from stagec.runtime import device
from stagec.runtime.array import Array, Split
from stagec.runtime.mesh import Mesh
from stagec.runtime.processes import Grid, all_gather, grid
from stagec.runtime.propagation import as_partitions, result_shardings
from stagec.runtime.runnable import Runnable
from stagec.runtime.sharding import NamedSharding, Sharding


def mesh_of(graph: Graph, values: Sequence[Any]) -> Mesh | None:
    """The mesh of several processes that a call is on: that of an operand, or one that its graph names."""
    if device.processes[1] == 1:
        return None
    for v in values:
        if type(v) is Array and type(v.signature) is Split:
            mesh = getattr(v.signature.sharding, "mesh", None)
            if isinstance(mesh, Mesh) and mesh.is_multi_process:
                return mesh
    named = [e.params["mesh"] for e in all_equations(graph) if e.primitive is sharding_constraint_p]
    return next((mesh for mesh in named if mesh.is_multi_process), None)


def run(graph: Graph, values: Sequence[Any], mesh: Mesh, options: Any, name: str) -> list[Array]:
    """The results of a graph: this process runs its part, and meets the others at collective operations.

    Args:
      values: of all inputs; those that are not of several processes have to be the same in all of them.
    """
    division = grid(mesh)
    specs = tuple([_divided(division, v) for v in values])
    key = (run, mesh, specs, options)
    found: tuple[Runnable[Any], list[Spec]] | None = graph.derived.get(key)
    if found is None:
        local, outs = partitioned(graph, division, specs, name)
        found = graph.derived[key] = runnable_graph(local, [], options, name=name), outs
    runnable, outs = found
    place = np.array([division.place[n] for n in division.names] or [0], np.int32)
    results = runnable.run([place, *[_local(v) for v in values]])
    shardings = result_shardings(graph, values) or [None] * len(results)
    rows = zip(results, outs, graph.out_avals, shardings)
    return [_joined(division, mesh, *row) for row in rows]


def _divided(division: Grid, value: Any) -> Spec:
    if type(value) is Array and value.local is not None:
        sharding = value.signature.sharding
        names = sharding.spec.axes()
        return tuple([division.spanning(n) for n in (*names, *[()] * (value.aval.ndim - len(names)))])
    return ((),) * aval_of(value).ndim


def _local(value: Any) -> Any:
    return value.local if type(value) is Array and value.local is not None else value


def _joined(
    division: Grid, mesh: Mesh, local: Array, spec: Spec, aval: ShapedArray, sharding: NamedSharding | None
) -> Array:
    """A result of several processes, split as follows from the operands where the parts fit."""
    names = () if sharding is None else sharding.spec.axes()
    followed = tuple([division.spanning(n) for n in (*names, *[()] * (aval.ndim - len(names)))])
    if sharding is None or followed != spec:
        sharding = NamedSharding(mesh, as_partitions(spec))
    return placed(local, aval, sharding)


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
    for axis, names in enumerate(_divided(division, value)):
        if names:
            found = all_gather(division.company(names), axis, found)
    return found


def local_factors(sharding: Sharding, ndim: int) -> tuple[int, ...]:
    """Into how many blocks processes divide each of so many axes."""
    if sharding.is_fully_addressable or not isinstance(sharding, NamedSharding):
        return (1,) * ndim
    division = grid(_concrete(sharding))
    names = (*sharding.spec.axes(), *[()] * (ndim - len(sharding.spec)))
    return tuple([division.parts(division.spanning(n)) for n in names])


def of_block(block: Any, shape: tuple[int, ...], sharding: Sharding) -> Any:
    """An array of the block that this process has."""
    sharding.shard_shape(shape)
    if not isinstance(sharding, NamedSharding):
        return block.on(next(iter(sharding.device_set)), True)
    return placed(block, block.aval.update(shape=shape), sharding)


def _concrete(sharding: NamedSharding) -> Mesh:
    assert isinstance(sharding.mesh, Mesh), "an abstract mesh has no devices"
    return sharding.mesh
