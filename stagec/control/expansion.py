"""Leaves out of a graph what is not compiled: users' primitives, and constraints on how values are split.

A program's key covers a primitive's name and parameters, but not the code of a user's function. So users' primitives
are expanded into the functions that they are lowered to. How values are split among devices does not change a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.control.call import jit_p
from stagec.core.graph import Atom, Equation, Graph, all_equations, with_graphs
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_closed
from stagec.primitives.constraint import sharding_constraint_p


class UserPrimitive(Primitive):
    """A primitive that is not registered, whose lowering is a function of arrays."""

    def expansion(self, platform: str) -> Callable[..., Any]:
        """The function: of the operands, with the parameters as keywords, to a list of results.

        Args:
          platform: what the program is for.

        Raises:
          UnsupportedError: there is none.
        """
        raise AssertionError(f"{self.name} says what it is lowered to")


def expanded(graph: Graph, platform: str = "cpu") -> Graph:
    """The graph with calls of graphs in the place of users' primitives, and without what says how values are split.

    The same graph where there is none of both.
    """
    if not any(_goes(e) for e in all_equations(graph)):
        return graph
    known: dict[Any, Atom] = {}
    equations = []
    for e in graph.equations:
        inputs = [known.get(a, a) for a in e.inputs]
        if e.primitive is sharding_constraint_p:
            known[e.outputs[0]] = inputs[0]
        else:
            equations.append(
                _expanded_equation(Equation(e.primitive, inputs, e.outputs, e.params, e.location), platform)
            )
    return Graph(graph.inputs, equations, [known.get(a, a) for a in graph.outputs])


def _goes(equation: Equation) -> bool:
    return isinstance(equation.primitive, UserPrimitive) or equation.primitive is sharding_constraint_p


def _expanded_equation(equation: Equation, platform: str) -> Equation:
    row, inputs, outputs = equation.primitive, equation.inputs, equation.outputs
    if not isinstance(row, UserPrimitive):
        params = with_graphs(equation.params, lambda g: expanded(g, platform))
        return Equation(row, inputs, outputs, params, equation.location)
    function = row.expansion(platform)
    made = trace_closed(lambda *xs: function(*xs, **equation.params), [a.aval for a in inputs], name=row.name)
    return Equation(jit_p, inputs, outputs, {"name": row.name, "graph": expanded(made, platform)}, equation.location)
