"""Calls on arrays of several processes: each process runs the part of the program for the parts that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.api.blocks import divided, placed
from stagec.api.partition import partitioned
from stagec.api.program import RunnableGraph, runnable_graph
from stagec.control.partition_axes import Spec
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, all_equations
from stagec.primitives.constraint import sharding_constraint_p
from stagec.runtime import devices
from stagec.runtime.array import Array, Split
from stagec.runtime.mesh import Mesh
from stagec.runtime.processes import Grid, grid
from stagec.runtime.propagation import as_partitions, result_shardings
from stagec.runtime.sharding import NamedSharding


def mesh_of(graph: Graph, values: Sequence[Any]) -> Mesh | None:
    """The mesh of several processes that a call is on: that of an operand, or one that its graph names."""
    if devices.processes[1] == 1:
        return None
    for v in values:
        if type(v) is Array and type(v.signature) is Split:
            mesh = getattr(v.signature.sharding, "mesh", None)
            if isinstance(mesh, Mesh) and mesh.is_multi_process:
                return mesh
    named = [e.params["mesh"] for e in all_equations(graph) if e.primitive is sharding_constraint_p]
    return next((mesh for mesh in named if isinstance(mesh, Mesh) and mesh.is_multi_process), None)


class Share(NamedTuple):
    """What a process runs of a call.

    Attributes:
      runnable: its program.
      specs: how the results are divided.
      gathers: which operations gather their operands, and where, in words.
    """

    runnable: RunnableGraph
    specs: list[Spec]
    gathers: list[str]


def share(graph: Graph, values: Sequence[Any], mesh: Mesh, options: Any, name: str) -> Share:
    """This process's part of a graph, for operands that are divided as these are."""
    division = grid(mesh)
    specs = tuple([divided(division, v) for v in values])
    key = (share, mesh, specs, options)
    found: Share | None = graph.derived.get(key)
    if found is None:
        local, outs, gathers = partitioned(graph, division, specs, name)
        found = graph.derived[key] = Share(runnable_graph(local, [], options, name=name), outs, gathers)
    return found


def run(graph: Graph, values: Sequence[Any], mesh: Mesh, options: Any, name: str) -> list[Array]:
    """The results of a graph: this process runs its part, and meets the others at collective operations.

    Args:
      values: of all inputs; those that are not of several processes have to be the same in all of them.
    """
    division = grid(mesh)
    runnable, outs, _ = share(graph, values, mesh, options, name)
    place = np.array([division.place[n] for n in division.names] or [0], np.int32)
    results = runnable.run([place, *[_local(v) for v in values]])
    shardings = result_shardings(graph, values) or [None] * len(results)
    rows = zip(results, outs, graph.out_avals, shardings)
    return [_joined(division, mesh, *row) for row in rows]


def _local(value: Any) -> Any:
    return value.local if type(value) is Array and value.local is not None else value


def _joined(
    division: Grid, mesh: Mesh, local: Array, spec: Spec, aval: ShapedArray, sharding: NamedSharding | None
) -> Array:
    """A result of several processes, split as follows from the operands where the parts fit."""
    if sharding is None or tuple(map(division.spanning, sharding.spec.axes(aval.ndim))) != spec:
        sharding = NamedSharding(mesh, as_partitions(spec))
    return placed(local, aval, sharding)
