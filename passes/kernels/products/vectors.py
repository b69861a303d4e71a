"""Vectors of the type that a kernel computes in, which are loaded from and stored to memory of any type."""

from __future__ import annotations

from collections.abc import Sequence

from passes.kernels import conversions
from passes.kernels.builder import Symbols
from passes.kernels.code import Code
from passes.kernels.elements import ELEMENTS, Element
from passes.kernels.processor import Processor
from passes.kernels.squares import transposed
from passes.kernels.values import Item
from passes.kernels.writer import Buffer, Index, Writer


class Lanes(Code):
    """Writes elementwise operations on vectors, which stay vectors even with one lane."""

    def __init__(self, writer: Writer, lanes: int) -> None:
        super().__init__(Symbols(), writer)
        self.width = lanes

    def type(self, element: Element, is_vector: bool) -> str:
        """The type of an item."""
        return f"vector<{self.width}x{element.computed}>" if is_vector else element.text

    def memory(self, element: Element, is_vector: bool) -> str:
        """The type of an item as it is loaded and stored."""
        return f"vector<{self.width}x{element.stored}>" if is_vector else element.stored

    def vector(self, item: Item, element: Element) -> str:
        """An item as a vector."""
        if item.is_vector or self.width > 1:
            return super().vector(item, element)
        return self.op("vector.broadcast", (item.name,), (element.text, self.type(element, True)))


class Vectors:
    """Emits vector code with one element type and one number of lanes.

    Args:
      writer: where the code goes.
      element: the type that is computed in: `f32`, `f64`, `i32`, `i64`.
      lanes: elements in a vector.
      processor: the processor whose instructions are used.
    """

    def __init__(self, writer: Writer, element: str, lanes: int, processor: Processor) -> None:
        self.w, self.element, self.lanes, self.processor = writer, element, lanes, processor
        self.type = f"vector<{lanes}x{element}>"
        self.code = Lanes(writer, lanes)
        self.code.halves = processor.halves
        self.kind = ELEMENTS[element]

    def zero(self) -> str:
        """A vector of zeros."""
        return self.code.full(0, self.kind, True)

    def mask(self, count: int) -> str:
        """The mask of the first lanes of a vector."""
        flags = ", ".join("true" if i < count else "false" for i in range(self.lanes))
        return self.w.constant(f"dense<[{flags}]>", f"vector<{self.lanes}xi1>")

    def load(self, memory: Buffer, at: Index, source: str = "", count: int | None = None) -> str:
        """A vector from memory, converted to the type that is computed in.

        Args:
          source: the tensor's element type, if it is not the one computed in.
          count: how many lanes are read; the others are zero, and their memory is not touched.
        """
        return self._read(self._raw(memory, at, count), source, True)

    def _raw(self, memory: Buffer, at: Index, count: int | None) -> str:
        type_ = f"vector<{self.lanes}x{memory.element}>"
        at = self.w.index(at)
        if count is None or count == self.lanes:
            return self.w.load(memory, at, type_)
        zeros = self.w.constant(f"dense<{'0.0' if 'f' in memory.element else '0'}>", type_)
        types = (memory.type, f"vector<{self.lanes}xi1>", type_)
        return self.w.op("vector.maskedload", (memory.name, at, self.mask(count), zeros), types)

    def store(self, value: str, memory: Buffer, at: Index, target: str = "", count: int | None = None) -> None:
        """A vector into memory, of which only the first `count` lanes are written."""
        to = ELEMENTS[target or self.element]
        value = conversions.stored(self.code, self.cast(value, self.kind, to), to, True)
        self._put(value, memory, at, count)

    def _put(self, value: str, memory: Buffer, at: Index, count: int | None) -> None:
        type_ = f"vector<{self.lanes}x{memory.element}>"
        at = self.w.index(at)
        if count is None or count == self.lanes:
            self.w.store(value, memory, at, type_)
        elif count == 1:
            # LLVM stores a masked lane that was truncated in its width before.
            self.w.store(self.w.op("vector.extract", (value,), (memory.element, type_), 0), memory, at)
        else:
            types = (memory.type, f"vector<{self.lanes}xi1>", type_)
            self.w.do("vector.maskedstore", (memory.name, at, self.mask(count), value), types)

    def read(self, memory: Buffer, at: Index, element: Element, count: int) -> str:
        """A vector of other elements from memory."""
        return conversions.loaded(self.code, self._raw(memory, at, count), element, True)

    def repeated(self, memory: Buffer, at: Index, element: Element) -> str:
        """A vector of one element from memory."""
        value = self.w.load(memory, at)
        return self.code.vector(Item(conversions.loaded(self.code, value, element, False)), element)

    def write(self, value: str, element: Element, memory: Buffer, at: Index, count: int) -> None:
        """A vector of other elements into memory, of which only the first `count` lanes are written."""
        self._put(conversions.stored(self.code, value, element, True), memory, at, count)

    def scalar(self, memory: Buffer, at: Index, source: str = "") -> str:
        """One element from memory, in the type that is computed in."""
        value = self.w.load(memory, at)
        return self._read(value, source, False)

    def _read(self, value: str, source: str, is_vector: bool) -> str:
        element = ELEMENTS[source or self.element]
        value = conversions.loaded(self.code, value, element, is_vector)
        return conversions.converted(self.code, value, element, self.kind, is_vector)

    def store_first(self, value: str, memory: Buffer, at: Index, count: int) -> None:
        """The first lanes of a vector into memory of the type that is computed in, as several whole vectors.

        For memory that is read soon: processors do not forward masked stores to loads.
        """
        if count < self.lanes:
            value = self.w.op("vector.shuffle", (value, value), self.type, *range(count))
        self.w.store(value, memory, at, f"vector<{count}x{self.element}>")

    def splat(self, scalar: str) -> str:
        """A vector of one number."""
        return self.w.op("vector.broadcast", (scalar,), (self.element, self.type))

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """`a * b + c`."""
        if self.kind.is_float and self.processor.fused:
            return self.w.op("vector.fma", (a, b, c), self.type)
        kind = "f" if self.kind.is_float else "i"
        product = self.w.op(f"arith.mul{kind}", (a, b), self.type)
        return self.w.op(f"arith.add{kind}", (product, c), self.type)

    def add(self, a: str, b: str) -> str:
        """`a + b`."""
        return self.w.op(f"arith.add{('f' if self.kind.is_float else 'i')}", (a, b), self.type)

    def total(self, value: str) -> str:
        """The sum of a vector's lanes."""
        flags = ("fastmath<reassoc>",) if self.kind.is_float else ()
        return self.w.op("vector.reduction", (value,), (self.type, self.element), "add", *flags)

    def cast(self, value: str, source: Element, target: Element) -> str:
        """A vector of another element type."""
        return conversions.converted(self.code, value, source, target, True)

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """As many vectors as there are lanes, with rows for columns."""
        return transposed(self.w, rows, self.type)
