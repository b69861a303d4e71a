"""Loops whose rounds the program runs: what they change becomes the carry of a `scan` or of a `while`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.control.loops import while_p
from stagec.control.scan import scan_p
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Literal
from stagec.core.recording import trace_closed
from stagec.primitives import arithmetic, logic, references
from stagec.primitives.iota import full
from stagec.primitives.operand import as_operand, aval_of, literal
from stagec.python_flow import counters, values
from stagec.python_flow.states import (
    Recorded,
    Region,
    Undefined,
    converted,
    fresh,
    gathered,
    is_guarded,
    is_number,
    joined,
    kind_of,
    leaves_of,
    operand,
    rebuilt,
    record,
    same,
    same_form,
)
from stagec.python_flow.values import Buffer, Value, View


class CarryChanged(errors.CarryError):
    """A name holds something else after a round: the first round may run by itself."""


class Pure(Exception):
    """A loop computes with Python's numbers alone, so that Python can run it."""


class Loop:
    """A loop of a region.

    Args:
      body: of the round's number, or of nothing.
      test: whether another round follows; None if only the number of rounds decides.
      rounds: how many; an operand, a Python integer, or None.
      certain: whether the first round runs.
    """

    def __init__(
        self,
        region: Region,
        body: Callable[..., None],
        test: Callable[[], Any] | None,
        rounds: Any,
        certain: bool,
        pure: bool = True,
    ) -> None:
        self.region, self.body, self.test = region, body, test
        self.rounds, self.certain, self.pure = rounds, certain, pure
        self.entry = region.get()
        # The names whose values are carried: others hold the same array throughout, or nothing.
        self.carried = {
            name
            for name, value in zip(region.names, self.entry)
            if name in region.rebound or not any(isinstance(x, Buffer) for x in leaves_of(value))
        }
        self.types: dict[tuple[int, int], ShapedArray] = {}
        # The arrays that a carried name may hold, and the carried names that may hold one array.
        self.others: dict[tuple[int, int], list[Buffer]] = {}
        self.pairs: set[tuple[Any, Any]] = set()

    def run(self) -> None:
        """Emit the loop, and set the region's names."""
        stale = len(values.marked.arrays)
        while not self._emitted():
            values.restore(stale)

    def _slots(self) -> list[tuple[int, int, Any]]:
        """Name, leaf and initial value of what is carried."""
        return [
            (n, k, leaf)
            for n, (name, value) in enumerate(zip(self.region.names, self.entry))
            if name in self.carried and not isinstance(value, Undefined)
            for k, leaf in enumerate(leaves_of(value))
            if is_number(leaf)
        ]

    def _emitted(self) -> bool:
        region = self.region
        slots = self._slots()
        self._pair({(n, k): leaf.root for n, k, leaf in slots if isinstance(leaf, Buffer)})
        starts = [operand(leaf) for *_, leaf in slots]
        starts = [converted(s, self.types[n, k]) if (n, k) in self.types else s for s, (n, k, _) in zip(starts, slots)]
        avals = [aval_of(s) for s in starts]
        begun: list[Any] = []

        def begin(tracers: Sequence[Any]) -> None:
            made = {(n, k): fresh(t, (leaf, *self.others.get((n, k), ()))) for (n, k, leaf), t in zip(slots, tracers)}
            for a, b in self.pairs:
                if a in made and b in made:
                    made[a].link(made[b])
            begun[:] = [
                value
                if isinstance(value, Undefined)
                else rebuilt(value, iter([made.get((n, k), leaf) for k, leaf in enumerate(leaves_of(value))]))
                for n, value in enumerate(self.entry)
            ]
            region.put(begun)

        counted = self.rounds is not None
        index = aval_of(as_operand(self.rounds)).update(weak_type=True) if counted else None
        inputs = avals if index is None else [index, *avals]

        def body(*tracers: Any) -> None:
            if counted:
                begin(tracers[1:])
                if isinstance(self.rounds, int):
                    counters.counts(tracers[0], self.rounds)
                self.body(fresh(tracers[0]))
            else:
                begin(tracers)
                self.body()

        names = [region.names[n] for n, *_ in slots]
        recorded = record(region, body, inputs, ["", *names] if counted else names)
        if not self._settled(slots, begun, recorded, avals):
            return False
        outside = recorded.captured or recorded.used or any(isinstance(leaf, Value) for *_, leaf in slots)
        outside = outside or any(v.aval.shape for e in recorded.graph.equations for v in e.outputs)
        if self.pure and self.certain and not outside:
            raise Pure("it computes with numbers of Python alone")
        test = None
        if self.test is not None:
            asked = self.test

            def condition(*tracers: Any) -> Any:
                begin(tracers)
                return [as_condition(asked())]

            test = record(region, condition, avals, names)
        self._emit(slots, starts, recorded, test, index)
        return True

    def _settled(
        self, slots: Sequence[Any], begun: Sequence[Any], recorded: Recorded, avals: Sequence[ShapedArray]
    ) -> bool:
        """Whether the carry has the same types after a round as before; else changes what is carried."""
        given = {(n, k): a for (n, k, _), a in zip(slots, avals)}
        settled, position = True, 0
        for n, (name, first, last) in enumerate(zip(self.region.names, begun, recorded.ends)):
            start, position = position, position + len(leaves_of(last))
            if isinstance(first, Undefined) or first is last:
                if first is last and name in self.carried and isinstance(first, Buffer) and not isinstance(first, View):
                    self.carried.discard(name)  # it is one array throughout
                    settled = False
                continue
            if isinstance(last, Undefined) or not same_form(first, last):
                self.entry[n] = last if isinstance(last, Undefined) else self._changed(name, first, last)
                settled = False
                continue
            for k, (a, b) in enumerate(zip(leaves_of(first), leaves_of(last))):
                if same(a, b):
                    continue
                if not is_number(a) or not is_number(b):
                    self.entry[n] = self._changed(name, a, b)
                    return False
                if (n, k) not in given:
                    self.carried.add(name)
                    settled = False
                    continue
                before, after = given[n, k], recorded.graph.out_avals[recorded.outputs[start + k]]
                aval = joined([before, after])
                if aval is None:
                    self.entry[n] = self._changed(name, a, b)
                    return False
                if aval.dtype != before.dtype:
                    self.types[n, k] = aval
                    settled = False
        if settled and self._aliases(slots, begun, recorded.ends):
            settled = False
        return settled

    def _pair(self, roots: dict[tuple[int, int], Buffer]) -> bool:
        """Note which carried names hold one array; return whether that is new."""
        found = {
            (a, b)
            for a in roots
            for b in roots
            if a < b and (roots[a] is roots[b] or any(roots[a] is r for r in roots[b].rivals))
        }
        new = not found <= self.pairs
        self.pairs |= found
        return new

    def _aliases(self, slots: Sequence[Any], begun: Sequence[Any], ends: Sequence[Any]) -> bool:
        """Note which arrays the carried names hold after a round; return whether that is new."""
        entry = {(n, k): leaf for n, k, leaf in slots}
        inputs = {key: leaves_of(begun[key[0]])[key[1]] for key in entry}
        roots: dict[tuple[int, int], Buffer] = {}
        new = False
        for key in entry:
            leaf = leaves_of(ends[key[0]])[key[1]]
            if not isinstance(leaf, Buffer):
                continue
            root = roots[key] = leaf.root
            held = [entry[j].root for j, x in inputs.items() if x is root and j != key and isinstance(entry[j], Buffer)]
            held += [] if root.is_inner else [root]
            known = self.others.setdefault(key, [])
            more = [h for h in held if not any(h is x for x in known)]
            known += more
            new = new or bool(more)
        return self._pair(roots) or new

    def _changed(self, name: str, first: Any, last: Any) -> Undefined:
        """What a name holds at the beginning of a round, if it is something else in the first one: an error to read."""
        rows = [(name, f"{kind_of(first)} before a round", f"{kind_of(last)} after it")]
        what = f"{name} becomes something else in a loop that the program runs"
        fix = f"begin with a {name} of the shape and kind that it has later, such as an array of zeros"
        return Undefined(name, what, location.error(CarryChanged, what, rows, fix))

    def _emit(
        self, slots: Sequence[Any], starts: Sequence[Any], body: Recorded, test: Recorded | None, index: Any
    ) -> None:
        region = self.region
        parts = [body] if test is None else [body, test]
        if test is not None and test.written:
            what = "the condition of a while loop changes an array"
            raise location.error(errors.UnsupportedError, what, fix="change it in the loop's body")
        # Names that begin with nothing, or hold another array, are assigned in each round.
        carried = {(n, k): i for i, (n, k, _) in enumerate(slots)}
        position = 0
        outputs: list[int] = [0] * len(slots)
        late: list[int] = []
        results: list[Any] = []
        for n, (name, value) in enumerate(zip(region.names, body.ends)):
            first = self.entry[n]
            kept: list[Any] = []
            for k, leaf in enumerate(leaves_of(value)):
                i = position + k
                if (n, k) in carried:
                    outputs[carried[n, k]] = body.outputs[i]
                    kept.append(carried[n, k])
                elif i in body.outputs and not self._constant(n, k, leaf):
                    kept.append(len(slots) + len(late))
                    late.append(body.outputs[i])
                else:
                    kept.append(None)
            position += len(kept)
            undefined = isinstance(first, Undefined) and not self.certain and not is_guarded(name)
            why = "a loop assigns it, which may run no round"
            results.append(Undefined(name, why) if undefined else (value, kept))
        carry = [*starts, *[full(a.shape, 0, a.dtype) for a in (body.graph.out_avals[o] for o in late)]]
        types = [body.graph.out_avals[o] for o in [*outputs, *late]]
        types = [joined([a, aval_of(s)]) or a for a, s in zip(types, carry)]
        carry = [converted(c, t) for c, t in zip(carry, types)]
        count = len(carry)
        pairs = gathered(parts)
        constants = [(key, v) for key, v in pairs if key not in body.written]
        carry += [references.read(r) for r in body.written]
        keys = [key for key, _ in constants]

        def known(given: Sequence[Any]) -> dict[Any, Any]:
            found = dict(zip(keys, given))
            found.update(zip(body.written, given[len(keys) + count :]))
            return found

        def advance(given: Sequence[Any], i: Any) -> list[Any]:
            own = given[len(keys) : len(keys) + len(slots)]
            own = [converted(v, aval_of(s)) for v, s in zip(own, starts)]
            outs = body.run([*([] if i is None else [i]), *own], known(given))
            cells = outs[len(body.outputs) :]
            return [*[converted(outs[o], t) for o, t in zip([*outputs, *late], types)], *cells]

        found = self._program([v for _, v in constants], carry, advance, test, known, len(slots), index, starts)
        for ref, out in zip(body.written, found[count:]):
            references.write(ref, out)
        final: list[Any] = []
        for n, r in enumerate(results):
            if isinstance(r, Undefined):
                final.append(r)
                continue
            value, kept = r
            new = []
            for k, (leaf, slot) in enumerate(zip(leaves_of(value), kept)):
                if slot is None:
                    new.append(leaf)
                else:
                    old = leaves_of(self.entry[n])
                    new.append(fresh(found[slot], [leaf] if self.certain else [*old[k : k + 1], leaf]))
            final.append(rebuilt(value, iter(new)))
        region.put(final)

    def _constant(self, n: int, k: int, leaf: Any) -> bool:
        """Whether a leaf is the same after each round: a number of Python, or the array that it was."""
        first = self.entry[n]
        if isinstance(first, Undefined):
            return not isinstance(leaf, Value)
        return same(leaf, leaves_of(first)[k])

    def _program(
        self,
        constants: list[Any],
        carry: list[Any],
        advance: Callable[..., list[Any]],
        test: Recorded | None,
        known: Callable[..., dict[Any, Any]],
        own: int,
        index: Any,
        starts: Sequence[Any],
    ) -> list[Any]:
        name = getattr(state.trace, "name", "")
        consts, avals = [aval_of(c) for c in constants], [aval_of(c) for c in carry]
        n = len(constants)
        if index is None:
            graph = trace_closed(lambda *v: advance(v, None), [*consts, *avals], name=name)
            asked = trace_closed(
                lambda *v: test.run([converted(x, aval_of(s)) for x, s in zip(v[n : n + own], starts)], known(v)),  # type: ignore[union-attr]
                [*consts, *avals],
                name=name,
            )
            out = while_p(*constants, *constants, *carry, cond=asked, body=graph, cond_consts=n, body_consts=n)
            return list(out)
        one = literal(1, index.dtype, True)
        zero = literal(0, index.dtype, True)

        def counted(*v: Any) -> list[Any]:
            return [arithmetic.add(v[n], one), *advance([*v[:n], *v[n + 1 :]], v[n])]

        graph = trace_closed(counted, [*consts, index, *avals], name=name)
        if test is None and isinstance(self.rounds, int):
            size = {"length": self.rounds, "reverse": False, "unroll": 1}
            out = scan_p(*constants, zero, *carry, graph=graph, num_consts=n, num_carry=1 + len(carry), **size)
            return list(out)[1:]
        rounds = as_operand(self.rounds)

        def more(*v: Any) -> list[Any]:
            going = logic.lt(v[n], v[-1])
            if test is not None:
                inner = [*v[:n], *v[n + 1 : -1]]
                given = [converted(x, aval_of(s)) for x, s in zip(inner[n : n + own], starts)]
                going = logic.bitwise_and(going, test.run(given, known(inner))[0])
            return [going]

        def step(*v: Any) -> list[Any]:
            return [*counted(*v[:-1]), v[-1]]

        full_state = [*consts, index, *avals, aval_of(rounds)]
        graph = trace_closed(step, full_state, name=name)
        asked = trace_closed(more, full_state, name=name)
        out = while_p(
            *constants, *constants, zero, *carry, rounds, cond=asked, body=graph, cond_consts=n, body_consts=n
        )
        return list(out)[1:-1]


def as_condition(value: Any) -> Any:
    """A condition as a traced boolean of rank 0, or a bool."""
    if not isinstance(value, (Value,)) and not hasattr(value, "aval"):
        return bool(value)
    array = operand(value)
    aval = aval_of(array)
    if aval.size != 1:
        what = f"the truth value of an array of {aval.size} elements, {aval.long()}, is asked for"
        raise location.error(errors.ShapeError, what, fix="write x.any() or x.all()")
    if aval.shape:
        array = array.reshape(())
    if dtypes.is_bool(aval.dtype):
        return Literal(array.value, aval) if type(array) is Literal else array
    return logic.ne(array, literal(0, aval.dtype))
