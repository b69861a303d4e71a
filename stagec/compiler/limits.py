"""Programs whose loops of unknown length end when a limit is used up, so that a call soon returns to Python.

Machine code cannot be interrupted, so a loop that may never end would have to run on another thread, and handing a call
over takes longer than many calls. A program with a limit runs on the calling thread, and again without one where that
was not enough. It depends on nothing but its arguments, so that it may begin anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.compiler import estimate
from stagec.control import graph_rules
from stagec.control.cond import cond_p
from stagec.control.derived import cut
from stagec.control.linear_solve import linear_solve_p
from stagec.control.loops import while_p
from stagec.control.scan import scan_p
from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.config import config
from stagec.core.graph import Atom, Equation, Graph, has_callbacks, inner_graphs, replay, run_equation
from stagec.core.recording import trace_closed
from stagec.primitives import arithmetic, logic
from stagec.primitives.convert import convert_element_type
from stagec.primitives.operand import aval_of, literal

_INT64 = np.dtype(np.int64)
_LIMIT = ShapedArray.of((), _INT64)


class _UnsupportedError(Exception):
    """An operation holds a loop and is none of those that pass a limit on."""


def limited(graph: Graph) -> Graph | None:
    """The graph with one more argument, a limit of element operations, and one more result: what is left of it.

    Where something is left, the other results are those of the graph; otherwise they mean nothing.

    None if the number of rounds of each loop is known, if one round of each takes long, if Python is called, or if a
    loop is in an operation that does not pass a limit on.
    """
    if not _is_open(graph) or has_callbacks(graph) or not estimate.is_quick(graph, rounds=1):
        return None

    def run(*values: Any) -> list[Any]:
        *args, left = values
        limit = _Limit(left)
        return [*replay(graph, args, limit.run), limit.left]

    try:
        return trace_closed(run, [*graph.in_avals, _LIMIT])
    except _UnsupportedError:
        return None


def _is_open(graph: Graph) -> bool:
    """Whether the number of rounds of a loop is not known."""
    return any(map(_has_loop, graph.equations))


def _has_loop(e: Equation) -> bool:
    return (e.primitive is while_p and estimate.rounds_of(e) is None) or any(map(_is_open, inner_graphs(e)))


class _Limit:
    """Runs equations under the current trace, and takes what loops do off a limit.

    Attributes:
      left: what is left of it; a number of rank 0.
    """

    def __init__(self, left: Any) -> None:
        self.left = left

    def run(self, e: Equation, values: Sequence[Any]) -> Sequence[Any]:
        """The results of an equation, as `replay` asks for them."""
        row, params = e.primitive, e.params
        if not _has_loop(e):
            return run_equation(e, values)
        if row.lower is graph_rules.lower:
            return replay(params["graph"], values, self.run)
        if row is linear_solve_p:
            return replay(params["solve"], values, self.run)
        if row is while_p:
            counter = estimate.counter_of(e)
            return self._counted(e, values, counter) if counter is not None else self._while(e, values)
        if row is scan_p:
            return self._scan(e, values)
        if row is cond_p:
            index, *operands = values
            branches = tuple([self._passing(g, 0) for g in params["branches"]])
            return self._taken(cond_p(index, self.left, *operands, branches=branches))
        raise _UnsupportedError

    def _taken(self, results: Sequence[Any]) -> Sequence[Any]:
        self.left, *others = results
        return others

    def _passing(self, graph: Graph, consts: int, cost: int = 0) -> Graph:
        """A graph that takes a limit after its first inputs, and returns what is left of it first."""

        def passed(*values: Any) -> list[Any]:
            first, (left, *others) = cut(values, consts)
            limit = _Limit(_less(left, cost))
            results = replay(graph, [*first, *others], limit.run)
            return [limit.left, *results]

        avals = graph.in_avals
        return trace_closed(passed, [*avals[:consts], _LIMIT, *avals[consts:]])

    def _while(self, e: Equation, values: Sequence[Any]) -> Sequence[Any]:
        cond, asked, consts = e.params["cond"], e.params["cond_consts"], e.params["body_consts"]
        if _is_open(cond):
            raise _UnsupportedError
        first, state = cut(values, asked + consts)

        def unfinished(*values: Any) -> list[Any]:
            own, (left, *others) = cut(values, asked)
            (unfinished,) = replay(cond, [*own, *others])
            return [logic.bitwise_and(unfinished, logic.gt(left, _number(0)))]

        avals = cond.in_avals
        params = {
            **e.params,
            "cond": trace_closed(unfinished, [*avals[:asked], _LIMIT, *avals[asked:]]),
            "body": self._passing(e.params["body"], consts, _cost(e)),
        }
        return self._taken(while_p(*first, self.left, *state, **params))

    def _counted(self, e: Equation, values: Sequence[Any], counter: estimate.Counter) -> Sequence[Any]:
        """A loop whose bound is known when it begins gets a lower one: its rounds need no check."""
        dtype = counter.bound.aval.dtype
        if counter.step != 1 or counter.passes or dtype == dtypes.uint64 or _is_open(e.params["body"]):
            return self._while(e, values)
        asked = e.params["cond_consts"]
        start, bound, cost = values[counter.operand], _value(e, values, counter.bound), _cost(e)
        begin, end = _wide(start), _wide(bound)
        rounds = arithmetic.div(_less(arithmetic.max_p(self.left, _number(0)), 1 - cost), _number(cost))
        last = arithmetic.add(begin, rounds)
        # A sum out of range is less than `begin`: then the limit allows all rounds that there may be.
        is_less = logic.bitwise_and(logic.lt(last, end), logic.ge(last, begin))
        bound = logic.select(is_less, convert_element_type(last, dtype), bound)
        at = counter.operand - asked - e.params["body_consts"]

        def unfinished(bound: Any, *state: Any) -> list[Any]:
            return [logic.lt(state[at], bound)]

        avals = [aval_of(bound), *e.params["cond"].in_avals[asked:]]
        params = {**e.params, "cond": trace_closed(unfinished, avals), "cond_consts": 1}
        results = while_p(bound, *values[asked:], **params)
        done = arithmetic.sub(_wide(results[at]), begin)
        self.left = arithmetic.sub(self.left, arithmetic.mul(done, _number(cost)))
        return results

    def _scan(self, e: Equation, values: Sequence[Any]) -> Sequence[Any]:
        consts = e.params["num_consts"]
        first, others = cut(values, consts)
        params = {
            **e.params,
            "graph": self._passing(e.params["graph"], consts),
            "num_carry": e.params["num_carry"] + 1,
        }
        return self._taken(scan_p(*first, self.left, *others, **params))


def _cost(e: Equation) -> int:
    """The element operations of a round; loops in it count for themselves."""
    return 1 + int(sum(estimate.operations(g, rounds=0, in_kernel=True) for g in inner_graphs(e)))


def _number(value: int) -> Any:
    return literal(value, _INT64)


def _less(left: Any, cost: int) -> Any:
    return arithmetic.sub(left, _number(cost)) if cost else left


def _wide(value: Any) -> Any:
    with config.override(enable_x64=True):
        return convert_element_type(value, _INT64)


def _value(e: Equation, values: Sequence[Any], atom: Atom) -> Any:
    """What an operand of the equation stands for; a constant stands for itself."""
    return next((v for a, v in zip(e.inputs, values) if a is atom), atom)
