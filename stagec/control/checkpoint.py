"""`checkpoint`: recomputes the values that the backward pass reads, instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stagec.control import graph_rules
from stagec.control.call import inlined, jit_p
from stagec.control.derived import Flags, cut, kept, merged, pick, split
from stagec.core.graph import Graph, Var, prune, replay
from stagec.core.primitive import MultiplePrimitive, Primitive, SinglePrimitive
from stagec.core.recording import trace_closed
from stagec.core.zero import is_linear, is_zero
from stagec.primitives.broadcast import linear
from stagec.primitives.rules import cotangents
from stagec.primitives.table import batch_elementwise
from stagec.transforms.linearize import PartialTrace

Policy = Callable[..., bool]

name_p = SinglePrimitive(
    "name",
    shape=lambda x, *, name: x,
    eval=lambda x, *, name: x,
    lower=lambda cx, x, *, name: x,
    jvp=linear(),
    transpose=cotangents(lambda ct, x, *, name: ct),
    batch=batch_elementwise,
)


def _barrier_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    active = [i for i, t in enumerate(tangents) if not is_zero(t)]
    dots = dict(zip(active, primitive(*[tangents[i] for i in active])))
    return primitive(*primals), [dots.get(i, t) for i, t in enumerate(tangents)]


# Its results equal its operands, but the compiler does not know that.
remat_barrier_p = MultiplePrimitive(
    "remat_barrier",
    shape=lambda *avals: list(avals),
    eval=lambda *arrays: list(arrays),
    lower=lambda cx, *values: cx.emit_all("stablehlo.optimization_barrier", values),
    jvp=_barrier_jvp,
    transpose=lambda cts, *operands: [None if is_zero(ct) else ct for ct in cts],
    batch=lambda primitive, args, dims, size, params: (primitive(*args), list(dims)),
)


def _jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    return jit_p.jvp(_checkpointed(params), primals, tangents, params)


def _batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    return jit_p.batch(_checkpointed(params), args, dims, size, params)


def _checkpointed(params: dict[str, Any]) -> Callable[..., Any]:
    """The constructor that `jit`'s rules, which are used here, too, call with the graphs that they made."""
    return functools.partial(checkpoint_p, policy=params["policy"], prevent_cse=params["prevent_cse"])


def _transpose(cts: Any, *operands: Any, name: str, graph: Graph, policy: Any, prevent_cse: bool) -> list[Any]:
    known = [i for i, o in enumerate(operands) if not is_linear(o)]
    if prevent_cse and known:
        # Otherwise common subexpression elimination would reuse the values of the forward pass, and so keep them.
        held = dict(zip(known, remat_barrier_p(*[operands[i] for i in known])))
        operands = tuple([held.get(i, o) for i, o in enumerate(operands)])
    return jit_p.transpose(cts, *operands, name=name, graph=graph)


def _partial(trace: PartialTrace, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    graph, policy, name = params["graph"], params["policy"], params["name"]
    unknown = tuple([trace.is_unknown(a) for a in args])
    key = ("checkpoint", unknown, policy.value)
    early, late, out_unknown, reads = kept(
        graph, key, lambda: _split(_split_control_flow(graph, unknown, name), unknown, policy.value)
    )
    known = pick(args, unknown, False)
    first, saved = cut(jit_p(*known, name=name, graph=early), len(out_unknown) - sum(out_unknown))
    values = (*pick([*saved, *known], reads), *pick(args, unknown))
    return merged(out_unknown, trace.unknown.process(checkpoint_p, values, {**params, "graph": late}), first)


def _split_control_flow(graph: Graph, unknown: Flags, name: str) -> Graph:
    """The graph with each loop, conditional and call split in two: the part that known inputs determine, and the linear
    part.
    """
    if not any(e.primitive.partial is not None for e in graph.equations):
        return graph
    part = split(graph, unknown)

    def run(*values: Any) -> list[Any]:
        known = replay(part.early, pick(values, unknown, False))
        first, residuals = cut(known, len(known) - part.residuals)
        return merged(part.unknown, replay(part.late, [*residuals, *pick(values, unknown)]), first)

    return inlined(trace_closed(run, graph.in_avals, [v.name for v in graph.inputs], name))


def _split(graph: Graph, unknown: Flags, policy: Policy | None) -> tuple[Graph, Graph, list[bool], list[bool]]:
    """Split a graph: the part that runs at once, and the remainder, which recomputes what the policy did not save.

    Returns:
      the early graph, of the known inputs, with the known results and then the saved values; the late one, of the
      saved values, the known inputs and the unknown inputs; which results are unknown; and which of the saved
      values and known inputs the late one takes.
    """
    late_vars = set(pick(graph.inputs, unknown))
    saved: list[Var] = []
    for e in graph.equations:
        if any(a in late_vars for a in e.inputs if type(a) is Var):
            late_vars.update(e.outputs)
        elif policy is not None and policy(e.primitive, *[a.aval for a in e.inputs], **e.params):
            saved += e.outputs
    out_unknown = [type(a) is Var and a in late_vars for a in graph.outputs]
    known_inputs = pick(graph.inputs, unknown, False)
    equations = [e for e in graph.equations if late_vars.isdisjoint(e.outputs)]
    early, _ = prune(Graph(known_inputs, equations, [*pick(graph.outputs, out_unknown, False), *saved]), True)
    # What has no results has had its effect by now.
    again = [e for e in graph.equations if not set(saved).issuperset(e.outputs)]
    leading, given = [*saved, *known_inputs], pick(graph.inputs, unknown)
    late, used = prune(Graph([*leading, *given], again, pick(graph.outputs, out_unknown)))
    used = used[: len(leading)]
    # All unknown inputs stay, so that the equation's operands are known from the arguments alone.
    return early, Graph([*pick(leading, used), *given], late.equations, late.outputs), out_unknown, used


checkpoint_p = MultiplePrimitive(
    "checkpoint",
    shape=graph_rules.shape,
    eval=graph_rules.evaluate,
    lower=graph_rules.lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial=_partial,
)


def named(x: Any, name: str) -> Any:
    """`x`, under a name that policies know."""
    return name_p(x, name=name)
