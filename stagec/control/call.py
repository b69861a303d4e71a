"""`jit` inside a graph: a call of another graph.

The parameter `reproducible` is there, and true, where the call's results must have the same bits on all processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.control import graph_rules
from stagec.control.derived import (
    cotangents_of,
    cut,
    kept,
    merged,
    pick,
    pull,
    push,
    slimmer,
    split,
    tangents_of,
    trimmed,
    with_inputs,
)
from stagec.core.graph import Equation, Graph, all_equations, replay
from stagec.core.primitive import MultiplePrimitive, Primitive
from stagec.core.recording import trace_closed
from stagec.core.zero import is_linear, is_zero
from stagec.primitives.operand import aval_of
from stagec.transforms.batch import batch_flat
from stagec.transforms.linearize import PartialTrace


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    active = tuple([not is_zero(t) for t in tangents])
    graph, kinds = push(params["graph"], active)
    given = {**params, "name": f"jvp_{params['name']}", "graph": graph}
    outs, dots = cut(primitive(*primals, *pick(tangents, active), **given), len(kinds))
    return outs, tangents_of(outs, kinds, dots)


def _partial(trace: PartialTrace, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    unknown = tuple([trace.is_unknown(a) for a in args])
    part = split(params["graph"], unknown)
    known = jit_p(*pick(args, unknown, False), **{**params, "graph": part.early})
    first, residuals = cut(known, len(known) - part.residuals)
    rest = trace.unknown.process(jit_p, (*residuals, *pick(args, unknown)), {**params, "graph": part.late})
    return merged(part.unknown, rest, first)


def _transpose(cts: Any, *operands: Any, name: str, graph: Graph, **same_bits: bool) -> list[Any]:
    linear, active = tuple(map(is_linear, operands)), tuple([not is_zero(ct) for ct in cts])
    pulled, kinds = pull(graph, linear, active)
    given = [*pick(operands, linear, False), *pick(cts, active)]
    return cotangents_of(operands, kinds, jit_p(*given, name=f"transpose_{name}", graph=pulled, **same_bits))


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    graph, name = params["graph"], params["name"]

    def make() -> Any:
        out_dims: list[Any] = []

        def batched(*values: Any) -> list[Any]:
            outs, found = batch_flat(lambda *xs: replay(graph, xs), values, dims, size)
            out_dims.extend(found)
            return outs

        return trace_closed(batched, [aval_of(a) for a in args], name=name), out_dims

    batched_graph, out_dims = kept(graph, ("batch", tuple(dims), size), make)
    return primitive(*args, **{**params, "name": f"vmap_{name}", "graph": batched_graph}), out_dims


def _trim(equation: Equation, live: Sequence[bool]) -> Equation:
    slim, read = trimmed(equation.params["graph"], tuple(live))
    return slimmer(equation, read, tuple(live), {"graph": with_inputs(slim, read)})


jit_p = MultiplePrimitive(
    "jit",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial=_partial,
    trim=_trim,
)


def is_reproducible(graph: Graph) -> bool:
    """Whether a call in it, however deep, must have the same bits on all processors."""
    return bool(kept(graph, is_reproducible, lambda: any(e.params.get("reproducible") for e in all_equations(graph))))


def inlined(graph: Graph) -> Graph:
    """The graph with the calls of jitted functions inlined, except for reproducible ones, known by their parameter."""
    return graph_rules.inlined(graph, lambda e: e.primitive is jit_p and "reproducible" not in e.params)
