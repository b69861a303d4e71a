"""Replaces operations of a program by calls of NumPy and SciPy in the process that runs it.

A program for the CPU of this process may call the NumPy evaluation of a primitive, such as LAPACK for factorizations,
where the algorithm over other primitives takes longer. The graph is rewritten just before it is compiled, so the rules
of derivatives and batching are those of the primitive.
"""

from __future__ import annotations

import functools

from stagec.control.derived import kept
from stagec.core.graph import Equation, Graph, with_graphs
from stagec.core.host import LibraryCall
from stagec.core.primitive import Primitive
from stagec.lowering.host_choices import THRESHOLDS

_LOOPS = ("scan", "while")


class Called(Primitive):
    """A primitive whose lowering is a call of its evaluation. It is not registered, and has no other rules."""

    def __init__(self, row: Primitive) -> None:
        super().__init__(
            row.name,
            shape=lambda *avals, callback: callback.out_avals if row.multiple else callback.out_avals[0],
            eval=lambda *arrays, callback: row.eval(*arrays, **callback.params),
            lower=lambda cx, *values, callback: cx.call_host(callback, values),
            jvp=None,
            transpose=None,
            batch=None,
        )
        self.multiple = row.multiple

    def _register(self) -> None:
        pass  # the row has the name


@functools.cache
def _called(row: Primitive) -> Called:
    return Called(row)


def with_host_calls(graph: Graph, libraries: str) -> Graph:
    """The graph with calls of NumPy and SciPy in place of operations.

    Args:
      libraries: `always`: wherever a library has the function; `auto`: where it is faster; `never`: nowhere.
    """
    return graph if libraries == "never" else _rewritten(graph, libraries, False)


def _once(graph: Graph, libraries: str, in_loop: bool) -> Graph:
    """Rewrite a graph once, so that all equations that share it still share one graph."""
    made: Graph = kept(graph, ("host calls", libraries, in_loop), lambda: _rewritten(graph, libraries, in_loop))
    return made


def _rewritten(graph: Graph, libraries: str, in_loop: bool) -> Graph:
    made = [_of(e, libraries, in_loop) for e in graph.equations]
    if all(new is old for new, old in zip(made, graph.equations)):
        return graph
    return Graph(graph.inputs, made, graph.outputs)


def _of(equation: Equation, libraries: str, in_loop: bool) -> Equation:
    row, params = equation.primitive, equation.params
    avals, measured = [a.aval for a in equation.inputs], THRESHOLDS.get(row.name)
    if measured is not None and measured.chosen(avals, params, in_loop, libraries == "always"):
        callback = LibraryCall(row, params, avals, [v.aval.strip_weak_type() for v in equation.outputs])
        made = {"callback": callback}
        return Equation(_called(row), equation.inputs, equation.outputs, made, equation.location)
    inside = with_graphs(params, lambda g: _once(g, libraries, in_loop or row.name in _LOOPS))
    if inside is params:
        return equation
    return Equation(row, equation.inputs, equation.outputs, inside, equation.location)
