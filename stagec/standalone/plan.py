"""The host part of a direct program as statements on memory and numbers, which are printed as C."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from stagec.compiler.direct.memory import Layout, assign_memory
from stagec.compiler.direct.parts import exchanged
from stagec.compiler.direct.program import Call, Conditional, Copy, Fill, Loop, Number, Program, Read, Step, every, read

_ALIGNMENT = 64


class Base(NamedTuple):
    """What an address is relative to.

    Attributes:
      kind: `argument`, `result`, `constant`, `workspace`, or `pointer`: a variable that the host part exchanges.
      number: which of them.
    """

    kind: str
    number: int = 0


class Address(NamedTuple):
    """An address in memory."""

    base: Base
    offset: int = 0


class Run(NamedTuple):
    """All workgroups of a kernel run. The memory is that of its operands and of its results."""

    call: Call
    memory: tuple[Address, ...]


class Move(NamedTuple):
    """Bytes are copied; a smaller source, of `period` bytes, is repeated until the target is full."""

    target: Address
    source: Address
    bytes: int
    period: int


class Repeat(NamedTuple):
    """A pattern of 1, 2 or 4 bytes fills memory."""

    target: Address
    pattern: bytes
    bytes: int


class Keep(NamedTuple):
    """A result is copied to where the caller wants it, unless the last exchange of buffers has left it there."""

    result: int
    pointer: Address
    bytes: int


class Load(NamedTuple):
    """A number is read from memory."""

    number: int
    source: Address
    type: str


class Store(NamedTuple):
    """A number is written to memory, for kernels."""

    number: int
    target: Address
    type: str


class Assign(NamedTuple):
    """Numbers, or pointers, get the values of others, all at the same time: pairs of a target and a source."""

    numbers: tuple[tuple[int, int], ...] = ()
    pointers: tuple[tuple[int, int], ...] = ()


class While(NamedTuple):
    """Statements that compute a number, and others that are repeated while it is not zero."""

    condition: tuple[Statement, ...]
    test: int
    body: tuple[Statement, ...]


class Switch(NamedTuple):
    """Branches by a number; numbers out of range select the last one."""

    selector: int
    branches: tuple[tuple[Statement, ...], ...]


Statement: TypeAlias = "Run | Move | Repeat | Keep | Load | Store | Assign | Number | While | Switch"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a function does with its arguments, its results and a workspace.

    Attributes:
      statements: the steps in order.
      numbers: the integers that it computes, with their types: `i1`, `i32` or `i64`.
      literals: those that are known.
      pointers: the buffers that are exchanged, with their first addresses.
      workspace: the bytes that it needs besides arguments and results.
    """

    statements: tuple[Statement, ...]
    numbers: dict[int, str]
    literals: dict[int, Number]
    pointers: dict[int, Address]
    workspace: int


class Result(NamedTuple):
    """A result of a function: the number of one of the program's, or where its bytes are; and how many these are."""

    source: int | Base
    bytes: int


def planned(program: Program, given: Sequence[Base], results: Sequence[Result], constants: Mapping[int, Base]) -> Plan:
    """The plan of a program.

    Args:
      program: it calls no Python.
      given: the caller's argument, or the constant, that each argument of the program is.
      results: what the function returns.
      constants: what the program's constants are called.
    """
    # An argument is never overwritten, whether it was donated or not.
    program = dataclasses.replace(program, donated=frozenset())
    planning = _Planning(program, given, results, constants)
    statements = (*planning.steps(program.calls), *planning.ends())
    literals = {n.result: n for n in flattened(statements) if isinstance(n, Number) and n.operation == "constant"}
    numbers = _needed(statements) - {*literals}
    return Plan(
        _pruned(statements, numbers),
        {n: type_ for n, type_ in planning.numbers.items() if n in numbers},
        literals,
        planning.pointers,
        planning.size,
    )


class _Planning:
    def __init__(
        self, program: Program, given: Sequence[Base], results: Sequence[Result], constants: Mapping[int, Base]
    ) -> None:
        self.program, self.results = program, results
        self.layout = layout = assign_memory(program)
        self.numbers: dict[int, str] = {}
        self.pointers: dict[int, Address] = {}
        self.size = 0
        self._given = {layout.ranges[n].slot: base for n, base in (*enumerate(given), *constants.items())}
        # The memory of each result that is the caller's own.
        self._own: dict[tuple[int, int], int] = {}
        # The result that one of some exchanged buffers is.
        self._among: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._place()

    def _place(self) -> None:
        layout, wanted = self.layout, self._wanted()
        sizes = {**layout.allocated, layout.numbers: layout.numbers_bytes}
        for slots in _exchanged(self.program, layout):
            own = [(slot, i) for (slot, _), i in wanted.items() if slot in slots]
            for slot in slots:
                self.pointers[slot] = Address(Base("workspace"), self._new(sizes[slot]))
            # Of two results, one might be copied over the other.
            if len(own) == 1:
                ((slot, i),) = own
                self.pointers[slot] = Address(Base("result", i))
                self._among.update(dict.fromkeys(slots, i))
        self._own = {place: i for place, i in wanted.items() if place[0] not in self.pointers}
        # A buffer of small results has nothing else in it.
        taken = {slot for slot, _ in self._own} | set(self.pointers)
        self._starts = {slot: self._new(size) for slot, size in sizes.items() if slot not in taken}

    def _new(self, size: int) -> int:
        """The offset of new memory in the workspace."""
        start = self.size
        self.size += -(-size // _ALIGNMENT) * _ALIGNMENT
        return start

    def _wanted(self) -> dict[tuple[int, int], int]:
        """The slots and offsets of computed results, each with the first result of the plan that it is."""
        found: dict[tuple[int, int], int] = {}
        for i, result in enumerate(self.results):
            if isinstance(result.source, int):
                slot, offset, _ = self.layout.ranges[self.program.returned[result.source]]
                if slot in self.layout.allocated:
                    found.setdefault((slot, offset), i)
        return found

    def address(self, n: int) -> Address:
        """The memory of a value."""
        slot, offset, _ = self.layout.ranges[n]
        if (slot, offset) in self._own:
            return Address(Base("result", self._own[slot, offset]))
        if slot in self.pointers:
            return Address(Base("pointer", slot), offset)
        if slot in self._given:
            return Address(self._given[slot], offset)
        return Address(Base("workspace"), self._starts[slot] + offset)

    def ends(self) -> Iterator[Statement]:
        """Copies of the results that were not computed in the caller's memory."""
        for i, result in enumerate(self.results):
            source, target = result.source, Address(Base("result", i))
            found = self.address(self.program.returned[source]) if isinstance(source, int) else Address(source)
            if found.base.kind == "pointer" and self._among.get(found.base.number) == i:
                yield Keep(i, found, result.bytes)
            elif found != target and result.bytes:
                yield Move(target, found, result.bytes, result.bytes)

    def steps(self, steps: Sequence[Step]) -> tuple[Statement, ...]:
        """The statements of some steps."""
        return tuple([statement for step in steps for statement in self._step(step)])

    def _step(self, step: Step) -> Iterator[Statement]:
        for n in dict.fromkeys(read(step)):
            if n in self.program.counted:
                number, type_ = self.program.counted[n]
                yield Store(number, self.address(n), type_)
        if isinstance(step, Call):
            yield Run(step, tuple(map(self.address, (*step.read, *step.written))))
        elif isinstance(step, Copy):
            ranges = self.layout.ranges
            if ranges[step.source] != ranges[step.target]:
                period = min(step.bytes, ranges[step.source].bytes)
                yield Move(self.address(step.target), self.address(step.source), step.bytes, period)
        elif isinstance(step, Fill):
            yield Repeat(self.address(step.target), step.pattern, step.bytes)
        elif isinstance(step, Number):
            self.numbers[step.result] = step.result_type
            yield step
        elif isinstance(step, Read):
            self.numbers[step.result] = step.type
            yield Load(step.result, self.address(step.memory), step.type)
        elif isinstance(step, Loop):
            yield from self._loop(step)
        elif isinstance(step, Conditional):
            branches = [self.steps(branch) for branch in step.branches]
            self.numbers.update((n, type_) for n, _, type_ in step.numbers)
            ends = [Assign(tuple([(n, made[i]) for n, made, _ in step.numbers])) for i in range(len(branches))]
            yield Switch(step.index, tuple([(*branch, end) for branch, end in zip(branches, ends)]))
        else:
            raise AssertionError("programs that call Python are refused before")

    def _loop(self, loop: Loop) -> Iterator[Statement]:
        for state in loop.numbers:
            self.numbers[state.during] = self.numbers[state.after] = state.type
        yield Assign(tuple([(s.during, s.before) for s in loop.numbers]))
        condition, body = self.steps(loop.condition), self.steps(loop.body)
        following = tuple([(s.during, s.then) for s in loop.numbers])
        end = Assign(following, tuple(exchanged(loop, self.layout).items()))
        yield While(condition, loop.test, (*body, end))
        yield Assign(tuple([(s.after, s.during) for s in loop.numbers]))


def _exchanged(program: Program, layout: Layout) -> list[set[int]]:
    """The slots whose buffers are exchanged, those that may get each other's in one set."""
    found: list[set[int]] = []
    for step in every(program.calls):
        if isinstance(step, Loop):
            for pair in exchanged(step, layout).items():
                merged = set(pair).union(*(slots for slots in found if slots & set(pair)))
                found = [*(slots for slots in found if not slots & merged), merged]
    return found


def _needed(statements: Sequence[Statement]) -> set[int]:
    """The numbers on which memory or control flow depends."""
    needs: dict[int, set[int]] = {}
    found: set[int] = set()
    for statement in flattened(statements):
        if isinstance(statement, Store):
            found.add(statement.number)
        elif isinstance(statement, While):
            found.add(statement.test)
        elif isinstance(statement, Switch):
            found.add(statement.selector)
        elif isinstance(statement, Number):
            needs.setdefault(statement.result, set()).update(statement.operands)
        elif isinstance(statement, Assign):
            for target, source in statement.numbers:
                needs.setdefault(target, set()).add(source)
    todo = list(found)
    while todo:
        new = needs.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def flattened(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, also those in loops and branches."""
    for statement in statements:
        yield statement
        if isinstance(statement, While):
            yield from flattened((*statement.condition, *statement.body))
        elif isinstance(statement, Switch):
            for branch in statement.branches:
                yield from flattened(branch)


def _pruned(statements: Sequence[Statement], numbers: set[int]) -> tuple[Statement, ...]:
    """Statements without those that compute other numbers."""
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Assign):
            statement = statement._replace(numbers=tuple([pair for pair in statement.numbers if pair[0] in numbers]))
        elif isinstance(statement, While):
            condition, body = (_pruned(part, numbers) for part in (statement.condition, statement.body))
            statement = While(condition, statement.test, body)
        elif isinstance(statement, Switch):
            statement = Switch(statement.selector, tuple([_pruned(branch, numbers) for branch in statement.branches]))
        is_lost = isinstance(statement, Number) and statement.result not in numbers
        is_lost = is_lost or (isinstance(statement, Load) and statement.number not in numbers)
        if not is_lost and statement != Assign():
            found.append(statement)
    return tuple(found)
