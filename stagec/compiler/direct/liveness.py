"""Which memory of a program is needed at the same time as which other: what must not share a place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from stagec.compiler.direct.program import Call, Choice, Copy, Fill, HostCall, Loop, Program, Read, Step


class Liveness:
    """Goes through a program backwards.

    Attributes:
      meets: by memory, what is needed when it is written, or is read by what writes it.
      touches: by memory, the operands over which its kernel may write it, and the results that may lie over it. They
        may have the same place, but not overlap otherwise.
      over: the pairs of these, and of what is copied and its copy.
    """

    def __init__(self, program: Program) -> None:
        self.meets: defaultdict[int, set[int]] = defaultdict(set)
        self.touches: defaultdict[int, set[int]] = defaultdict(set)
        self.over: list[tuple[int, int]] = []
        live = self._list(program.calls, set(program.returned))
        self._define(range(len(program.arguments)), live)
        self.over.reverse()

    def _define(self, made: Collection[int], live: Iterable[int]) -> None:
        """Memory is written while other is needed."""
        meets = self.meets
        for n in made:
            mine = meets[n]
            before = len(mine)
            mine.update(live, made)
            mine.discard(n)
            if len(mine) > before:
                for other in mine:
                    meets[other].add(n)

    def _list(self, steps: Sequence[Step], live: set[int]) -> set[int]:
        """What is needed before some steps, if `live` is after them."""
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
                self.over.append((made, n))
                self.touches[made].add(n)
                self.touches[n].add(made)
            live.update(step.read)
        elif isinstance(step, HostCall):
            live.difference_update(step.written)
            self._define(step.written, {*live, *step.read})
            live.update(step.read)
        elif isinstance(step, Copy | Fill):
            live.discard(step.target)
            self._define([step.target], live)
            if isinstance(step, Copy):
                self.over.append((step.target, step.source))
                live.add(step.source)
        elif isinstance(step, Read):
            live.add(step.memory)
        elif isinstance(step, Loop):
            return self._loop(step, live)
        elif isinstance(step, Choice):
            return self._choice(step, live)
        return live

    def _loop(self, loop: Loop, live: set[int]) -> set[int]:
        live.difference_update(s.after for s in loop.arrays)
        self._define([s.after for s in loop.arrays], live)
        state = {s.during for s in loop.arrays}
        following = [s.then for s in loop.arrays]
        around: set[int] = set()
        while True:
            inside = self._list(loop.body, {*following, *around})
            # The state is what the loop leaves, too.
            needed = self._list(loop.condition, {*inside, *live, *state}) - state
            self._define(following, around)
            if needed <= around:
                break
            around |= needed
        self._define(state, around)
        return {*around, *(s.before for s in loop.arrays)}

    def _choice(self, choice: Choice, live: set[int]) -> set[int]:
        live.difference_update(n for n, _, _ in choice.arrays)
        self._define([n for n, _, _ in choice.arrays], live)
        before: set[int] = set()
        for i, branch in enumerate(choice.branches):
            before |= self._list(branch, {*live, *(places[i] for _, places, _ in choice.arrays)})
        return before


class Groups:
    """Memory that shares places, in groups: nothing in one is needed at the same time as another."""

    def __init__(self, liveness: Liveness, sizes: dict[int, int]) -> None:
        self._meets, self._touches, self._sizes = liveness.meets, liveness.touches, sizes
        self._leader: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self._around: dict[int, set[int]] = {}

    def of(self, n: int) -> int:
        """The group of some memory: its first member."""
        leader = self._leader.setdefault(n, n)
        self.members.setdefault(leader, [leader])
        return leader

    def around(self, n: int) -> set[int]:
        """The memory that is needed at the same time as any of a group."""
        leader = self.of(n)
        if leader not in self._around:
            self._around[leader] = set(self._meets.get(leader, ()))
        return self._around[leader]

    def beside(self, n: int) -> set[int]:
        """The groups whose places must not overlap with that of a group."""
        found = set(self.around(n))
        for member in self.members[self.of(n)]:
            found |= self._touches.get(member, set())
        leader = self._leader
        return {leader.get(m, m) for m in found} - {self.of(n)}

    def join(self, a: int, b: int) -> bool:
        """Make one group of two, if they are of one size and never needed at the same time."""
        a, b = self.of(a), self.of(b)
        if a == b:
            return True
        if self._sizes[a] != self._sizes[b] or not self.around(a).isdisjoint(self.members[b]):
            return False
        around = self.around(a) | self.around(b)
        for n in self.members.pop(b):
            self._leader[n] = a
            self.members[a].append(n)
        self._around[a] = around
        return True
