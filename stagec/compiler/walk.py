"""Walks over a graph and the graphs inside it."""

from __future__ import annotations

from collections.abc import Iterator

from stagec.core.graph import Equation, Graph


def inner_graphs(equation: Equation) -> Iterator[Graph]:
    """The graphs among an equation's parameters."""
    for value in equation.params.values():
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Graph):
                yield inner


def all_equations(graph: Graph) -> Iterator[Equation]:
    """Every equation, those of inner graphs included."""
    for part in graphs(graph):
        yield from part.equations


def graphs(graph: Graph) -> Iterator[Graph]:
    """The graph, and every graph inside it."""
    yield graph
    for equation in graph.equations:
        for inner in inner_graphs(equation):
            yield from graphs(inner)
