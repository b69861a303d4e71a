"""Graphs on parts of arrays: what one of several computes that divide arrays among them.

The graph is replayed on the parts. An operation whose result is divided as its operands are runs on the parts; a
reduction or product over an axis that is divided is combined among all; for all others, the operands are gathered
first. What these communications are is up to a subclass.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.control import graph_rules
from stagec.control.grid import Grid
from stagec.control.partition_axes import Divided, Spec, part, whole
from stagec.control.partition_indexing import window
from stagec.control.partition_rules import results
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, Literal, prune, replay
from stagec.core.recording import trace_closed
from stagec.primitives.broadcast import broadcast_in_dim_p
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.iota import iota
from stagec.primitives.joining import concatenate_p, pad
from stagec.primitives.logic import bitwise_and, ge, lt, select, select_n_p
from stagec.primitives.operand import aval_of, literal
from stagec.primitives.padding import slice_p
from stagec.primitives.reduce import reduce_or_p
from stagec.primitives.shape import broadcast_in_dim
from stagec.primitives.slicing import dynamic_slice_in_dim, slice_in_dim


class Slice:
    """A slice along an axis that is divided, which is made when something reads it.

    Slices that a concatenation puts together in another order are an exchange between neighbours.
    """

    def __init__(self, base: Divided, size: int, axis: int, start: int, limit: int) -> None:
        self.base, self.size = base, size
        self.axis, self.start, self.limit = axis, start, limit


class Partition(abc.ABC):
    """Replays graphs on parts; a value is a pair of this part and how it is divided.

    Args:
      place: the numbers of this part along the names of the grid.

    Attributes:
      is_alone: whether this is the condition of a loop that each part may end by itself.
    """

    is_alone = False

    def __init__(self, grid: Grid, place: Any) -> None:
        self.grid, self.place = grid, place
        # What trials have found: graphs, by the graphs that they are of and how the inputs are divided.
        self.tried: dict[Any, tuple[Graph, list[Spec]]] = {}

    def at(self, place: Any, trial: bool = False) -> Partition:
        """The same in the body of a loop, where the numbers are another value."""
        return type(self)(self.grid, place)

    @abc.abstractmethod
    def whole_axis(self, value: Any, axis: int, names: Sequence[Any]) -> Any:
        """All parts along an axis, put together."""

    def combined(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        """A value combined among all along some names; in what each asks for itself, its own."""
        return value if not names or self.is_alone else self.reduced(value, operation, names)

    @abc.abstractmethod
    def reduced(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        """The same, of values that have to be combined."""

    def communicates(self, graph: Graph) -> bool:
        """Whether who runs the part of a graph waits for others."""
        return bool(graph.effects)

    @abc.abstractmethod
    def shifted(self, value: Any, spec: Spec, axis: int, shift: int) -> Any:
        """The parts of an array whose rows are moved by a number of places, the last ones to the front."""

    def replay(self, graph: Graph, args: Sequence[Divided]) -> list[Divided]:
        def divided(value: Any) -> Divided:
            return (value, whole(value.aval.ndim)) if type(value) is Literal else value

        outs = replay(graph, args, lambda e, operands: self.equation(e, [divided(v) for v in operands]))
        return [self.made(*divided(v)) for v in outs]

    def equation(self, e: Equation, args: list[Divided]) -> list[Divided]:
        primitive = e.primitive
        if primitive is slice_p:
            cut = self.sliced(e, args[0])
            if cut is not None:
                return [cut]
        if primitive is concatenate_p:
            turned = self.rotated(e, args)
            if turned is not None:
                return [turned]
        args = [self.made(*a) for a in args]
        if primitive is sharding_constraint_p:
            (value, spec), aval = args[0], e.inputs[0].aval
            wanted = tuple([self.grid.spanning(names) for names in e.params["spec"].after(spec)])
            fits = all(n % self.grid.parts(names) == 0 for n, names in zip(aval.shape, wanted))
            return [self.moved(value, spec, wanted) if fits else (value, spec)]
        if primitive.lower is graph_rules.lower:
            return self.replay(e.params["graph"], args)
        if not any(names for _, spec in args for names in spec):
            return self.run(e, [v for v, _ in args], [whole(v.aval.ndim) for v in e.outputs])
        found = results(self, e, args)
        return self.gathered(e, args) if found is None else found

    def run(self, e: Equation, values: Sequence[Any], specs: Sequence[Spec], **params: Any) -> list[Divided]:
        found = e.primitive(*values, **{**e.params, **params})
        return list(zip(found if e.primitive.multiple else [found], specs, strict=True))

    def gathered(self, e: Equation, args: list[Divided]) -> list[Divided]:
        """The operation on whole operands."""
        self.report(e, [a.aval for a, (_, spec) in zip(e.inputs, args) if any(spec)])
        values = [self.moved(v, s, whole(len(s)))[0] for v, s in args]
        return self.run(e, values, [whole(v.aval.ndim) for v in e.outputs])

    @abc.abstractmethod
    def report(self, e: Equation, avals: Sequence[ShapedArray]) -> None:
        """Take note that an operation gathers operands."""

    # Moves of parts.

    def moved(self, value: Any, spec: Spec, wanted: Spec) -> Divided:
        """A value, divided in another way."""
        for axis, (have, want) in enumerate(zip(spec, wanted)):
            if have and have != want:
                value = self.whole_axis(value, axis, have)
        for axis, (have, want) in enumerate(zip(spec, wanted)):
            if want and have != want:
                size = aval_of(value).shape[axis] // self.grid.parts(want)
                value = dynamic_slice_in_dim(value, self.index(want) * size, size, axis)
        return value, wanted

    def index(self, names: Sequence[Any]) -> Any:
        """The number of this part: a value, so that the program is the same for all."""
        found: Any = None
        for name in names:
            one = self.place[self.grid.names.index(name)]
            found = one if found is None else found * self.grid.counts[name] + one
        return found

    # Slices that are joined again.

    def sliced(self, e: Equation, arg: Divided) -> Divided | None:
        """A slice along one axis, which is divided; None for other slices."""
        shape, out = e.inputs[0].aval.shape, e.outputs[0].aval.shape
        cut = [i for i, (n, m) in enumerate(zip(shape, out)) if n != m]
        if (
            len(cut) != 1
            or type(arg[0]) is Slice
            or not arg[1][cut[0]]
            or any(s != 1 for s in e.params["strides"] or ())
        ):
            return None
        (axis,) = cut
        start, limit = e.params["start_indices"][axis], e.params["limit_indices"][axis]
        return Slice(arg, shape[axis], axis, start, limit), arg[1]

    def made(self, value: Any, spec: Spec) -> Divided:
        """A value that can be read."""
        if type(value) is not Slice:
            return value, spec
        count = value.limit - value.start
        if count <= value.size // self.grid.parts(spec[value.axis]):
            return window(self, value.base[0], spec, value.axis, value.start, count)
        wanted = tuple([() if i == value.axis else names for i, names in enumerate(spec)])
        array, _ = self.moved(*value.base, wanted)
        return slice_in_dim(array, value.start, value.limit, 1, value.axis), wanted

    def rotated(self, e: Equation, args: list[Divided]) -> Divided | None:
        """Slices of one array, joined after a rotation: processes exchange the rows at the ends of their parts.

        What is joined with them, such as zeros, takes the place of rows.
        """
        slices = slices_of_one(e, args)
        shifts = {(p - v.start) % v.size for p, v in slices}
        if len(shifts) != 1:
            return None
        _, first = slices[0]
        return self.with_others(self.shifted(*first.base, first.axis, shifts.pop()), first, e, args)

    def with_others(self, found: Any, first: Slice, e: Equation, args: list[Divided]) -> Divided:
        """Slices that were put together, of which `first` is one, with what else was joined in the place of rows."""
        (_, spec), axis, size = first.base, first.axis, first.size
        for p, (value, own), atom in zip(_starts(e), args, e.inputs):
            if type(value) is not Slice:
                found = self.replaced(found, spec, axis, p, size, self.moved(value, own, whole(len(own)))[0], atom)
        return found, spec

    def replaced(self, found: Any, spec: Spec, axis: int, start: int, size: int, rows: Any, atom: Any) -> Any:
        """The parts with rows of a whole array in the place of those from `start` on."""
        count = atom.aval.shape[axis]
        config = [(0, 0, 0)] * atom.aval.ndim
        config[axis] = (start, size - start - count, 0)
        padded, _ = self.moved(pad(rows, literal(0, atom.aval.dtype), config), whole(len(spec)), spec)
        numbers = iota(np.dtype(np.int32), size)
        inside = bitwise_and(ge(numbers, start), lt(numbers, start + count))
        mask, _ = self.moved(inside, ((),), (spec[axis],))
        shape = aval_of(found).shape
        return select(broadcast_in_dim(mask, shape, (axis,)), padded, found)

    def body(
        self, graph: Graph, specs: list[Spec], state: list[Spec] | None = None, trial: bool = False
    ) -> tuple[Graph, list[Spec]]:
        """The part of a loop's body; with `state`, its first results are divided so.

        Args:
          trial: what it gathers is not reported.
        """
        found: list[Spec] = []
        key = graph, *specs
        if trial and key in self.tried:
            return self.tried[key]

        def local(place: Any, *parts: Any) -> list[Any]:
            inner = self.at(place, trial)
            inner.tried, inner.is_alone = self.tried, self.is_alone
            outs = inner.replay(graph, list(zip(parts, specs)))
            for i, wanted in enumerate(state or []):
                outs[i] = inner.moved(*outs[i], wanted)
            found.extend(s for _, s in outs)
            return [v for v, _ in outs]

        avals = [part(a, s, self.grid) for a, s in zip(graph.in_avals, specs)]
        made = trace_closed(local, [aval_of(self.place), *avals], name="loop"), found
        if trial:
            self.tried[key] = made
        return made

    def condition(self, e: Equation, specs: list[Spec], body: Graph) -> Graph:
        """The part of a loop's condition, of which the body is known.

        Where a round neither waits for others nor changes what is done, a part is done when its elements are.
        """
        before, self.is_alone = self.is_alone, not self.communicates(body) and _stands_still(e)
        try:
            return self.body(e.params["cond"], specs)[0]
        finally:
            self.is_alone = before


def _starts(e: Equation) -> list[int]:
    """Where the operands of a concatenation begin in the result."""
    sizes = [a.aval.shape[e.params["dimension"]] for a in e.inputs]
    return list(itertools.accumulate(sizes[:-1], initial=0))


def slices_of_one(e: Equation, args: list[Divided]) -> list[tuple[int, Slice]]:
    """The slices among the operands of a concatenation, and where each begins in the result.

    None of them if they are not all of one array that is as long as the result, and along the axis.
    """
    axis = e.params["dimension"]
    slices = [(p, v) for p, (v, _) in zip(_starts(e), args) if type(v) is Slice]
    size = e.outputs[0].aval.shape[axis]
    is_one = all(v.base[0] is slices[0][1].base[0] and v.axis == axis and v.size == size for _, v in slices)
    return slices if is_one else []


def _stands_still(e: Equation) -> bool:
    """Whether a loop goes on until all elements of a batch are done, and leaves those that are done as they are.

    `vmap` makes such loops of those whose condition depends on the element.
    """
    cond, body, asked = e.params["cond"], e.params["body"], e.params["cond_consts"]
    last = cond.equations[-1] if cond.equations else None
    if last is None or last.primitive is not reduce_or_p or cond.outputs != last.outputs:
        return False
    if e.inputs[:asked] != e.inputs[asked : 2 * asked]:
        return False
    consts = e.params["body_consts"]
    makers = {v: made for made in body.equations for v in made.outputs}
    going = set()
    for out, old in zip(body.outputs, body.inputs[consts:]):
        chosen = makers.get(out)
        if out is old:
            continue
        if chosen is None or chosen.primitive is not select_n_p or chosen.inputs[1] is not old:
            return False
        flags = chosen.inputs[0]
        spread = makers.get(flags)
        going.add(flags if spread is None or spread.primitive is not broadcast_in_dim_p else spread.inputs[0])
    if len(going) != 1:
        return False
    in_cond, read = prune(Graph(cond.inputs, cond.equations[:-1], [last.inputs[0]]))
    in_body, used = prune(Graph(body.inputs, body.equations, [*going]))
    same = read == [*used[:asked], *used[consts:]] and not any(used[asked:consts])
    return same and in_cond.digest() == in_body.digest()
