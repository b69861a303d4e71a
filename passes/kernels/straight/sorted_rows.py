"""The rows of a sort: how their elements are read, compared, selected, kept and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from passes import attributes as attrs
from passes.kernels.conversions import select
from passes.kernels.elements import BOOLEAN
from passes.kernels.kernel import element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.regions import region
from passes.kernels.straight.own_kernel import OwnKernel, flat
from passes.kernels.straight.unfused import is_index
from passes.kernels.values import Buffer, Item, View


class Rows:
    """The rows of a sort.

    Attributes:
      count: how many elements a row has.
      inner: their stride in memory.
      number: the number of rows.
      elements: the types of the operands.
    """

    def __init__(self, a: OwnKernel) -> None:
        self.a, self.code, self._block = a, a.code, a.op.regions[0].blocks[0]
        axis = attrs.integer(a.op, "dimension")
        self.count, self.inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
        self.number = a.whole.buffer.size // self.count
        self.elements = [element_type(value.type)[1] for value in a.op.operands]
        memory = iter(map(flat, a.values))
        self._sources = [None if is_index(a.op, value) else next(memory) for value in a.op.operands]
        results = list(a.op.results)
        self._written = [results.index(result) for result in a.results]

    def loaded(self, start: Linear, k: Linear) -> list[Item]:
        """An element of the row that begins at an address, of all operands."""
        found = []
        for source, element in zip(self._sources, self.elements):
            if source is None:
                found.append(Item(self.code.number(k, element)))
            else:
                found.append(self.code.get(source, (start + k * self.inner,)))
        return found

    def store(self, start: Linear, k: Linear, items: Sequence[Item]) -> None:
        """Write an element of a row to the results."""
        for whole, number in zip(self.a.wholes, self._written):
            self.code.store(View(whole.buffer, (1,)), (start + k * self.inner,), items[number])

    def is_before(self, first: Sequence[Item], second: Sequence[Item]) -> Item:
        """Whether an element comes before another one."""
        pairs = [item for pair in zip(first, second) for item in pair]
        return region(self.a.k, self.code, self._block, pairs, [e for e in self.elements for _ in range(2)])[0]

    def chosen(self, test: Item, first: Sequence[Item], second: Sequence[Item]) -> list[Item]:
        """The first element if a test holds, else the second."""
        code, found = self.code, []
        for left, right, element in zip(first, second, self.elements):
            is_vector = test.is_vector or left.is_vector or right.is_vector
            one, other, mask = left.name, right.name, test.name
            if is_vector:
                one, other = code.vector(left, element), code.vector(right, element)
                mask = code.vector(test, BOOLEAN)
            found.append(Item(select(code, mask, one, other, element, is_vector), is_vector))
        return found

    # Elements that are kept in scratch memory.

    def scratch(self, size: int) -> list[Buffer]:
        """Memory on the stack for so many elements of each operand."""
        writer = self.a.k.writer
        found = [(writer.scratch(size * element.parts, element.stored), element) for element in self.elements]
        return [Buffer(made.name, size, element) for made, element in found]

    def kept(self, buffers: Sequence[Buffer], address: Linear) -> list[Item]:
        """An element in scratch memory."""
        return [self.code.load(View(buffer, (1,)), (address,)) for buffer in buffers]

    def keep(self, buffers: Sequence[Buffer], address: Linear, items: Sequence[Item]) -> None:
        """Write an element to scratch memory."""
        for buffer, item in zip(buffers, items):
            self.code.store(View(buffer, (1,)), (address,), item)

    def insert(
        self,
        element: Callable[[Linear], list[Item]],
        count: Linear,
        buffers: Sequence[Buffer],
        address: Callable[[Linear], Linear],
    ) -> None:
        """Insertion sort of elements into scratch memory.

        Args:
          element: the elements, by index.
          count: the number of elements.
          address: the address in scratch memory of each sorted index.
        """
        code = self.code
        is_vector = code.width > 1
        types = [code.type(e, is_vector) for e in self.elements]

        def outer(k: Linear, _: list[str]) -> None:
            code.forget()
            moving = [code.vector(item, e) if is_vector else item.name for item, e in zip(element(k), self.elements)]

            def step(back: Linear, names: list[str]) -> list[str]:
                at = k - back - 1
                new, old = [Item(name, is_vector) for name in names], self.kept(buffers, address(at))
                test = self.is_before(new, old)
                self.keep(buffers, address(at + 1), self.chosen(test, old, new))
                return [item.name for item in self.chosen(test, new, old)]

            last = code.loop(ZERO, k, 1, step, moving, types)
            self.keep(buffers, address(ZERO), [Item(name, is_vector) for name in last])

        code.loop(ZERO, count, 1, outer)
