"""The part of a program that one process computes, where arrays are split among processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.compiler import log
from stagec.control.partition import Partition
from stagec.control.partition_axes import Spec, part
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, prune
from stagec.core.host import Exchange
from stagec.core.recording import trace_closed
from stagec.primitives.callback import io_callback_p
from stagec.primitives.operand import aval_of
from stagec.runtime.processes import ProcessGrid, all_gather, all_reduce, rotate


def partitioned(
    graph: Graph, grid: ProcessGrid, specs: Sequence[Spec], name: str
) -> tuple[Graph, list[Spec], list[str]]:
    """The graph of this process's part, and how its results are divided.

    Args:
      specs: how the inputs are divided.

    Returns:
      a graph whose inputs are the numbers of this process along the mesh's axes, and then the parts of the inputs; how
      its results are divided; and which operations gather their operands, in words.
    """
    graph, _ = prune(graph, keep_inputs=True)  # or processes would communicate for what nobody reads
    places = ShapedArray.of((max(1, len(grid.names)),), np.dtype(np.int32))
    avals = [part(a, s, grid) for a, s in zip(graph.in_avals, specs)]
    found: list[Spec] = []
    gathers: list[str] = []

    def local(place: Any, *parts: Any) -> list[Any]:
        outs = _Processes(grid, place, name, gathers).replay(graph, list(zip(parts, specs)))
        found.extend(s for _, s in outs)
        return [v for v, _ in outs]

    made = trace_closed(local, [places, *avals], name=name)
    return made, found, list(dict.fromkeys(gathers))


class _Processes(Partition):
    """The part of one process, which communicates with the others by MPI.

    Args:
      gathers: takes which operations gather their operands, in words; None if nobody asks.
    """

    grid: ProcessGrid

    def __init__(self, grid: ProcessGrid, place: Any, name: str, gathers: list[str] | None) -> None:
        super().__init__(grid, place)
        self.name, self.gathers = name, gathers

    def at(self, place: Any, trial: bool = False) -> Partition:
        return _Processes(self.grid, place, self.name, None if trial else self.gathers)

    def report(self, e: Equation, avals: Sequence[ShapedArray]) -> None:
        if self.gathers is not None:
            size = sum(a.nbytes for a in avals)
            self.gathers.append(f"{e.primitive.name} at {e.location} gathers {size} bytes")
            log.event("lower", f"{self.name}: {self.gathers[-1]}, having no rule for parts", bytes=size)

    def whole_axis(self, value: Any, axis: int, names: Sequence[Any]) -> Any:
        company, aval = self.grid.company(names), aval_of(value)
        shape = [n * self.grid.parts(names) if i == axis else n for i, n in enumerate(aval.shape)]
        return _exchanged(lambda x: all_gather(company, axis, x), value, aval.update(shape=shape))

    def reduced(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        company = self.grid.company(names)
        return _exchanged(lambda x: all_reduce(company, operation, x), value, aval_of(value))

    def shifted(self, value: Any, spec: Spec, axis: int, shift: int) -> Any:
        if not shift:
            return value
        company = self.grid.company(spec[axis])
        return _exchanged(lambda x: rotate(company, axis, shift, x), value, aval_of(value))


def _exchanged(function: Callable[[Any], Any], value: Any, aval: ShapedArray) -> Any:
    """What a function that talks to the other processes makes of a value."""
    own = aval_of(value).strip_weak_type()
    results = (aval.strip_weak_type(),)
    callback = Exchange("exchange", function, own, results)
    return io_callback_p(value, callback=callback, result_avals=results, ordered=False)[0]
