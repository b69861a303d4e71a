"""Loops over a batch, such as those of `vmap`: parts of the batch are loops of their own, which cores share.

A loop's rounds depend on one another, and each is too short for several cores. If no element of the batch depends on
another one, a loop over parts of the batch computes the same, and its rounds do not depend on one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.compiler import sharing
from stagec.control import graph_rules
from stagec.control.grid import Grid
from stagec.control.loops import while_p
from stagec.control.partition import Partition
from stagec.control.partition_axes import Divided, Spec, whole
from stagec.control.partition_rules import loop, repeated
from stagec.control.scan import scan_p
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.graph import Equation, Graph, all_equations, replay, run_equation
from stagec.core.recording import trace_closed
from stagec.primitives.iota import iota
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import aval_of
from stagec.primitives.shape import expand_dims, reshape, transpose
from stagec.primitives.slicing import index_in_dim, slice_in_dim

# The most parts, and the least elements of each: fewer leave vectors empty. Where a round computes a number for
# each row, so do few rows, unless they are long: 64 Markov chains of 32 numbers take 0.8 of the time in 4 parts.
_PARTS, _ELEMENTS = 16, 256
_ROWS, _LONG_ROWS = 16, 1024
# Element operations of a loop that is worth it.
_LEAST = 1 << 20
# How much more all parts may compute, because each computes what does not belong to the batch.
_AGAIN = 1.25
# Of more results, those of few elements lie in one array, since a kernel has only so many.
_RESULTS, _SMALL = 8, 1024
_NAME = object()  # no axis of a mesh has this name
# Which of a loop's inputs belong to a batch: the first of these with which no part depends on another one.
_DIVIDED = (("const", "carry", "row"), ("carry", "row"), ("carry",))


def divided(graph: Graph) -> Graph:
    """The graph, with loops over parts of a batch in the place of loops over a batch.

    The parts follow from the shapes alone, so the number of threads changes no result.
    """
    found: Graph | None = graph.derived.get(divided)
    if found is None:
        found = graph
        if any(_divisions(e) or _is_wide(e) for e in _outer(graph)):
            found = trace_closed(lambda *args: replay(graph, args, _in_parts), graph.in_avals)
        graph.derived[divided] = found
    return found


def _outer(graph: Graph) -> list[Equation]:
    """The operations that are in no loop and in no branch."""
    found = []
    for e in graph.equations:
        found += _outer(e.params["graph"]) if e.primitive.lower is graph_rules.lower else [e]
    return found


class _Loop(NamedTuple):
    """A `scan` or a `while_loop`.

    Attributes:
      graph: of a round.
      first, last: where its state begins and ends among the operands.
    """

    graph: Graph
    first: int
    last: int

    @classmethod
    def of(cls, e: Equation) -> _Loop | None:
        params = e.params
        if e.primitive is scan_p and params["num_carry"] and not is_open(params["length"]):
            return cls(params["graph"], params["num_consts"], params["num_consts"] + params["num_carry"])
        if e.primitive is while_p:
            return cls(params["body"], params["cond_consts"] + params["body_consts"], len(e.inputs))
        return None


class _Division(NamedTuple):
    """How a loop may be divided.

    Attributes:
      parts: into how many parts.
      axis: which axis of the state.
      size: how long it is.
    """

    parts: int
    axis: int
    size: int


def _divisions(e: Equation) -> list[_Division]:
    """How a loop may be divided, into most parts first."""
    found = _Loop.of(e)
    if found is None or any(i.primitive.effects for i in all_equations(found.graph)):
        return []
    if sharing.is_worth_it(found.graph) or sharing.total_of(e) < _LEAST:
        return []
    carry = [a.aval for a in e.inputs[found.first : found.last]]
    computed = [v.aval for i in all_equations(found.graph) for v in i.outputs]
    sizes = {a.size for a in computed}
    made = []
    for axis, rows, size in _batches(carry):
        elements = max((a.size for a in computed if size in a.shape), default=0)
        counts = [n for n in range(2, min(_PARTS, elements // _ELEMENTS) + 1) if size % n == 0]
        if rows in sizes:
            counts = [n for n in counts if rows // n >= _ROWS or elements // n >= _LONG_ROWS] or counts
        made += [_Division(n, axis, size) for n in counts[-1:]]
    return sorted(made, reverse=True)


def _batches(carry: Sequence[ShapedArray]) -> list[tuple[int, int, int]]:
    """The first axis of more than one element of most of a loop's state: `(axis, rows, size)`.

    If it is short, such as that of the devices of a `shard_map`, the one after it, too, with the rows of both.
    """
    shapes = [a.shape for a in carry if a.size > 1]
    axis = min((next(i for i, n in enumerate(shape) if n > 1) for shape in shapes), default=0)
    found, rows = [], 1
    for place in (axis, axis + 1):
        sizes = [shape[place] for shape in shapes if len(shape) > place]
        size = max(sizes, key=sizes.count, default=1)
        rows *= size
        found.append((place, rows, size))
        if size >= _ROWS:
            break
        shapes = [shape for shape in shapes if shape[place : place + 1] == (size,)]
    return found


class _DependentError(Exception):
    """An element of a batch depends on another one."""


class _Batch(Partition):
    """A part of a batch, which knows no other."""

    def report(self, e: Equation, avals: Sequence[ShapedArray]) -> None:
        raise _DependentError

    def whole_axis(self, value: Any, axis: int, names: Sequence[Any]) -> Any:
        raise _DependentError

    def reduced(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        raise _DependentError

    def shifted(self, value: Any, spec: Spec, axis: int, shift: int) -> Any:
        if shift:
            raise _DependentError
        return value


def _in_parts(e: Equation, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an operation, by a loop over the parts of a batch where it has one."""
    if e.primitive.lower is graph_rules.lower:
        return replay(e.params["graph"], values, _in_parts)
    if _is_wide(e):
        return _run_wide(values, e.params)
    tried = ((d, _body(e, d, kinds)) for d in _divisions(e) for kinds in _DIVIDED)
    found = next(((d, made) for d, made in tried if made is not None), None)
    if found is None:
        return run_equation(e, values)
    (count, _, _), (body, specs) = found
    parts = _run_wide(
        [*values, iota(np.dtype(np.int32), count)],
        {
            "graph": body,
            "length": count,
            "reverse": False,
            "unroll": 1,
            "num_consts": len(values),
            "num_carry": 0,
        },
    )
    return [_joined(p, spec) for p, spec in zip(parts, specs)]


def _is_wide(e: Equation) -> bool:
    """Whether an operation is a scan whose rounds cores can share, with many small results."""
    if e.primitive is not scan_p or e.params["num_carry"] or sharing.total_of(e) < _LEAST:
        return False
    return len(e.outputs) > _RESULTS


def _body(e: Equation, division: _Division, kinds: Sequence[str]) -> tuple[Graph, list[Spec]] | None:
    """The loop on one part of the batch, and how its results are divided.

    None if a part depends on another one, or if all of them compute what does not belong to the batch.

    Args:
      kinds: which inputs belong to the batch if their sizes allow it.
    """
    specs: list[Spec] = []
    whole_loop = _Loop.of(e)
    assert whole_loop is not None, "only loops have parts"
    _, first, last = whole_loop
    count, place, size = division

    def axis_of(i: int, shape: tuple[int, ...]) -> int | None:
        """The axis of the batch."""
        kind = "const" if i < first else "carry" if i < last else "row"
        axis = place + (kind == "row")
        return axis if kind in kinds and shape[axis : axis + 1] == (size,) else None

    def local(*args: Any) -> list[Any]:
        *values, number = args
        p = _Batch(Grid({_NAME: count}), expand_dims(number, (0,)))
        given: list[Divided] = []
        for i, (value, atom) in enumerate(zip(values, e.inputs)):
            spec, axis = whole(atom.aval.ndim), axis_of(i, atom.aval.shape)
            wanted = tuple([(_NAME,) if k == axis else () for k in range(len(spec))])
            given.append(p.moved(value, spec, wanted))
        found = (loop if e.primitive is scan_p else repeated)(p, e, given)
        specs.extend(s for _, s in found)
        return [v for v, _ in found]

    number = ShapedArray.of((), np.dtype(np.int32))
    try:
        made = trace_closed(local, [*[a.aval for a in e.inputs], number])
    except _DependentError:
        return None
    return (made, specs) if sharing.total(made) * count <= _AGAIN * sharing.total_of(e) else None


def _run_wide(values: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """A scan over what does not depend on one another, whose small results of a kind lie in one array.

    They are taken apart after it: a kernel has only so many results.
    """
    graph: Graph = params["graph"]
    avals = graph.out_avals
    by_kind: dict[Any, list[int]] = {}
    for i, a in enumerate(avals):
        is_one_of_many = len(avals) > _RESULTS and a.size <= _SMALL
        by_kind.setdefault((a.dtype, a.weak_type) if is_one_of_many else i, []).append(i)
    groups = [*by_kind.values()]

    def joined(*args: Any) -> list[Any]:
        outs = replay(graph, args, run_equation)
        flat = [reshape(v, (a.size,)) for v, a in zip(outs, avals)]
        return [outs[g[0]] if len(g) == 1 else concatenate([flat[i] for i in g], 0) for g in groups]

    rows = scan_p(*values, **{**params, "graph": trace_closed(joined, graph.in_avals)})
    found: dict[int, Any] = {}
    for group, value in zip(groups, rows):
        start = 0
        for i in group:
            part = value if len(group) == 1 else slice_in_dim(value, start, start + avals[i].size, 1, 1)
            found[i] = reshape(part, (params["length"], *avals[i].shape))
            start += avals[i].size
    return [found[i] for i in range(len(avals))]


def _joined(parts: Any, spec: Spec) -> Any:
    """A result of its parts, which are the rows of an array; of parts that are all the same, the first."""
    axis = next((i for i, names in enumerate(spec) if names), None)
    if axis is None:
        return index_in_dim(parts, 0, 0, False)
    shape = list(aval_of(parts).shape)
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
    count = shape.pop(0)
    shape[axis] *= count
    return reshape(transpose(parts, order), shape)
