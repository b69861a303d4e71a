"""`jit` inside a graph: a call of another graph."""

from __future__ import annotations

from typing import Any

from stagec.control import bodies
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, replay
from stagec.core.primitive import Primitive


def _shape(*avals: ShapedArray, name: str, graph: Graph) -> list[ShapedArray]:
    return graph.out_avals


def _eval(*arrays: Any, name: str, graph: Graph) -> list[Any]:
    return bodies.evaluate(graph, arrays)


def _lower(cx: Any, *values: Any, name: str, graph: Graph) -> list[Any]:
    # Compilers inline calls anyway; one function is easier on every pass.
    return cx.apply(lambda *args: replay(graph, args), *values, avals=graph.in_avals)


jit_p = Primitive("jit", shape=_shape, eval=_eval, lower=_lower, multiple=True)
