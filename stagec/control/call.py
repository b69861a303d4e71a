"""`jit` inside a graph: a call of another graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal, replay
from stagec.core.primitive import Primitive


def _shape(*avals: ShapedArray, name: str, graph: Graph) -> list[ShapedArray]:
    return graph.out_avals


def _eval(*arrays: Any, name: str, graph: Graph) -> list[Any]:
    operands = [Literal(np.asarray(x), v.aval) for x, v in zip(arrays, graph.inputs)]
    return [r.value if isinstance(r, Literal) else r for r in replay(graph, operands)]


def _lower(cx: Any, *values: Any, name: str, graph: Graph) -> list[Any]:
    # Compilers inline calls anyway; one function is easier on every pass.
    return cx.apply(lambda *args: replay(graph, args), *values, avals=graph.in_avals)


jit_p = Primitive("jit", shape=_shape, eval=_eval, lower=_lower, multiple=True)
