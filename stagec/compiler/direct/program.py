"""What a module of kernels and callbacks does: which it calls, on which memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passes import bindings
from passes.analysis.in_place import ATTRIBUTE as OUTPUT
from passes.kernels.dispatch import BYTES
from passes.kernels.elements import Element, RefusedError
from passes.match import HOST_MODULE, constant_of, functions, splat_of
from passes.types import spelled

# Bytes of a constant of one number that are written out; larger memory is filled with them.
_SPLAT_BYTES = 1 << 16
# Bytes of a number that the runtime fills memory with.
_PATTERNS = (1, 2, 4)


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
        return math.prod(self.shape) * _size(self.element)


def _size(element: str) -> int:
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
    """

    kernel: str
    read: tuple[int, ...]
    written: tuple[int, ...]
    bytes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Copy:
    """A constant, written to memory of a result.

    Attributes:
      read: the constant, as often as it goes into the memory; none if that is filled with a pattern.
      written: the memory.
      pattern: a number of few bytes.
      bytes: the size of each.
    """

    read: tuple[int, ...]
    written: tuple[int, ...]
    pattern: bytes
    bytes: tuple[int, ...]


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
class Program:
    """A function that calls kernels and Python functions, or returns constants.

    Attributes:
      arguments, results: their types.
      constants: what memory holds from the beginning.
      calls: in their order.
      returned: the memory of each result. That of the arguments has the first numbers.
      reused: memory of results that is an argument's, which the caller gave up: the result's and the argument's.
    """

    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    constants: dict[int, Constant]
    calls: tuple[Call | Copy | HostCall, ...]
    returned: tuple[int, ...]
    reused: dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def kernel_calls(self) -> tuple[Call, ...]:
        """The calls of kernels, in their order."""
        return tuple([c for c in self.calls if isinstance(c, Call)])

    @property
    def host_calls(self) -> tuple[HostCall, ...]:
        """The calls of Python functions, in their order."""
        return tuple([c for c in self.calls if isinstance(c, HostCall)])


def read(module: Any) -> Program:
    """The program that a module's `main` is.

    Raises:
      NotDirectError: there is an operation that is no call of a kernel or of a Python function.
    """
    found = functions(module)
    if [name for name in found if not name.startswith(HOST_MODULE)] != ["main"]:
        raise NotDirectError("several functions")
    function = found["main"]
    (block,) = function.regions[0].blocks
    program = _Reader(list(block.arguments)).program(list(block.operations))
    return dataclasses.replace(program, reused=_reused(function, program))


def _reused(function: Any, program: Program) -> dict[int, int]:
    """Results over arguments, where the passes have found that this is safe."""
    given = function.attributes.get("arg_attrs", ())
    pairs = {program.returned[d[OUTPUT].value]: i for i, d in enumerate(given) if OUTPUT in d}
    made = {n for call in program.kernel_calls for n in call.written}
    return {n: i for n, i in pairs.items() if n in made and program.returned.count(n) == 1}


class _Reader:
    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = arguments
        self.memory: dict[Any, int] = {}
        self.constants: dict[int, Constant] = {}
        # Constants that are one number, those that are one of few bytes, and those that are not all written out.
        self.numbers: dict[int, Any] = {}
        self.splats: dict[int, bytes] = {}
        self.parts: set[int] = set()
        # The memory of results that constants are copied to.
        self.copies: dict[int, int] = {}
        self.calls: list[Call | Copy | HostCall] = []
        for argument in arguments:
            self._new(argument)

    def _new(self, value: Any, type_: Any = None) -> int:
        Tensor.of(type_ or value.type)
        return self.memory.setdefault(value, len(self.memory))

    def program(self, operations: Sequence[Any]) -> Program:
        *body, last = operations
        for op in body:
            self._read(op.operation)
        returned = tuple(self._returned(v) for v in last.operands)
        arguments, results = ([Tensor.of(v.type) for v in values] for values in (self.arguments, last.operands))
        kernels = {n for call in self.calls if not isinstance(call, Copy) for n in call.read}
        if not kernels.isdisjoint(self.parts):
            raise NotDirectError("a large constant")
        read = {n for call in self.calls for n in call.read}
        constants = {n: constant for n, constant in self.constants.items() if n in read}
        return Program(tuple(arguments), tuple(results), constants, tuple(self.calls), returned)

    def _returned(self, value: Any) -> int:
        """The memory of a result. What is the module's own, constants, is copied: it goes with the module."""
        n = self.memory[value]
        if n not in self.constants and n not in self.splats:
            return n
        if n not in self.copies:
            self.copies[n] = made = self._new(object(), value.type)
            size, pattern = Tensor.of(value.type).bytes, self.splats.get(n, b"")
            self.calls.append(
                Copy((), (made,), pattern, (size,))
                if pattern
                else Copy((n,), (made,), b"", (self.constants[n].bytes, size))
            )
        return self.copies[n]

    def _read(self, op: Any) -> None:
        name = op.name
        number = self._number(op)
        if name == "flow.dispatch":
            self._call(op)
        elif name == "func.call":
            self._call_host(op)
        elif name == "stablehlo.constant" or number is not None:
            self._constant(op, number)
        elif name in ("stablehlo.reshape", "stablehlo.optimization_barrier") or _is_same_memory(op):
            for value, operand in zip(op.results, op.operands):
                Tensor.of(value.type)
                self.memory[value] = self.memory[operand]
        else:
            raise NotDirectError(f"{name} outside of kernels")

    def _number(self, op: Any) -> Any:
        """The number that fills a constant, a broadcast of it, or a complex one of two parts."""
        if op.name == "stablehlo.constant":
            return splat_of(op.results[0])
        known = [self.numbers.get(self.memory.get(v, -1)) for v in op.operands]
        if op.name == "stablehlo.complex" and None not in known:
            parts = np.array(known)
            return parts.view(f"c{2 * parts.itemsize}")[0]
        return known[0] if op.name == "stablehlo.broadcast_in_dim" else None

    def _constant(self, op: Any, number: Any) -> None:
        """Note a constant."""
        n, tensor = self._new(op.results[0]), Tensor.of(op.results[0].type)
        is_whole = op.name == "stablehlo.constant" and (number is None or tensor.bytes <= _SPLAT_BYTES)
        if not is_whole:
            self.parts.add(n)
        if number is not None:
            self.numbers[n], pattern = number, number.tobytes()
            pattern = pattern[:4] if pattern == pattern[:4] * 2 else pattern
            if len(pattern) in _PATTERNS:
                self.splats[n] = pattern
        if is_whole:
            self.constants[n] = _constant(op)
        elif n not in self.splats:
            count = min(math.prod(tensor.shape), _SPLAT_BYTES // number.nbytes)
            self.constants[n] = _elements(op, np.full(count, number))

    def _call(self, op: Any) -> None:
        (entry,) = op.attributes["entry_points"]
        read = tuple(self.memory[v] for v in op.operands)
        written = tuple(self._new(v) for v in op.results)
        sizes = tuple(Tensor.of(v.type).bytes for v in (*op.operands, *op.results))
        self.calls.append(Call(entry.value[0], read, written, sizes))

    def _call_host(self, op: Any) -> None:
        symbol = op.attributes["callee"].value
        operands, results = ([Tensor.of(v.type) for v in values] for values in (op.operands, op.results))
        read = tuple(self.memory[v] for v in op.operands)
        written = tuple(self._new(v) for v in op.results)
        self.calls.append(HostCall(symbol, read, written, tuple(operands), tuple(results)))


def is_direct(module: Any) -> bool:
    """Whether a module needs no kernels but those that it has."""
    try:
        read(module)
    except NotDirectError:
        return False
    return True


def _is_same_memory(op: Any) -> bool:
    """Whether an op gives bytes another type: integers with and without a sign, booleans for kernels and from them."""
    if op.name == "stablehlo.bitcast_convert":
        return _size(str(op.operands[0].type.element_type)) == _size(str(op.results[0].type.element_type))
    return op.name == "stablehlo.convert" and BYTES in op.attributes


def _constant(op: Any) -> Constant:
    tensor = Tensor.of(op.results[0].type)
    if tensor.element.startswith("complex"):
        found = constant_of(op.results[0])
        assert found is not None, "the operation is a constant"
        return _elements(op, found)
    value = op.attributes["value"]
    if tensor.element == "i1":
        flags = np.broadcast_to(np.asarray(value, bool), tensor.shape)
        data = ", ".join(map(str, flags.reshape(-1).astype(int).tolist()))
        return Constant(f"dense<[{data}]> : tensor<{flags.size}xi8>", tensor.bytes)
    return Constant(_signless(str(value)), tensor.bytes)


def _elements(op: Any, array: np.ndarray[Any, Any]) -> Constant:
    """Numbers of types that NumPy has; complex ones as pairs."""
    numbers = np.ascontiguousarray(array.reshape(-1)).view(array.real.dtype)
    with op.context:
        return Constant(_signless(str(bindings.ir.DenseElementsAttr.get(numbers))), array.nbytes)


def _signless(text: str) -> str:
    return text.replace("xui", "xi").replace("<ui", "<i")
