"""Transposition, the second half of reverse mode: cotangents are pulled back through a linear graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.core import location
from stagec.core.graph import Equation, Graph, Literal, Var, options_of, run_equation
from stagec.core.primitive import MissingRule
from stagec.core.zero import Linear, is_zero, zero_of
from stagec.primitives.rules import add_p, no_rule


def transpose_graph(graph: Graph, operands: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of a graph's linear inputs.

    Args:
      operands: a value for each input that is known, a `Linear` for each that is not.
      cts: of the results; a `Zero` where there is none.

    Returns:
      for each input, None if it is known, else its cotangent or a `Zero`.
    """
    known: dict[Var, Any] = {v: o for v, o in zip(graph.inputs, operands, strict=True) if type(o) is not Linear}
    pending: list[Equation] = []
    before = location.ambient.location
    try:
        for equation in graph.equations:
            if all(type(a) is Literal or a in known for a in equation.inputs):
                location.ambient.location = equation.location
                with options_of(equation):
                    results = run_equation(equation, [_read(a, known) for a in equation.inputs])
                known.update(zip(equation.outputs, results))
            else:
                pending.append(equation)
        gathered: dict[Var, Any] = {}
        for atom, ct in zip(graph.outputs, cts, strict=True):
            _add(gathered, atom, ct, known)
        for equation in reversed(pending):
            found = [gathered.pop(v, None) for v in equation.outputs]
            if all(ct is None for ct in found):
                continue
            location.ambient.location = equation.location.backward()
            _pull(equation, found, known, gathered)
    finally:
        location.ambient.location = before
    return [None if v in known else gathered.get(v, zero_of(v.aval)) for v in graph.inputs]


def _read(atom: Any, known: dict[Var, Any]) -> Any:
    return atom if type(atom) is Literal else known[atom]


def _add(gathered: dict[Var, Any], atom: Any, ct: Any, known: dict[Var, Any]) -> None:
    if ct is None or is_zero(ct) or type(atom) is Literal or atom in known:
        return
    earlier = gathered.get(atom)
    gathered[atom] = ct if earlier is None else add_p(earlier, ct)


def _pull(equation: Equation, found: list[Any], known: dict[Var, Any], gathered: dict[Var, Any]) -> None:
    primitive = equation.primitive
    if isinstance(primitive.transpose, MissingRule):
        raise no_rule(primitive, "transposed", primitive.transpose)
    operands = [Linear(a.aval) if type(a) is Var and a not in known else _read(a, known) for a in equation.inputs]
    if primitive.multiple:
        cts: Any = [zero_of(v.aval) if ct is None else ct for ct, v in zip(found, equation.outputs)]
    else:
        (cts,) = found
    with options_of(equation):
        pulled = primitive.transpose(cts, *operands, **equation.params)
    for atom, ct in zip(equation.inputs, pulled, strict=True):
        _add(gathered, atom, ct, known)
