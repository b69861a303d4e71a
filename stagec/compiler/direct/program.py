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
from passes.match import HOST_MODULE, constant_of, functions
from passes.types import spelled

# Constants that are written out; larger ones with one value are better made by the compiler.
_SPLAT_BYTES = 1 << 16


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
    """A function that calls kernels and Python functions.

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
    calls: tuple[Call | HostCall, ...]
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
        self.calls: list[Call | HostCall] = []
        for argument in arguments:
            self._new(argument)

    def _new(self, value: Any) -> int:
        Tensor.of(value.type)
        return self.memory.setdefault(value, len(self.memory))

    def program(self, operations: Sequence[Any]) -> Program:
        *body, last = operations
        for op in body:
            self._read(op.operation)
        returned = tuple(self.memory[v] for v in last.operands)
        if any(n in self.constants for n in returned):
            # The module's own bytes, which go with it.
            raise NotDirectError("a constant result")
        arguments, results = ([Tensor.of(v.type) for v in values] for values in (self.arguments, last.operands))
        return Program(tuple(arguments), tuple(results), self.constants, tuple(self.calls), returned)

    def _read(self, op: Any) -> None:
        name = op.name
        if name == "flow.dispatch":
            self._call(op)
        elif name == "func.call":
            self._call_host(op)
        elif name == "stablehlo.constant":
            self.constants[self._new(op.results[0])] = _constant(op)
        elif name in ("stablehlo.reshape", "stablehlo.optimization_barrier") or _is_same_memory(op):
            for value, operand in zip(op.results, op.operands):
                Tensor.of(value.type)
                self.memory[value] = self.memory[operand]
        else:
            raise NotDirectError(f"{name} outside of kernels")

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


def calls_python(module: Any) -> bool:
    """Whether a module calls functions of the process that runs it."""
    return any(name.startswith(HOST_MODULE) for name in functions(module))


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
        pairs = np.ascontiguousarray(found.reshape(-1)).view(found.real.dtype)
        with op.context:
            return Constant(str(bindings.ir.DenseElementsAttr.get(pairs)), tensor.bytes)
    value = op.attributes["value"]
    if value.is_splat and tensor.bytes > _SPLAT_BYTES:
        raise NotDirectError("a large constant")
    if tensor.element == "i1":
        flags = np.broadcast_to(np.asarray(value, bool), tensor.shape)
        data = ", ".join(map(str, flags.reshape(-1).astype(int).tolist()))
        return Constant(f"dense<[{data}]> : tensor<{flags.size}xi8>", tensor.bytes)
    return Constant(str(value).replace("xui", "xi").replace("<ui", "<i"), tensor.bytes)
