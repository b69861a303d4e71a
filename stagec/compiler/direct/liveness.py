"""Liveness analysis of direct programs: which values interfere, and which may be coalesced into one buffer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from stagec.compiler.direct.program import Call, Conditional, Copy, Fill, HostCall, Loop, Program, Read, Step


class Liveness:
    """Interference between the values of a program, found in one backward walk.

    Attributes:
      interference: by value, the values that are live when it is written, or are read by the step that writes it.
      in_place: by value, the operands that its kernel may overwrite with it, and the results that may overwrite it.
        The two may have the same memory, or disjoint memory, but must not overlap partly.
      coalescible: these pairs, and each copy with its source, in the order of the program.
    """

    def __init__(self, program: Program) -> None:
        self.interference: defaultdict[int, set[int]] = defaultdict(set)
        self.in_place: defaultdict[int, set[int]] = defaultdict(set)
        self.coalescible: list[tuple[int, int]] = []
        # Arguments that are not donated, and constants, have memory of their own.
        self._apart = {*range(len(program.arguments)), *program.constants} - program.donated
        live = self._list(program.calls, set(program.returned))
        self._define(range(len(program.arguments)), live)
        self.coalescible.reverse()

    def _define(self, made: Collection[int], live: Iterable[int]) -> None:
        """Record that values are written while others are live."""
        interference = self.interference
        for n in set(made) - self._apart:
            mine = interference[n]
            others = {*live, *made} - self._apart - mine - {n}
            mine |= others
            for other in others:
                interference[other].add(n)

    def _list(self, steps: Sequence[Step], live: set[int]) -> set[int]:
        """The values that are live before some steps, if `live` are so after them."""
        live = set(live)
        for step in reversed(steps):
            live = self._step(step, live)
        return live

    def _step(self, step: Step, live: set[int]) -> set[int]:
        if isinstance(step, Call):
            live.difference_update(step.written)
            own = [step.read[i] for i in step.own if step.read.count(step.read[i]) == 1]
            self._define(step.written, {*live, *(n for n in step.read if n not in own)})
            for n, made in ((n, made) for n in own for made in step.written if n not in live):
                self.coalescible.append((made, n))
                self.in_place[made].add(n)
                self.in_place[n].add(made)
            live.update(step.read)
        elif isinstance(step, HostCall):
            live.difference_update(step.written)
            self._define(step.written, {*live, *step.read})
            live.update(step.read)
        elif isinstance(step, Copy | Fill):
            live.discard(step.target)
            self._define([step.target], live)
            if isinstance(step, Copy):
                self.coalescible.append((step.target, step.source))
                live.add(step.source)
        elif isinstance(step, Read):
            live.add(step.memory)
        elif isinstance(step, Loop):
            return self._loop(step, live)
        elif isinstance(step, Conditional):
            return self._conditional(step, live)
        return live

    def _loop(self, loop: Loop, live: set[int]) -> set[int]:
        live.difference_update(s.after for s in loop.arrays)
        self._define([s.after for s in loop.arrays], live)
        state = {s.during for s in loop.arrays}
        following = [s.then for s in loop.arrays]
        live_around: set[int] = set()
        while True:
            inside = self._list(loop.body, {*following, *live_around})
            # The state is the result of the loop, too.
            needed = self._list(loop.condition, {*inside, *live, *state}) - state
            self._define(following, live_around)
            if needed <= live_around:
                break
            live_around |= needed
        self._define(state, live_around)
        return {*live_around, *(s.before for s in loop.arrays)}

    def _conditional(self, conditional: Conditional, live: set[int]) -> set[int]:
        live.difference_update(n for n, _, _ in conditional.arrays)
        self._define([n for n, _, _ in conditional.arrays], live)
        before: set[int] = set()
        for i, branch in enumerate(conditional.branches):
            before |= self._list(branch, {*live, *(made[i] for _, made, _ in conditional.arrays)})
        return before


class Groups:
    """Values coalesced into groups that share memory: no two values of a group interfere."""

    def __init__(self, liveness: Liveness, sizes: dict[int, int]) -> None:
        self._interference, self._in_place, self._sizes = liveness.interference, liveness.in_place, sizes
        self._leader: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self._merged: dict[int, set[int]] = {}

    def of(self, n: int) -> int:
        """The group of a value, named by its first member."""
        leader = self._leader.setdefault(n, n)
        self.members.setdefault(leader, [leader])
        return leader

    def interference(self, n: int) -> set[int]:
        """The values that interfere with any value of a group."""
        leader = self.of(n)
        if leader not in self._merged:
            self._merged[leader] = set(self._interference.get(leader, ()))
        return self._merged[leader]

    def conflicts(self, n: int) -> set[int]:
        """The groups whose memory must not overlap the memory of a group."""
        found = set(self.interference(n))
        for member in self.members[self.of(n)]:
            found |= self._in_place.get(member, set())
        leader = self._leader
        return {leader.get(m, m) for m in found} - {self.of(n)}

    def coalesce(self, a: int, b: int) -> bool:
        """Merge two groups and return True, if they have the same size and do not interfere."""
        a, b = self.of(a), self.of(b)
        if a == b:
            return True
        if self._sizes[a] != self._sizes[b] or not self.interference(a).isdisjoint(self.members[b]):
            return False
        merged = self.interference(a) | self.interference(b)
        for n in self.members.pop(b):
            self._leader[n] = a
            self.members[a].append(n)
        self._merged[a] = merged
        return True
