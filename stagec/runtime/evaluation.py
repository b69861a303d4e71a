"""Evaluation of graphs by NumPy that can be stopped between two operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.control import bodies
from stagec.core import location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Graph, Literal
from stagec.runtime import straight_line
from stagec.runtime.array import Array
from stagec.runtime.memory import aligned_empty
from stagec.runtime.straight_line import as_shaped

# How often a graph is evaluated before code is generated for it, which takes some milliseconds.
_ROUNDS = 8
# At most so many operations, on at most so many elements.
_SHORT = 500
_SMALL = 4096


class Stopped(BaseException):
    """Ends an evaluation whose results are not needed any more."""


class Evaluation:
    """Evaluates a graph, and the graphs inside its operations.

    Args:
      is_over: asked before each operation, those of each round of a loop included; if it says so, `run` raises
        `Stopped`. An operation itself is not interrupted.
      refuses: asked about each value; if it says so, `run` raises `Stopped`, too.
    """

    def __init__(
        self, is_over: Callable[[], bool], refuses: Callable[[np.ndarray[Any, Any]], bool] | None = None
    ) -> None:
        self._is_over = is_over
        self._refuses = refuses

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Array]:
        """The results, each in memory of its own, as a compiled program returns them.

        Raises:
          Stopped: they are not needed any more.
        """
        with bodies.replaced(self._replay), np.errstate(all="ignore"):
            results = self._replay(graph, inputs)
        return [_owned(r, a.aval) for r, a in zip(results, graph.outputs, strict=True)]

    def _replay(self, graph: Graph, args: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        refuses = self._refuses
        if refuses is None:
            generated = _generated(graph)
            if generated is not None:
                if self._is_over():
                    raise Stopped
                return generated([_host(a) for a in args])
        values: dict[Any, Any] = {v: _host(a) for v, a in zip(graph.inputs, args, strict=True)}
        if refuses is not None:
            literals = [a.value for e in graph.equations for a in e.inputs if type(a) is Literal]
            if any(map(refuses, (*values.values(), *literals))):
                raise Stopped
        before = location.ambient.location
        try:
            for equation, dead in zip(graph.equations, _dying(graph)):
                if self._is_over():
                    raise Stopped
                location.ambient.location = equation.location
                operands = [a.value if type(a) is Literal else values[a] for a in equation.inputs]
                made = equation.primitive.eval(*operands, **equation.params)
                outs = equation.outputs
                for v, value in zip(outs, made, strict=True) if equation.primitive.multiple else [(outs[0], made)]:
                    values[v] = result = as_shaped(v.aval, value)
                    if refuses is not None and refuses(result):
                        raise Stopped
                for v in dead:
                    del values[v]
        finally:
            location.ambient.location = before
        return [a.value if type(a) is Literal else values[a] for a in graph.outputs]


def _host(value: Any) -> Any:
    if type(value) is Array:
        return value.evaluated()
    return value.value if type(value) is Literal else np.asarray(value)


class _Rounds:
    """How often a graph was evaluated, and the code for it."""

    def __init__(self) -> None:
        self.count = 0
        self.code: Callable[[list[Any]], list[np.ndarray[Any, Any]]] | None = None


def _generated(graph: Graph) -> Callable[[list[Any]], list[np.ndarray[Any, Any]]] | None:
    """Code for a graph that is evaluated again and again, and takes too little time to be stopped inside."""
    rounds: _Rounds = graph.derived.setdefault(_generated, _Rounds())
    rounds.count += 1
    if rounds.count == _ROUNDS and _is_short(graph):
        rounds.code = _written(graph)
    return rounds.code


def _is_short(graph: Graph) -> bool:
    values = [*graph.inputs, *(v for e in graph.equations for v in e.outputs)]
    return len(graph.equations) <= _SHORT and all(v.aval.size <= _SMALL for v in values)


def _written(graph: Graph) -> Callable[[list[Any]], list[np.ndarray[Any, Any]]]:
    """Python code with a line for each operation, which takes a tenth of the time that evaluating them does."""
    graph = straight_line.folded(graph, _SMALL)
    code = straight_line.Code()
    names = [f"g{i}" for i in range(len(graph.inputs))]
    code.lines.append(f"[{', '.join(names)}] = given" if names else "")
    values = {v: code.assign(name, v.aval) for v, name in zip(graph.inputs, names)}
    results = [code.array(v) for v in straight_line.write(code, graph, values)]
    return code.function("given", f"[{', '.join(results)}]")


def _dying(graph: Graph) -> list[list[Any]]:
    """For each equation, the values that nothing reads after it."""
    found: list[list[Any]] | None = graph.derived.get(_dying)
    if found is None:
        found = []
        read = {a for a in graph.outputs if type(a) is not Literal}
        for e in reversed(graph.equations):
            used = dict.fromkeys([*(a for a in e.inputs if type(a) is not Literal), *e.outputs])
            found.append([v for v in used if v not in read])
            read.update(used)
        found.reverse()
        graph.derived[_dying] = found
    return found


def _owned(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    """A copy: an operation may have returned an operand's memory, or memory that is not aligned."""
    made = aligned_empty(aval.shape, aval.dtype)
    made[...] = value
    return Array.of(made, aval)
