"""Loop nests over an iteration space: which axes are loops, which one is vectorized, and the remainders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from passes.kernels.builder import Symbols
from passes.kernels.code import Code
from passes.kernels.elements import Element
from passes.kernels.linear import ZERO, Linear
from passes.kernels.record import Recorder
from passes.kernels.values import Index, Item, NotVectorsError, Value, View

T = TypeVar("T")

# Larger bodies are written for vectors and for single elements only, not for each width in between.
_LARGE_BODY = 48
_MAX_LANES = 16


class Space(NamedTuple):
    """An iteration space, with a symbol for each axis, which ranges over its indices."""

    shape: tuple[int, ...]
    symbols: Index

    @classmethod
    def of(cls, shape: Sequence[int], symbols: Symbols) -> Space:
        """A space with symbols of its own."""
        return cls(tuple(shape), tuple(symbols.new("", 0, n - 1) if n > 1 else ZERO for n in shape))

    def symbol(self, axis: int) -> int:
        """The symbol of an axis of more than one index."""
        return self.symbols[axis].terms[0][0]


class Write(NamedTuple):
    """A value, and the memory that it is to be computed into."""

    value: Value
    target: View


class Plan(NamedTuple):
    """How a nest is written: the sizes of its loops, the vectorized axis and its width, and where axes are cut."""

    sizes: tuple[int, ...]
    axis: int | None
    width: int
    cuts: dict[int, list[int]]


def lanes_of(elements: Sequence[Element], vector_bytes: int, size: int, most: int = _MAX_LANES) -> int:
    """The number of lanes of a vector along an axis of that size."""
    width = min(vector_bytes // max(element.size for element in elements), most)
    while width > size:
        width //= 2
    return max(width, 1)


def vector_record(values: Sequence[Value], space: Space, axis: int, width: int, symbols: Symbols) -> Recorder | None:
    """What values read in vectors along an axis; None if they have no such form."""
    recorder = Recorder(symbols, width)
    index = list(space.symbols)
    base = symbols.new("", 0, max(space.shape[axis] - width, 1))
    index[axis] = base.lanes()
    try:
        for value in values:
            recorder.get(value, tuple(index))
    except NotVectorsError:
        return None
    return recorder


def collapsed(writes: Sequence[Write], space: Space, recorder: Recorder) -> tuple[int, ...]:
    """The sizes of the loops after collapsing axes that are contiguous in all memory.

    An axis is collapsed into the next one if every address moves along it by whole rows of the next one. Its size is
    then 1, and the size of the next one is the product.
    """
    sizes = list(space.shape)
    addresses = recorder.forms + [w.target.address(space.symbols) for w in writes]
    for axis in range(len(sizes) - 1):
        following = next((a for a in range(axis + 1, len(sizes)) if sizes[a] > 1), None)
        if sizes[axis] == 1 or following is None:
            continue
        here, there = space.symbol(axis), space.symbol(following)
        if {here, there} & recorder.fixed:
            continue
        if all(form.coefficient(here) == form.coefficient(there) * sizes[following] for form in addresses):
            # Later axes see the larger size; the symbols keep their coefficients.
            sizes[following] *= sizes[axis]
            sizes[axis] = 1
    return tuple(sizes)


def plan(writes: Sequence[Write], space: Space, recorder: Recorder, symbols: Symbols, vector_bytes: int) -> Plan:
    """The nest that computes some writes of one space."""
    sizes = collapsed(writes, space, recorder)
    cuts = {
        axis: sorted(at for at in recorder.cuts.get(space.symbol(axis), ()) if 0 < at < n)
        for axis, n in enumerate(space.shape)
        if n > 1
    }
    axis = next((a for a in reversed(range(len(sizes))) if sizes[a] > 1), None)
    if axis is None:
        return Plan(sizes, None, 1, cuts)
    width = lanes_of([w.value.element for w in writes], vector_bytes, sizes[axis])
    flat = Space(sizes, tuple(i if n > 1 else ZERO for i, n in zip(space.symbols, sizes)))
    found = vector_record([w.value for w in writes], flat, axis, width, symbols) if width > 1 else None
    if found is None or any(w.target.strides[axis] < 1 for w in writes):
        return Plan(sizes, None, 1, cuts)
    return Plan(sizes, axis, width, cuts)


def pieces(size: int, width: int, cost: int, at: int = 0) -> list[tuple[int, int, int]]:
    """Ranges that cover an axis from `at` on, in vectors, and narrower ones for the remainder: (start, stop, lanes).

    >>> pieces(27, 8, 10)
    [(0, 24, 8), (24, 26, 2), (26, 27, 1)]
    >>> pieces(27, 8, 1000)
    [(0, 24, 8), (24, 27, 1)]
    """
    found = []
    while at < size and width >= 1:
        stop = at + (size - at) // width * width
        if stop > at:
            found.append((at, stop, width))
        at = stop
        width = 1 if cost > _LARGE_BODY else width // 2
    return found


def nest(
    code: Code,
    sizes: Sequence[int],
    axis: int | None,
    width: int,
    cost: int,
    body: Callable[[Index], T],
    cuts: Mapping[int, Sequence[int]] | None = None,
    store: Callable[[Index, T], None] | None = None,
    overlaps: bool = True,
) -> None:
    """Loops over all indices, in vectors along an axis; `body` gets the index, with its lanes.

    Args:
      store: writes what `body` computed at an index.
      overlaps: where `store` is given, whether a whole vector that ends with the row replaces several narrower ones. It
        is computed before the others are written, because they may overwrite what it reads.
    """
    order = [a for a in range(len(sizes)) if a != axis and sizes[a] > 1] + ([] if axis is None else [axis])

    def computed(index: dict[int, Linear]) -> tuple[Index, T]:
        code.forget()
        at = tuple(index.get(a, ZERO) for a in range(len(sizes)))
        return at, body(at)

    def level(depth: int, index: dict[int, Linear]) -> None:
        if depth == len(order):
            made = computed(index)
            if store is not None:
                store(*made)
            return
        current = order[depth]
        ends = [*(cuts or {}).get(current, ()), sizes[current]]
        for start, stop in zip([0, *ends], ends):
            found = pieces(stop, width, cost, start) if current == axis else [(start, stop, 1)]
            narrower = sum((end - at) // lanes for at, end, lanes in found if lanes < width and current == axis)
            if store is None or not overlaps or narrower < 2 or stop - start < width:
                ranges(depth, index, found)
                continue
            with code.scope(), code.lanes(width):
                last = computed({**index, current: Linear(stop - width).lanes()})
            ranges(depth, index, found[:1])
            with code.lanes(width):
                store(*last)

    def ranges(depth: int, index: dict[int, Linear], found: Sequence[tuple[int, int, int]]) -> None:
        current = order[depth]
        for start, stop, lanes in found:

            def inside(i: Linear, _: list[str], lanes: int = lanes) -> None:
                with code.lanes(lanes if current == axis else code.width):
                    level(depth + 1, {**index, current: i.lanes() if lanes > 1 else i})

            code.loop(Linear(start), Linear(stop), lanes, inside)

    with code.scope(), code.lanes(1):
        level(0, {})


def fill(
    code: Code, writes: Sequence[Write], space: Space, recorder: Recorder, vector_bytes: int, in_loop: bool
) -> None:
    """Compute values of one space into memory; at each index, all are computed before any is written."""
    chosen = plan(writes, space, recorder, code.symbols, vector_bytes)
    mark = code.writer.mark()

    def body(index: Index) -> list[Item]:
        return [code.get(w.value, index) for w in writes]

    def store(index: Index, items: list[Item]) -> None:
        for (value, target), item in zip(writes, items):
            with code.located(value.location):
                code.store(target, index, item)

    # A single row may be read again at once in a loop, where a load that two stores overlap waits for both.
    overlaps = not in_loop or sum(n > 1 for n in chosen.sizes) > 1
    try:
        nest(code, chosen.sizes, chosen.axis, chosen.width, recorder.cost, body, chosen.cuts, store, overlaps)
    except NotVectorsError:
        code.writer.rewind(mark)
        nest(code, chosen.sizes, None, 1, recorder.cost, body, chosen.cuts, store)
