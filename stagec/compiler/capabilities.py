"""Checks that a target can run a program, before anything is compiled.

An operation that a target lacks is rewritten into others where that is possible
(`passes.legalize`); the checks here are for the remaining cases.
"""

from __future__ import annotations

from collections.abc import Iterator

from stagec.backends import Target
from stagec.backends.record import Gap
from stagec.core.aval import ShapedArray
from stagec.core.errors import UnsupportedError, message
from stagec.core.graph import Equation, Graph, all_equations, inner_graphs

# Each result takes two of 16,383 registers.
_MOST_RESULTS = 8190


def has_dtype(target: Target, dtype: str) -> bool:
    """Whether a target computes in a dtype at all.

    >>> has_dtype(Target.parse("vulkan:portable"), "float64"), has_dtype(Target.parse("vulkan:ada"), "float64")
    (False, True)
    """
    return not any(dtype in gap.dtypes and not gap.primitives for gap in target.on.gaps(target))


def check(graph: Graph, target: Target) -> None:
    """Refuse a program that the target cannot run.

    Raises:
      UnsupportedError: it names the operation, the dtype, the target and the user's line. Or there are too many
        results.
    """
    for gap in target.on.gaps(target):
        _check(graph, target, gap)
    if len(graph.outputs) > _MOST_RESULTS:
        raise UnsupportedError(
            message(
                f"the program has {len(graph.outputs)} results; IREE's virtual machine returns up to {_MOST_RESULTS}",
                str(graph.equations[-1].location),
                fix="stack results of one shape, or compute them in several functions",
            )
        )


def _check(graph: Graph, target: Target, gap: Gap) -> None:
    found = list(_uses(graph, gap))
    if not found:
        return
    # The equation of a loop has the dtypes of its body, too; the line inside the body is more precise.
    equation, aval = next((f for f in found if not inner_graphs(f[0])), found[0])
    name = equation.primitive.name
    rows = [(f"operand {i}", a.aval.long(), "") for i, a in enumerate(equation.inputs)]
    rows += [("result", v.aval.long(), "") for v in equation.outputs]
    what = f"{name} of {aval.dtype} does not exist on {target}, {gap.reason}"
    raise UnsupportedError(message(what, str(equation.location), rows, gap.fix))


def _uses(graph: Graph, gap: Gap) -> Iterator[tuple[Equation, ShapedArray]]:
    for equation in all_equations(graph):
        aval = gap.covers(equation.primitive.name, [a.aval for a in (*equation.inputs, *equation.outputs)])
        if aval is not None:
            yield equation, aval
