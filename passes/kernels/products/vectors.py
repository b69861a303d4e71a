"""Vectors of the type that a kernel computes in, from and to memory of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes.kernels.squares import transposed
from passes.kernels.writer import Buffer, Index, Writer, stored

_BITS = {"i1": 1, "bf16": 16, "f16": 16, "f32": 32, "f64": 64}


def is_float(element: str) -> bool:
    """Whether an element type is a floating-point one."""
    return "f" in element


def bits(element: str) -> int:
    """The width of an element type."""
    return _BITS[element] if element in _BITS else int(element.lstrip("ui"))


class Vectors:
    """Emits vector code with one element type and one number of lanes.

    Args:
      writer: where the code goes.
      element: what is computed in: `f32`, `f64`, `i32`, `i64`.
      lanes: elements in a vector.
      fused: whether the processor has multiply-adds.
    """

    def __init__(self, writer: Writer, element: str, lanes: int, fused: bool) -> None:
        self.w, self.element, self.lanes, self.fused = writer, element, lanes, fused
        self.type = f"vector<{lanes}x{element}>"

    def of(self, element: str) -> str:
        """The type of a vector of other elements."""
        return f"vector<{self.lanes}x{element}>"

    def zero(self, element: str = "") -> str:
        """A vector of zeros."""
        return self.full("0.0" if is_float(element or self.element) else "0", element)

    def full(self, number: Any, element: str = "") -> str:
        """A vector of one number, which is text as MLIR writes it."""
        return self.w.constant(f"dense<{number}>", f"vector<{self.lanes}x{element or self.element}>")

    def mask(self, count: int) -> str:
        """The first lanes of a vector."""
        flags = ", ".join("true" if i < count else "false" for i in range(self.lanes))
        return self.w.constant(f"dense<[{flags}]>", f"vector<{self.lanes}xi1>")

    def load(self, memory: Buffer, at: Index, source: str = "", count: int | None = None) -> str:
        """A vector from memory, converted to the type that is computed in.

        Args:
          source: the tensor's element type, if it is not the one computed in.
          count: how many lanes are read; the others are zero, and their memory is not touched.
        """
        type_ = f"vector<{self.lanes}x{memory.element}>"
        place = f"{memory.name}[{self.w.index(at)}]"
        if count is None or count == self.lanes:
            value = self.w.op(f"vector.load {place} : {memory.type}, {type_}")
        else:
            kind = f"vector<{self.lanes}xi1>"
            rest = self.zero(memory.element)
            value = self.w.op(
                f"vector.maskedload {place}, {self.mask(count)}, {rest} : {memory.type}, {kind}, {type_} into {type_}"
            )
        return self.cast(value, source or self.element, self.element)

    def store(self, value: str, memory: Buffer, at: Index, target: str = "", count: int | None = None) -> None:
        """A vector into memory, of which only the first `count` lanes are written."""
        value = self.cast(value, self.element, target or self.element)
        type_ = f"vector<{self.lanes}x{memory.element}>"
        place = f"{memory.name}[{self.w.index(at)}]"
        if count is None or count == self.lanes:
            self.w.do(f"vector.store {value}, {place} : {memory.type}, {type_}")
        else:
            kind = f"vector<{self.lanes}xi1>"
            self.w.do(f"vector.maskedstore {place}, {self.mask(count)}, {value} : {memory.type}, {kind}, {type_}")

    def read(self, memory: Buffer, at: Index, element: str, count: int) -> str:
        """A vector from memory as it is, booleans as `i1`."""
        other = Vectors(self.w, stored(element), self.lanes, self.fused)
        return self._flags(other.load(memory, at, count=count), element)

    def repeated(self, memory: Buffer, at: Index, element: str) -> str:
        """A vector of one element from memory, booleans as `i1`."""
        other = Vectors(self.w, stored(element), self.lanes, self.fused)
        return self._flags(other.splat(other.scalar(memory, at)), element)

    def _flags(self, value: str, element: str) -> str:
        if element != "i1":
            return value
        return self.w.op(f"arith.cmpi ne, {value}, {self.zero('i8')} : {self.of('i8')}")

    def write(self, value: str, element: str, memory: Buffer, at: Index, count: int) -> None:
        """A vector of that element type into memory, of which only the first `count` lanes are written."""
        other = Vectors(self.w, stored(element), self.lanes, self.fused)
        if element == "i1":
            value = self.w.op(f"arith.extui {value} : {self.of('i1')} to {self.of('i8')}")
        other.store(value, memory, at, count=count)

    def scalar(self, memory: Buffer, at: Index, source: str = "") -> str:
        """One element from memory, in the type that is computed in."""
        value = self.w.op(f"memref.load {memory.name}[{self.w.index(at)}] : {memory.type}")
        return self._cast(value, source or self.element, self.element, "{}")

    def store_first(self, value: str, memory: Buffer, at: Index, count: int) -> None:
        """The first lanes of a vector into memory of the type that is computed in, as several whole vectors.

        For what is read soon: a store with a mask is not forwarded to loads, and takes longer to take effect.
        """
        if count < self.lanes:
            lanes = ", ".join(map(str, range(count)))
            value = self.w.op(f"vector.shuffle {value}, {value} [{lanes}] : {self.type}, {self.type}")
        self.w.do(
            f"vector.store {value}, {memory.name}[{self.w.index(at)}] : {memory.type}, vector<{count}x{self.element}>"
        )

    def splat(self, scalar: str) -> str:
        """A vector of one number."""
        return self.w.op(f"vector.broadcast {scalar} : {self.element} to {self.type}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """`a * b + c`."""
        if is_float(self.element) and self.fused:
            return self.w.op(f"vector.fma {a}, {b}, {c} : {self.type}")
        kind = "f" if is_float(self.element) else "i"
        product = self.w.op(f"arith.mul{kind} {a}, {b} : {self.type}")
        return self.w.op(f"arith.add{kind} {product}, {c} : {self.type}")

    def add(self, a: str, b: str) -> str:
        """`a + b`."""
        return self.w.op(f"arith.add{'f' if is_float(self.element) else 'i'} {a}, {b} : {self.type}")

    def total(self, value: str) -> str:
        """The sum of a vector's lanes."""
        flags = " fastmath<reassoc>" if is_float(self.element) else ""
        return self.w.op(f"vector.reduction <add>, {value}{flags} : {self.type} into {self.element}")

    def cast(self, value: str, source: str, target: str) -> str:
        """A vector of another element type; the names are the tensors', which know of signs."""
        return self._cast(value, source, target, f"vector<{self.lanes}x{{}}>")

    def _cast(self, value: str, source: str, target: str, shape: str) -> str:
        if source == target or (stored(source) == stored(target) and not is_float(source)):
            return value
        wider = bits(target) > bits(source)
        if target == "bf16" and is_float(source):
            value, source = self._rounded(self._cast(value, source, "f32", shape)), "f32"
        if is_float(source) and is_float(target):
            name = "arith.extf" if wider else "arith.truncf"
        elif is_float(target):
            name = "arith.uitofp" if source.startswith("u") or source == "i1" else "arith.sitofp"
        elif wider:
            name = "arith.extui" if source.startswith("u") else "arith.extsi"
        else:
            name = "arith.trunci"
        kinds = shape.format(stored(source)), shape.format(stored(target))
        return self.w.op(f"{name} {value} : {kinds[0]} to {kinds[1]}")

    def _rounded(self, value: str) -> str:
        """float32 that bfloat16 can hold: to nearest, ties to even; NaN stays.

        The compiler computes bfloat16 in float32 and rounds where it stores, so a conversion alone does not round.
        """
        w, floats, integers = self.w, self.of("f32"), self.of("i32")
        bits_ = w.op(f"arith.bitcast {value} : {floats} to {integers}")
        odd = w.op(f"arith.shrui {bits_}, {self.full(16, 'i32')} : {integers}")
        odd = w.op(f"arith.andi {odd}, {self.full(1, 'i32')} : {integers}")
        half = w.op(f"arith.addi {odd}, {self.full(0x7FFF, 'i32')} : {integers}")
        upper = w.op(f"arith.addi {bits_}, {half} : {integers}")
        upper = w.op(f"arith.andi {upper}, {self.full(-0x10000, 'i32')} : {integers}")
        rounded = w.op(f"arith.bitcast {upper} : {integers} to {floats}")
        unordered = w.op(f"arith.cmpf uno, {value}, {value} : {floats}")
        return w.op(f"arith.select {unordered}, {value}, {rounded} : {self.of('i1')}, {floats}")

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """As many vectors as there are lanes, with rows for columns."""
        return transposed(self.w, rows, self.type)
