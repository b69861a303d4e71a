"""The operations of a kernel: scf, memref, vector and arith, written one by one.

An index is a Python int if it is known, and the name of an SSA value otherwise,
so that address arithmetic on constants emits no code.
"""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from passes.kernels import mlir_text
from passes.kernels.elements import ELEMENTS
from passes.kernels.instructions import Instruction, Types

Index: TypeAlias = int | str


class Memory(Protocol):
    """What is loaded from and stored to: a `Buffer` of this module, or one of `values`."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


class Buffer(NamedTuple):
    """Memory of a kernel, as a flat array.

    Attributes:
      name: the SSA value of the memref.
      size: how many elements it has.
      element: their type in memory: booleans are bytes, and integers have no sign (`Element.stored`).
    """

    name: str
    size: int
    element: str

    @property
    def type(self) -> str:
        """The memref's type."""
        return f"memref<{self.size}x{self.element}>"

    @property
    def bytes(self) -> int:
        """How much memory it is."""
        return self.size * ELEMENTS[self.element].size


def spelled_float(value: float, element: str) -> str:
    """A number as MLIR writes it in an attribute of a floating-point element type.

    >>> spelled_float(0.5, "f32"), spelled_float(float("inf"), "f64"), spelled_float(float("-inf"), "bf16")
    ('5.00000000000000000e-01', '0x7FF0000000000000', '0xFF80')
    """
    if math.isfinite(value):
        return f"{value:.17e}"
    # bfloat16 is the upper half of float32.
    code, digits = {"f64": (">d", 16), "f32": (">f", 8), "bf16": (">f", 4), "f16": (">e", 4)}[element]
    return "0x" + struct.pack(code, value).hex().upper()[:digits]


class Writer:
    """Writes the body of one function; each op gets the location that is current.

    >>> w = Writer()
    >>> x = Buffer("%x", 8, "f32")
    >>> with w.at('loc("user.py":3:1)'):
    ...     def body(i, _):
    ...         w.store(w.load(x, i), x, w.add(i, 0))
    ...     _ = w.loop(0, 8, 1, body)
    >>> print(w.text().replace("        ", ""))
    %c0 = arith.constant 0 : index loc(#at0)
    %c1 = arith.constant 8 : index loc(#at0)
    %c2 = arith.constant 1 : index loc(#at0)
    scf.for %i0 = %c0 to %c1 step %c2 {
      %2 = memref.load %x[%i0] : memref<8xf32> loc(#at0)
      memref.store %2, %x[%i0] : memref<8xf32> loc(#at0)
      scf.yield loc(#at0)
    } loc(#at0)
    """

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.scratch_bytes = 0
        # The aliases of locations, which are attributes or their texts; printing one takes longer than writing its ops.
        self.locations: dict[Any, str] = {}
        self._constants: dict[tuple[str, str], Instruction] = {}
        self._here = "loc(unknown)"
        self._count = 0

    @contextlib.contextmanager
    def at(self, location: Any) -> Iterator[None]:
        """Give the ops of a block a location: an `ir.Location`, or its text `loc(...)`."""
        before, key = self._here, getattr(location, "attr", location)
        name = self.locations.setdefault(key, f"#at{len(self.locations)}")
        self._here = f"loc({name})"
        try:
            yield
        finally:
            self._here = before

    def do(self, name: str, operands: Sequence[str] = (), types: Types = (), *details: Any) -> None:
        """An operation without results; its parts are those of an `Instruction`."""
        self._write(name, (), operands, types, details)

    def op(self, name: str, operands: Sequence[str], types: Types, *details: Any) -> str:
        """An operation with one result; returns its name."""
        self._count += 1
        result = f"%{self._count}"
        self._write(name, (result,), operands, types, details)
        return result

    def _write(
        self, name: str, results: tuple[str, ...], operands: Sequence[str], types: Types, details: tuple[Any, ...]
    ) -> None:
        types = (types,) if isinstance(types, str) else types
        self.instructions.append(Instruction(name, results, tuple(operands), types, details, self._here))

    def load(self, memory: Memory, at: Index, vector: str = "") -> str:
        """A number from memory, or a vector of that type."""
        types = (memory.type, vector) if vector else (memory.type,)
        return self.op("vector.load" if vector else "memref.load", (memory.name, self.index(at)), types)

    def store(self, value: str, memory: Memory, at: Index, vector: str = "") -> None:
        """A number into memory, or a vector of that type."""
        types = (memory.type, vector) if vector else (memory.type,)
        self.do("vector.store" if vector else "memref.store", (value, memory.name, self.index(at)), types)

    def prefetch(self, memory: Memory, at: Index, use: str) -> None:
        """Fetch a line of memory into the cache, to `read` or `write` it soon."""
        self.do("memref.prefetch", (memory.name, self.index(at)), memory.type, use, 3)

    def allocate(self, memory: Memory) -> None:
        """Allocate memory on the stack of a workgroup, aligned to 64 bytes."""
        self._write("memref.alloca", (memory.name,), (), memory.type, ())

    def constant(self, value: Any, type_: str = "index") -> str:
        """A constant, written once at the head of the function; `value` as MLIR writes it."""
        key = (str(value), type_)
        if key not in self._constants:
            name = f"%c{len(self._constants)}"
            self._constants[key] = Instruction("arith.constant", (name,), (), (type_,), (key[0],), self._here)
        return self._constants[key].results[0]

    def index(self, value: Index) -> str:
        """An index as an SSA value."""
        return self.constant(value) if isinstance(value, int) else value

    def add(self, a: Index, b: Index) -> Index:
        """`a + b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._arithmetic("addi", a, b, "overflow<nsw>")

    def sub(self, a: Index, b: Index) -> Index:
        """`a - b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._arithmetic("subi", a, b, "overflow<nsw>")

    def mul(self, a: Index, b: Index) -> Index:
        """`a * b`."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self._arithmetic("muli", a, b, "overflow<nsw>")

    def div(self, a: Index, b: int) -> Index:
        """`a // b` for `a >= 0`."""
        if isinstance(a, int):
            return a // b
        return a if b == 1 else self._arithmetic("divui", a, b)

    def rem(self, a: Index, b: int) -> Index:
        """`a % b` for `a >= 0`."""
        if isinstance(a, int):
            return a % b
        return 0 if b == 1 else self._arithmetic("remui", a, b)

    def least(self, a: Index, b: Index) -> Index:
        """`min(a, b)` for indices that are not negative."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._arithmetic("minui", a, b)

    def _arithmetic(self, name: str, a: Index, b: Index, *flags: str) -> str:
        return self.op(f"arith.{name}", (self.index(a), self.index(b)), "index", *flags)

    def compare(self, predicate: str, a: Index, b: Index) -> bool | str:
        """A comparison of nonnegative indices, such as `"ult"`; a Python bool if both are known."""
        if isinstance(a, int) and isinstance(b, int):
            return {"eq": a == b, "ne": a != b, "ult": a < b, "ule": a <= b, "uge": a >= b, "ugt": a > b}[predicate]
        return self.op("arith.cmpi", (self.index(a), self.index(b)), "index", predicate)

    def loop(
        self,
        start: Index,
        stop: Index,
        step: int,
        body: Callable[[Index, list[str]], Any],
        carried: Sequence[str] = (),
        types: Sequence[str] = (),
    ) -> list[str]:
        """`scf.for`: `body(index, values)` returns the next values; returns the last ones.

        If both bounds are known, a loop of one iteration is written as its body, and an empty loop not at all.
        """
        if isinstance(start, int) and isinstance(stop, int):
            if stop <= start:
                return list(carried)
            if stop - start <= step:
                return list(body(start, list(carried)) or ())
        number, self._count = self._count, self._count + 1
        arguments = [f"%a{number}_{j}" for j in range(len(carried))]
        results = tuple(f"%r{number}#{j}" for j in range(len(carried)))
        bounds, types = [self.index(at) for at in (start, stop, step)], tuple(types)
        with self.region("scf.for", (*bounds, *carried), types, (f"%i{number}", *arguments), results):
            values = body(f"%i{number}", arguments)
            # Written even without operands: a terminator that the parser adds would not have the user's location.
            self.do("scf.yield", values if carried else (), types)
        return list(results)

    def choose(
        self, condition: bool | str, then: Callable[[], Any], otherwise: Callable[[], Any] | None = None
    ) -> None:
        """`scf.if` without results; if the condition is known, only the branch that is taken is written."""
        if isinstance(condition, bool):
            side = then if condition else otherwise
            if side is not None:
                side()
            return
        with self.region("scf.if", (condition,)):
            for side in (then, otherwise):
                if side is None:
                    continue
                if side is otherwise:
                    self.do("else")
                side()
                self.do("scf.yield")

    @contextlib.contextmanager
    def region(
        self,
        name: str,
        operands: Sequence[str] = (),
        types: Types = (),
        arguments: Sequence[str] = (),
        results: tuple[str, ...] = (),
        ends: bool = True,
    ) -> Iterator[None]:
        """A region after the instruction that opens it; `ends` is False if `else` or `do` follows."""
        self._write(name, results, operands, types, tuple(arguments))
        yield
        if ends:
            self.do("end")

    def fresh(self, prefix: str) -> str:
        """A unique name."""
        self._count += 1
        return f"%{prefix}{self._count}"

    def mark(self) -> int:
        """The current end, for `rewind`."""
        return len(self.instructions)

    def rewind(self, mark: int) -> None:
        """Remove what was written after a mark."""
        del self.instructions[mark:]

    def workgroup(self, axis: int, count: int) -> Index:
        """The index of this workgroup along an axis that has `count` of them."""
        return 0 if count == 1 else self.op("stream.dispatch.workgroup.id", (), (), axis)

    def scratch(self, size: int, element: str) -> Buffer:
        """Memory on the stack of a workgroup, aligned to 64 bytes."""
        self._count += 1
        made = Buffer(f"%{self._count}", size, element)
        self.scratch_bytes += made.bytes
        self.allocate(made)
        return made

    def body(self) -> tuple[Instruction, ...]:
        """The function's operations, constants first."""
        return (*self._constants.values(), *self.instructions)

    def text(self) -> str:
        """The function's operations as MLIR."""
        return mlir_text.printed(self.body())
