"""Values of a kernel: buffers, strided views of them, and lazy arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from passes.kernels.linear import ZERO, Linear, address

Index = tuple[Linear, ...]


class RefusedError(Exception):
    """The operation stays outside of kernels; the message says why."""


class NotVectorsError(Exception):
    """This computation has no form in vectors along the chosen axis."""


class Element(NamedTuple):
    """An element type: `name` as StableHLO spells it, and its kind, one of `f i u b`."""

    name: str
    kind: str
    bits: int

    @staticmethod
    def parse(name: str) -> Element:
        """The element type of that name; `RefusedError` for one that kernels do not have.

        >>> Element.parse("ui8")
        Element(name='ui8', kind='u', bits=8)
        """
        try:
            return _ELEMENTS[name]
        except KeyError:
            raise RefusedError(f"elements of type {name}") from None

    @property
    def text(self) -> str:
        """The type of a value in a kernel: integers are signless there."""
        return self.name.replace("ui", "i")

    @property
    def stored(self) -> str:
        """The type in memory: booleans are bytes."""
        return "i8" if self.kind == "b" else self.text

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.kind == "f"

    def of(self, width: int) -> str:
        """The type of a vector of so many, or of one."""
        return f"vector<{width}x{self.text}>" if width > 1 else self.text


_ELEMENTS = {
    "i1": Element("i1", "b", 1),
    "f32": Element("f32", "f", 32),
    "f64": Element("f64", "f", 64),
    **{f"i{bits}": Element(f"i{bits}", "i", bits) for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": Element(f"ui{bits}", "u", bits) for bits in (8, 16, 32, 64)},
}
BOOLEAN, INT64 = _ELEMENTS["i1"], _ELEMENTS["i64"]


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory of a kernel, seen as one row of elements.

    Attributes:
      name: its SSA value.
      size: how many elements it holds.
      is_operand: whether it is the caller's, and read only.
    """

    name: str
    size: int
    element: Element
    is_operand: bool = False

    @property
    def type(self) -> str:
        """Its type in the kernel."""
        return f"memref<{self.size}x{self.element.stored}>"

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return self.size * self.element.size


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array that is stored row by row.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class View(NamedTuple):
    """The elements of a buffer that an array stands for: where it begins, and its strides."""

    buffer: Buffer
    strides: tuple[int, ...]
    offset: Linear = ZERO

    def address(self, index: Index) -> Linear:
        """Where an element lies in the buffer."""
        return address(index, self.strides, self.offset)

    def shifted(self, index: Sequence[Linear]) -> View:
        """The view that begins at `index`."""
        return self._replace(offset=self.address(tuple(index)))


class Item(NamedTuple):
    """What is computed for an index: an SSA value, of one element or of a vector of them."""

    name: str
    is_vector: bool = False


class Value:
    """An array in a kernel: a known number, a scalar, a view of memory, or a function of indices.

    A function is evaluated wherever an element is read; `hazards.store` turns it into a view when it must
    not be evaluated later, or not often.

    Attributes:
      splat: the number that every element is, if that is known.
      scalar: the SSA value of the only element, if it has been computed.
      linear: the value of the only element as a linear form, for integers.
      view: the memory that holds all of it.
      function: `(builder, index) -> Item`.
      location: the user's line, as the text of an attribute.
    """

    __slots__ = ("element", "function", "linear", "location", "scalar", "shape", "splat", "view")

    def __init__(
        self,
        shape: Sequence[int],
        element: Element,
        *,
        function: Callable[[Any, Index], Item] | None = None,
        view: View | None = None,
        splat: Any = None,
        scalar: str | None = None,
        linear: Linear | None = None,
        location: str = "",
    ) -> None:
        self.shape, self.element = tuple(shape), element
        self.function, self.view, self.splat, self.scalar = function, view, splat, scalar
        self.linear, self.location = linear, location

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def is_scalar(self) -> bool:
        """Whether the only element is at hand, without reading memory."""
        return self.splat is not None or self.scalar is not None or self.linear is not None

    def normalized(self, index: Index) -> Index:
        """The index with zeros along axes of one element."""
        return tuple(ZERO if n == 1 else i for i, n in zip(index, self.shape))
