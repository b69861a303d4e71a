"""Commands that are recorded together, between what the host does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from stagec.compiler.direct.memory import Layout
from stagec.compiler.direct.program import (
    Call,
    Choice,
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


@dataclasses.dataclass(frozen=True)
class Part:
    """Kernels, copies and fillings that are started together.

    Attributes:
      number: among all parts.
      commands: in their order.
      slots: how many buffers are there by then.
      counted: the memory in which they find the host's numbers.
    """

    number: int
    commands: tuple[Call | Copy | Fill, ...]
    slots: int
    counted: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Repeated:
    """A loop of parts; the rest is as in `Loop`."""

    condition: tuple[Item, ...]
    test: int
    body: tuple[Item, ...]
    arrays: tuple[State, ...]
    numbers: tuple[State, ...]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A choice between parts; the rest is as in `Choice`."""

    index: int
    branches: tuple[tuple[Item, ...], ...]
    numbers: tuple[tuple[int, tuple[int, ...], str], ...]


Item = Part | HostCall | Number | Read | Repeated | Chosen


def parted(program: Program, layout: Layout) -> tuple[Item, ...]:
    """The steps of a program, with its commands in parts."""
    return _Parting(program, layout).items(program.calls)


def parts_of(items: Sequence[Item]) -> Iterator[Part]:
    """All parts, those in loops and choices too."""
    for item in items:
        if isinstance(item, Part):
            yield item
        elif isinstance(item, Repeated):
            yield from parts_of((*item.condition, *item.body))
        elif isinstance(item, Chosen):
            for branch in item.branches:
                yield from parts_of(branch)


def exchanged(loop: Repeated, layout: Layout) -> dict[int, int]:
    """Which slot has the buffer of which other after a round.

    State is where it was computed in the round, and what is free then takes its place.
    """
    pairs = [(layout.places[s.during].slot, layout.places[s.then].slot) for s in loop.arrays]
    found = {to: source for to, source in pairs if to != source}
    target_of = {source: to for to, source in found.items()}
    for source in target_of:
        if source not in found:
            free = source
            while free in target_of:
                free = target_of[free]
            found[source] = free
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

        places = self.layout.places
        for step in steps:
            if isinstance(step, Copy) and places[step.source] == places[step.target]:
                continue
            if isinstance(step, Call | Copy | Fill):
                commands.append(step)
                continue
            if not isinstance(step, Number):
                # What the host computes of what it has needs none of the commands before.
                end()
            if isinstance(step, Loop):
                condition, body = self.items(step.condition), self.items(step.body)
                found.append(Repeated(condition, step.test, body, step.arrays, step.numbers))
            elif isinstance(step, Choice):
                found.append(Chosen(step.index, tuple(map(self.items, step.branches)), step.numbers))
            else:
                found.append(step)
            if isinstance(step, HostCall):
                self.slots += len(step.written)
        end()
        return tuple(found)
