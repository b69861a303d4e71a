"""Where a program's values lie: results in memory of their own, what is gone before the end in one arena."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stagec.compiler.direct.liveness import Groups, Liveness
from stagec.compiler.direct.program import (
    Call,
    Choice,
    Copy,
    Fill,
    HostCall,
    Loop,
    Program,
    Step,
    every,
    read,
    written,
)

_ALIGNMENT = 64
# Results below this size share an allocation: it costs more than their memory.
_SMALL = 1 << 16


class Place(NamedTuple):
    """A stretch of memory.

    Attributes:
      slot: which buffer, by its number among those that a call binds; constants have their own, from the last on.
      offset, bytes: the stretch.
    """

    slot: int
    offset: int
    bytes: int

    def meets(self, other: Place) -> bool:
        """Whether two stretches have an element in common."""
        return (
            self.slot == other.slot
            and self.offset < other.offset + other.bytes
            and other.offset < self.offset + self.bytes
        )


@dataclasses.dataclass(frozen=True)
class Layout:
    """Places of a program's memory.

    Attributes:
      places: by the number of the memory; what Python functions bring has the last slots, in the order of the calls.
      allocated: the size of each buffer that a call allocates, by slot; the arguments have the slots before.
      given_back: the slots of what is not returned.
      numbers: the slot in which kernels find the host's numbers, or -1, and the bytes of these.
      slots: how many there are without those of Python functions.
    """

    places: dict[int, Place]
    allocated: dict[int, int]
    given_back: tuple[int, ...]
    numbers: int = -1
    numbers_bytes: int = 0
    slots: int = 0


def laid_out(program: Program) -> Layout:
    """Give every memory of a program a place."""
    sizes = _sizes(program)
    places = {n: Place(n, 0, sizes[n]) for n in range(len(program.arguments))}
    for i, n in enumerate(program.constants):
        places[n] = Place(-1 - i, 0, sizes[n])
    brought = [n for call in program.host_calls for n in call.written]
    fixed = {*places, *brought, *program.counted}
    liveness = Liveness(program)
    groups = Groups(liveness, sizes)
    _share(program, liveness, groups, fixed)
    for n in program.donated:
        places.update((m, places[n]) for m in groups.members[groups.of(n)])
    allocated: dict[int, int] = {}
    slot = len(program.arguments)
    shared = -1
    swapped = _swapped(program, groups)
    returned = {groups.of(n) for n in program.returned if n not in places and n not in brought}
    for n in dict.fromkeys((*(n for n in map(groups.of, program.returned) if n in returned), *swapped)):
        if n in places:
            continue
        is_small = sizes[n] < _SMALL and n not in swapped
        if not is_small or shared < 0:
            at, own = 0, slot
            slot += 1
        else:
            at, own = _aligned(allocated[shared]), shared
        if is_small:
            shared = own
        places.update((m, Place(own, at, sizes[n])) for m in groups.members[n])
        allocated[own] = at + sizes[n]
    kept = {places[n].slot for n in program.returned if n in places}
    given_back = [s for s in allocated if s not in kept]
    arena, size = slot, 0
    for n, offset in _offsets(program.calls, {*fixed, *places}, groups, sizes).items():
        places.update((m, Place(arena, offset, sizes[n])) for m in groups.members[n])
        size = max(size, offset + sizes[n])
    if size:
        allocated[arena] = size
        given_back.append(arena)
    numbers, entry = len(program.arguments) + len(allocated), 0
    for n in program.counted:
        places[n] = Place(numbers, entry, sizes[n])
        entry += _ALIGNMENT
    first = numbers + bool(entry)
    for own, n in enumerate(brought, start=first):
        places[n] = Place(own, 0, sizes[n])
    return Layout(places, allocated, tuple(given_back), numbers if entry else -1, entry, first)


def _sizes(program: Program) -> dict[int, int]:
    """Bytes of each memory."""
    sizes = {n: t.bytes for n, t in enumerate(program.arguments)}
    sizes.update({n: constant.bytes for n, constant in program.constants.items()})
    sizes.update(dict.fromkeys(program.counted, 8))
    for step in every(program.calls):
        if isinstance(step, Copy | Fill):
            sizes[step.target] = step.bytes
        elif isinstance(step, Loop):
            for state in step.arrays:
                sizes.update(dict.fromkeys((state.before, state.during, state.then, state.after), state.bytes))
        elif isinstance(step, Choice):
            sizes.update((n, size) for n, _, size in step.arrays)
        elif isinstance(step, Call | HostCall):
            sizes.update(zip((*step.read, *step.written), step.bytes))
    return sizes


def _share(program: Program, liveness: Liveness, groups: Groups, fixed: Iterable[int]) -> None:
    """Have values share places: the state of a loop in all of its rounds, and results with what they replace.

    Buffers that are exchanged are the program's own, so none of these is a donated argument's.
    """
    fixed = set(fixed)
    wishes: list[tuple[int, int]] = []
    for step in every(program.calls):
        if isinstance(step, Loop):
            for state in step.arrays:
                joined = groups.join(state.during, state.before) and groups.join(state.during, state.after)
                assert joined, "the state of a loop is in one place at a time"
                wishes.append((state.during, state.then))
        elif isinstance(step, Choice):
            for n, made, _ in step.arrays:
                joined = all(groups.join(n, m) for m in made)
                assert joined, "one branch is taken"
    for a, b in (*wishes, *liveness.over):
        if a not in fixed and b not in fixed:
            groups.join(a, b)
    swapped = _swapped(program, groups)
    for a, b in liveness.over:
        if b in program.donated and a not in fixed and groups.of(a) not in swapped:
            groups.join(b, a)


def _swapped(program: Program, groups: Groups) -> dict[int, None]:
    """The groups whose buffers are exchanged at the end of a round, instead of what is in them."""
    found: dict[int, None] = {}
    for step in every(program.calls):
        if isinstance(step, Loop):
            for state in step.arrays:
                if groups.of(state.during) != groups.of(state.then):
                    found.update(dict.fromkeys((groups.of(state.during), groups.of(state.then))))
    return found


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _offsets(calls: Sequence[Step], placed: set[int], groups: Groups, sizes: dict[int, int]) -> dict[int, int]:
    """Offsets of the groups that have no place yet: the first with room beside all that is needed with them."""
    offsets: dict[int, int] = {}
    for step in every(calls):
        for n in written(step):
            if n in placed or groups.of(n) in offsets:
                continue
            group = groups.of(n)
            at = 0
            for other in sorted((m for m in groups.beside(group) if m in offsets), key=offsets.__getitem__):
                if at + sizes[group] <= offsets[other]:
                    break
                at = max(at, _aligned(offsets[other] + sizes[other]))
            offsets[group] = at
    return offsets


def barriers(calls: Sequence[Step], places: dict[int, Place]) -> frozenset[int]:
    """Which of some commands read or write what one since the last barrier writes, or write what one reads."""
    found = set()
    before: list[Place] = []
    made: list[Place] = []
    for i, call in enumerate(calls):
        inputs, outputs = [places[n] for n in read(call)], [places[n] for n in written(call)]
        if any(p.meets(q) for p in inputs for q in made) or any(p.meets(q) for p in outputs for q in (*before, *made)):
            found.add(i)
            before, made = [], []
        before += inputs
        made += outputs
    return frozenset(found)
