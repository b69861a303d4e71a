"""Liveness analysis of direct programs: which values interfere, and which may be coalesced into one buffer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from stagec.compiler.direct.program import Call, Conditional, Copy, Fill, HostCall, Loop, Program, Read, Step


def mask_of(values: Iterable[int]) -> int:
    """The set of some values as an integer, in which value `n` is the bit `1 << n`."""
    mask = 0
    for n in values:
        mask |= 1 << n
    return mask


def values_of(mask: int) -> list[int]:
    """The values of such a set."""
    data = np.frombuffer(mask.to_bytes(-(-mask.bit_length() // 8), "little"), np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return found


class Liveness:
    """Interference between the values of a program, found in one backward walk. Sets of values are masks.

    Attributes:
      interference: by value, those that are live when it is written, or are read by the step that writes it. Two values
        interfere if either is among those of the other.
      in_place: by value, the operands that its kernel may overwrite with it. The two may have the same memory, or
        disjoint memory, but must not overlap partly.
      coalescible: these pairs, and each copy with its source, in the order of the program.
    """

    def __init__(self, program: Program) -> None:
        self.interference: defaultdict[int, int] = defaultdict(int)
        self.in_place: defaultdict[int, int] = defaultdict(int)
        self.coalescible: list[tuple[int, int]] = []
        # Arguments that are not donated, and constants, have memory of their own.
        self._apart = mask_of({*range(len(program.arguments)), *program.constants} - program.donated)
        live = self._list(program.calls, mask_of(program.returned))
        self._define(range(len(program.arguments)), live)
        self.coalescible.reverse()

    def _define(self, made: Collection[int], live: int) -> None:
        """Record that values are written while others are live."""
        others = (live | mask_of(made)) & ~self._apart
        for n in made:
            if not self._apart >> n & 1:
                self.interference[n] |= others & ~(1 << n)

    def _list(self, steps: Sequence[Step], live: int) -> int:
        """The values that are live before some steps, if `live` are so after them."""
        for step in reversed(steps):
            live = self._step(step, live)
        return live

    def _step(self, step: Step, live: int) -> int:
        if isinstance(step, Call):
            live &= ~mask_of(step.written)
            own = [step.read[i] for i in step.own if step.read.count(step.read[i]) == 1]
            self._define(step.written, live | mask_of(n for n in step.read if n not in own))
            for n, made in ((n, made) for n in own for made in step.written if not live >> n & 1):
                self.coalescible.append((made, n))
                self.in_place[made] |= 1 << n
            live |= mask_of(step.read)
        elif isinstance(step, HostCall):
            live &= ~mask_of(step.written)
            self._define(step.written, live | mask_of(step.read))
            live |= mask_of(step.read)
        elif isinstance(step, Copy | Fill):
            live &= ~(1 << step.target)
            self._define([step.target], live)
            if isinstance(step, Copy):
                self.coalescible.append((step.target, step.source))
                live |= 1 << step.source
        elif isinstance(step, Read):
            live |= 1 << step.memory
        elif isinstance(step, Loop):
            return self._loop(step, live)
        elif isinstance(step, Conditional):
            return self._conditional(step, live)
        return live

    def _loop(self, loop: Loop, live: int) -> int:
        after, state = [s.after for s in loop.arrays], [s.during for s in loop.arrays]
        following = [s.then for s in loop.arrays]
        live &= ~mask_of(after)
        self._define(after, live)
        live_around = 0
        while True:
            inside = self._list(loop.body, mask_of(following) | live_around)
            # The state is the result of the loop, too.
            needed = self._list(loop.condition, inside | live | mask_of(state)) & ~mask_of(state)
            self._define(following, live_around)
            if not needed & ~live_around:
                break
            live_around |= needed
        self._define(state, live_around)
        return live_around | mask_of(s.before for s in loop.arrays)

    def _conditional(self, conditional: Conditional, live: int) -> int:
        results = [n for n, _, _ in conditional.arrays]
        live &= ~mask_of(results)
        self._define(results, live)
        before = 0
        for i, branch in enumerate(conditional.branches):
            before |= self._list(branch, live | mask_of(made[i] for _, made, _ in conditional.arrays))
        return before


class Groups:
    """Values coalesced into groups that share memory: no two values of a group interfere."""

    def __init__(self, liveness: Liveness, sizes: dict[int, int]) -> None:
        self._liveness, self._sizes = liveness, sizes
        self._leader: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        # The members of a group as a mask, and what interferes with any of them.
        self._mask: dict[int, int] = {}
        self._interference: dict[int, int] = {}

    def of(self, n: int) -> int:
        """The group of a value, named by its first member."""
        if n not in self._leader:
            self._leader[n], self.members[n] = n, [n]
            self._mask[n], self._interference[n] = 1 << n, self._liveness.interference.get(n, 0)
        return self._leader[n]

    def conflicts(self, groups: Collection[int]) -> dict[int, set[int]]:
        """By group, those of `groups` whose memory must not overlap its memory."""
        found: dict[int, set[int]] = {group: set() for group in groups}
        among = mask_of(n for group in groups for n in self.members[group])
        for group in groups:
            mask = self._interference[group]
            for n in self.members[group]:
                mask |= self._liveness.in_place.get(n, 0)
            for other in {self._leader[n] for n in values_of(mask & among)} - {group}:
                found[group].add(other)
                found[other].add(group)
        return found

    def coalesce(self, a: int, b: int) -> bool:
        """Merge two groups and return True, if they have the same size and do not interfere."""
        a, b = self.of(a), self.of(b)
        if a == b:
            return True
        interfere = self._interference[a] & self._mask[b] or self._interference[b] & self._mask[a]
        if self._sizes[a] != self._sizes[b] or interfere:
            return False
        for n in self.members.pop(b):
            self._leader[n] = a
            self.members[a].append(n)
        self._mask[a] |= self._mask.pop(b)
        self._interference[a] |= self._interference.pop(b)
        return True
