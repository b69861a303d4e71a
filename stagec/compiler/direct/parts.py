"""Parts: commands that are recorded together, between the steps of the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from stagec.compiler.direct.memory import Layout
from stagec.compiler.direct.program import (
    Call,
    Conditional,
    Copy,
    Fill,
    HostCall,
    Loop,
    Number,
    Program,
    Read,
    State,
    Step,
    read,
)

# The names of persistent kernels begin with it.
PERSISTENT = "persistent"


@dataclasses.dataclass(frozen=True)
class Persistent:
    """A run of steps as one kernel.

    Attributes:
      symbol: its name.
      slots: the buffers that are bound: those of a call, by their slots, and constants, which are negative.
      sizes: their bytes.
      workgroups: their number.
      waits: how often they wait for each other.
      moved: the slots that have another buffer afterwards: slot -> the slot that had this buffer before.
      table: the steps, as `persistent.Table` writes them.
      calls: the words of the table that are addresses of kernels, and the kernels.
    """

    symbol: str
    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    workgroups: int
    waits: int
    moved: dict[int, int]
    table: tuple[int, ...]
    calls: tuple[tuple[int, str], ...]


@dataclasses.dataclass(frozen=True)
class Part:
    """Kernels, copies and fills that are started together.

    Attributes:
      number: its number among all parts.
      commands: the commands in order.
      slots: the number of slots that are bound.
      counted: the values through which they read the host's numbers.
      persistent: the kernel that does all of it, which has a further buffer for its counters.
    """

    number: int
    commands: tuple[Call | Copy | Fill, ...]
    slots: int
    counted: tuple[int, ...] = ()
    persistent: Persistent | None = None


@dataclasses.dataclass(frozen=True)
class LoopParts:
    """A loop of parts; the attributes are those of `Loop`."""

    condition: tuple[Item, ...]
    test: int
    body: tuple[Item, ...]
    arrays: tuple[State, ...]
    numbers: tuple[State, ...]
    rounds: int | None = None


@dataclasses.dataclass(frozen=True)
class ConditionalParts:
    """A conditional between parts; the attributes are those of `Conditional`."""

    index: int
    branches: tuple[tuple[Item, ...], ...]
    numbers: tuple[tuple[int, tuple[int, ...], str], ...]


Item = Part | HostCall | Number | Read | LoopParts | ConditionalParts


def parted(program: Program, layout: Layout) -> tuple[Item, ...]:
    """The steps of a program, with its commands in parts."""
    return _Parting(program, layout).items(program.calls)


def parts_of(items: Sequence[Item]) -> Iterator[Part]:
    """All parts, also those in loops and conditionals."""
    for item in items:
        if isinstance(item, Part):
            yield item
        elif isinstance(item, LoopParts):
            yield from parts_of((*item.condition, *item.body))
        elif isinstance(item, ConditionalParts):
            for branch in item.branches:
                yield from parts_of(branch)


def exchanged(loop: Loop | LoopParts, layout: Layout) -> dict[int, int]:
    """The slots that have another buffer after a round: slot -> the slot that had this buffer before.

    State gets the buffer in which the round computed it; the buffer that becomes free goes to that slot.
    """
    pairs = [(layout.ranges[s.during].slot, layout.ranges[s.then].slot) for s in loop.arrays]
    found = {to: source for to, source in pairs if to != source}
    target_of = {source: to for to, source in found.items()}
    for source in target_of:
        if source not in found:
            free = source
            while free in target_of:
                free = target_of[free]
            found[source] = free
    return found


def changed(items: Sequence[Item], layout: Layout) -> set[int]:
    """The slots that may have another buffer after some items."""
    found: set[int] = set()
    for item in items:
        if isinstance(item, LoopParts):
            found.update(exchanged(item, layout))
            found |= changed((*item.condition, *item.body), layout)
        elif isinstance(item, ConditionalParts):
            found |= changed([inner for branch in item.branches for inner in branch], layout)
    return found


class _Parting:
    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.count = 0
        self.slots = layout.slots

    def items(self, steps: Sequence[Step]) -> tuple[Item, ...]:
        found: list[Item] = []
        commands: list[Call | Copy | Fill] = []

        def end() -> None:
            if commands:
                counted = dict.fromkeys(n for c in commands for n in read(c) if n in self.program.counted)
                found.append(Part(self.count, tuple(commands), self.slots, tuple(counted)))
                self.count += 1
                commands.clear()

        places = self.layout.ranges
        for step in steps:
            if isinstance(step, Copy) and places[step.source] == places[step.target]:
                continue
            if isinstance(step, Call | Copy | Fill):
                commands.append(step)
                continue
            if not isinstance(step, Number):
                # A number of the host depends on none of the commands before it.
                end()
            if isinstance(step, Loop):
                condition, body = self.items(step.condition), self.items(step.body)
                found.append(LoopParts(condition, step.test, body, step.arrays, step.numbers, step.rounds))
            elif isinstance(step, Conditional):
                found.append(ConditionalParts(step.index, tuple(map(self.items, step.branches)), step.numbers))
            else:
                found.append(step)
            if isinstance(step, HostCall):
                self.slots += len(step.written)
        end()
        return tuple(found)
