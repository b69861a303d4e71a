"""`checkpoint`: recomputes the values that the backward pass reads, instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from stagec.control import graph_rules
from stagec.control.call import jit_p
from stagec.control.derived import kept
from stagec.core import location
from stagec.core.graph import Equation, Graph, Literal, Var, options_of, prune, replay, run_equation, trace_closed
from stagec.core.primitive import MultiplePrimitive, Primitive, SinglePrimitive
from stagec.core.trace import current
from stagec.core.zero import is_linear, is_zero
from stagec.primitives.broadcast import linear
from stagec.primitives.operand import aval_of
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
        graph, key, lambda: _split(_split_control_flow(graph, unknown, name), unknown, policy.value, name)
    )
    known = [a for a, u in zip(args, unknown) if not u]
    found = jit_p(*known, name=name, graph=early)
    first = sum(not u for u in out_unknown)
    residuals = [*found[first:], *known]
    read = [r for r, used in zip(residuals, reads) if used]
    unknown_outs = trace.unknown.process(
        checkpoint_p,
        (*read, *[a for a, u in zip(args, unknown) if u]),
        {**params, "graph": late},
    )
    a, b = iter(found[:first]), iter(unknown_outs)
    return [next(b) if u else next(a) for u in out_unknown]


def _split_control_flow(graph: Graph, unknown: Sequence[bool], name: str) -> Graph:
    """The graph with each loop, conditional and call split in two: the part that known inputs determine, and the linear
    part.
    """
    if not any(e.primitive.partial is not None for e in graph.equations):
        return graph

    def run(*values: Any) -> list[Any]:
        partial = PartialTrace(name)
        args = [partial.unknown.argument(aval_of(v)) if u else v for v, u in zip(values, unknown, strict=True)]
        with current(partial):
            outs = replay(graph, args)
        late, residuals = partial.unknown.finish([o for o in outs if partial.is_unknown(o)])
        found = iter(replay(late, [*residuals, *[v for v, u in zip(values, unknown) if u]]))
        return [next(found) if partial.is_unknown(o) else o for o in outs]

    return inlined(trace_closed(run, graph.in_avals, [v.name for v in graph.inputs], name), name)


def _split(graph: Graph, unknown: Sequence[bool], policy: Policy | None, name: str) -> Any:
    """Split a graph: the part that runs at once, and the remainder, which recomputes what the policy did not save.

    Returns:
      the early graph, of the known inputs, with the known results and then the saved values; the late one, of the
      saved values, the known inputs and the unknown inputs; which results are unknown; and which of the saved
      values and known inputs the late one takes.
    """
    late_vars = {v for v, u in zip(graph.inputs, unknown) if u}
    saved: list[Var] = []
    for e in graph.equations:
        if any(a in late_vars for a in e.inputs if type(a) is Var):
            late_vars.update(e.outputs)
        elif policy is not None and policy(e.primitive, *[a.aval for a in e.inputs], **e.params):
            saved += e.outputs
    out_unknown = [type(a) is Var and a in late_vars for a in graph.outputs]
    known_inputs = [v for v, u in zip(graph.inputs, unknown) if not u]
    unknown_inputs = [v for v, u in zip(graph.inputs, unknown) if u]

    equations = [e for e in graph.equations if not any(v in late_vars for v in e.outputs)]
    known: list[Any] = [a for a, u in zip(graph.outputs, out_unknown) if not u]
    early, _ = prune(Graph(known_inputs, equations, [*known, *saved]), keep_inputs=True)

    def remainder(*values: Any) -> list[Any]:
        table = dict(zip([*saved, *known_inputs, *unknown_inputs], values))
        return _replay_from(graph, table, [a for a, u in zip(graph.outputs, out_unknown) if u])

    leading = [*saved, *known_inputs]
    whole = trace_closed(remainder, [v.aval for v in (*leading, *unknown_inputs)], name=name)
    late, used = prune(whole)
    used = used[: len(leading)]
    # All unknown inputs stay, so that the equation's operands are known from the arguments alone.
    inputs = [v for v, u in zip(whole.inputs, used) if u] + whole.inputs[len(leading) :]
    return early, Graph(inputs, late.equations, late.outputs), out_unknown, used


def _replay_from(graph: Graph, values: dict[Var, Any], outputs: Sequence[Any]) -> list[Any]:
    """As `replay`, from values in the middle of the graph."""

    def read(atom: Any) -> Any:
        return atom if type(atom) is Literal else values[atom]

    before = location.ambient.location
    try:
        for e in graph.equations:
            if all(v in values for v in e.outputs):
                continue
            location.ambient.location = e.location
            with options_of(e):
                results = run_equation(e, [read(a) for a in e.inputs])
            for v, r in zip(e.outputs, results):
                values.setdefault(v, r)
    finally:
        location.ambient.location = before
    return [read(a) for a in outputs]


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


def inlined(graph: Graph, name: str) -> Graph:
    """The graph with the calls of jitted functions inlined, so that a policy sees their operations."""
    if not any(e.primitive is jit_p for e in graph.equations):
        return graph

    def flat(*values: Any) -> list[Any]:
        return _replay_inlined(graph, values)

    return trace_closed(flat, graph.in_avals, [v.name for v in graph.inputs], name)


def _replay_inlined(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """As `replay`, with the operations of jitted functions in the place of their calls."""
    return replay(graph, args, _run_inlined)


def _run_inlined(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    # A reproducible call is known by its parameter.
    if equation.primitive is jit_p and "reproducible" not in equation.params:
        return _replay_inlined(equation.params["graph"], operands)
    return run_equation(equation, operands)


def named(x: Any, name: str) -> Any:
    """`x`, under a name that policies know."""
    return name_p(x, name=name)
