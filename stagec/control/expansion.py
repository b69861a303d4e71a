"""Expands primitives that users define into the functions that they are lowered to.

A program's key covers a primitive's name and parameters, but not the code of a user's function. So no such primitive is
left in the graph that is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stagec.control.call import jit_p
from stagec.core import errors, location
from stagec.core.graph import Equation, Graph, all_equations, trace_flat
from stagec.core.primitive import Primitive


class UserPrimitive(Primitive):
    """A primitive that is not registered, whose lowering is a function of arrays."""

    def expansion(self) -> Callable[..., Any]:
        """The function: of the operands, with the parameters as keywords, to a list of results.

        Raises:
          UnsupportedError: there is none.
        """
        raise AssertionError(f"{self.name} says what it is lowered to")


def expanded(graph: Graph) -> Graph:
    """The graph with calls of graphs in the place of users' primitives; the same one where there are none."""
    if not any(isinstance(e.primitive, UserPrimitive) for e in all_equations(graph)):
        return graph
    return Graph(graph.inputs, [_expanded_equation(e) for e in graph.equations], graph.outputs)


def _expanded_equation(equation: Equation) -> Equation:
    row, inputs, outputs = equation.primitive, equation.inputs, equation.outputs
    if not isinstance(row, UserPrimitive):
        params = {k: _expanded_parameter(v) for k, v in equation.params.items()}
        return Equation(row, inputs, outputs, params, equation.location)
    function = row.expansion()
    made, captured = trace_flat(lambda *xs: function(*xs, **equation.params), [a.aval for a in inputs], name=row.name)
    if captured:
        raise location.error(
            errors.UnsupportedError,
            f"{row.name}: its lowering closes over {captured[0].aval.long()}",
            fix="pass the array as an operand of the primitive",
        )
    return Equation(jit_p, inputs, outputs, {"name": row.name, "graph": expanded(made)}, equation.location)


def _expanded_parameter(value: Any) -> Any:
    if isinstance(value, Graph):
        return expanded(value)
    if isinstance(value, tuple) and any(isinstance(v, Graph) for v in value):
        return tuple([_expanded_parameter(v) for v in value])
    return value
