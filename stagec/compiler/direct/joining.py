"""Which steps of a program become persistent kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stagec.compiler.direct.memory import Layout
from stagec.compiler.direct.parts import (
    PERSISTENT,
    ConditionalParts,
    Item,
    LoopParts,
    Part,
    Persistent,
    changed,
    exchanged,
    parts_of,
)
from stagec.compiler.direct.persistent import MOST_BUFFERS, Table
from stagec.compiler.direct.program import Call, Copy, Fill, Number, Program, read, written


def joined(
    items: Sequence[Item],
    program: Program,
    layout: Layout,
    workgroups: Mapping[str, tuple[int, int, int]],
    alone: bool,
) -> tuple[Item, ...]:
    """The items, with a persistent kernel in place of steps that wait for one another.

    Args:
      workgroups: those of each kernel, along three axes.
      alone: whether one thread does all.
    """
    return tuple(_Joining(program, layout, workgroups, alone, items).items)


def kernels_of(items: Iterable[Item]) -> list[Persistent]:
    """The persistent kernels among items."""
    return [item.persistent for item in items if isinstance(item, Part) and item.persistent]


class _Joining:
    """Goes through the items of a program, and puts those together that may be one kernel.

    Attributes:
      items: what replaces them.
    """

    def __init__(
        self,
        program: Program,
        layout: Layout,
        workgroups: Mapping[str, tuple[int, int, int]],
        alone: bool,
        items: Sequence[Item],
    ) -> None:
        self._alone = alone
        self.items: list[Item] = []
        self._program, self._layout, self._workgroups = program, layout, workgroups
        self._used = set(_used(items)).union(n for n, _ in program.counted.values())
        # The host's numbers that workers can compute.
        self._numbers: dict[int, Number] = {}
        self._run: list[Part | LoopParts] = []
        self._slots: dict[int, None] = {}
        self._parts = itertools.count(1 + max([part.number for part in parts_of(items)], default=0))
        self._made = 0
        for item in items:
            if isinstance(item, Number):
                _note(item, self._numbers)
                self.items.append(item)
            elif isinstance(item, Part) and self._has(item.counted, self._numbers):
                for piece in self._pieces(item):
                    self._add(piece)
            elif isinstance(item, LoopParts) and self._is_joinable(item, dict(self._numbers)):
                self._add(item)
            else:
                self._end()
                self.items.append(item)
        self._end()

    def _has(self, counted: Iterable[int], numbers: Mapping[int, Number]) -> bool:
        return all(self._program.counted[n][0] in numbers for n in counted)

    def _is_joinable(self, loop: LoopParts, numbers: dict[int, Number]) -> bool:
        """Whether workers can run a loop by themselves: its rounds are known, and nobody needs its numbers."""
        if loop.rounds is None or any(s.after in self._used or s.before not in numbers for s in loop.numbers):
            return False
        numbers.update((s.during, numbers[s.before]) for s in loop.numbers)
        for item in (*loop.condition, *loop.body):
            if isinstance(item, Number):
                _note(item, numbers)
        if not all(isinstance(item, Number) for item in loop.condition):
            return False
        for item in loop.body:
            if isinstance(item, Part):
                if not self._has(item.counted, numbers):
                    return False
            elif isinstance(item, LoopParts):
                if not self._is_joinable(item, dict(numbers)):
                    return False
            elif not (isinstance(item, Number) and item.result in numbers):
                return False
        return all(s.then in numbers for s in loop.numbers)

    def _pieces(self, part: Part) -> list[Part]:
        """A part, divided where it has more buffers than a kernel may have."""
        pieces: list[list[Call | Copy | Fill]] = [[]]
        slots: set[int] = set()
        for command in part.commands:
            own = set(self._slots_of([command]))
            if len(slots | own) > MOST_BUFFERS and pieces[-1]:
                pieces.append([])
                slots = set()
            pieces[-1].append(command)
            slots |= own
        if len(pieces) == 1:
            return [part]
        made = []
        for commands in pieces:
            counted = tuple([n for n in part.counted if any(n in read(c) for c in commands)])
            made.append(Part(next(self._parts), tuple(commands), part.slots, counted))
        return made

    def _slots_of(self, commands: Iterable[Any]) -> dict[int, None]:
        ranges, counted = self._layout.ranges, self._program.counted
        return dict.fromkeys(ranges[n].slot for c in commands for n in (*read(c), *written(c)) if n not in counted)

    def _add(self, item: Part | LoopParts) -> None:
        slots = self._slots_of(c for part in parts_of([item]) for c in part.commands)
        slots |= dict.fromkeys(sorted(changed([item], self._layout)))
        if len({**self._slots, **slots}) > MOST_BUFFERS:
            self._end()
        if len(slots) > MOST_BUFFERS:
            self.items.append(item)
        else:
            self._run.append(item)
            self._slots.update(slots)

    def _end(self) -> None:
        """Replace the items so far with a kernel, where that is worth it and possible."""
        run, slots = self._run, tuple(self._slots)
        self._run, self._slots = [], {}
        table = Table(self._program, self._layout, self._workgroups, slots)
        for number in self._numbers.values() if run else ():
            table.number(number)
        table.run(run)
        if not table.is_worth_it(self._alone):
            self.items += run
            return
        sizes = dict.fromkeys(slots, 0)
        for found in self._layout.ranges.values():
            if found.slot in sizes:
                sizes[found.slot] = max(sizes[found.slot], found.offset + found.bytes)
        made = Persistent(
            f"{PERSISTENT}{self._made}",
            slots,
            tuple(sizes.values()),
            table.workgroups,
            table.waits,
            _moved(run, self._layout),
            table.words,
            tuple(table.calls),
        )
        self._made += 1
        bound = max(part.slots for part in parts_of(run))
        self.items.append(Part(next(self._parts), (), bound, persistent=made))


def _note(number: Number, numbers: dict[int, Number]) -> None:
    """Add a number that follows from known ones to these."""
    if all(n in numbers for n in number.operands):
        numbers[number.result] = number


def _used(items: Iterable[Item]) -> Iterator[int]:
    """The numbers that items read."""
    for item in items:
        if isinstance(item, Number):
            yield from item.operands
        elif isinstance(item, LoopParts):
            yield item.test
            yield from (n for s in item.numbers for n in (s.before, s.then))
            yield from _used((*item.condition, *item.body))
        elif isinstance(item, ConditionalParts):
            yield item.index
            yield from (n for _, made, _ in item.numbers for n in made)
            for branch in item.branches:
                yield from _used(branch)


def _moved(items: Iterable[Item], layout: Layout) -> dict[int, int]:
    """The slots that have another buffer after some items: slot -> the slot that had this buffer before."""
    moved: dict[int, int] = {}
    for item in items:
        if isinstance(item, LoopParts):
            once = _after(_moved(item.body, layout), exchanged(item, layout))
            left = item.rounds or 0
            while left:
                if left % 2:
                    moved = _after(moved, once)
                once, left = _after(once, once), left // 2
    return moved


def _after(first: Mapping[int, int], then: Mapping[int, int]) -> dict[int, int]:
    """Two exchanges, one after the other."""
    found = {slot: first.get(source, source) for slot, source in then.items()}
    return {slot: source for slot, source in {**first, **found}.items() if slot != source}
