"""Rules of the operations that run the graph in their parameter `graph`: `jit`, `checkpoint`, `linear_call`, and calls
of functions with custom rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from stagec.control import bodies
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, replay

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
