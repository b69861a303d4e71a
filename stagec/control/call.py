"""`jit` inside a graph: a call of another graph.

The parameter `reproducible` is there, and true, where the call's results must have the same bits on all processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.control import graph_rules
from stagec.control.derived import kept, slimmer, trimmed, with_inputs
from stagec.core.graph import Equation, Graph, all_equations, replay, trace_closed
from stagec.core.primitive import MultiplePrimitive, Primitive
from stagec.core.zero import Linear, Zero, is_linear, is_zero, zero_of
from stagec.primitives.operand import aval_of
from stagec.transforms.batch import batch_flat
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import PartialTrace, split_graph
from stagec.transforms.transpose import transpose_graph


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    graph, name = params["graph"], params["name"]
    active = tuple([not is_zero(t) for t in tangents])

    def make() -> Any:
        dots: list[Any] = []

        def pushed(*values: Any) -> list[Any]:
            given = iter(values[len(primals) :])
            dots_in = [next(given) if a else zero_of(v) for a, v in zip(active, graph.in_avals)]
            outs, found = jvp_flat(lambda *xs: replay(graph, xs), values[: len(primals)], dots_in)
            dots.extend(found)
            return [*outs, *[d for d in found if not is_zero(d)]]

        avals = [*graph.in_avals, *[a.strip_weak_type() for a, on in zip(graph.in_avals, active) if on]]
        made = trace_closed(pushed, avals, name=name)
        return made, [Zero(d.aval) if is_zero(d) else None for d in dots]

    pushed_graph, dots = kept(graph, ("jvp", active), make)
    more = {**params, "name": f"jvp_{name}", "graph": pushed_graph}
    results = primitive(*primals, *[t for t in tangents if not is_zero(t)], **more)
    count = len(graph.outputs)
    given = iter(results[count:])
    return results[:count], [next(given) if d is None else d for d in dots]


def _partial(trace: PartialTrace, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    graph, name = params["graph"], params["name"]
    unknown = tuple([trace.is_unknown(a) for a in args])
    early, late, out_unknown, count = kept(graph, ("split", unknown), lambda: split_graph(graph, unknown, name))
    known = jit_p(*[a for a, u in zip(args, unknown) if not u], **{**params, "graph": early})
    residuals = known[len(known) - count :] if count else []
    unknown_outs = trace.unknown.process(
        jit_p, (*residuals, *[a for a, u in zip(args, unknown) if u]), {**params, "graph": late}
    )
    first, second = iter(known), iter(unknown_outs)
    return [next(second) if u else next(first) for u in out_unknown]


def _transpose(cts: Any, *operands: Any, name: str, graph: Graph, **same_bits: bool) -> list[Any]:
    linear = tuple([is_linear(o) for o in operands])
    active = tuple([not is_zero(ct) for ct in cts])

    def make() -> Any:
        found: list[Any] = []

        def pulled(*values: Any) -> list[Any]:
            given = iter(values)
            args = [Linear(a) if on else next(given) for a, on in zip(graph.in_avals, linear)]
            graph_cts = [next(given) if on else zero_of(a) for a, on in zip(graph.out_avals, active)]
            found.extend(transpose_graph(graph, args, graph_cts))
            return [ct for ct in found if ct is not None and not is_zero(ct)]

        avals = [a for a, on in zip(graph.in_avals, linear) if not on]
        avals += [a.strip_weak_type() for a, on in zip(graph.out_avals, active) if on]
        made = trace_closed(pulled, avals, name=name)
        return made, [None if ct is None else Zero(ct.aval) if is_zero(ct) else True for ct in found]

    pulled_graph, kinds = kept(graph, ("transpose", linear, active), make)
    known = [o for o, on in zip(operands, linear) if not on]
    cts = [ct for ct in cts if not is_zero(ct)]
    results = iter(jit_p(*known, *cts, name=f"transpose_{name}", graph=pulled_graph, **same_bits))
    return [next(results) if kind is True else kind for kind in kinds]


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
    graph = equation.params["graph"]
    slim, read = trimmed(graph, tuple(live))
    if all(live) and all(read) and len(slim.equations) == len(graph.equations):
        return equation
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
