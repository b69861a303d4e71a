"""Reduces a program that is computed wrongly, by compiling parts of it and running them on NumPy's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stagec.core.graph import Atom, Equation, Graph, Var, prune

# Whether a part of the program, run on NumPy's values of its inputs, returns other results than NumPy.
Differs = Callable[[Graph], bool]

# The most operations that are tried to be left out in the end.
_MOST_TRIALS = 40


def smallest(graph: Graph, differs: Differs) -> Graph:
    """A small part of a graph that still differs, found by compiling some dozens of parts.

    Args:
      graph: it differs as a whole.
    """
    equations = graph.equations
    # The shortest prefix that differs; values that later operations read are compared, too.
    end = _first(1, len(equations), lambda n: differs(part(graph, equations[:n])))
    # The shortest window, ending at the prefix's last operation, that differs.
    size, found = 1, equations[:end]
    while size < end:
        window = equations[end - size : end]
        if differs(part(graph, window)):
            found = window
            break
        size *= 2
    # Leave out one operation after the other, whose results become inputs.
    for equation in list(found)[:_MOST_TRIALS]:
        others = [e for e in found if e is not equation]
        if others and differs(part(graph, others)):
            found = others
    made = part(graph, found)
    for output in made.outputs:
        alone, _ = prune(Graph(made.inputs, made.equations, [output]))
        if differs(alone):
            return alone
    return made


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number for which a monotone condition holds, by bisection."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def part(graph: Graph, equations: Sequence[Equation]) -> Graph:
    """The graph of some equations. Its inputs are the values of others that they read, its outputs those that
    others read.
    """
    made = {v for e in equations for v in e.outputs}
    chosen = set(map(id, equations))
    inputs = dict.fromkeys(a for e in equations for a in e.inputs if isinstance(a, Var) and a not in made)
    readers = [a for e in graph.equations if id(e) not in chosen for a in e.inputs]
    read = {a for a in (*readers, *graph.outputs) if isinstance(a, Var)}
    outputs: list[Atom] = [v for e in equations for v in e.outputs if v in read]
    return Graph(list(inputs), list(equations), outputs)
