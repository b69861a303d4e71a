"""Where a call outside `jit` runs: NumPy computes it at once, or it runs as a compiled program.

NumPy computes what takes it less than about 12 microseconds, and what it computes as quickly as compiled code: single
operations, and products, transforms, sorts and factorizations, also several of them. Everything else is a program:
functions that are composed of many operations, special functions, loops, and calls of jitted functions under a
transformation. For loops in functions of stagec's own, which later calls do not record again, the time that Python
takes between two operations counts, too; a user's loop is recorded in each call, which takes longer than that. The
choice follows from the graph alone, its operations, shapes and dtypes, so a call gives the same bits each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.backends import Target
from stagec.compiler import estimate
from stagec.compiler.exact import is_exact
from stagec.core.config import config
from stagec.core.graph import Equation, Graph, has_users_callbacks, inner_graphs
from stagec.core.treedef import PyTreeDef

# What NumPy may take for any call.
_SECONDS = 1.18e-5
# The share of a call's time that counts as all of it.
_ALL = 0.8

# Takes a graph, the values that lead its inputs, a name, the structure of the results, and whether they have to be the
# program's own; returns a function of the other inputs.
Programs = Callable[[Graph, Sequence[Any], str, "PyTreeDef | None", bool], Callable[[Sequence[Any]], Any]]
_load: Callable[[], Programs | None] = lambda: None  # noqa: E731
_programs: list[Programs | None] = []


def supply_with(load: Callable[[], Programs | None]) -> None:
    """Set the function that loads what makes programs of graphs; it returns None where there is no compiler."""
    global _load
    _load = load


def program(
    graph: Graph,
    captured: Sequence[Any],
    name: str,
    tree: PyTreeDef | None = None,
    *,
    called: bool = False,
    exactly: bool = False,
    kept: bool = False,
) -> Callable[[Sequence[Any]], Any] | None:
    """What runs a graph as a compiled program; None where NumPy computes it.

    Args:
      captured: values that lead the graph's inputs.
      tree: the structure of the results; by default, they are a list.
      called: whether the graph is that of a jitted function.
      exactly: whether the results must have the bits that compiled code gives them.
      kept: whether later calls use what is returned, without recording a graph again.
    """
    if config.disable_jit:
        return None
    reproducible = config.reproduces()
    exactly = exactly or reproducible
    always = called or (exactly and not is_exact(graph, Target.parse(config.target), reproducible))
    if not (always or is_program(graph, kept)) or has_users_callbacks(graph):
        return None
    if not _programs:
        _programs.append(_load())
    make = _programs[0]
    return None if make is None else make(graph, captured, name, tree, exactly)


def is_program(graph: Graph, kept: bool = False) -> bool:
    """Whether a call is compiled, unless it calls the user's functions.

    Args:
      kept: as `program` has it.
    """
    if any(map(calls_jitted, graph.equations)):
        return True
    views = {e.outputs[0] for e in graph.equations if estimate.is_view(e)}
    of_views = [not views.isdisjoint(e.inputs) for e in graph.equations]
    seconds = list(map(estimate.numpy_seconds_of, graph.equations, of_views))
    total = sum(seconds) + (sum(map(estimate.python_seconds_of, graph.equations)) if kept else 0.0)
    if total <= _SECONDS:
        return False
    spread = {e.outputs[0] for e in graph.equations if e.primitive.name == "broadcast_in_dim" and e.inputs[0].aval.ndim}
    quick = [
        (s, e)
        for s, e, is_of_views in zip(seconds, graph.equations, of_views)
        if estimate.is_quick_in_numpy(e, not spread.isdisjoint(e.inputs), is_of_views)
    ]
    alone = max([s for s, _ in quick], default=0.0)
    together = sum([s for s, e in quick if estimate.is_of_library(e)])
    return max(alone, together) < _ALL * total


def calls_jitted(equation: Equation) -> bool:
    """Whether an operation is, or has in it, a call of a jitted function."""
    if equation.primitive.name == "jit":
        return True
    return any(calls_jitted(e) for inner in inner_graphs(equation) for e in inner.equations)
