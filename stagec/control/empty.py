"""Graphs without operations on arrays that have no elements, which the compiler does not take.

What such an array holds is known, so an operation that makes one is left out, and one that reads one becomes what it
does with its other operands. Arrays without elements that loops and branches carry are left out of their state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control import graph_rules
from stagec.control.call import jit_p
from stagec.control.derived import kept
from stagec.core.graph import (
    Atom,
    Equation,
    Graph,
    Literal,
    Var,
    all_equations,
    has_effects,
    inner_graphs,
    prune,
    with_graphs,
)
from stagec.primitives.broadcast import broadcast_in_dim_p

# Known results of at most so many elements are literals; larger ones that repeat one number are broadcasts of it.
_SMALL = 16


def has_empty(graph: Graph) -> bool:
    """Whether an array in the graph, or in a graph inside it, has no elements."""
    if any(a.aval.size == 0 for a in (*graph.inputs, *graph.outputs)):
        return True
    return any(a.aval.size == 0 for e in all_equations(graph) for a in (*e.inputs, *e.outputs))


def without_empty(graph: Graph) -> Graph:
    """The graph, which takes the same inputs, without arrays that have no elements as far as possible.

    >>> import stagec, stagec.numpy as snp
    >>> f = stagec.jit(lambda x, y: (snp.sin(x), snp.concatenate([x, y]) * 2))
    >>> graph = f.trace(snp.ones(0), snp.ones(3)).jaxpr.graph
    >>> print(without_empty(graph))
    { lambda ; a:f32[0] b:f32[3]. let
        c:f32[3] = mul b 2.0:f32[]
      in ([]:f32[0], c) }
    """
    if not has_empty(graph):
        return graph
    return kept(graph, without_empty, lambda: prune(_cleared(graph), keep_inputs=True)[0])


def _cleared(graph: Graph) -> Graph:
    """The same, with equations left in whose results nothing reads any more."""

    def make() -> Graph:
        known: dict[Any, Atom] = {v: _empty(v) for v in graph.inputs if v.aval.size == 0}
        equations: list[Equation] = []
        for e in graph.equations:
            inputs = [known.get(a, a) for a in e.inputs]
            e = Equation(e.primitive, inputs, e.outputs, e.params, e.location)
            if "callback" in e.params:  # the user's function expects a call
                equations.append(e)
                continue
            for v in e.outputs:
                if v.aval.size == 0:
                    known[v] = _empty(v)
            if all(v in known for v in e.outputs) and not has_effects(e):
                continue
            rule = _RULES.get(e.primitive.name) if any(a.aval.size == 0 for a in e.inputs) else None
            if rule is not None:
                known |= zip(e.outputs, rule(e, equations))
            elif e.primitive.name == "scan" and e.params["length"] == 0:
                first = e.params["num_consts"]
                known |= zip(e.outputs, e.inputs[first : first + e.params["num_carry"]])
            elif e.primitive.lower is graph_rules.lower:
                inner = {"name": e.primitive.name, "graph": _cleared(e.params["graph"])}
                equations.append(Equation(jit_p, e.inputs, e.outputs, inner, e.location))
            elif inner_graphs(e):
                params = with_graphs(e.params, _cleared)
                equations.append(Equation(e.primitive, e.inputs, e.outputs, params, e.location))
            elif _is_known(e):
                known[e.outputs[0]] = _known(e, equations)
            else:
                equations.append(e)
        return Graph(graph.inputs, equations, [known.get(a, a) for a in graph.outputs])

    return kept(graph, _cleared, make)


def _empty(atom: Any) -> Literal:
    return Literal(np.zeros(atom.aval.shape, atom.aval.dtype), atom.aval)


def _is_known(e: Equation) -> bool:
    """Whether an operation on arrays without elements has a result that nothing else decides."""
    empty = any(a.aval.size == 0 for a in e.inputs)
    return empty and not e.primitive.multiple and not has_effects(e) and all(type(a) is Literal for a in e.inputs)


def _known(e: Equation, equations: list[Equation]) -> Atom:
    (out,) = e.outputs
    with np.errstate(all="ignore"):
        value = np.asarray(e.primitive.eval(*[a.value for a in e.inputs], **e.params)).astype(out.aval.dtype)  # type: ignore[union-attr]
    if out.aval.size <= _SMALL:
        return Literal(value, out.aval)
    number = np.asarray(value.flat[0])
    if value.tobytes() != number.tobytes() * value.size:
        return Literal(value, out.aval)
    return _repeated(Literal(number, out.aval.update(shape=())), out, e, equations)


def _repeated(number: Atom, out: Var, e: Equation, equations: list[Equation]) -> Var:
    params = {"shape": out.aval.shape, "broadcast_dimensions": ()}
    equations.append(Equation(broadcast_in_dim_p, [number], [out], params, e.location))
    return out


def _of_concatenate(e: Equation, equations: list[Equation]) -> list[Atom]:
    rest = [a for a in e.inputs if a.aval.size]
    if len(rest) == 1 and rest[0].aval == e.outputs[0].aval:
        return rest
    equations.append(Equation(e.primitive, rest, e.outputs, e.params, e.location))
    return list(e.outputs)


def _of_pad(e: Equation, equations: list[Equation]) -> list[Atom]:
    return [_repeated(e.inputs[1], e.outputs[0], e, equations)]


def _of_update(e: Equation, equations: list[Equation]) -> list[Atom]:
    """A write of nothing. Where the array that it writes to has no elements, neither has the result."""
    return [e.inputs[0]]


# What an operation that reads an array without elements, and whose results have some, is instead.
_RULES: dict[str, Callable[[Equation, list[Equation]], Sequence[Atom]]] = {
    "concatenate": _of_concatenate,
    "pad": _of_pad,
    "dynamic_update_slice": _of_update,
    **dict.fromkeys(("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"), _of_update),
}
