"""Combining functions of reductions from a user's graph of scalars, and from its derivative."""

from __future__ import annotations

from stagec.core.graph import Graph, replay
from stagec.primitives.broadcast import instantiate, spread_to
from stagec.primitives.combining import Arrays, Combine
from stagec.primitives.operand import aval_of
from stagec.transforms.jvp import jvp_flat


def by_graph(graph: Graph) -> Combine:
    """Combine by a graph of scalars."""

    def combine(a: Arrays, b: Arrays) -> Arrays:
        shape = aval_of(a[0]).shape
        return [spread_to(v, shape) for v in replay(graph, [*a, *b])]

    return combine


def with_tangents(graph: Graph) -> Combine:
    """Combine values, the first half of each list, and tangents, the second, by a graph of scalars."""

    def combine(a: Arrays, b: Arrays) -> Arrays:
        n, shape = len(a) // 2, aval_of(a[0]).shape
        outs, dots = jvp_flat(lambda *xs: replay(graph, xs), [*a[:n], *b[:n]], [*a[n:], *b[n:]])
        return [spread_to(v, shape) for v in [*outs, *map(instantiate, dots)]]

    return combine
