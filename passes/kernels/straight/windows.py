"""Reductions over windows, such as pooling, and reductions whose order matters, which have one window along an axis.

Several arrays may be reduced together, as in the largest element of each window and its position. Each lane of a vector
has a window, whose elements are combined in the order of the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from passes import attributes as attrs
from passes.analysis.strided import row_strides
from passes.kernels.contractions import kinds_of, neutral
from passes.kernels.conversions import rounded
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.elements import Element
from passes.kernels.kernel import element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.regions import region
from passes.kernels.straight.cumulative import cumulative
from passes.kernels.straight.own_kernel import OwnKernel
from passes.kernels.straight.unfused import Window, windows_of
from passes.kernels.values import Index, Item, NotVectorsError, View

# The most iterations of a loop over a window that is unrolled.
_UNROLLED = 4


def reduce_window(a: OwnKernel) -> None:
    """Each element of the result, from the elements of its window within the array."""
    found = windows_of(a.op, len(a.shape))
    if len(a.op.results) == 1:
        source, kinds = a.values[0], kinds_of(a.op)
        long = [d for d, w in enumerate(found) if w.size > 1]
        others = [w for w in found if w.size == 1]
        whole = all(w.step == 1 and not w.low and not w.high for w in others)
        first = neutral(kinds[0], a.element) if kinds else None
        in_memory = source.view is not None
        if in_memory and first is not None and len(long) == 1 and whole and a.values[1].splat == first:
            axis = long[0]
            w, n = found[axis], source.shape[axis]
            if w.size == n and w.step == w.dilation == 1 and sorted((w.low, w.high)) == [0, n - 1]:
                return cumulative(a, axis, first, w.high > 0)
    return _Windows(a, found, a.shape, a.wholes).write()


def reduce(a: OwnKernel) -> None:
    """Each element of the result, from all elements along the reduced axes."""
    axes, source = attrs.ints(a.op, "dimensions"), a.values[0].shape
    found = [Window(n if d in axes else 1, 1, 1, 0, 0) for d, n in enumerate(source)]
    shape = tuple(1 if d in axes else n for d, n in enumerate(source))
    _Windows(a, found, shape, [whole._replace(strides=row_strides(shape)) for whole in a.wholes]).write()


class _Windows:
    """The kernel of a reduction.

    Args:
      found: the window along each axis of the operands.
      shape: the number of windows along each axis.
      targets: the memory of the results that are used, each of this shape.
    """

    def __init__(self, a: OwnKernel, found: Sequence[Window], shape: Sequence[int], targets: Sequence[View]) -> None:
        self.a, self.code, self.found, self.shape = a, a.code, found, tuple(shape)
        count = len(a.op.results)
        self.sources, self.first = a.values[:count], a.values[count:]
        self.targets = dict(zip((list(a.op.results).index(result) for result in a.results), targets))
        # Where the order does not matter, narrow floats are accumulated in a wider type.
        self.is_wide = kinds_of(a.op) is not None
        self.results = [element_type(result.type)[1] for result in a.op.results]
        self.elements = [e.wide for e in self.results] if self.is_wide else self.results
        # Windows side by side along this axis are the lanes of a vector.
        self.axis = max((d for d, n in enumerate(self.shape) if n > 1), default=len(self.shape) - 1)

    def write(self) -> None:
        """Write the kernel: in vectors, or else element by element."""
        width = self.a.lanes(self.shape[self.axis], self.elements)
        mark = self.code.writer.mark()
        try:
            with self.code.scope():
                self._shared(width)
        except NotVectorsError:
            self.code.writer.rewind(mark)
            self._shared(1)

    def _shared(self, width: int) -> None:
        """Workgroups share the windows along the other axes, or along that of the lanes if the others are short."""
        a, shape = self.a, self.shape
        outer = [d for d, n in enumerate(shape) if n > 1 and d != self.axis]
        units, size = math.prod(shape[d] for d in outer), shape[self.axis]
        amount = math.prod(w.size for w in self.found) * len(self.elements)
        work = units * size * amount // width + units
        if units < MAX_WORKGROUPS and size >= units * width:
            low, high = a.share(size, work)
            return self._nest(outer, {}, low, high, width)
        # Without the last of many axes, an index is found with fewer divisions.
        rows = outer[:-1] if units // shape[outer[-1]] >= MAX_WORKGROUPS else outer

        def row(r: Linear, _: list[str]) -> None:
            at: dict[int, Linear] = {}
            for d in reversed(rows[1:]):
                r, at[d] = self.code.divided(r, shape[d])
            self._nest(outer[len(rows) :], {**at, rows[0]: r}, ZERO, Linear(size), width)

        self.code.loop(*a.share(math.prod(shape[d] for d in rows), work), 1, row)
        return None

    def _nest(self, axes: Sequence[int], at: Mapping[int, Linear], low: Linear, high: Linear, width: int) -> None:
        """Loops over axes, and in them the windows from `low` to `high` along the axis of the lanes."""
        if axes:

            def inside(i: Linear, _: list[str]) -> None:
                self._nest(axes[1:], {**at, axes[0]: i}, low, high, width)

            self.code.loop(ZERO, Linear(self.shape[axes[0]]), 1, inside)
            return
        w, size = self.found[self.axis], self.shape[self.axis]
        # The range of windows along the axis that are within the array.
        last = self.sources[0].shape[self.axis] + w.low - (w.size - 1) * w.dilation
        begin = min(size, -(-w.low // w.step))
        end = max(begin, min(size, -(-last // w.step)))

        def windows(first: int, stop: int, is_inside: bool, lanes: int) -> None:
            if first == stop:
                return
            ends = low, high
            if (first, stop) != (0, size):
                ends = Linear(first), Linear(stop)
                if not (low.is_constant and high.is_constant):
                    ends = self.a.clamped(ends[0], low, high), self.a.clamped(ends[1], low, high)
            self.a.along(*ends, lambda i: self._window({**at, self.axis: i}, is_inside), lanes)

        windows(0, begin, False, 1)
        windows(begin, end, True, width)
        windows(end, size, False, 1)

    def _window(self, at: Mapping[int, Linear], is_inside: bool) -> None:
        """Combine the elements of a window, or of a vector of windows; these are within the array if one is."""
        code, is_vector = self.code, self.code.width > 1
        types = [code.type(e, is_vector) for e in self.elements]
        index = tuple(at.get(d, ZERO) for d in range(len(self.shape)))

        def level(axis: int, source: Index, state: list[str]) -> list[str]:
            if axis == len(index):
                return self._combined(state, source)
            w = self.found[axis]
            start = index[axis] * w.step - w.low
            if not (w.low or w.high) or (is_inside and axis == self.axis):
                if w.size <= _UNROLLED:
                    for j in range(w.size):
                        state = level(axis + 1, (*source, start + j * w.dilation), state)
                    return state
                ends = ZERO, Linear(w.size)
            else:
                length = self.sources[0].shape[axis]
                ends = self.a.clamped(start * -1, 0, w.size), self.a.clamped(start * -1 + length, 0, w.size)

            def along(j: Linear, values: list[str]) -> list[str]:
                code.forget()
                return level(axis + 1, (*source, start + j * w.dilation), values)

            return code.loop(*ends, 1, along, state, types)

        first = [code.get(value, ()) for value in self.first]
        found = level(0, (), [self._name(item, e) for item, e in zip(first, self.elements)])
        for number, target in self.targets.items():
            narrow = self.results[number]
            code.store(target, index, Item(rounded(code, found[number], narrow, is_vector), is_vector))

    def _combined(self, state: list[str], source: Index) -> list[str]:
        is_vector, block = self.code.width > 1, self.a.op.regions[0].blocks[0]
        old = [Item(name, is_vector) for name in state]
        new = [self.code.get(value, source) for value in self.sources]
        made = region(self.a.k, self.code, block, [*old, *new], self.elements * 2, self.is_wide)
        return [self._name(item, e) for item, e in zip(made, self.elements)]

    def _name(self, item: Item, element: Element) -> str:
        return self.code.vector(item, element) if self.code.width > 1 else item.name
