"""Memory assignment: results get allocations of their own, temporaries share one arena."""

from __future__ import annotations

import bisect
import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stagec.compiler.direct.liveness import Groups, Liveness
from stagec.compiler.direct.program import (
    Call,
    Conditional,
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


class MemoryRange(NamedTuple):
    """A range of bytes in a buffer.

    Attributes:
      slot: the buffer's number among those that a call binds; negative for constants, -1 for the first.
      offset, bytes: the range.
    """

    slot: int
    offset: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """The memory of each value of a program.

    Attributes:
      ranges: by value; results of Python functions have the last slots, in the order of the calls.
      allocated: the size of each buffer that a call allocates, by slot; the arguments have the slots before.
      deallocated: the slots of the allocated buffers that hold no result.
      numbers: the slot of the buffer in which kernels find the host's numbers, or -1.
      numbers_bytes: the bytes that one entry of these numbers takes.
      slots: the number of slots, without those of the results of Python functions.
    """

    ranges: dict[int, MemoryRange]
    allocated: dict[int, int]
    deallocated: tuple[int, ...]
    numbers: int = -1
    numbers_bytes: int = 0
    slots: int = 0


def assign_memory(program: Program) -> Layout:
    """Assign memory to every value of a program."""
    sizes = _sizes(program)
    ranges = {n: MemoryRange(n, 0, sizes[n]) for n in range(len(program.arguments))}
    for i, n in enumerate(program.constants):
        ranges[n] = MemoryRange(-1 - i, 0, sizes[n])
    from_host = [n for call in program.host_calls for n in call.written]
    fixed = {*ranges, *from_host, *program.counted}
    liveness = Liveness(program)
    groups = Groups(liveness, sizes)
    _coalesce(program, liveness, groups, fixed)
    for n in program.donated:
        ranges.update((m, ranges[n]) for m in groups.members[groups.of(n)])
    allocated: dict[int, int] = {}
    slot = len(program.arguments)
    shared = -1
    exchanged = _exchanged(program, groups)
    returned = {groups.of(n) for n in program.returned if n not in ranges and n not in from_host}
    for n in dict.fromkeys((*(n for n in map(groups.of, program.returned) if n in returned), *exchanged)):
        if n in ranges:
            continue
        is_small = sizes[n] < _SMALL and n not in exchanged
        if not is_small or shared < 0:
            at, own = 0, slot
            slot += 1
        else:
            at, own = _aligned(allocated[shared]), shared
        if is_small:
            shared = own
        ranges.update((m, MemoryRange(own, at, sizes[n])) for m in groups.members[n])
        allocated[own] = at + sizes[n]
    kept = {ranges[n].slot for n in program.returned if n in ranges}
    deallocated = [s for s in allocated if s not in kept]
    arena, size = slot, 0
    for n, offset in _offsets(program.calls, {*fixed, *ranges}, groups, sizes).items():
        ranges.update((m, MemoryRange(arena, offset, sizes[n])) for m in groups.members[n])
        size = max(size, offset + sizes[n])
    if size:
        allocated[arena] = size
        deallocated.append(arena)
    numbers, entry = len(program.arguments) + len(allocated), 0
    for n in program.counted:
        ranges[n] = MemoryRange(numbers, entry, sizes[n])
        entry += _ALIGNMENT
    first = numbers + bool(entry)
    for own, n in enumerate(from_host, start=first):
        ranges[n] = MemoryRange(own, 0, sizes[n])
    return Layout(ranges, allocated, tuple(deallocated), numbers if entry else -1, entry, first)


def _sizes(program: Program) -> dict[int, int]:
    """The bytes of each value."""
    sizes = {n: t.bytes for n, t in enumerate(program.arguments)}
    sizes.update({n: constant.bytes for n, constant in program.constants.items()})
    sizes.update(dict.fromkeys(program.counted, 8))
    for step in every(program.calls):
        if isinstance(step, Copy | Fill):
            sizes[step.target] = step.bytes
        elif isinstance(step, Loop):
            for state in step.arrays:
                sizes.update(dict.fromkeys((state.before, state.during, state.then, state.after), state.bytes))
        elif isinstance(step, Conditional):
            sizes.update((n, size) for n, _, size in step.arrays)
        elif isinstance(step, Call | HostCall):
            sizes.update(zip((*step.read, *step.written), step.bytes))
    return sizes


def _coalesce(program: Program, liveness: Liveness, groups: Groups, fixed: Iterable[int]) -> None:
    """Coalesce values: the state of a loop in all of its rounds, and results with the operands that they overwrite.

    A buffer that is exchanged belongs to the program, so it is never that of a donated argument.
    """
    fixed = set(fixed)
    candidates: list[tuple[int, int]] = []
    for step in every(program.calls):
        if isinstance(step, Loop):
            for state in step.arrays:
                coalesced = groups.coalesce(state.during, state.before) and groups.coalesce(state.during, state.after)
                assert coalesced, "the state of a loop has one buffer at a time"
                candidates.append((state.during, state.then))
        elif isinstance(step, Conditional):
            for n, made, _ in step.arrays:
                coalesced = all(groups.coalesce(n, m) for m in made)
                assert coalesced, "one branch is taken"
    for a, b in (*candidates, *liveness.coalescible):
        if a not in fixed and b not in fixed:
            groups.coalesce(a, b)
    exchanged = _exchanged(program, groups)
    for a, b in liveness.coalescible:
        if b in program.donated and a not in fixed and groups.of(a) not in exchanged:
            groups.coalesce(b, a)


def _exchanged(program: Program, groups: Groups) -> dict[int, None]:
    """The groups whose buffers are exchanged at the end of a round, so that their contents need not be copied."""
    found: dict[int, None] = {}
    for step in every(program.calls):
        if isinstance(step, Loop):
            for state in step.arrays:
                if groups.of(state.during) != groups.of(state.then):
                    found.update(dict.fromkeys((groups.of(state.during), groups.of(state.then))))
    return found


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _offsets(calls: Sequence[Step], assigned: set[int], groups: Groups, sizes: dict[int, int]) -> dict[int, int]:
    """Assign arena offsets to the groups without memory: the first fit among the groups that each conflicts with."""
    wanted = dict.fromkeys(groups.of(n) for step in every(calls) for n in written(step) if n not in assigned)
    conflicts = groups.conflicts(wanted)
    offsets: dict[int, int] = {}
    for group in wanted:
        at = 0
        for other in sorted((m for m in conflicts[group] if m in offsets), key=offsets.__getitem__):
            if at + sizes[group] <= offsets[other]:
                break
            at = max(at, _aligned(offsets[other] + sizes[other]))
        offsets[group] = at
    return offsets


def barriers(calls: Sequence[Step], ranges: dict[int, MemoryRange]) -> frozenset[int]:
    """The positions of the commands that need a barrier before them: they read or write what a command since the last
    barrier wrote, or write what one read.
    """
    found = set()
    read_from: defaultdict[int, _Ranges] = defaultdict(_Ranges)
    made: defaultdict[int, _Ranges] = defaultdict(_Ranges)
    for i, call in enumerate(calls):
        inputs, outputs = [ranges[n] for n in read(call)], [ranges[n] for n in written(call)]
        needs_writes = any(made[p.slot].overlap(p) for p in (*inputs, *outputs))
        if needs_writes or any(read_from[p.slot].overlap(p) for p in outputs):
            found.add(i)
            read_from.clear()
            made.clear()
        for p in inputs:
            read_from[p.slot].add(p)
        for p in outputs:
            made[p.slot].add(p)
    return frozenset(found)


class _Ranges:
    """The bytes of ranges in one slot, as disjoint intervals in order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def overlap(self, p: MemoryRange) -> bool:
        """Whether any of the ranges has a byte in common with another range."""
        first = bisect.bisect_right(self._ends, p.offset)
        return first < len(self._ends) and self._starts[first] < p.offset + p.bytes

    def add(self, p: MemoryRange) -> None:
        """Add a range; the intervals that it touches become one with it."""
        start, end = p.offset, p.offset + p.bytes
        first, last = bisect.bisect_left(self._ends, start), bisect.bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
