"""Graphs with open dimensions: which sizes they contain, and the same graph for given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stagec.core import dims, dims_values
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, replaced
from stagec.core.dims_terms import Symbol
from stagec.core.dims_values import symbols
from stagec.core.graph import Atom, Equation, Graph, Literal, Var
from stagec.core.location import UNKNOWN, Location


def is_open(graph: Graph) -> bool:
    """Whether the graph is for arguments of any size."""
    return any(a.is_open for a in graph.in_avals)


# Primitives whose parameters are numbers and positions, and no sizes of arrays or of loops.
_NUMBERS = frozenset({"dimension_size", "pad", "slice", "conv_general_dilated"})


def sizes(given: Any) -> dict[Dim, Location]:
    """The open sizes in a graph, or in parameters of an equation, with the line that each comes from.

    Also the numbers in parameters that have to be whole.
    """
    found: dict[Dim, Location] = {}

    def visit(value: Any, line: Location, is_size: bool = True) -> None:
        if isinstance(value, Dim):
            if is_size or not dims.is_whole(value):
                found.setdefault(value, line)
        elif isinstance(value, ShapedArray):
            if value.is_open:
                visit(value.shape, line)
        elif isinstance(value, (tuple, list)):
            for part in value:
                visit(part, line, is_size)
        elif isinstance(value, dict):
            visit(list(value.values()), line, is_size)
        elif isinstance(value, Graph):
            walk(value)

    def walk(part: Graph) -> None:
        visit(part.in_avals, UNKNOWN)
        for equation in part.equations:
            visit([v.aval for v in equation.outputs], equation.location)
            visit(equation.params, equation.location, equation.primitive.name not in _NUMBERS)

    visit(given, UNKNOWN)
    return found


def at(graph: Graph, values: Mapping[Symbol, int]) -> Graph:
    """The graph for given sizes; those that are not given stay open."""
    known: dict[Var, Var] = {}

    def of_aval(aval: ShapedArray) -> ShapedArray:
        return aval.update(shape=[replaced(n, values) for n in aval.shape]) if aval.is_open else aval

    def of_value(value: Any) -> Any:
        if isinstance(value, Dim):
            return replaced(value, values)
        if isinstance(value, ShapedArray):
            return of_aval(value)
        if type(value) is tuple:
            return tuple([of_value(part) for part in value])
        if type(value) is list:
            return [of_value(part) for part in value]
        if isinstance(value, dict):
            return {k: of_value(v) for k, v in value.items()}
        return at(value, values) if isinstance(value, Graph) else value

    def of_atom(atom: Atom) -> Atom:
        if isinstance(atom, Literal):
            return atom
        if atom not in known:
            known[atom] = Var(of_aval(atom.aval), None, atom.name)
        return known[atom]

    def of_variable(variable: Var) -> Var:
        found = of_atom(variable)
        assert isinstance(found, Var)
        return found

    inputs = [of_variable(v) for v in graph.inputs]
    equations = []
    for e in graph.equations:
        made = Equation(e.primitive, [of_atom(a) for a in e.inputs], [], of_value(e.params), e.location)
        made.outputs = [of_variable(v) for v in e.outputs]
        for v in made.outputs:
            v.equation = made
        equations.append(made)
    return Graph(inputs, equations, [of_atom(a) for a in graph.outputs])


def typical(graph: Graph) -> Graph:
    """The graph for sizes by which its work can be estimated; the graph itself if it is not open."""
    if not is_open(graph):
        return graph
    found = symbols([a.shape for a in graph.in_avals])
    return at(graph, {s: dims_values.typical(dims.of_symbol(s)) for s in found})
