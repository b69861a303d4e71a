"""Element types: their forms in memory, and the types in which kernels compute.

Booleans are bytes in memory, and bits in registers. Floats of 16 bits are widened to float32 when they are loaded; the
number in a register is always representable in the narrow type, so a store does not round. Complex numbers are pairs of
a real and an imaginary part, adjacent in memory and in registers: one is a vector of two numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class RefusedError(Exception):
    """An operation stays outside kernels; the message says why."""


class Element(NamedTuple):
    """An element type.

    Attributes:
      name: as StableHLO spells it.
      kind: one of `f i u b c`.
      bits: the width of an element; 1 for booleans.
      stored: the type of a number in memory, without a sign.
      computed: the type of a number in registers.
      parts: how many numbers an element has.
    """

    name: str
    kind: str
    bits: int
    stored: str
    computed: str
    parts: int = 1

    @staticmethod
    def parse(name: str) -> Element:
        """The element type of that name; `RefusedError` for one that kernels do not support.

        >>> Element.parse("ui8")
        Element(name='ui8', kind='u', bits=8, stored='i8', computed='i8', parts=1)
        """
        try:
            return ELEMENTS[name]
        except KeyError:
            raise RefusedError(f"elements of type {name}") from None

    @property
    def text(self) -> str:
        """The type of an element in registers.

        >>> Element.parse("bf16").text, Element.parse("complex<f64>").text
        ('f32', 'vector<2xf64>')
        """
        return self.of(1)

    def of(self, width: int) -> str:
        """The type of so many elements in registers."""
        return _vector(width * self.parts, self.computed)

    def memory(self, width: int) -> str:
        """The type of so many elements as they are loaded and stored."""
        return _vector(width * self.parts, self.stored)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.kind == "f"

    @property
    def is_narrow(self) -> bool:
        """Whether it is computed in a wider type, and rounded."""
        return self.kind == "f" and self.name != self.computed

    @property
    def part(self) -> Element:
        """The type of the real part of a complex number; any other type itself."""
        return self if self.parts == 1 else ELEMENTS[self.computed]

    @property
    def wide(self) -> Element:
        """The type that it is computed in."""
        return ELEMENTS[self.computed] if self.is_narrow else self


def _vector(numbers: int, type_: str) -> str:
    return f"vector<{numbers}x{type_}>" if numbers > 1 else type_


ELEMENTS = {
    element.name: element
    for element in (
        Element("i1", "b", 1, "i8", "i1"),
        Element("f16", "f", 16, "f16", "f32"),
        # Stored as integers: the compiler would round bfloat16 results only where it stores them.
        Element("bf16", "f", 16, "i16", "f32"),
        Element("f32", "f", 32, "f32", "f32"),
        Element("f64", "f", 64, "f64", "f64"),
        Element("complex<f32>", "c", 64, "f32", "f32", 2),
        Element("complex<f64>", "c", 128, "f64", "f64", 2),
        *(Element(f"i{bits}", "i", bits, f"i{bits}", f"i{bits}") for bits in (8, 16, 32, 64)),
        *(Element(f"ui{bits}", "u", bits, f"i{bits}", f"i{bits}") for bits in (8, 16, 32, 64)),
    )
}
BOOLEAN, INT8, INT32, INT64 = (ELEMENTS[name] for name in ("i1", "i8", "i32", "i64"))
FLOAT32, FLOAT64 = ELEMENTS["f32"], ELEMENTS["f64"]
