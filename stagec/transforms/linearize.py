"""Linearization, the first half of reverse mode: run a function on known values, and record its linear part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.core.config import state
from stagec.core.graph import Graph, replay
from stagec.core.primitive import Primitive
from stagec.core.recording import GraphTrace, GraphTracer
from stagec.core.trace import Trace, current, under
from stagec.core.wrapping import shown_name
from stagec.core.zero import differentiable, is_zero, zero_of
from stagec.primitives.operand import aval_of
from stagec.transforms.jvp import jvp_flat


class PartialTrace(Trace):
    """What depends on unknown values is recorded; everything else runs under the parent at once."""

    def __init__(self, name: str) -> None:
        self.parent = state.trace
        self.unknown = GraphTrace(name)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not any(self.is_unknown(a) for a in args):
            with current(self.parent):
                return primitive(*args, **params)
        if primitive.partial is not None:
            return primitive.partial(self, args, params)
        return self.unknown.process(primitive, args, params)

    def is_unknown(self, value: Any) -> bool:
        return type(value) is GraphTracer and value._trace is self.unknown


class LinearFunction:
    """A linear function of tangents: its graph, and the known values that the graph reads."""

    def __init__(self, graph: Graph, residuals: list[Any], outs: list[Any], used: list[bool]) -> None:
        self.graph = graph
        self.residuals = residuals
        # The tangents of all results: None where the graph has one, else a `Zero`.
        self.outs = outs
        # Which of the function's arguments the graph takes.
        self.used = used

    def __call__(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results."""
        given = [t for t, u in zip(tangents, self.used, strict=True) if u]
        found = iter(replay(self.graph, [*self.residuals, *given]))
        return [next(found) if o is None else o for o in self.outs]


def linearize_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], name: str = "", active: Sequence[bool] | None = None
) -> tuple[list[Any], LinearFunction]:
    """Results of a flat function at `primals`, and its derivative there.

    Args:
      active: which arguments are differentiated; by default those that have derivatives.
    """
    partial = PartialTrace(name or shown_name(function))
    avals = [aval_of(p) for p in primals]
    used = [differentiable(a) and (active is None or active[i]) for i, a in enumerate(avals)]
    tangents = [partial.unknown.argument(a.strip_weak_type()) if u else zero_of(a) for a, u in zip(avals, used)]
    outs, dots = under(partial, jvp_flat, function, primals, tangents)
    real = [d for d in dots if not is_zero(d)]
    graph, residuals = partial.unknown.finish(real)
    return outs, LinearFunction(graph, residuals, [d if is_zero(d) else None for d in dots], used)
