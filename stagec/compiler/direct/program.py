"""The intermediate form of direct programs: calls of kernels and of Python, loops, conditionals, host integers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from passes.kernels.elements import Element, RefusedError
from passes.types import spelled


class NotDirectError(Exception):
    """A module holds something besides kernels and callbacks; the message says what.

    Args:
      location: that of the user's line, as MLIR prints it.
    """

    def __init__(self, text: str, location: str = "loc(unknown)") -> None:
        super().__init__(text)
        self.location = location


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A shape, and MLIR's name of the element type."""

    shape: tuple[int, ...]
    element: str

    @classmethod
    def of(cls, type_: Any) -> Tensor:
        """The shape and element type of a tensor type.

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
    """Known elements, as they are in memory.

    Attributes:
      data: all elements, or one of up to 8 bytes that all are equal to.
      bytes: the size of all of them.
    """

    data: bytes
    bytes: int

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Constant:
        """The elements of an array."""
        data = array.tobytes()
        first = data[: array.itemsize]
        return cls(first if array.itemsize <= 8 and first * array.size == data else data, len(data))


@dataclasses.dataclass(frozen=True)
class Call:
    """One run of a kernel. Values in memory are named by numbers.

    Attributes:
      kernel: the symbol of its executable.
      read, written: its operands and its results.
      bytes: their sizes, in that order.
      own: positions of the operands that a result may overwrite: each element is read before it is written.
      types: of the operands and the results.
      location: that of the user's line, as MLIR has it or prints it.
    """

    kernel: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    bytes: tuple[int, ...]
    own: tuple[int, ...] = ()
    types: tuple[Tensor, ...] = ()
    location: Any = "loc(unknown)"


@dataclasses.dataclass(frozen=True)
class HostCall:
    """One call of a Python function, whose results have memory of their own.

    Attributes:
      symbol: the function, prefixed with the module `host`.
      read, written: its operands and its results.
      operands, results: their types.
    """

    symbol: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]

    @property
    def bytes(self) -> tuple[int, ...]:
        """The sizes of the operands and of the results."""
        return tuple([t.bytes for t in (*self.operands, *self.results)])


@dataclasses.dataclass(frozen=True)
class Copy:
    """A copy, left out where both have the same memory; a smaller source is repeated until the target is full."""

    source: int
    target: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Fill:
    """A value filled with one number, whose bytes are `pattern`: 1, 2 or 4."""

    target: int
    pattern: bytes
    bytes: int


@dataclasses.dataclass(frozen=True)
class Number:
    """An integer that the host computes. Such numbers are counted separately from values in memory.

    Attributes:
      operation: the name of StableHLO's operation, or "constant".
      type: of the operands, or of the constant.
      result_type: of the result.
      value: that of a constant, or the direction of a comparison.
    """

    result: int
    operation: str
    operands: tuple[int, ...]
    type: str
    result_type: str
    value: int | str = 0


@dataclasses.dataclass(frozen=True)
class Read:
    """An integer that the host reads from memory, after the kernels before it are done."""

    result: int
    memory: int
    type: str


@dataclasses.dataclass(frozen=True)
class State:
    """One of the arrays or numbers of a loop.

    Attributes:
      before: the initial value; for an array, memory that belongs to the loop.
      during: the value in a round.
      then: the value for the next round.
      after: the value after the loop.
    """

    before: int
    during: int
    then: int
    after: int
    bytes: int = 0
    type: str = ""


@dataclasses.dataclass(frozen=True)
class Loop:
    """Steps that are repeated while a number is not zero.

    Attributes:
      rounds: how often, where that is known.
    """

    condition: tuple[Step, ...]
    test: int
    body: tuple[Step, ...]
    arrays: tuple[State, ...]
    numbers: tuple[State, ...]
    rounds: int | None = None


@dataclasses.dataclass(frozen=True)
class Conditional:
    """Branches selected by a number; numbers out of range select the last branch.

    Attributes:
      arrays, numbers: the results, each with its value in every branch, and its bytes or type.
    """

    index: int
    branches: tuple[tuple[Step, ...], ...]
    arrays: tuple[tuple[int, tuple[int, ...], int], ...]
    numbers: tuple[tuple[int, tuple[int, ...], str], ...]


Step: TypeAlias = "Call | HostCall | Copy | Fill | Number | Read | Loop | Conditional"


def every(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, also those in loops and conditionals."""
    for step in steps:
        yield step
        for inner in inside(step):
            yield from every(inner)


def inside(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The lists of steps in a loop or a conditional."""
    if isinstance(step, Loop):
        return step.condition, step.body
    return step.branches if isinstance(step, Conditional) else ()


def read(step: Step) -> tuple[int, ...]:
    """The values that a command reads."""
    if isinstance(step, Copy):
        return (step.source,)
    return step.read if isinstance(step, Call) else ()


def written(step: Step) -> tuple[int, ...]:
    """The values that a command writes."""
    if isinstance(step, Copy | Fill):
        return (step.target,)
    return step.written if isinstance(step, Call) else ()


@dataclasses.dataclass(frozen=True)
class Program:
    """A function that calls kernels and Python functions.

    Attributes:
      arguments, results: their types.
      constants: the values that are known.
      calls: the steps in order.
      returned: the value of each result. The arguments have the first numbers.
      donated: the arguments whose memory the caller gave up.
      counted: the values through which kernels read the host's numbers, each with the number and its type.
      has_stacks: whether there are arrays of which only a part may ever be written.
    """

    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    constants: dict[int, Constant]
    calls: tuple[Step, ...]
    returned: tuple[int, ...]
    donated: frozenset[int] = frozenset()
    counted: dict[int, tuple[int, str]] = dataclasses.field(default_factory=dict)
    has_stacks: bool = False

    @property
    def kernel_calls(self) -> tuple[Call, ...]:
        """The calls of kernels, in their order."""
        return tuple([c for c in every(self.calls) if isinstance(c, Call)])

    @property
    def host_calls(self) -> tuple[HostCall, ...]:
        """The calls of Python functions, in their order."""
        return tuple([c for c in every(self.calls) if isinstance(c, HostCall)])

    @property
    def values_read(self) -> set[int]:
        """The values that a step or the caller reads."""
        found = set(self.returned)
        for step in every(self.calls):
            found.update(step.read if isinstance(step, HostCall) else read(step))
            if isinstance(step, Read):
                found.add(step.memory)
        return found

    @property
    def has_control(self) -> bool:
        """Whether there are loops or conditionals."""
        return any(isinstance(step, Loop | Conditional) for step in self.calls)

    @property
    def may_alias(self) -> bool:
        """Whether a result may be the memory of an argument or of another result."""
        arguments = range(len(self.arguments))
        repeated = len(set(self.returned)) < len(self.returned)
        return bool(self.host_calls) or repeated or any(n in arguments for n in self.returned)
