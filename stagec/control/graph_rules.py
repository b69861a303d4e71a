"""Rules of the operations that run the graph in their parameter `graph`: `jit`, `checkpoint`, `linear_call`, and calls
of functions with custom rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from stagec.control import bodies
from stagec.core.aval import ShapedArray
from stagec.core.graph import Atom, Equation, Graph, Var, replay

T = TypeVar("T")


class Unkeyed(Generic[T]):
    """A Python object as a parameter of an equation: it is used while tracing, and does not affect a program's key."""

    def __init__(self, value: T) -> None:
        self.value = value

    def fingerprint(self) -> str:
        return ""


def shape(*avals: ShapedArray, graph: Graph, **params: Any) -> list[ShapedArray]:
    return graph.out_avals


def evaluate(*arrays: Any, graph: Graph, **params: Any) -> list[Any]:
    return bodies.evaluate(graph, arrays)


def lower(cx: Any, *values: Any, graph: Graph, **params: Any) -> Sequence[Any]:
    # Compilers inline calls anyway; one function is easier on every pass.
    results: Sequence[Any] = cx.apply(lambda *args: replay(graph, args), *values, avals=graph.in_avals)
    return results


def is_call(equation: Equation) -> bool:
    """Whether an operation runs the graph in its parameter."""
    return equation.primitive.eval is evaluate


def inlined(graph: Graph, goes: Callable[[Equation], bool] = is_call) -> Graph:
    """The graph with the equations of what it calls in place of the calls that go."""
    if not any(map(goes, graph.equations)):
        return graph
    known: dict[Var, Atom] = {}
    equations: list[Equation] = []
    for e in graph.equations:
        inputs = [known.get(a, a) if type(a) is Var else a for a in e.inputs]
        if not goes(e):
            equations.append(Equation(e.primitive, inputs, e.outputs, e.params, e.location))
            continue
        inner = inlined(e.params["graph"], goes)
        mine: dict[Var, Atom] = dict(zip(inner.inputs, inputs, strict=True))
        for step in inner.equations:
            outs = [Var(v.aval) for v in step.outputs]
            read = [mine[a] if type(a) is Var else a for a in step.inputs]
            equations.append(Equation(step.primitive, read, outs, step.params, step.location))
            mine.update(zip(step.outputs, outs))
        known.update(zip(e.outputs, [mine[a] if type(a) is Var else a for a in inner.outputs]))
    return Graph(graph.inputs, equations, [known.get(a, a) if type(a) is Var else a for a in graph.outputs])
