"""Values of a kernel: buffers, strided views of them, and lazy arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from passes.kernels.elements import Element
from passes.kernels.linear import ZERO, Linear, address
from passes.kernels.writer import Buffer as Binding

Index = tuple[Linear, ...]


class NotVectorsError(Exception):
    """A computation cannot be vectorized along the chosen axis."""


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory of a kernel, as a flat array of elements.

    Attributes:
      name: its SSA value.
      size: how many elements it holds.
      is_operand: whether it is an operand of the kernel, which is read-only.
    """

    name: str
    size: int
    element: Element
    is_operand: bool = False

    @property
    def type(self) -> str:
        """Its type in the kernel."""
        return f"memref<{self.numbers}x{self.element.stored}>"

    @property
    def numbers(self) -> int:
        """How many numbers it holds: complex elements have two."""
        return self.size * self.element.parts

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return self.size * self.element.size

    @property
    def binding(self) -> Binding:
        """It as an input or an output of a kernel."""
        return Binding(self.name, self.numbers, self.element.stored)


class View(NamedTuple):
    """A strided view of a buffer as an array: its offset and strides."""

    buffer: Buffer
    strides: tuple[int, ...]
    offset: Linear = ZERO

    def address(self, index: Index) -> Linear:
        """The address of an element in the buffer."""
        return address(index, self.strides, self.offset)

    def shifted(self, index: Sequence[Linear]) -> View:
        """The view that begins at `index`."""
        return self._replace(offset=self.address(tuple(index)))


class Item(NamedTuple):
    """The value computed for an index: an SSA value, which is one element or a vector of them."""

    name: str
    is_vector: bool = False


class Value:
    """An array in a kernel: a splat constant, a scalar, a view of memory, or a function of indices.

    A function is evaluated wherever an element is read. `Lowering.store` replaces it by a view if it must not be
    evaluated later, or not repeatedly.

    Attributes:
      splat: the number that all elements are, if that is known.
      scalar: the SSA value of the only element, if it has been computed.
      linear: the value of the only element as a linear form, for integers.
      view: the memory that holds all of it.
      function: `(builder, index) -> Item`.
      location: that of the user's line, or its text; empty if there is none.
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
        location: Any = "",
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
        """Whether the element is known without reading memory."""
        return self.splat is not None or self.scalar is not None or self.linear is not None

    def normalized(self, index: Index) -> Index:
        """The index with zeros along axes of one element."""
        return tuple(ZERO if n == 1 else i for i, n in zip(index, self.shape))
