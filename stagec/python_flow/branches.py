"""`if` with a traced condition: both branches are recorded, and their names merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stagec.control.cond import cond_p
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.recording import trace_closed
from stagec.primitives import references
from stagec.primitives.convert import convert_element_type
from stagec.primitives.iota import full
from stagec.primitives.operand import aval_of
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
    rebuilt,
    record,
    same,
    same_form,
)


class _Slot(NamedTuple):
    """A result of the conditional: of each branch an output's position, or None for zeros."""

    aval: ShapedArray
    positions: Sequence[int | None]


def branch(region: Region, chosen: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> None:
    """Run one of two branches, decided when the program runs, and set the region's names."""
    both = [record(region, lambda run=run: run(), ()) for run in (then, orelse)]
    slots: list[_Slot] = []
    results: list[Any] = []
    starts = [0, 0]
    for name, *ends in zip(region.names, both[0].ends, both[1].ends):
        results.append(_merged(name, ends, starts, both, slots))
        starts = [s + len(leaves_of(e)) for s, e in zip(starts, ends)]
    written = list(dict.fromkeys([*both[0].written, *both[1].written]))
    outs = _conditional(chosen, both, slots, written)
    for ref, value in zip(written, outs[len(slots) :]):
        references.write(ref, value)
    region.put(_filled(results, iter(outs)))


class _Result:
    """A leaf that the conditional computes."""

    def __init__(self, rivals: Sequence[Any]) -> None:
        self.rivals = rivals


def _filled(results: Sequence[Any], made: Any) -> list[Any]:
    def leaf(x: Any) -> Any:
        return fresh(next(made), x.rivals) if type(x) is _Result else x

    return [rebuilt(r, iter([leaf(x) for x in leaves_of(r)])) for r in results]


def _merged(name: str, ends: Sequence[Any], starts: list[int], both: Sequence[Recorded], slots: list[_Slot]) -> Any:
    a, b = ends
    if a is b:
        return a
    absent = [isinstance(e, Undefined) for e in ends]
    if all(absent):
        return a
    if any(absent):
        reason = ends[absent.index(True)].why
        assigned = reason == "it has not been assigned"
        # Zeros stand for a result that has not been returned; one that is ambiguous stays so.
        if not (is_guarded(name) and assigned):
            why = "one branch of an if assigns it, and the other does not" if assigned else reason
            return Undefined(name, why, ends[absent.index(True)].cause)
        present = absent.index(False)
        return _each(name, ends[present], [present], starts, both, slots)
    if not same_form(a, b):
        return Undefined(name, f"the branches of an if assign {kind_of(a)} and {kind_of(b)}")
    return _each(name, a, [0, 1], starts, both, slots)


def _each(
    name: str, form: Any, present: list[int], starts: list[int], both: Sequence[Recorded], slots: list[_Slot]
) -> Any:
    new: list[Any] = []
    for k, _ in enumerate(leaves_of(form)):
        leaves = [_leaf(both[i], starts[i] + k) for i in present]
        if len(present) == 2 and same(*leaves):
            new.append(leaves[0])
            continue
        if not all(map(is_number, leaves)):
            if len(present) == 1:
                new.append(leaves[0])
                continue
            return Undefined(name, f"the branches of an if assign {kind_of(leaves[0])} and {kind_of(leaves[1])}")
        positions = [both[i].outputs[starts[i] + k] for i in present]
        avals = [both[i].graph.out_avals[p] for i, p in zip(present, positions)]
        aval = joined(avals)
        if aval is None:
            return Undefined(name, f"the branches of an if assign {avals[0].long()} and {avals[1].long()}")
        found = dict(zip(present, positions))
        slots.append(_Slot(aval, [found.get(i) for i in (0, 1)]))
        new.append(_Result(leaves))
    return rebuilt(form, iter(new))


def _leaf(recorded: Recorded, i: int) -> Any:
    return [leaf for end in recorded.ends for leaf in leaves_of(end)][i]


def _conditional(chosen: Any, both: Sequence[Recorded], slots: Sequence[_Slot], written: Sequence[Any]) -> list[Any]:
    if not slots and not written and not any(b.graph.effects for b in both):
        return []
    pairs = gathered(both)
    missing = [r for r in written if r not in dict(pairs)]
    assert not missing, "what is written has been read"
    keys, operands = [k for k, _ in pairs], [v for _, v in pairs]

    def run(i: int) -> Callable[..., list[Any]]:
        def outputs(*inputs: Any) -> list[Any]:
            known = dict(zip(keys, inputs))
            body = both[i]
            outs = body.run([], known)
            cells = dict(zip(body.written, outs[len(body.outputs) :]))
            return [
                full(s.aval.shape, 0, s.aval.dtype) if p is None else converted(outs[p], s.aval)
                for s in slots
                for p in (s.positions[i],)
            ] + [cells.get(ref, known[ref]) for ref in written]

        return outputs

    avals = [aval_of(v) for v in operands]
    name = getattr(state.trace, "name", "")
    graphs = [trace_closed(run(i), avals, name=name) for i in (1, 0)]  # the false branch comes first
    index = convert_element_type(chosen, "int32")
    results: list[Any] = cond_p(index, *operands, branches=tuple(graphs))
    return results
