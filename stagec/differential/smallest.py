"""The smallest part of a program that is computed wrongly, found by compiling parts on NumPy's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stagec.core.graph import Atom, Equation, Graph, Var, prune

# Whether a part of the program, run on NumPy's values of its inputs, gives something else than NumPy.
Differs = Callable[[Graph], bool]

# How many operations are tried to be left out of what is found.
_MOST_TRIALS = 40


def smallest(graph: Graph, differs: Differs) -> Graph:
    """A part of a graph that still differs, as small as a search that compiles some dozens of parts finds it.

    Args:
      graph: it differs as a whole.
    """
    equations = graph.equations
    # The shortest beginning that differs; what it makes for the rest is compared, too.
    end = _first(1, len(equations), lambda n: differs(part(graph, equations[:n])))
    # From its end backwards: fused with how much before it, the last operation goes wrong.
    size, found = 1, equations[:end]
    while size < end:
        window = equations[end - size : end]
        if differs(part(graph, window)):
            found = window
            break
        size *= 2
    # One after the other left out, and its results given.
    for equation in list(found)[:_MOST_TRIALS]:
        rest = [e for e in found if e is not equation]
        if rest and differs(part(graph, rest)):
            found = rest
    made = part(graph, found)
    for output in made.outputs:
        alone, _ = prune(Graph(made.inputs, made.equations, [output]))
        if differs(alone):
            return alone
    return made


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number that something holds for, where it holds for all above."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def part(graph: Graph, equations: Sequence[Equation]) -> Graph:
    """The graph of some equations: what they read of others comes in, and what others read goes out."""
    made = {v for e in equations for v in e.outputs}
    chosen = set(map(id, equations))
    inputs = dict.fromkeys(a for e in equations for a in e.inputs if isinstance(a, Var) and a not in made)
    readers = [a for e in graph.equations if id(e) not in chosen for a in e.inputs]
    read = {a for a in (*readers, *graph.outputs) if isinstance(a, Var)}
    outputs: list[Atom] = [v for e in equations for v in e.outputs if v in read]
    return Graph(list(inputs), list(equations), outputs)
