"""Calls on arrays of several processes: each process runs the part of the program for the parts that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.api.arguments import leaf_value
from stagec.api.blocks import divided, placed
from stagec.api.partition import partitioned
from stagec.api.program import RunnableGraph, runnable_graph
from stagec.api.signature import builder
from stagec.control.partition_axes import Spec
from stagec.core import pytree
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph
from stagec.runtime import devices
from stagec.runtime.array import Array, Split
from stagec.runtime.mesh import Mesh
from stagec.runtime.processes import ProcessGrid, grid
from stagec.runtime.propagation import as_partitions, named_meshes, result_shardings
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
    return next((m for m in named_meshes(graph) if isinstance(m, Mesh) and m.is_multi_process), None)


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


class Part:
    """A call of a graph on arrays of several processes: this process runs its part, and meets the others in it.

    Args:
      values: of all inputs; those that are not of several processes have to be the same in all of them.
    """

    def __init__(self, graph: Graph, values: Sequence[Any], mesh: Mesh, options: Any, name: str) -> None:
        division = grid(mesh)
        self._runnable, specs, _ = share(graph, values, mesh, options, name)
        place = np.array([division.place[n] for n in division.names] or [0], np.int32)
        self._place = Array.of(place, self._runnable.in_avals[0])
        shardings = result_shardings(graph, values) or [None] * len(specs)
        self._results = [
            (a, _fitting(division, mesh, spec, a, s)) for spec, a, s in zip(specs, graph.out_avals, shardings)
        ]
        self._arranged: Any = None

    def run(self, values: Sequence[Any]) -> list[Array]:
        """The results for values that are split as the first ones."""
        given = [self._place, *map(_local, values)]
        arranged = self._arranged
        if arranged is not None and all([type(v) is Array for v in given]):  # noqa: C419
            results = arranged(given)
        else:
            results = self._runnable.run(given)
            self._arranged = self._runnable.arranged()
        return [placed(local, *row) for local, row in zip(results, self._results)]

    def runner(
        self, captured: Sequence[Any], out_tree: pytree.PyTreeDef, plain: bool
    ) -> Callable[[Sequence[Any]], Any]:
        """What a known signature runs on its leaves; `plain` says that all of them are Arrays."""
        build = builder(out_tree)
        return lambda leaves: build(self.run([*captured, *(leaves if plain else map(leaf_value, leaves))]))


def _local(value: Any) -> Any:
    return value.local if type(value) is Array and value.local is not None else value


def _fitting(
    division: ProcessGrid, mesh: Mesh, spec: Spec, aval: ShapedArray, sharding: NamedSharding | None
) -> NamedSharding:
    """How a result is split: as follows from the operands where the parts fit."""
    if sharding is None or tuple(map(division.spanning, sharding.spec.axes(aval.ndim))) != spec:
        return NamedSharding(mesh, as_partitions(spec))
    return sharding
