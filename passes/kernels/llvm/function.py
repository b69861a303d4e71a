"""A function of LLVM IR that is being written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from passes.kernels.instructions import Procedure
from passes.kernels.llvm.types import lanes_of

# An index: a constant, and values with their coefficients, those of outer scopes first.
Form: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]


class UntranslatedError(Exception):
    """An instruction of a kernel has no form in LLVM IR here; the message says which."""


class _Scope(NamedTuple):
    """The function, a loop, or a side of a branch.

    Attributes:
      head: the lines before it, if it is a loop.
      shared: the instructions whose results other instructions of the scope use, too.
    """

    head: list[Any] | None
    shared: list[str]


def _flat(lines: list[Any]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, list):
            yield from _flat(line)
        else:
            yield line


class _Values(dict[str, str]):
    """What stands for a value of the kernel; sums of indices are written where they are asked for."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __missing__(self, name: str) -> str:
        return self.function.sum(*self.function.forms[name])


class Function:
    """The text of one function, and what its values are called.

    Indices are sums. Their parts that a loop does not change are computed once before it, and the address that they
    give is frozen, which hides its parts from LLVM: with them, loop strength reduction considers more ways to compute
    the loop's addresses, which takes a fifth of the time of all code generation, and gives code of the same speed.

    Attributes:
      values: what stands for a value of the kernel: a name, or a constant.
      forms: the indices that are sums.
      entry: what runs once, before all else: addresses of memory.
      lines: the rest. None stands for a line that is written when the values that it takes are known, and a list for
        what runs before a loop.
      block: the label of the basic block that is being written.
      regions: those that are open, innermost last.
      procedures: the functions that it may call, and their names.
      contracts: whether a product and a sum may be rounded together.
      rounds: whether the processor has instructions that round to whole numbers.
      yielded: the values that the last region passed on.
    """

    def __init__(
        self, procedures: Mapping[Procedure, str] = MappingProxyType({}), contracts: bool = True, rounds: bool = True
    ) -> None:
        self.procedures, self.contracts, self.rounds = procedures, contracts, rounds
        self.values: dict[str, str] = _Values(self)
        self.forms: dict[str, Form] = {}
        self.entry: list[str] = []
        self.lines: list[Any] = []
        self.block = "entry"
        self.regions: list[Any] = []
        self.yielded: list[str] = []
        self._count = 0
        self._scopes = [_Scope(None, [])]
        # The number of the innermost loop's scope.
        self._loop = 0
        # The scope of each name that is not the function's.
        self._levels: dict[str, int] = {}
        # The names of the results of shared instructions.
        self._shared: dict[str, str] = {}

    def fresh(self) -> str:
        """A name that is not in use yet, for a value of the current scope."""
        self._count += 1
        name = f"%v{self._count}"
        self._levels[name] = len(self._scopes) - 1
        return name

    def let(self, text: str) -> str:
        """An instruction with a result, whose name is returned."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def first(self, text: str) -> str:
        """An instruction that runs before all else."""
        name = self.fresh()
        self._levels[name] = 0
        self.entry.append(f"{name} = {text}")
        return name

    def share(self, text: str, *operands: str) -> str:
        """An instruction without effects, written once, before the loops that its operands do not depend on."""
        name = self._shared.get(text)
        if name is None:
            level, lines = max([self._levels.get(operand, 0) for operand in operands]), self.lines
            place = len(self._scopes) - 1
            for i in range(level + 1, place + 1):
                head = self._scopes[i].head
                if head is not None:
                    place, lines = i - 1, head
                    break
            name = self._shared[text] = self.fresh()
            self._levels[name] = place
            self._scopes[place].shared.append(text)
            lines.append(f"{name} = {text}")
        return name

    def call(self, intrinsic: str, result: str, *operands: tuple[str, str]) -> str:
        """A call of an intrinsic of LLVM's, without the types in its name; its operands have types before them."""
        given = ", ".join(f"{type_} {value}" for type_, value in operands)
        return self.let(f"call {result} @llvm.{intrinsic}({given})")

    def form(self, index: str) -> Form:
        """An index as a sum."""
        found = self.forms.get(index)
        if found is not None:
            return found
        value = self.values[index]
        return (0, ((value, 1),)) if value[0] == "%" else (int(value), ())

    def added(self, a: Form, b: Form) -> Form:
        """The sum of two indices."""
        if a[1] and b[1]:
            total = dict(a[1])
            for name, coefficient in b[1]:
                total[name] = total.get(name, 0) + coefficient
            level = self._levels.get
            terms = tuple(sorted([t for t in total.items() if t[1]], key=lambda t: (level(t[0], 0), t[0])))
            return a[0] + b[0], terms
        return a[0] + b[0], a[1] or b[1]

    def sum(self, constant: int, terms: tuple[tuple[str, int], ...]) -> str:
        """The value of a sum."""
        total = ""
        for name, coefficient in terms:
            part = self.share(f"mul i64 {name}, {coefficient}", name) if coefficient != 1 else name
            total = self.share(f"add i64 {total}, {part}", total, part) if total else part
        if not total:
            return str(constant)
        return self.share(f"add i64 {total}, {constant}", total) if constant else total

    def address(self, buffer: str, index: str, element: str) -> str:
        """The address of an element of a buffer of the kernel."""
        constant, terms = self.form(index)
        address = self.values[buffer]
        if terms:
            key = f"{address} {terms}"
            if key not in self._shared:
                self._shared[key] = self._moved(address, terms, element)
                self._scopes[-1].shared.append(key)
            address = self._shared[key]
        return self.share(f"getelementptr {element}, ptr {address}, i64 {constant}", address) if constant else address

    def _moved(self, address: str, terms: tuple[tuple[str, int], ...], element: str) -> str:
        before = tuple([term for term in terms if self._levels.get(term[0], 0) < self._loop])
        here = terms[len(before) :]
        for part in (before, here):
            if part:
                offset = self.sum(0, part)
                address = self.share(f"getelementptr {element}, ptr {address}, i64 {offset}", address, offset)
            if part and here and part is before:
                address = self.share(f"freeze ptr {address}", address)
        return address

    def enter(self, is_loop: bool = False) -> None:
        """Begin a loop, or a side of a branch."""
        head: list[Any] | None = [] if is_loop else None
        if is_loop:
            self.lines.append(head)
            self._loop = len(self._scopes)
        self._scopes.append(_Scope(head, []))

    def leave(self) -> None:
        """End what was begun last."""
        for text in self._scopes.pop().shared:
            del self._shared[text]
        self._loop = max([i for i, scope in enumerate(self._scopes) if scope.head is not None], default=0)

    def label(self) -> int:
        """A number for the labels of blocks."""
        self._count += 1
        return self._count

    def start(self, block: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{block}:")
        self.block = block

    def text(self) -> str:
        """All lines."""
        text = "\n".join([*self.entry, *_flat(self.lines)])
        return text if self.contracts else text.replace(" contract ", " ")

    def spread(self, value: str, type_: str, vector: str) -> str:
        """A vector of one value, which is no constant."""
        first = self.let(f"insertelement {vector} poison, {type_} {value}, i64 0")
        return self.let(f"shufflevector {vector} {first}, {vector} poison, <{lanes_of(vector)} x i32> zeroinitializer")
