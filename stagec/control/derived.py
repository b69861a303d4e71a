"""Transformations of graphs inside operations: each result is recorded once, and kept with the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from stagec.core import location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, prune, replay
from stagec.core.recording import trace_closed
from stagec.core.trace import current
from stagec.core.zero import Linear, differentiable, is_linear, is_zero, zero_of
from stagec.primitives import logic
from stagec.primitives.barrier import stop_gradient
from stagec.primitives.broadcast import broadcast_in_dim_p, instantiate, moveaxis_to_front, spread_to
from stagec.primitives.operand import aval_of
from stagec.transforms.batch import batch_flat
from stagec.transforms.jvp import jvp_flat
from stagec.transforms.linearize import PartialTrace
from stagec.transforms.transpose import transpose_graph

Flags = tuple[bool, ...]


def kept(graph: Graph, key: Any, make: Callable[[], Any]) -> Any:
    """The result of `make`, computed once for a graph and a key."""
    found = graph.derived.get(key)
    return graph.derived.setdefault(key, make()) if found is None else found


def stable(flags: Iterable[bool], step: Callable[[Flags], Iterable[bool]]) -> Flags:
    """The least flags that contain `flags` and that `step` does not add to."""
    now = tuple(flags)
    while True:
        grown = either(now, step(now))
        if grown == now:
            return now
        now = grown


def either(*columns: Iterable[bool]) -> Flags:
    """The flags that are set in any of several lists of equal length."""
    return tuple([any(flags) for flags in zip(*columns)])


def cut(items: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Consecutive parts of the given sizes, and the remainder."""
    parts, start = [], 0
    for size in sizes:
        parts.append(list(items[start : start + size]))
        start += size
    return [*parts, list(items[start:])]


def pick(items: Iterable[Any], flags: Iterable[bool], wanted: bool = True) -> list[Any]:
    """The items whose flag is `wanted`."""
    return [item for item, flag in zip(items, flags, strict=True) if flag == wanted]


def record_flat(function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray]) -> Graph:
    """The graph of a flat function that closes over nothing."""
    where = location.capture()

    def placed(*values: Any) -> Sequence[Any]:
        # What has no line of its own in the user's function has that of the whole operation.
        location.ambient.location = where
        return function(*values)

    return trace_closed(placed, avals, name="body", static_arguments=False)


def trimmed(graph: Graph, live: Flags) -> tuple[Graph, Flags]:
    """The graph of some of its results, with all of its inputs, and which of these it reads.

    It is the graph itself if nothing is left out.
    """

    def make() -> tuple[Graph, Flags]:
        wanted, read = prune(Graph(graph.inputs, graph.equations, pick(graph.outputs, live)))
        if all(live) and wanted.equations == graph.equations:
            return graph, tuple(read)
        return Graph(graph.inputs, wanted.equations, wanted.outputs), tuple(read)

    return kept(graph, ("trimmed", live), make)


def with_inputs(graph: Graph, read: Flags) -> Graph:
    """The graph without the inputs that it does not read."""
    return graph if all(read) else Graph(pick(graph.inputs, read), graph.equations, graph.outputs)


def slimmer(equation: Equation, inputs: Flags, live: Flags, params: dict[str, Any]) -> Equation:
    """The equation with some of its inputs and results, and other params; the same if these are all as they were."""
    if all((*inputs, *live)) and all(equation.params[name] == value for name, value in params.items()):
        return equation
    chosen = pick(equation.inputs, inputs), pick(equation.outputs, live)
    return Equation(equation.primitive, *chosen, {**equation.params, **params}, equation.location)


def merged(flags: Iterable[bool], yes: Iterable[Any], no: Iterable[Any]) -> list[Any]:
    """For each flag the next item of `yes` where it is set, and of `no` elsewhere."""
    first, second = iter(yes), iter(no)
    return [next(first) if on else next(second) for on in flags]


def tangents_of(results: Iterable[Any], kinds: Iterable[bool], dots: Iterable[Any]) -> list[Any]:
    """The tangents of results: the next of `dots`, or zero."""
    given = iter(dots)
    return [next(given) if on else zero_of(aval_of(r)) for r, on in zip(results, kinds, strict=True)]


def cotangents_of(operands: Sequence[Any], kinds: Iterable[bool], cts: Iterable[Any]) -> list[Any]:
    """The cotangents of operands: of linear ones the next of `cts`, or zero, and None of others.

    Args:
      kinds: which of the linear operands have one of `cts`.
    """
    flags, given = iter(kinds), iter(cts)
    return [(next(given) if next(flags) else zero_of(o.aval)) if is_linear(o) else None for o in operands]


def carry_cotangents(operands: Sequence[Any], kinds: Iterable[bool], cts: Iterable[Any]) -> list[Any]:
    """As `cotangents_of`, of the carries of a loop, where `kinds` and `cts` are also of those that are not linear."""
    flags, given = tuple(kinds), iter(cts)
    pairs = [(on, next(given) if on else None) for on in flags]
    mine = [pair for pair, o in zip(pairs, operands, strict=True) if is_linear(o)]
    return cotangents_of(operands, [on for on, _ in mine], [ct for on, ct in mine if on])


def select_lanes(index: Any, *batches: Any) -> Any:
    """A batch whose element i is that of `batches[index[i]]`; `index` is boolean if there are two."""
    shape = aval_of(batches[0]).shape
    which = index if len(shape) == 1 else broadcast_in_dim_p(index, shape=shape, broadcast_dimensions=(0,))
    return logic.select_n(which, *batches)


def taken(index: Any, branch: int, count: int, operand: Any) -> Any:
    """A batched operand of a branch, whose derivative is stopped in the lanes that take another branch.

    Otherwise infinite values there would be multiplied by a zero cotangent, which gives NaN.
    """
    if count == 1 or not differentiable(aval_of(operand)):
        return operand
    constant = stop_gradient(operand)
    cases = [constant] * count
    cases[branch] = operand
    return select_lanes(index, *cases)


def _value(tangent: Any, aval: ShapedArray) -> Any:
    return spread_to(instantiate(tangent), aval.shape)


def _serves(kinds: Flags, forced: Flags) -> bool:
    """Whether all forced results are present anyway."""
    return all(k or not f for k, f in zip(kinds, forced))


def push(graph: Graph, active: Flags, forced: Flags = ()) -> tuple[Graph, Flags]:
    """The graph with tangents.

    Args:
      active: which inputs have tangents; these follow the inputs.
      forced: which results get a tangent even if it is zero.

    Returns:
      the new graph, and which results have tangents; these follow the results.
    """
    if any(forced) and _serves(push(graph, active)[1], forced):
        return push(graph, active)

    def make() -> tuple[Graph, Flags]:
        kinds: Flags = ()

        def pushed(*values: Any) -> list[Any]:
            nonlocal kinds
            primals, given = values[: len(active)], iter(values[len(active) :])
            tangents = [next(given) if on else zero_of(a) for a, on in zip(graph.in_avals, active)]
            outs, dots = jvp_flat(lambda *xs: replay(graph, xs), primals, tangents)
            kinds = either([not is_zero(d) for d in dots], forced or [False] * len(dots))
            return [*outs, *[_value(d, a) for d, a, on in zip(dots, graph.out_avals, kinds) if on]]

        avals = [*graph.in_avals, *[a.strip_weak_type() for a in pick(graph.in_avals, active)]]
        return record_flat(pushed, avals), kinds

    return kept(graph, ("push", active, forced), make)


class Split(NamedTuple):
    """A graph in two.

    Args:
      early: known inputs -> known results, then the residuals.
      late: residuals, then the unknown inputs -> unknown results.
      unknown: which results are unknown.
      residuals: how many there are.
    """

    early: Graph
    late: Graph
    unknown: Flags
    residuals: int


def split(graph: Graph, unknown: Flags, forced: Flags = ()) -> Split:
    """Split a graph: the part that its known inputs determine, and the remainder.

    The residuals are exactly the values that the remainder reads.

    Args:
      unknown: which inputs are unknown.
      forced: which results count as unknown even if they follow from the known inputs.
    """
    if any(forced) and _serves(split(graph, unknown).unknown, forced):
        return split(graph, unknown)

    def make() -> Split:
        late: Graph | None = None
        kinds: Flags = ()
        count = 0

        def known(*values: Any) -> list[Any]:
            nonlocal late, kinds, count
            partial = PartialTrace("body")
            given = iter(values)
            args = [partial.unknown.argument(a) if u else next(given) for a, u in zip(graph.in_avals, unknown)]
            inputs = list(partial.unknown.inputs)
            with current(partial):
                outs = replay(graph, args)
            kinds = either([partial.is_unknown(o) for o in outs], forced or [False] * len(outs))
            whole, residuals = partial.unknown.finish(pick(outs, kinds))
            pruned, used = prune(whole)
            read = used[: len(residuals)]
            count = sum(read)
            late = Graph([*pick(whole.inputs[: len(read)], read), *inputs], pruned.equations, pruned.outputs)
            return [*pick(outs, kinds, False), *pick(residuals, read)]

        early = record_flat(known, pick(graph.in_avals, unknown, False))
        assert late is not None, "the function ran"
        return Split(prune(early, keep_inputs=True)[0], late, kinds, count)

    return kept(graph, ("split apart", unknown, forced), make)


def pull(graph: Graph, linear: Flags, active: Flags, forced: Flags = ()) -> tuple[Graph, Flags]:
    """The graph transposed.

    Args:
      linear: the inputs that get cotangents; the other ones are the new graph's first inputs.
      active: which results have cotangents; these are the new graph's further inputs.
      forced: which of the linear inputs get a cotangent even if it is zero.

    Returns:
      the new graph, and which of the linear inputs have cotangents: its results.
    """
    if any(forced) and _serves(pull(graph, linear, active)[1], forced):
        return pull(graph, linear, active)

    def make() -> tuple[Graph, Flags]:
        kinds: Flags = ()

        def pulled(*values: Any) -> list[Any]:
            nonlocal kinds
            given = iter(values)
            operands = [Linear(a) if on else next(given) for a, on in zip(graph.in_avals, linear)]
            cts = [next(given) if on else zero_of(a) for a, on in zip(graph.out_avals, active)]
            found = pick(transpose_graph(graph, operands, cts), linear)
            kinds = either([not is_zero(ct) for ct in found], forced or [False] * len(found))
            return [_value(ct, a) for ct, a, on in zip(found, pick(graph.in_avals, linear), kinds) if on]

        avals = pick(graph.in_avals, linear, False)
        return record_flat(pulled, avals + [a.strip_weak_type() for a in pick(graph.out_avals, active)]), kinds

    return kept(graph, ("pull", linear, active, forced), make)


def batched(graph: Graph, which: Flags, size: int, forced: Flags = ()) -> tuple[Graph, Flags]:
    """The graph for a whole batch; every batch axis is the first.

    Args:
      which: the inputs that have a batch axis.
      forced: the results that get one even if they are equal along it.

    Returns:
      the new graph, and which results have a batch axis.
    """
    if any(forced) and _serves(batched(graph, which, size)[1], forced):
        return batched(graph, which, size)

    def make() -> tuple[Graph, Flags]:
        kinds: Flags = ()

        def whole(*values: Any) -> list[Any]:
            nonlocal kinds
            dims = [0 if on else None for on in which]
            outs, found = batch_flat(lambda *xs: replay(graph, xs), values, dims, size)
            kinds = either([d is not None for d in found], forced or [False] * len(outs))
            return [moveaxis_to_front(o, d, size) if on else o for o, d, on in zip(outs, found, kinds)]

        avals = [a.update(shape=(size, *a.shape)) if on else a for a, on in zip(graph.in_avals, which)]
        return record_flat(whole, avals), kinds

    return kept(graph, ("batched", which, size, forced), make)
