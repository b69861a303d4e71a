"""Control flow of the host program: parts, loops and conditionals as blocks and branches between them.

A loop is a block that computes its condition, one that does a round, and one that follows. Whatever changes from round
to round is an operand of the first: the fence that the last commands signal, the host's numbers, and buffers that are
exchanged instead of copied. No memory is allocated in a round.

Kernels read the host's numbers from memory. The host may be some rounds ahead of the kernels, so each part reads an
entry of its own; after the last entry the host waits, which also bounds the number of queued parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stagec.compiler.direct.counting import computed, loaded, register, stored
from stagec.compiler.direct.instructions import BUFFER, COMMANDS, FENCE, Function
from stagec.compiler.direct.memory import Layout
from stagec.compiler.direct.parts import ConditionalParts, Item, LoopParts, Part, changed, exchanged
from stagec.compiler.direct.persistent import COUNTERS
from stagec.compiler.direct.program import HostCall, Number, Program, Read

ANY_QUEUE = -1
# Memory type and usage of what the device owns, for kernels, copies and the host.
MEMORY, USAGE = 48, 3075
# Memory that the host writes to, and kernels read.
_WRITTEN_MEMORY, _WRITTEN_USAGE = 86, 150998019
# Parts that are queued at most, before the host waits for them.
AHEAD = 32


def allocated(f: Function, device: str, size: int, memory: int = MEMORY, usage: int = USAGE) -> str:
    """New memory, which is freed when nothing refers to it."""
    wanted = (f.small(memory), f.small(usage), f.number(size))
    return f.call("allocator.allocate", f.call("device.allocator", device), f.number(ANY_QUEUE), *wanted)


class Flow:
    """Writes the body of the program's function.

    Attributes:
      buffers: the register of each buffer, by slot.
      sizes: the size of each buffer, by slot.
      ready: the fence that is signalled when all commands so far are done; empty if there are none.
    """

    def __init__(
        self, f: Function, program: Program, layout: Layout, call_host: Callable[[HostCall], None], device: str
    ) -> None:
        self.f, self.program, self.layout, self._call_host = f, program, layout, call_host
        self.buffers: dict[int, str] = {}
        self.sizes: dict[int, int] = {}
        self.ready = ""
        self._device = device
        self._numbers: dict[int, str] = {}
        self._blocks = 0
        self._loops = 0
        # References that the blocks in progress have made, the innermost last.
        self._held: list[tuple[str, str]] = []
        self._nothing = ""
        # The memory of persistent kernels' counters, and where those of each part are.
        self._counters = ""
        self._offsets: dict[int, str] = {}
        # How many entries of the host's numbers have been used since the host waited.
        self._used = ""
        if program.has_control:
            self._nothing, self._used = f.null(FENCE), f.small(0)

    def fence(self) -> str:
        """A new fence."""
        return self.f.call("fence.create", self._device, self.f.number(0))

    def written(self, size: int) -> str:
        """New memory into which the host writes at once."""
        return allocated(self.f, self._device, size, _WRITTEN_MEMORY, _WRITTEN_USAGE)

    def make_counters(self, items: Sequence[Item]) -> None:
        """Allocate the counters of persistent kernels, none of which is in a loop of the host."""
        kernels = [item.number for item in items if isinstance(item, Part) and item.persistent]
        if not kernels:
            return
        f, none = self.f, self.f.small(0)
        self._counters = self.written(COUNTERS.stop * len(kernels))
        self.hold(self._counters, BUFFER)
        for i, number in enumerate(kernels):
            self._offsets[number] = f.number(COUNTERS.stop * i)
            for n in COUNTERS:
                f.call("buffer.store", none, self._counters, f.number(COUNTERS.stop * i + n), f.small(4))

    def wait(self) -> None:
        """Wait for all commands so far."""
        if self.ready:
            self.f.wait(self.ready, self._name("done"))

    def hold(self, reference: str, type_: str) -> None:
        """Release a reference at the end of the round or branch in which it is made, whether or not it is used
        there.
        """
        self._held.append((reference, type_))

    def release(self, held: int = 0, without: Sequence[str] = ()) -> None:
        """Release the references held since there were `held` of them, except those in `without`.

        The virtual machine itself releases a reference at its last use, if every path through the blocks has one.
        """
        gone = [(name, type_) for name, type_ in self._held[held:] if name not in without]
        del self._held[held:]
        if gone and self.program.has_control:
            self.f.do(f"vm.discard.refs {', '.join(n for n, _ in gone)} : {', '.join(t for _, t in gone)}")

    def run(self, items: Sequence[Item], last: str = "") -> None:
        """Write some items; if `last` is a fence and the last item is a part, that part signals it."""
        for i, item in enumerate(items):
            if isinstance(item, Part):
                self._part(item, last if i == len(items) - 1 else "")
            elif isinstance(item, Number):
                self._numbers[item.result] = computed(self.f, item, [self._numbers[n] for n in item.operands])
            elif isinstance(item, Read):
                self.wait()
                found = self.layout.ranges[item.memory]
                self._numbers[item.result] = loaded(self.f, self.buffers[found.slot], found.offset, item.type)
            elif isinstance(item, HostCall):
                self.wait()
                self.ready = ""
                self._call_host(item)
            elif isinstance(item, LoopParts):
                self._loop(item)
            else:
                self._conditional(item)

    def _name(self, kind: str) -> str:
        self._blocks += 1
        return f"{kind}{self._blocks}"

    def _part(self, part: Part, done: str) -> None:
        f, layout = self.f, self.layout
        zero = f.number(0)
        offset = zero
        if part.counted or self._loops:
            self._advance()
        if part.counted:
            wide = f.op(f"vm.ext.i32.i64.u {self._used} : i32 -> i64")
            offset = f.op(f"vm.mul.i64 {wide}, {f.number(layout.numbers_bytes)} : i64")
            for n in part.counted:
                number, type_ = self.program.counted[n]
                at = f.op(f"vm.add.i64 {offset}, {f.number(layout.ranges[n].offset)} : i64")
                stored(f, self._numbers[number], self.buffers[layout.numbers], at, type_)
        table = []
        for slot in range(part.slots):
            # Buffers that Python functions return in a loop or a branch do not exist after it.
            own = slot if slot in self.buffers else 0
            size = layout.numbers_bytes if own == layout.numbers else self.sizes[own]
            table.append(f"({self.buffers[own]}, {offset if own == layout.numbers else zero}, {f.number(size)})")
        if part.persistent:
            table.append(f"({self._counters}, {self._offsets[part.number]}, {f.number(COUNTERS.stop)})")
        done = done or self.fence()
        commands = f.load(f"commands{part.number}", COMMANDS)
        f.call(
            "device.queue.execute.indirect",
            *(self._device, f.number(ANY_QUEUE), self.ready or f.null(FENCE), done, commands, zero, table),
        )
        self.ready = done
        if part.persistent:
            self.buffers.update({to: self.buffers[source] for to, source in part.persistent.moved.items()})

    def _advance(self) -> None:
        """Go on to the next entry; after the last one, wait and begin with the first again."""
        f = self.f
        following = f.op(f"vm.add.i32 {self._used}, {f.small(1)} : i32")
        left = f.op(f"vm.cmp.lt.i32.s {following}, {f.small(AHEAD)} : i32")
        wait, on = self._name("full"), self._name("free")
        f.do(f"vm.cond_br {left}, ^{on}({following} : i32), ^{wait}")
        f.do(f"^{wait}:")
        self.wait()
        f.do(f"vm.br ^{on}({f.small(0)} : i32)")
        f.do(f"^{on}(%{on}: i32):")
        self._used = f"%{on}"

    # Blocks.

    def _operands(self, slots: Sequence[int], numbers: Sequence[tuple[int, str]]) -> str:
        """The operands of a branch: the fence, the entry, and the numbers and buffers that may change."""
        integers = [(self._used, "i32"), *((self._numbers[n], register(type_)) for n, type_ in numbers)]
        if _are_mixed(numbers):
            integers = [(self._widened(v) if t == "i32" else v, "i64") for v, t in integers]
        values = [(self.ready or self._nothing, FENCE), *integers, *((self.buffers[slot], BUFFER) for slot in slots)]
        return f"{', '.join(v for v, _ in values)} : {', '.join(t for _, t in values)}"

    def _widened(self, value: str) -> str:
        return self.f.op(f"vm.ext.i32.i64.u {value} : i32 -> i64")

    def _enter(self, block: str, slots: Sequence[int], numbers: Sequence[tuple[int, str]]) -> None:
        """Begin a block whose arguments are what `_operands` passes."""
        integers = ["i32", *(register(type_) for _, type_ in numbers)]
        mixed = _are_mixed(numbers)
        types = [FENCE, *(["i64"] * len(integers) if mixed else integers), *(BUFFER for _ in slots)]
        names = [f"%{block}_{i}" for i in range(len(types))]
        self.f.do(f"^{block}({', '.join(f'{n}: {t}' for n, t in zip(names, types))}):")
        if mixed:
            for i, type_ in enumerate(integers, 1):
                if type_ == "i32":
                    names[i] = self.f.op(f"vm.trunc.i64.i32 {names[i]} : i64 -> i32")
        self.ready, self._used, *values = names
        self._numbers.update(zip((n for n, _ in numbers), values))
        self.buffers.update(zip(slots, values[len(numbers) :]))

    def _loop(self, loop: LoopParts) -> None:
        f = self.f
        head, body, end = (self._name(kind) for kind in ("while", "do", "end"))
        slots = sorted(changed([loop], self.layout))
        f.do(f"vm.br ^{head}({self._operands(slots, [(s.before, s.type) for s in loop.numbers])})")
        self._enter(head, slots, [(s.during, s.type) for s in loop.numbers])
        self._loops += 1
        held = len(self._held)
        self.run(loop.condition)
        self.release(held)
        f.do(f"vm.cond_br {self._numbers[loop.test]}, ^{body}, ^{end}")
        after = self.ready, self._used, dict(self.buffers), dict(self._numbers)
        f.do(f"^{body}:")
        self.run(loop.body)
        self.release(held)
        self.buffers.update({to: self.buffers[source] for to, source in exchanged(loop, self.layout).items()})
        f.do(f"vm.br ^{head}({self._operands(slots, [(s.then, s.type) for s in loop.numbers])})")
        self._loops -= 1
        f.do(f"^{end}:")
        self.ready, self._used, self.buffers, self._numbers = after
        self._numbers.update((s.after, self._numbers[s.during]) for s in loop.numbers)

    def _conditional(self, conditional: ConditionalParts) -> None:
        f = self.f
        end, index = self._name("chosen"), self._numbers[conditional.index]
        slots = sorted(changed([conditional], self.layout))
        before = self.ready, self._used, dict(self.buffers), dict(self._numbers)
        for i, branch in enumerate(conditional.branches):
            self.ready, self._used = before[:2]
            self.buffers, self._numbers = dict(before[2]), dict(before[3])
            following = ""
            if i < len(conditional.branches) - 1:
                mine, following = self._name("case"), self._name("else")
                is_it = f.op(f"vm.cmp.eq.i32 {index}, {f.small(i)} : i32")
                f.do(f"vm.cond_br {is_it}, ^{mine}, ^{following}")
                f.do(f"^{mine}:")
            held = len(self._held)
            self.run(branch)
            self.release(held)
            f.do(f"vm.br ^{end}({self._operands(slots, [(made[i], type_) for _, made, type_ in conditional.numbers])})")
            if following:
                f.do(f"^{following}:")
        self.buffers, self._numbers = before[2], before[3]
        self._enter(end, slots, [(n, type_) for n, _, type_ in conditional.numbers])


def _are_mixed(numbers: Sequence[tuple[int, str]]) -> bool:
    """Whether a branch passes numbers of 64 bits, and so all as such.

    Where a branch passes numbers of both widths, IREE's compiler orders the moves between registers so that one of them
    may overwrite half of a number that another one has yet to move.
    """
    return any(register(type_) == "i64" for _, type_ in numbers)
