"""Persistent kernels: one dispatch in which worker threads run kernels, copies and loops one after the other.

Between two dispatches, the runtime lets its workers sleep and wakes them up again, which takes as long as a kernel of
50 us. In a persistent kernel, they do not sleep. Each workgroup, which is a worker, goes through all steps, takes tiles
that nobody has taken yet, waits until all tiles are done that the step depends on, and runs them. It leaves a step when
all of its tiles are taken. So the tiles that a worker waits for were taken by workers that run now: none waits for one
that has not begun, and any number of workers will do.

The tiles of a step are divided into groups, one for each thread. A worker begins with its own group, and then helps
with others, so that in the rounds of a loop the caches of a core have what it needs.

The code of all persistent kernels is the same (`persistent.ll`). It reads the steps from a table, which is written
here.
"""

from __future__ import annotations

import functools
import pathlib
import struct
from collections.abc import Iterable, Mapping, Sequence

from passes.kernels.cost import MAX_BUFFERS, MAX_WORKGROUPS
from stagec.compiler.direct import machines
from stagec.compiler.direct.machines import Machine
from stagec.compiler.direct.memory import Layout, barriers
from stagec.compiler.direct.object_file import EXECUTE, WRITE, Code, Section
from stagec.compiler.direct.parts import Item, LoopParts, Part, Persistent, exchanged
from stagec.compiler.direct.program import Call, Copy, Fill, Number, Program

# The name of the function in `persistent.ll`.
SYMBOL = "persistent"
# The counters that workers share, 32 bits each in a cache line of its own: tiles that are done, workers that have
# joined, and tiles that are taken of each of eight groups.
COUNTERS = range(0, 64 * 10, 64)
# The most buffers, beside that of the counters.
MOST_BUFFERS = MAX_BUFFERS - 1
# Bytes that are copied at a time, and those that a pattern fills at a time.
_BLOCK, _VECTOR = 1 << 16, 64
# Tiles are counted in 32 bits.
_MOST_TILES = 1 << 31
# How often threads have to wait for each other, so that it is worth the counters where one thread does all.
_WAITS_ALONE = 8
# The words that begin the steps of a table.
_WAIT, _RUN, _COPY, _FILL, _REPEAT, _CONSTANT, _COMPUTE, _SELECT, _ASSIGN, _MOVE = range(1, 11)
# Operations on two numbers.
_OPERATIONS = {
    "add": 0, "subtract": 1, "multiply": 2, "and": 3, "or": 4, "xor": 5, "EQ": 6, "NE": 7, "LT": 8, "LE": 9, "GT": 10,
    "GE": 11, "maximum": 12, "minimum": 13,
}  # fmt: skip


@functools.cache
def source(triple: str) -> str:
    """The code of persistent kernels for an architecture, as LLVM IR."""
    text = pathlib.Path(__file__).with_suffix(".ll").read_text("utf-8")
    pause = (
        f'define internal void @pause() #0 section ".text.persistent" {{\n{machines.of(triple).pause}\nret void\n}}\n'
    )
    return f'target triple = "{triple}"\n{text}\n{pause}'


def code(kernel: Persistent, machine: Machine) -> Code:
    """The function of a persistent kernel, which refers to `SYMBOL` and to the kernels that it calls by their names."""
    relocations = tuple([(8 * at, machine.absolute, name, 0) for at, name in kernel.calls])
    table = Section(WRITE, 16, struct.pack(f"<{len(kernel.table)}q", *kernel.table), relocations)
    instructions, needed, (at, kind, add) = machine.stub
    stub = Section(EXECUTE, 16, instructions, (*[(o, k, 1, a) for o, k, a in needed], (at, kind, SYMBOL, add)))
    return Code((stub, table))


class Table:
    """Writes the table of a persistent kernel.

    Attributes:
      tiles: how many its steps have, in all rounds.
      widest: the tiles of the step that has most.
      waits: how often threads wait for each other.
      calls: the words that are addresses of kernels.
    """

    def __init__(
        self,
        program: Program,
        layout: Layout,
        workgroups: Mapping[str, tuple[int, int, int]],
        slots: Sequence[int],
    ) -> None:
        self.tiles, self.widest, self.waits = 0, 1, 0
        self.calls: list[tuple[int, str]] = []
        self._program, self._layout, self._workgroups = program, layout, workgroups
        self._slots = {slot: i for i, slot in enumerate(slots)}
        self._numbers: dict[int | str, int] = {}
        self._steps: list[int] = []
        self._times = 1

    def is_worth_it(self, alone: bool) -> bool:
        """Whether threads would wait for each other between dispatches.

        Args:
          alone: whether one thread does all.
        """
        return self.waits >= (_WAITS_ALONE if alone else 1) and self.tiles < _MOST_TILES

    @property
    def workgroups(self) -> int:
        """As many as threads can have tiles of a step at the same time."""
        return min(MAX_WORKGROUPS, self.widest)

    @property
    def words(self) -> tuple[int, ...]:
        """The tiles, the buffers and the numbers, how many there are of each; then the steps, and their end."""
        return (self.tiles, len(self._slots), max(1, len(self._numbers)), *self._steps, 0, 0, 0)

    # Steps.

    def run(self, items: Iterable[Item]) -> None:
        """Write items."""
        for item in items:
            if isinstance(item, Part):
                self._part(item)
            elif isinstance(item, Number):
                self.number(item)
            elif isinstance(item, LoopParts):
                self._loop(item)

    def _part(self, part: Part) -> None:
        waiting = barriers(part.commands, self._layout.ranges)
        for i, command in enumerate(part.commands):
            if i in waiting or (i == 0 and (self.tiles or self._times > 1)):
                self._steps.append(_WAIT)
                self.waits += self._times
            if isinstance(command, Call):
                self._call(command)
            elif isinstance(command, Copy):
                step = self._layout.ranges[command.source].bytes
                block, stride = (step, 0) if step < command.bytes else (_BLOCK, _BLOCK)
                places = (*self._place(command.target), *self._place(command.source))
                tiles = self._counted(_tiles(command.bytes, block))
                self._steps += [_COPY, *places, tiles, command.bytes, block, stride]
            elif isinstance(command, Fill):
                pattern = int.from_bytes(command.pattern * (4 // len(command.pattern)), "little")
                tiles = self._counted(_tiles(command.bytes, _VECTOR))
                self._steps += [_FILL, *self._place(command.target), pattern, command.bytes, tiles]

    def _counted(self, tiles: int) -> int:
        self.tiles += tiles * self._times
        self.widest = max(self.widest, tiles)
        return tiles

    def _call(self, call: Call) -> None:
        x, y, z = self._workgroups[call.kernel]
        operands = (*call.read, *call.written)
        self.calls.append((len(self._steps) + 4, call.kernel))
        self._steps += [_RUN, 0, self._counted(x * y * z), x, y, len(operands)]
        for n in operands:
            self._steps += self._place(n)

    def _place(self, value: int) -> tuple[int, int]:
        """A buffer and an offset; or a number of the worker's own, as a negative number."""
        if value in self._program.counted:
            return ~self._number(self._program.counted[value][0]), 0
        found = self._layout.ranges[value]
        return self._slots[found.slot], found.offset

    def _loop(self, loop: LoopParts) -> None:
        rounds, times = loop.rounds, self._times
        if not rounds:
            return
        for state in loop.numbers:
            self._assign(state.during, state.before)
        counter = self._number(f"counter {id(loop)}")
        self._steps += [_CONSTANT, counter, 0]
        # After the three words before the steps.
        start = 3 + len(self._steps)
        self._times *= rounds
        self.run((*loop.condition, *loop.body))
        self._times = times
        for i, state in enumerate(loop.numbers):
            self._assign(f"next {i}", state.then)
        for i, state in enumerate(loop.numbers):
            self._assign(state.during, f"next {i}")
        pairs = [(self._slots[to], self._slots[source]) for to, source in exchanged(loop, self._layout).items()]
        free = len(self._slots)
        for i, (_, source) in enumerate(pairs):
            self._steps += [_MOVE, free + i, source]
        for i, (to, _) in enumerate(pairs):
            self._steps += [_MOVE, to, free + i]
        self._steps += [_REPEAT, counter, rounds, start]

    # Numbers.

    def number(self, number: Number) -> None:
        """Compute one of the host's numbers."""
        operation, operands, type_ = number.operation, number.operands, number.type
        if operation == "constant":
            self._constant(number.result, int(number.value))
        elif operation == "select":
            self._steps += [_SELECT, *map(self._number, (number.result, *operands))]
        elif operation == "compare":
            self._compute(number.result, str(number.value), operands)
        elif operation == "convert" and number.result_type == "i1":
            self._compute(number.result, "NE", (*operands, self._constant("other", 0)))
        elif operation == "convert":
            self._compute(number.result, "add", (*operands, self._constant("other", 0)), number.result_type)
        elif operation == "negate":
            self._compute(number.result, "subtract", (self._constant("other", 0), *operands), type_)
        elif operation == "not":
            self._compute(number.result, "xor", (*operands, self._constant("other", 1 if type_ == "i1" else -1)))
        else:
            self._compute(number.result, operation, operands, type_)

    def _number(self, number: int | str) -> int:
        """The place of a number of the program, or of one of the table's own."""
        return self._numbers.setdefault(number, len(self._numbers))

    def _constant(self, number: int | str, value: int) -> int | str:
        self._steps += [_CONSTANT, self._number(number), value]
        return number

    def _compute(self, result: int, operation: str, operands: Sequence[int | str], type_: str = "") -> None:
        places = map(self._number, operands)
        self._steps += [_COMPUTE, self._number(result), _OPERATIONS[operation], *places, type_ == "i32"]

    def _assign(self, number: int | str, source: int | str) -> None:
        self._steps += [_ASSIGN, self._number(number), self._number(source)]


def _tiles(size: int, block: int) -> int:
    """Into how many tiles a copy is divided, of whole blocks, and not below `_BLOCK` bytes."""
    return max(1, min(MAX_WORKGROUPS, size // _BLOCK, -(-size // block)))
