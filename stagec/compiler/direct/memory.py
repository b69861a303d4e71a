"""Where a program's values lie: results in memory of their own, what is gone before the end in one arena."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from stagec.compiler.direct.program import Call, Copy, HostCall, Program

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
      arena: the slot of what is not returned, or -1.
      barriers: the calls that wait for all before them, by their position.
    """

    places: dict[int, Place]
    allocated: dict[int, int]
    arena: int
    barriers: frozenset[int]


def laid_out(program: Program) -> Layout:
    """Give every memory of a program a place."""
    sizes = {n: t.bytes for n, t in enumerate(program.arguments)}
    sizes.update({n: constant.bytes for n, constant in program.constants.items()})
    for call in program.calls:
        sizes.update(zip((*call.read, *call.written), call.bytes))
    places = {n: Place(n, 0, sizes[n]) for n in range(len(program.arguments))}
    for i, n in enumerate(program.constants):
        places[n] = Place(-1 - i, 0, sizes[n])
    for n, argument in program.reused.items():
        places[n] = Place(argument, 0, sizes[n])
    brought = [n for call in program.host_calls for n in call.written]
    allocated: dict[int, int] = {}
    slot = len(program.arguments)
    shared = -1
    for n in dict.fromkeys(program.returned):
        if n in places or n in brought:
            continue
        if sizes[n] >= _SMALL or shared < 0:
            at, own = 0, slot
            slot += 1
        else:
            at, own = _aligned(allocated[shared]), shared
        if sizes[n] < _SMALL:
            shared = own
        places[n] = Place(own, at, sizes[n])
        allocated[own] = at + sizes[n]
    arena, size = slot, 0
    for n, offset in _offsets(program.calls, {*places, *brought}, sizes).items():
        places[n] = Place(arena, offset, sizes[n])
        size = max(size, offset + sizes[n])
    if size:
        allocated[arena] = size
    for own, n in enumerate(brought, start=len(program.arguments) + len(allocated)):
        places[n] = Place(own, 0, sizes[n])
    return Layout(places, allocated, arena if size else -1, _barriers(program.calls, places))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _offsets(calls: tuple[Call | Copy | HostCall, ...], placed: set[int], sizes: dict[int, int]) -> dict[int, int]:
    """Offsets of the memory that has no place yet; what no later call reads makes room."""
    last = {n: i for i, call in enumerate(calls) for n in (*call.read, *call.written)}
    offsets: dict[int, int] = {}
    living: list[int] = []
    for i, call in enumerate(calls):
        for n in call.written:
            if n in placed:
                continue
            at = 0
            for other in sorted(living, key=offsets.__getitem__):
                if at + sizes[n] <= offsets[other]:
                    break
                at = _aligned(offsets[other] + sizes[other])
            offsets[n] = at
            living.append(n)
        living = [n for n in living if last[n] > i]
    return offsets


def _barriers(calls: tuple[Call | Copy | HostCall, ...], places: dict[int, Place]) -> frozenset[int]:
    """The calls that read or write what a call since the last barrier writes, or write what one reads.

    Before a Python function is called, all that was begun is done.
    """
    found = set()
    read: list[Place] = []
    written: list[Place] = []
    for i, call in enumerate(calls):
        if isinstance(call, HostCall):
            read, written = [], []
            continue
        inputs, outputs = [places[n] for n in call.read], [places[n] for n in call.written]
        if any(p.meets(q) for p in inputs for q in written) or any(
            p.meets(q) for p in outputs for q in (*read, *written)
        ):
            found.add(i)
            read, written = [], []
        read += inputs
        written += outputs
    return frozenset(found)
