"""The part of a program that one process computes, where arrays are split among processes.

The graph is replayed on the parts that a process has of the arrays. An operation whose result is split as its operands
are runs on the parts; a reduction or product over an axis that is split is combined among the processes; for all
others, the operands are gathered first, and each process computes the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from stagec.compiler import log
from stagec.control import graph_rules
from stagec.control.callback import io_callback
from stagec.control.scan import scan_p
from stagec.core import location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Equation, Graph, Literal, trace_flat
from stagec.core.primitive import Primitive
from stagec.primitives.broadcast import broadcast_in_dim_p, reduce_sum_p, reshape_p
from stagec.primitives.constraint import sharding_constraint_p
from stagec.primitives.dot import dot_general_p
from stagec.primitives.operand import aval_of
from stagec.primitives.reduce import reduce_and_p, reduce_max_p, reduce_min_p, reduce_or_p, reduce_prod_p
from stagec.primitives.slicing import dynamic_slice_in_dim
from stagec.primitives.table import batch_elementwise
from stagec.runtime.processes import Grid, all_gather, all_reduce

# For each axis of a value, the names of a mesh's axes that divide it among processes.
Spec: TypeAlias = tuple[tuple[Any, ...], ...]
# Reductions that processes combine.
_REDUCTIONS: dict[Primitive, str] = {
    reduce_sum_p: "sum",
    reduce_max_p: "max",
    reduce_min_p: "min",
    reduce_prod_p: "prod",
    reduce_and_p: "and",
    reduce_or_p: "or",
}


class _Described:
    """The shape and dtype of a result."""

    def __init__(self, aval: ShapedArray) -> None:
        self.shape, self.dtype = aval.shape, aval.dtype


def partitioned(graph: Graph, grid: Grid, specs: Sequence[Spec], name: str) -> tuple[Graph, list[Spec]]:
    """The graph of this process's part, and how its results are divided.

    Args:
      specs: how the inputs are divided.

    Returns:
      a graph whose inputs are the numbers of this process along the mesh's axes, and then the parts of the inputs.
    """
    places = ShapedArray.of((max(1, len(grid.names)),), np.dtype(np.int32))
    avals = [_part(a, s, grid) for a, s in zip(graph.in_avals, specs)]
    found: list[Spec] = []

    def local(place: Any, *parts: Any) -> list[Any]:
        outs = _Partition(grid, place, name).replay(graph, list(zip(parts, specs)))
        found.extend(s for _, s in outs)
        return [v for v, _ in outs]

    made, captured = trace_flat(local, [places, *avals], name=name)
    assert not captured, "a graph closes over nothing"
    return made, found


def _part(aval: ShapedArray, spec: Spec, grid: Grid) -> ShapedArray:
    return aval.update(shape=[n // grid.parts(names) for n, names in zip(aval.shape, spec)])


def _whole(ndim: int) -> Spec:
    return ((),) * ndim


class _Partition:
    """Replays graphs on parts; a value is a pair of this process's part and how it is divided."""

    def __init__(self, grid: Grid, place: Any, name: str) -> None:
        self.grid = grid
        self.place = place
        self.name = name

    def replay(self, graph: Graph, args: Sequence[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        known: dict[Any, tuple[Any, Spec]] = dict(zip(graph.inputs, args))

        def read(atom: Any) -> tuple[Any, Spec]:
            return (atom, _whole(atom.aval.ndim)) if type(atom) is Literal else known[atom]

        before = location.ambient.location
        try:
            for e in graph.equations:
                location.ambient.location = e.location
                known.update(zip(e.outputs, self.equation(e, [read(a) for a in e.inputs])))
        finally:
            location.ambient.location = before
        return [read(a) for a in graph.outputs]

    def equation(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        primitive = e.primitive
        if primitive is sharding_constraint_p:
            (value, spec), aval = args[0], e.inputs[0].aval
            wanted = tuple([self.grid.spanning(names) for names in e.params["spec"]])
            fits = all(n % self.grid.parts(names) == 0 for n, names in zip(aval.shape, wanted))
            return [self.moved(value, spec, wanted) if fits else (value, spec)]
        if primitive.lower is graph_rules.lower:
            return self.replay(e.params["graph"], args)
        if not any(names for _, spec in args for names in spec):
            return self.run(e, [v for v, _ in args], [_whole(v.aval.ndim) for v in e.outputs])
        found = self.rule(e, args)
        return self.gathered(e, args) if found is None else found

    def rule(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]] | None:
        """The results on parts; None where there is no rule."""
        primitive = e.primitive
        if primitive is dot_general_p:
            return self.product(e, args)
        if primitive in _REDUCTIONS:
            return self.reduction(e, args)
        if primitive is reshape_p or primitive is broadcast_in_dim_p:
            return self.shaped(e, args)
        if primitive is scan_p:
            return self.loop(e, args)
        if primitive.batch is batch_elementwise:
            return self.elementwise(e, args)
        if primitive.follows is not None and len(args) == 1:
            axes = primitive.follows([a.aval for a in e.inputs], e.outputs[0].aval, e.params)
            kept = {a[1] for a in axes if a is not None}
            if all(i in kept for i, names in enumerate(args[0][1]) if names):
                return self.run(e, [args[0][0]], [tuple([() if a is None else args[0][1][a[1]] for a in axes])])
        return None

    def run(self, e: Equation, values: Sequence[Any], specs: Sequence[Spec], **params: Any) -> list[tuple[Any, Spec]]:
        found = e.primitive(*values, **{**e.params, **params})
        return list(zip(found if e.primitive.multiple else [found], specs, strict=True))

    def gathered(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        """The operation on whole operands."""
        sizes = [a.aval.nbytes for a, (_, spec) in zip(e.inputs, args) if any(spec)]
        log.event(
            "lower",
            f"{self.name}: {e.primitive.name} at {e.location} has no rule for parts: its operands are gathered",
            bytes=sum(sizes),
        )
        whole = [self.moved(v, s, _whole(len(s)))[0] for v, s in args]
        return self.run(e, whole, [_whole(v.aval.ndim) for v in e.outputs])

    # Moves of parts.

    def moved(self, value: Any, spec: Spec, wanted: Spec) -> tuple[Any, Spec]:
        """A value, divided in another way."""
        for axis, (have, want) in enumerate(zip(spec, wanted)):
            if have and have != want:
                company = self.grid.company(have)
                aval = aval_of(value)
                shape = list(aval.shape)
                shape[axis] *= self.grid.parts(have)
                value = io_callback(
                    lambda x, company=company, axis=axis: all_gather(company, axis, np.asarray(x)),
                    _Described(aval.update(shape=shape)),
                    value,
                )
        for axis, (have, want) in enumerate(zip(spec, wanted)):
            if want and have != want:
                size = aval_of(value).shape[axis] // self.grid.parts(want)
                value = dynamic_slice_in_dim(value, self.index(want) * size, size, axis)
        return value, wanted

    def index(self, names: Sequence[Any]) -> Any:
        """The number of this process's part: a value, so that the program is the same in all processes."""
        found: Any = None
        for name in names:
            one = self.place[self.grid.names.index(name)]
            found = one if found is None else found * self.grid.counts[name] + one
        return found

    def combined(self, value: Any, operation: str, names: Sequence[Any]) -> Any:
        """A value combined among the processes along axes."""
        if not names:
            return value
        company = self.grid.company(names)
        return io_callback(lambda x: all_reduce(company, operation, np.asarray(x)), _Described(aval_of(value)), value)

    # Rules.

    def elementwise(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        out = e.outputs[0].aval
        used: set[Any] = set()
        joined = []
        for axis in range(out.ndim):
            options = [s[axis] for (_, s), a in zip(args, e.inputs) if a.aval.ndim == out.ndim]
            names = next((o for o in options if o and not used & set(o)), ())
            used.update(names)
            joined.append(names)
        spec = tuple(joined)
        values = [self.moved(v, s, spec)[0] if a.aval.ndim == out.ndim else v for (v, s), a in zip(args, e.inputs)]
        return self.run(e, values, [spec] * len(e.outputs))

    def reduction(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        ((value, spec),) = args
        axes = e.params["axes"]
        names = [n for i in axes for n in spec[i]]
        kept = tuple([s for i, s in enumerate(spec) if i not in axes])
        ((found, _),) = self.run(e, [value], [kept])
        return [(self.combined(found, _REDUCTIONS[e.primitive], names), kept)]

    def shaped(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]] | None:
        """reshape and broadcast_in_dim, whose parameter is the result's shape."""
        ((value, spec),) = args
        out = e.outputs[0].aval
        assert e.primitive.follows is not None, "these rows have the rule"
        axes = e.primitive.follows([e.inputs[0].aval], out, e.params)
        found: list[tuple[Any, ...]] = [() if a is None else spec[a[1]] for a in axes]
        kept = {a[1] for a in axes if a is not None}
        if any(names and i not in kept for i, names in enumerate(spec)):
            return None
        sizes = []
        for n, names in zip(out.shape, found):
            if n % self.grid.parts(names):
                return None
            sizes.append(n // self.grid.parts(names))
        name = "new_sizes" if e.primitive is reshape_p else "shape"
        return self.run(e, [value], [tuple(found)], **{name: tuple(sizes)})

    def product(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        (x, xs), (y, ys) = args
        (x_contract, y_contract), (x_batch, y_batch) = e.params["dimension_numbers"]
        xs_, ys_ = list(xs), list(ys)
        for i, j in (*zip(x_batch, y_batch), *zip(x_contract, y_contract)):
            names = xs_[i] or ys_[j]
            xs_[i] = ys_[j] = names
        used = {n for i in (*x_batch, *x_contract) for n in xs_[i]}
        for specs, bound in ((xs_, (*x_batch, *x_contract)), (ys_, (*y_batch, *y_contract))):
            for i, names in enumerate(specs):
                if i not in bound:
                    specs[i] = names = () if used & set(names) else names
                    used.update(names)
        x, _ = self.moved(x, xs, tuple(xs_))
        y, _ = self.moved(y, ys, tuple(ys_))
        out = [xs_[i] for i in x_batch]
        out += [s for i, s in enumerate(xs_) if i not in x_batch and i not in x_contract]
        out += [s for i, s in enumerate(ys_) if i not in y_batch and i not in y_contract]
        ((found, _),) = self.run(e, [x, y], [tuple(out)])
        return [(self.combined(found, "sum", [n for i in x_contract for n in xs_[i]]), tuple(out))]

    def loop(self, e: Equation, args: list[tuple[Any, Spec]]) -> list[tuple[Any, Spec]]:
        """A scan whose state is divided in the same way in all rounds."""
        graph, consts, carry = e.params["graph"], e.params["num_consts"], e.params["num_carry"]
        first = consts + carry
        given = [self.moved(v, s, ((), *s[1:])) if i >= first else (v, s) for i, (v, s) in enumerate(args)]
        before = [s for _, s in given[:consts]]
        rows = [s[1:] for _, s in given[first:]]
        state = [s for _, s in given[consts:first]]
        _, found = self.body(graph, [*before, *state, *rows])
        state = [s if any(s) else a for s, a in zip(state, found)]
        while True:
            _, found = self.body(graph, [*before, *state, *rows])
            fitting = [s if s == a else _whole(len(s)) for s, a in zip(state, found)]
            if fitting == state:
                break
            state = fitting
        body, found = self.body(graph, [*before, *state, *rows], state)
        moved = [self.moved(v, s, w)[0] for (v, s), w in zip(given[consts:first], state)]
        values = [self.place, *[v for v, _ in given[:consts]], *moved, *[v for v, _ in given[first:]]]
        outs = scan_p(*values, **{**e.params, "graph": body, "num_consts": consts + 1})
        return list(zip(outs, [*state, *[((), *s) for s in found[carry:]]], strict=True))

    def body(self, graph: Graph, specs: list[Spec], state: list[Spec] | None = None) -> tuple[Graph, list[Spec]]:
        """The part of a loop's body; with `state`, its first results are divided so."""
        found: list[Spec] = []

        def local(place: Any, *parts: Any) -> list[Any]:
            part = _Partition(self.grid, place, self.name)
            outs = part.replay(graph, list(zip(parts, specs)))
            for i, wanted in enumerate(state or []):
                outs[i] = part.moved(*outs[i], wanted)
            found.extend(s for _, s in outs)
            return [v for v, _ in outs]

        avals = [_part(a, s, self.grid) for a, s in zip(graph.in_avals, specs)]
        made, captured = trace_flat(local, [aval_of(self.place), *avals], name=self.name)
        assert not captured, "a loop's body closes over nothing"
        return made, found
