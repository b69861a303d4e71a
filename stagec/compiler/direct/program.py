"""What a program of kernels and callbacks does: which it calls, on which memory, and how often."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from passes.kernels.elements import Element, RefusedError
from passes.types import spelled


class NotDirectError(Exception):
    """A module is not one of kernels and callbacks alone."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A shape and an element type, by the name that MLIR gives it."""

    shape: tuple[int, ...]
    element: str

    @classmethod
    def of(cls, type_: Any) -> Tensor:
        """That of a tensor type.

        Raises:
          NotDirectError: the shape is not static, or there are no elements.
        """
        if not type_.has_static_shape or 0 in type_.shape:
            raise NotDirectError(f"{type_} is not a shape with elements")
        return cls(tuple(type_.shape), spelled(type_.element_type))

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return math.prod(self.shape) * size_of(self.element)


def size_of(element: str) -> int:
    """Bytes of an element in memory."""
    try:
        return Element.parse(element).size
    except RefusedError as error:
        raise NotDirectError(str(error)) from None


@dataclasses.dataclass(frozen=True)
class Constant:
    """Elements that are known, as MLIR writes them."""

    text: str
    bytes: int


@dataclasses.dataclass(frozen=True)
class Call:
    """One run of a kernel. Memory is named by a number.

    Attributes:
      kernel: the symbol of its executable.
      read, written: memory of its operands and of its results.
      bytes: the size of each, in that order.
      own: the operands of which an element is read only before the same element of a result is written.
    """

    kernel: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    bytes: tuple[int, ...]
    own: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class HostCall:
    """One call of a Python function, which brings memory of its own for its results.

    Attributes:
      symbol: the function, with the module `host` in front.
      read, written: memory of its operands and of its results.
      operands, results: their types.
    """

    symbol: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]

    @property
    def bytes(self) -> tuple[int, ...]:
        """The size of each, in that order."""
        return tuple([t.bytes for t in (*self.operands, *self.results)])


@dataclasses.dataclass(frozen=True)
class Copy:
    """Memory that is copied, unless both are at one place; again and again, as often as it goes into the target."""

    source: int
    target: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Fill:
    """Memory that is filled with one number, of which `pattern` are the bytes: 1, 2 or 4."""

    target: int
    pattern: bytes
    bytes: int


@dataclasses.dataclass(frozen=True)
class Number:
    """An integer that the host computes. Numbers are named by a number of their own.

    Attributes:
      operation: the name of StableHLO's operation, or "constant".
      type: of the operands, or of the constant.
      result_type: of the result.
      value: of a constant; the direction of a comparison.
    """

    result: int
    operation: str
    operands: tuple[int, ...]
    type: str
    result_type: str
    value: int | str = 0


@dataclasses.dataclass(frozen=True)
class Read:
    """An integer that kernels or the caller left in memory, read once they are done."""

    result: int
    memory: int
    type: str


@dataclasses.dataclass(frozen=True)
class State:
    """One of the arrays or numbers of a loop.

    Attributes:
      before: what it begins with; of an array, memory that is the loop's own.
      during: in a round.
      then: what follows in the next round.
      after: the loop.
    """

    before: int
    during: int
    then: int
    after: int
    bytes: int = 0
    type: str = ""


@dataclasses.dataclass(frozen=True)
class Loop:
    """Steps that are repeated while a number is not zero."""

    condition: tuple[Step, ...]
    test: int
    body: tuple[Step, ...]
    arrays: tuple[State, ...]
    numbers: tuple[State, ...]


@dataclasses.dataclass(frozen=True)
class Choice:
    """Steps of which a number decides; the last branch is for all numbers that have none.

    Attributes:
      arrays, numbers: the results, each with what it is in every branch, and its bytes or type.
    """

    index: int
    branches: tuple[tuple[Step, ...], ...]
    arrays: tuple[tuple[int, tuple[int, ...], int], ...]
    numbers: tuple[tuple[int, tuple[int, ...], str], ...]


Step: TypeAlias = "Call | HostCall | Copy | Fill | Number | Read | Loop | Choice"


def every(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those in loops and choices too."""
    for step in steps:
        yield step
        for inner in inside(step):
            yield from every(inner)


def inside(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The lists of steps that are in a loop or a choice."""
    if isinstance(step, Loop):
        return step.condition, step.body
    return step.branches if isinstance(step, Choice) else ()


def read(step: Step) -> tuple[int, ...]:
    """The memory that a command reads."""
    if isinstance(step, Copy):
        return (step.source,)
    return step.read if isinstance(step, Call) else ()


def written(step: Step) -> tuple[int, ...]:
    """The memory that a command writes."""
    if isinstance(step, Copy | Fill):
        return (step.target,)
    return step.written if isinstance(step, Call) else ()


@dataclasses.dataclass(frozen=True)
class Program:
    """A function that calls kernels and Python functions.

    Attributes:
      arguments, results: their types.
      constants: what memory holds from the beginning.
      calls: its steps, in their order.
      returned: the memory of each result. That of the arguments has the first numbers.
      donated: the arguments whose memory the caller gave up.
      counted: memory in which kernels find the host's numbers: which, and their types.
    """

    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    constants: dict[int, Constant]
    calls: tuple[Step, ...]
    returned: tuple[int, ...]
    donated: frozenset[int] = frozenset()
    counted: dict[int, tuple[int, str]] = dataclasses.field(default_factory=dict)

    @property
    def kernel_calls(self) -> tuple[Call, ...]:
        """The calls of kernels, in their order."""
        return tuple([c for c in every(self.calls) if isinstance(c, Call)])

    @property
    def host_calls(self) -> tuple[HostCall, ...]:
        """The calls of Python functions, in their order."""
        return tuple([c for c in every(self.calls) if isinstance(c, HostCall)])

    @property
    def has_control(self) -> bool:
        """Whether there are loops or choices."""
        return any(isinstance(step, Loop | Choice) for step in self.calls)

    @property
    def may_alias(self) -> bool:
        """Whether a result may be the memory of an argument or of another result."""
        arguments = range(len(self.arguments))
        is_apart = len(set(self.returned)) == len(self.returned) and not any(n in arguments for n in self.returned)
        return bool(self.host_calls) or not is_apart
