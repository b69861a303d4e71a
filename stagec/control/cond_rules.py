"""Derivatives, transposes and batches of `cond`: those of its branches, with one signature for all."""

from __future__ import annotations

from typing import Any

from stagec.control.derived import (
    Flags,
    Split,
    batched,
    cotangents_of,
    cut,
    either,
    kept,
    merged,
    pick,
    pull,
    push,
    record_flat,
    select_lanes,
    slimmer,
    split,
    taken,
    tangents_of,
    trimmed,
    with_inputs,
)
from stagec.core.graph import Equation, Graph, Literal, Var, replay
from stagec.core.primitive import Primitive
from stagec.core.zero import is_linear, is_zero
from stagec.primitives import logic
from stagec.primitives.broadcast import moveaxis_to_front, zeros
from stagec.transforms.linearize import PartialTrace

Branches = tuple[Graph, ...]


def _cond(primitive: Primitive, index: Any, *operands: Any, branches: Branches) -> list[Any]:
    """The operation, or nothing if the branches have neither results nor effects."""
    if not branches[0].outputs and not any(g.effects for g in branches):
        return []
    return primitive(index, *operands, branches=branches)


def jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    branches = params["branches"]
    active = tuple([not is_zero(t) for t in tangents[1:]])
    kinds = either(*[push(g, active)[1] for g in branches])
    pushed = tuple([push(g, active, kinds)[0] for g in branches])
    results = primitive(*primals, *pick(tangents[1:], active), branches=pushed)
    outs, dots = cut(results, len(kinds))
    return outs, tangents_of(outs, kinds, dots)


def partial(primitive: Primitive, trace: PartialTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    branches = params["branches"]
    index, operands = args[0], args[1:]
    if trace.is_unknown(index):
        return trace.unknown.process(primitive, args, params)
    unknown = tuple([trace.is_unknown(a) for a in operands])
    early, late, direct, kinds = kept(
        branches[0], ("cond split", branches[1:], unknown), lambda: _halves(branches, unknown)
    )
    known = pick(operands, unknown, False)
    results = _cond(primitive, index, *known, branches=early)
    count = len(kinds) - sum(kinds)
    first, slots = cut(results, count)
    unknown_outs: list[Any] = []
    if any(kinds) or any(g.effects for g in late):
        values = (index, *[known[i] for i in direct], *slots, *pick(operands, unknown))
        unknown_outs = trace.unknown.process(primitive, values, {"branches": late})
    return merged(kinds, unknown_outs, first)


def _halves(branches: Branches, unknown: Flags) -> tuple[Branches, Branches, list[int], Flags]:
    """The known and the unknown half of each branch.

    Residuals of one type share a slot: only one branch fills it. Those that are operands need none.

    Returns:
      the known halves, whose results are the known results and the slots; the unknown ones, which take known
      operands, the slots and the unknown operands; which known operands; and which results are unknown.
    """
    kinds = either(*[split(g, unknown).unknown for g in branches])
    parts = [split(g, unknown, kinds) for g in branches]
    slots: list[Any] = []
    located = [_residual_sources(part, slots) for part in parts]
    direct = sorted({p for locations in located for kind, p in locations if kind == "operand"})
    early, late = [], []
    for part, locations in zip(parts, located):
        sources = dict(zip(locations, range(len(locations))))
        outs = len(part.early.outputs) - part.residuals

        def known(*values: Any, part: Split = part, sources: Any = sources, outs: int = outs) -> list[Any]:
            results = replay(part.early, values)
            filled = [sources.get(("slot", i)) for i in range(len(slots))]
            return results[:outs] + [zeros(a) if i is None else results[outs + i] for a, i in zip(slots, filled)]

        early.append(record_flat(known, part.early.in_avals))
        wanted = [("operand", i) for i in direct] + [("slot", i) for i in range(len(slots))]
        avals = [part.early.in_avals[i] for i in direct] + slots
        leading = [part.late.inputs[sources[w]] if w in sources else Var(a) for w, a in zip(wanted, avals)]
        late.append(Graph([*leading, *part.late.inputs[part.residuals :]], part.late.equations, part.late.outputs))
    return tuple(early), tuple(late), direct, kinds


def _residual_sources(part: Split, slots: list[Any]) -> list[tuple[str, int]]:
    """The source of each residual of a branch: a known operand, or a slot."""
    operands = {v: i for i, v in enumerate(part.early.inputs)}
    free = list(range(len(slots)))
    locations = []
    for atom in part.early.outputs[len(part.early.outputs) - part.residuals :]:
        if type(atom) is not Literal and atom in operands:
            locations.append(("operand", operands[atom]))
            continue
        aval = atom.aval.strip_weak_type()
        slot = next((i for i in free if slots[i] == aval), None)
        if slot is None:
            slot = len(slots)
            slots.append(aval)
        else:
            free.remove(slot)
        locations.append(("slot", slot))
    return locations


def transpose(primitive: Primitive, cts: Any, index: Any, *operands: Any, branches: Branches) -> list[Any]:
    linear = tuple([is_linear(o) for o in operands])
    active = tuple([not is_zero(ct) for ct in cts])
    kinds = either(*[pull(g, linear, active)[1] for g in branches])
    pulled = tuple([pull(g, linear, active, kinds)[0] for g in branches])
    results = _cond(primitive, index, *pick(operands, linear, False), *pick(cts, active), branches=pulled)
    return [None, *cotangents_of(operands, kinds, results)]


def batch(primitive: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    branches = params["branches"]
    which = tuple([d is not None for d in dims[1:]])
    operands = [moveaxis_to_front(a, d) for a, d in zip(args[1:], dims[1:])]
    if dims[0] is None:
        kinds = either(*[batched(g, which, size)[1] for g in branches])
        graphs = tuple([batched(g, which, size, kinds)[0] for g in branches])
        return primitive(args[0], *operands, branches=graphs), [0 if on else None for on in kinds]
    # With a branch for each lane, all branches run, and each lane selects its own results.
    every = (True,) * len(branches[0].outputs)
    given = list(zip(operands, which))
    index = args[0] if len(branches) > 2 else logic.ne(args[0], 0)
    columns = zip(
        *[
            replay(batched(g, which, size, every)[0], [taken(index, i, len(branches), o) if d else o for o, d in given])
            for i, g in enumerate(branches)
        ]
    )
    results = [select_lanes(index, *column) if len(branches) > 1 else column[0] for column in columns]
    places: list[int | None] = [0] * len(results)
    for i, source in enumerate(_passed(branches)):
        if source is not None and not which[source]:
            results[i], places[i] = operands[source], None
    return results, places


def _passed(branches: Branches) -> list[int | None]:
    """For each result, the operand that it is, whichever branch runs."""
    places: list[dict[Any, int]] = [{v: i for i, v in enumerate(g.inputs)} for g in branches]
    found = []
    for outs in zip(*[g.outputs for g in branches]):
        sources = {place.get(out) if isinstance(out, Var) else None for place, out in zip(places, outs)}
        found.append(sources.pop() if len(sources) == 1 else None)
    return found


def trim(equation: Equation, live: Flags) -> Equation:
    """A conditional without the results that nothing reads, and the operands that no branch reads then."""
    live = tuple(live)
    slim = [trimmed(g, live) for g in equation.params["branches"]]
    read = either(*[r for _, r in slim])
    return slimmer(equation, (True, *read), live, {"branches": tuple([with_inputs(g, read) for g, _ in slim])})
