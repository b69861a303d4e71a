"""Memory of a program with loops and conditionals: what a kernel reads is what was written for it."""

import random

import pytest

from stagec.compiler.direct import memory, parts
from stagec.compiler.direct.program import Call, Conditional, Copy, Fill, Loop, Number, Program, Read, State, Tensor

SIZES = (64, 64, 64, 128)


def overlap(p, q):
    """Whether two ranges of memory have a byte in common."""
    return p.slot == q.slot and p.offset < q.offset + q.bytes and q.offset < p.offset + p.bytes


class Random:
    """A random program: calls, loops and choices in one another."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.count = 0
        self.sizes = {}
        self.numbers = 0

    def new(self, size):
        self.count += 1
        self.sizes[self.count - 1] = size
        return self.count - 1

    def number(self, steps, value=0):
        self.numbers += 1
        steps.append(Number(self.numbers, "constant", (), "i32", "i32", value))
        return self.numbers

    def program(self):
        arguments = [self.new(self.rng.choice(SIZES)) for _ in range(2)]
        steps, known = self.steps(arguments, 3)
        made = [n for n in known if n not in arguments]
        returned = self.rng.sample(made, min(len(made), self.rng.randint(1, 3))) if made else []
        types = [Tensor((self.sizes[n] // 4,), "f32") for n in (*arguments, *returned)]
        donated = frozenset(n for n in arguments if self.rng.random() < 0.3)
        return Program(tuple(types[:2]), tuple(types[2:]), {}, tuple(steps), tuple(returned), donated)

    def steps(self, known, depth):
        known, steps = list(known), []
        for _ in range(self.rng.randint(1, 4)):
            if self.rng.random() < 0.2:
                self.numbers += 1
                steps.append(Read(self.numbers, self.rng.choice(known), "i32"))
            kind = self.rng.choice(["call", "call", "call", "loop", "choice"] if depth else ["call"])
            known += getattr(self, kind)(known, steps, depth)
        return steps, known

    def call(self, known, steps, depth):
        # What was made last is needed most often.
        read = tuple(dict.fromkeys(self.rng.choice(known[-self.rng.randint(1, 6) :]) for _ in range(2)))
        written = tuple(self.new(self.rng.choice(SIZES)) for _ in range(self.rng.randint(1, 2)))
        own = tuple(i for i in range(len(read)) if self.rng.random() < 0.6)
        steps.append(Call("k", read, written, tuple(self.sizes[n] for n in (*read, *written)), own))
        return written

    def copied(self, n, steps):
        made = self.new(self.sizes[n])
        steps.append(Copy(n, made, self.sizes[n]))
        return made

    def loop(self, known, steps, depth):
        count = self.rng.randint(1, 3)
        before = [self.copied(self.rng.choice(known), steps) for _ in range(count)]
        during, after = ([self.new(self.sizes[n]) for n in before] for _ in range(2))
        condition, body = [], []
        if self.rng.random() < 0.5:
            self.call([*known, *during], condition, 0)
        body, inside = self.steps([*known, *during], depth - 1)
        free = {n for n in inside if n not in known}
        then = []
        for n in before:
            found = [m for m in sorted(free) if self.sizes[m] == self.sizes[n]]
            if found and self.rng.random() < 0.8:
                then.append(self.rng.choice(found))
                free.remove(then[-1])
            else:
                same = [m for m in inside if self.sizes[m] == self.sizes[n]] or [during[before.index(n)]]
                then.append(self.copied(self.rng.choice(same), body))
        test = self.number(condition)
        states = tuple(State(*row, self.sizes[row[0]]) for row in zip(before, during, then, after))
        steps.append(Loop(tuple(condition), test, tuple(body), states, ()))
        return after

    def choice(self, known, steps, depth):
        index, branches, results = self.number(steps), [], [self.rng.choice(SIZES) for _ in range(2)]
        places = [[] for _ in results]
        for _ in range(2):
            inner, inside = self.steps(known, depth - 1)
            own = [n for step in inner if isinstance(step, Call) for n in step.written]
            for made, size in zip(places, results):
                found = [n for n in own if self.sizes[n] == size and not any(n in m for m in places)]
                same = [n for n in inside if self.sizes[n] == size]
                if found and self.rng.random() < 0.7:
                    made.append(found[-1])
                elif same:
                    made.append(self.copied(self.rng.choice(same), inner))
                else:
                    made.append(self.new(size))
                    inner.append(Fill(made[-1], b"\0", size))
            branches.append(tuple(inner))
        made = [self.new(size) for size in results]
        rows = tuple((n, tuple(m), size) for n, m, size in zip(made, places, results))
        steps.append(Conditional(index, tuple(branches), rows, ()))
        return made


class Meaning:
    """Runs a program on values that have no place; they are told apart by what they were computed from."""

    def __init__(self, decisions):
        self.decisions = decisions
        self.values = {}
        self.seen = []

    def run(self, steps):
        for step in steps:
            if isinstance(step, Call):
                read = tuple(self.values[n] for n in step.read)
                self.values.update((n, hash((step.kernel, n, read))) for n in step.written)
            elif isinstance(step, Copy):
                self.values[step.target] = self.values[step.source]
            elif isinstance(step, Fill):
                self.values[step.target] = 0
            elif isinstance(step, Read):
                self.seen.append(self.values[step.memory])
            elif isinstance(step, Loop):
                self.values.update((s.during, self.values[s.before]) for s in step.arrays)
                self.run(step.condition)
                while self.decisions.random() < 0.6:
                    self.run(step.body)
                    self.values.update([(s.during, self.values[s.then]) for s in step.arrays])
                    self.run(step.condition)
                self.values.update((s.after, self.values[s.during]) for s in step.arrays)
            elif isinstance(step, Conditional):
                taken = self.decisions.randrange(2)
                self.run(step.branches[taken])
                self.values.update((n, self.values[made[taken]]) for n, made, _ in step.arrays)


class Machine:
    """Runs the parts of a program in the memory that was planned for it."""

    def __init__(self, layout, decisions):
        self.layout, self.decisions = layout, decisions
        self.buffers = {place.slot: place.slot for place in layout.ranges.values()}
        self.memory = {}
        self.seen = []

    def read(self, n):
        place = self.layout.ranges[n]
        return self.memory.get((self.buffers[place.slot], place.offset, place.bytes))

    def write(self, n, value):
        place = self.layout.ranges[n]
        buffer = self.buffers[place.slot]
        for other, offset, size in list(self.memory):
            if other == buffer and offset < place.offset + place.bytes and place.offset < offset + size:
                del self.memory[other, offset, size]
        self.memory[buffer, place.offset, place.bytes] = value

    def command(self, command):
        if isinstance(command, Copy):
            self.write(command.target, self.read(command.source))
        elif isinstance(command, Fill):
            self.write(command.target, 0)
        else:
            read = tuple(map(self.read, command.read))
            places = self.layout.ranges
            for i, n in enumerate(command.read):
                for m in command.written:
                    assert not overlap(places[n], places[m]) or (i in command.own and places[n] == places[m])
            for n in command.written:
                self.write(n, hash((command.kernel, n, read)))

    def run(self, items):
        for item in items:
            if isinstance(item, parts.Part):
                for command in item.commands:
                    self.command(command)
            elif isinstance(item, Read):
                self.seen.append(self.read(item.memory))
            elif isinstance(item, parts.LoopParts):
                self.run(item.condition)
                while self.decisions.random() < 0.6:
                    self.run(item.body)
                    exchanged = parts.exchanged(item, self.layout)
                    self.buffers.update({to: self.buffers[source] for to, source in exchanged.items()})
                    assert len(set(self.buffers.values())) == len(self.buffers)
                    self.run(item.condition)
            elif isinstance(item, parts.ConditionalParts):
                self.run(item.branches[self.decisions.randrange(2)])


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_kernels_read_what_was_written_for_them(first):
    joined = exchanged = reused = 0
    for seed in range(first, first + 100):
        program = Random(seed).program()
        layout = memory.assign_memory(program)
        items = parts.parted(program, layout)
        joined += len({p.offset for p in layout.ranges.values()}) < len(layout.ranges)
        exchanged += any(isinstance(i, parts.LoopParts) and parts.exchanged(i, layout) for i in items)
        reused += any(layout.ranges[n].slot in program.donated for n in program.returned)
        meaning, machine = Meaning(random.Random(seed)), Machine(layout, random.Random(seed))
        for n in range(len(program.arguments)):
            meaning.values[n] = n
            machine.write(n, n)
        meaning.run(program.calls)
        machine.run(items)
        kept = [n for n in range(len(program.arguments)) if n not in program.donated]
        for n in (*kept, *program.returned):
            assert machine.read(n) == meaning.values[n], f"seed {seed}, memory {n}"
        assert machine.seen == meaning.seen, f"seed {seed}"
    assert joined and exchanged and reused
