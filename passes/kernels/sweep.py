"""Sweeps: one nest of loops over the inner axes of a group, for all nodes of one level.

Each visit computes an element of every node, or a vector of elements, before any of them is stored or accumulated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from passes.kernels.blocks import BLOCK, Body, in_blocks
from passes.kernels.contractions import across, neutral
from passes.kernels.conversions import rounded
from passes.kernels.elements import Element
from passes.kernels.kernel import Lowering
from passes.kernels.linear import ZERO, Linear
from passes.kernels.processor import Processor
from passes.kernels.regions import region
from passes.kernels.values import Index, Item, Value, View

# More work than this for an element is costly.
COSTLY = 30
# Sums of more elements are shared by workgroups.
SHARED = 1 << 15
# The most vectors of columns in a strip.
STRIP = 4
# The range of each axis that is swept.
Ranges = Mapping[int, tuple[int, int]]


def spread(at: Iterable[Linear], shape: Sequence[int]) -> Index:
    """The index in a shape of which the axes of more than one element have these indices."""
    left = iter(at)
    return tuple([next(left, ZERO) if n > 1 else ZERO for n in shape])


class Span(NamedTuple):
    """A workgroup's range of an inner axis: whole steps from `low` to `high`, and the remainder up to `end`."""

    axis: int
    low: Linear
    high: Linear
    end: Linear


@dataclasses.dataclass(eq=False)
class Part:
    """A node while its kernel is being written.

    Attributes:
      node: the node.
      values: the values that are computed at each index: one, or the terms of a reduction.
      stands: placeholders for the results, which readers in the kernel read.
      targets: the memory of each result; None for results that stay in registers.
      kinds: for a reduction, how lanes are combined.
      initial: for a reduction, its initial values.
    """

    node: Any
    values: list[Value]
    stands: list[Value]
    targets: list[View | None]
    kinds: list[str]
    initial: list[Item]

    @property
    def elements(self) -> list[Element]:
        """The element types of the results."""
        return [value.element for value in self.stands]

    def index(self, at: dict[int, Linear], axes: Sequence[int]) -> Index:
        """The index in the node's own shape; `at` has the indices of the group's axes, of which the node has `axes`."""
        return spread([at.get(axis, ZERO) for axis in axes], self.node.shape)


class Sweep:
    """The parts of one level, over the inner axes of the group.

    Args:
      parts: the parts, which all range over the whole space of the group.
      inner: the axes that are swept, and the range of each; the last one is vectorized, unless a kept axis is.
      width: lanes of a vector.
      strands: the number of independent accumulators.
      repeats: whether an element may be computed and stored more than once, because its operands are not overwritten.
        The last vector of a row then begins earlier, so that costly code is written once.
    """

    def __init__(
        self, k: Lowering, parts: Sequence[Part], inner: Ranges, width: int, strands: int, repeats: bool = False
    ) -> None:
        self.k, self.code, self.repeats = k, k.code, repeats
        self.parts, self.inner, self.width, self.strands = parts, inner, width, strands
        self.reductions = [part for part in parts if part.kinds]
        self.elements = [e for part in self.reductions for e in part.elements]
        kinds = [(kind, e.kind) for part in self.reductions for kind, e in zip(part.kinds, part.elements)]
        self.rounds = any(kind == "add" and of in "fc" for kind, of in kinds)
        self.overlaps = repeats and not self.reductions and sum(part.node.cost for part in parts) > COSTLY

    def visit(
        self, at: dict[int, Linear], sums: list[str], seeds: Sequence[tuple[Value, Index, Item]] = ()
    ) -> list[str]:
        """Compute one element or vector of every part; returns the new accumulators."""
        code, found = self.code, []
        code.forget()
        for value, index, item in seeds:
            code.remember(value, index, item)
        is_vector, position, stores = code.width > 1, 0, []
        for part in self.parts:
            index = part.index(at, range(len(part.node.axes)))
            if not part.kinds:
                item = code.get(part.values[0], index)
                code.remember(part.stands[0], index, item)
                stores.append((part, part.targets[0], index, item))
                continue
            count = len(part.values)
            old = [Item(name, is_vector) for name in sums[position : position + count]]
            new = self._combined(part, old, [code.get(v, index) for v in part.values])
            found += [code.vector(i, e) if is_vector else i.name for i, e in zip(new, part.elements)]
            position += count
        for part, target, index, item in stores:
            if target is not None:
                with code.located(part.values[0].location):
                    code.store(target, index, item)
        return found

    def _combined(self, part: Part, old: list[Item], new: list[Item]) -> list[Item]:
        block = part.node.op.regions[0].blocks[0]
        with self.code.located(part.node.op.location):
            return region(self.k, self.code, block, [*old, *new], [e.wide for e in part.elements] * 2, True)

    def _rounded(self, sums: Sequence[str], is_vector: bool) -> list[str]:
        """Sums of narrow floats, which are accumulated in wider ones."""
        return [rounded(self.code, name, element, is_vector) for name, element in zip(sums, self.elements)]

    def initial(self) -> list[str]:
        """The initial values of the reductions."""
        return [item.name for part in self.reductions for item in part.initial]

    def neutrals(self) -> list[str]:
        """The initial vectors of accumulators: identity elements."""
        code = self.code
        kinds = [(kind, e) for part in self.reductions for kind, e in zip(part.kinds, part.elements)]
        return [code.vector(Item(code.constant(neutral(kind, e), e)), e) for kind, e in kinds]

    def _loop(
        self,
        low: Linear,
        high: Linear,
        step: int,
        body: Body,
        state: list[str],
        types: list[str],
        start: list[str],
        vectors: int,
        before: int = 1,
    ) -> list[str]:
        """A loop of whole steps that carries accumulators; sums that are rounded are added up in blocks.

        Args:
          start: the identity element of each accumulator, the first `vectors` of which are vectors.
          before: the number of additions in an iteration.
        """
        if not self.rounds or not state:
            return self.code.loop(low, high, step, body, state, types, whole=True)

        def added(a: list[str], b: list[str]) -> list[str]:
            found, count = [], len(self.elements)
            for i in range(0, len(a), count):
                with self.code.lanes(self.width if i < vectors else 1):
                    found += self._merged(a[i : i + count], b[i : i + count], i < vectors)
            return found

        whole = body if before < BLOCK else lambda i, sums: added(sums, body(i, start))
        return in_blocks(self.code, low, high, step, whole, state, types, start, added)

    # Lanes along the last inner axis.

    def rows(self, outer: dict[int, Linear], span: Span | None = None) -> list[str]:
        """Sweep over all inner axes of one row; returns the results of the reductions."""
        code, count = self.code, len(self.elements)
        *before, lane = self.inner
        with code.lanes(self.width):
            vectors = self.neutrals() * self.strands if self.width > 1 and count else []
            types = [code.type(e, True) for _ in range(self.strands) for e in self.elements] if vectors else []
        types += [e.text for e in self.elements]
        kinds = [(kind, e) for part in self.reductions for kind, e in zip(part.kinds, part.elements)]
        start = [*vectors, *(code.constant(neutral(kind, e), e) for kind, e in kinds)]
        lengths = [stop - start for start, stop in self.inner.values()]

        def vectors_of(at: dict[int, Linear], first: int, last: int) -> Body:
            def whole(i: Linear, _: list[str]) -> list[str]:
                with code.lanes(self.width):
                    return self.visit({**at, lane: code.at_most(i, last, first).lanes()}, [])

            return whole

        def along(at: dict[int, Linear], state: list[str]) -> list[str]:
            wide, scalars = state[: len(vectors)], state[len(vectors) :]
            (begin, size), step = self.inner[lane], self.width * self.strands
            spanned = span is not None and span.axis == lane
            position, many = begin, len(vectors)

            def ahead(i: Linear, sums: list[str]) -> list[str]:
                found = []
                for strand in range(self.strands):
                    first = i + strand * self.width
                    with code.lanes(self.width):
                        mine = sums[strand * count : (strand + 1) * count]
                        found += self.visit({**at, lane: first.lanes()}, mine)
                return found

            if self.overlaps and size - begin >= self.width > 1:
                low, high = Linear(begin), Linear(begin + -(-(size - begin) // step) * step)
                if spanned and span is not None:
                    low, high = span.low, span.high
                return self._loop(low, high, step, vectors_of(at, begin, size - self.width), [], [], [], 0)
            if self.width > 1:
                position = begin + (size - begin) // step * step
                low, high = (span.low, span.high) if spanned and span is not None else (Linear(begin), Linear(position))
                wide = self._loop(low, high, step, ahead, wide, types[:many], start[:many], many)
                while not spanned and size - position >= self.width:
                    with code.lanes(self.width), code.scope():
                        wide[:count] = self.visit({**at, lane: Linear(position).lanes()}, wide[:count])
                    position += self.width
                if self.repeats and not spanned and begin + self.width <= size and position < size:
                    with code.lanes(self.width), code.scope():
                        wide[:count] = self._last(at, lane, position, wide[:count])
                    position = size
            low, high = Linear(position), Linear(size)
            if spanned and span is not None:
                low, high = (low, span.end) if self.width > 1 else (span.low, span.high)
            if self.width > 1 and not count and not spanned:
                self._narrower(at, lane, position)
                return []
            scalars = self._loop(
                low, high, 1, lambda i, v: self.visit({**at, lane: i}, v), scalars, types[many:], start[many:], 0
            )
            return [*wide, *scalars]

        def level(depth: int, at: dict[int, Linear], state: list[str]) -> list[str]:
            if depth == len(before):
                return along(at, state)
            axis = before[depth]
            low, high = map(Linear, self.inner[axis])
            if span is not None and span.axis == axis:
                low, high = span.low, span.high
            below = math.prod(lengths[depth + 1 :]) // (self.width * self.strands)

            def inside(i: Linear, sums: list[str]) -> list[str]:
                return level(depth + 1, {**at, axis: i}, sums)

            return self._loop(low, high, 1, inside, state, types, start, len(vectors), below)

        state = level(0, dict(outer), [*vectors, *self.initial()])
        if vectors:
            state = self._total(state[: len(vectors)], state[len(vectors) :])
        return self._rounded(state, False)

    def _last(self, at: dict[int, Linear], lane: int, position: int, sums: list[str]) -> list[str]:
        """The remainder of a row, in a vector that ends with it; lanes that were added before are masked."""
        code, first = self.code, self.inner[lane][1] - self.width
        found = self.visit({**at, lane: Linear(first).lanes()}, sums)
        lanes = ["true" if first + j >= position else "false" for j in range(self.width)]
        kept = []
        for new, old, element in zip(found, sums, self.elements):
            flags = ", ".join(flag for flag in lanes for _ in range(element.parts))
            masks = f"vector<{self.width * element.parts}xi1>"
            mask = code.writer.constant(f"dense<[{flags}]>", masks)
            kept.append(code.op("arith.select", (mask, new, old), (masks, code.type(element, True))))
        return kept

    def _narrower(self, at: dict[int, Linear], lane: int, position: int) -> None:
        """The remainder of a row without reductions, in narrower vectors."""
        width, size = self.width // 2, self.inner[lane][1]
        while position < size:
            while width > size - position:
                width //= 2
            with self.code.lanes(width), self.code.scope():
                first = Linear(position)
                self.visit({**at, lane: first.lanes() if width > 1 else first}, [])
            position += width

    def _total(self, vectors: list[str], scalars: list[str]) -> list[str]:
        """The totals of all strands and lanes, and of the scalar accumulators, as scalars."""
        code, count = self.code, len(self.elements)
        groups = [vectors[i : i + count] for i in range(0, len(vectors), count)]
        with code.lanes(self.width):
            joined = self._joined(groups)
        kinds = [kind for part in self.reductions for kind in part.kinds]
        with code.lanes(self.width):
            sums = [across(code, kind, e, name) for kind, e, name in zip(kinds, self.elements, joined)]
        return self._merged(scalars, sums, False)

    def _merged(self, a: Sequence[str], b: Sequence[str], is_vector: bool) -> list[str]:
        found: list[str] = []
        for part in self.reductions:
            here = slice(len(found), len(found) + len(part.values))
            old, new = ([Item(name, is_vector) for name in names[here]] for names in (a, b))
            found += [item.name for item in self._combined(part, old, new)]
        return found

    # Lanes along a kept axis.

    def columns(self, strips: Sequence[dict[int, Linear]], seeds: Sequence[Sequence[Any]]) -> list[list[str]]:
        """Sweep over all inner axes, for several vectors of columns; returns the results of each."""
        code, count = self.code, len(self.elements)
        *before, last = self.inner
        low, high = self.inner[last]
        # A few strips get several sets of accumulators, so that additions do not depend on one another.
        sets = max(1, min(self.strands // len(strips), high - low)) if count else 1
        first = [code.vector(Item(name), e) for _ in strips for name, e in zip(self.initial(), self.elements)]
        start = self.neutrals() * len(strips) * sets
        first += start[len(first) :]
        lengths = [stop - begin for begin, stop in self.inner.values()]
        types = [code.type(e, True) for _ in range(sets * len(strips)) for e in self.elements]
        middle = low + (high - low) // sets * sets

        def row(at: dict[int, Linear], state: Sequence[str]) -> list[str]:
            found = []
            for number, strip in enumerate(strips):
                mine = list(state[number * count : (number + 1) * count])
                found += self.visit({**at, **strip}, mine, seeds[number])
            return found

        def rows(at: dict[int, Linear], i: Linear, state: list[str]) -> list[str]:
            size = len(strips) * count
            return [
                name
                for number in range(sets)
                for name in row({**at, last: i + number}, state[number * size : (number + 1) * size])
            ]

        def level(depth: int, at: dict[int, Linear], state: list[str]) -> list[str]:
            if depth < len(before):
                axis = before[depth]
                begin, stop = map(Linear, self.inner[axis])
                below = math.prod(lengths[depth + 1 :]) // sets

                def inside(i: Linear, sums: list[str]) -> list[str]:
                    return level(depth + 1, {**at, axis: i}, sums)

                return self._loop(begin, stop, 1, inside, state, types, start, len(start), below)

            def together(i: Linear, sums: list[str]) -> list[str]:
                return rows(at, i, sums)

            state = self._loop(Linear(low), Linear(middle), sets, together, state, types, start, len(start))
            size = len(strips) * count
            head = code.loop(
                Linear(middle), Linear(high), 1, lambda i, v: row({**at, last: i}, v), state[:size], types[:size]
            )
            return [*head, *state[size:]]

        state = level(0, {}, first)
        if not count:
            return [[] for _ in strips]
        firsts = range(0, len(state), len(strips) * count)
        joined = [self._joined([state[i + n * count :][:count] for i in firsts]) for n in range(len(strips))]
        return [self._rounded(sums, True) for sums in joined]

    def _joined(self, groups: list[list[str]]) -> list[str]:
        """Combine the accumulators of several vectors into those of one."""
        while len(groups) > 1:
            pairs = zip(groups[::2], groups[1::2])
            groups = [self._merged(a, b, True) for a, b in pairs] + groups[len(groups) // 2 * 2 :]
        return groups[0]


def width_of(lanes: int, size: int) -> int:
    """The number of lanes of a vector along an axis of that size, of which a vector register has so many."""
    while lanes > max(size, 1):
        lanes //= 2
    return lanes


def strip_of(size: int, width: int, most: int) -> tuple[int, int]:
    """The number of vectors in a strip of columns, and of columns.

    A single vector more than `most` does not get a strip of its own, which would read all rows again.
    """
    vectors = -(-size // width)
    strands = vectors if vectors <= most + 1 else most
    return strands, min(width * strands, size)


def starts_of(k: Lowering, number: Linear, size: int, width: int, strands: int, strip: int) -> list[Linear]:
    """Where the vectors of a strip begin.

    The last strip begins earlier, so some of its columns are computed twice, with the same result.
    """
    first = k.code.at_most(number * strip, size - strip) if size % strip else number * strip
    return [first + min(j * width, strip - width) for j in range(strands)]


def strands_of(processor: Processor, cost: int, size: int, width: int, reduces: bool) -> int:
    """The number of independent vector accumulators, so that additions do not depend on one another.

    Args:
      cost: of what is added up.
    """
    if not reduces or width == 1:
        return 1
    return max(1, min(4 if cost < 40 or processor.is_portable else 2, size // width))
