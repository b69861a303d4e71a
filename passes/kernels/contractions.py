"""Contractions: accumulators that are carried through loops over the contracted axes.

There are two vectorized forms. Along an axis of the result, each lane accumulates its own element, in the order of the
program; several vectors of several rows at a time share what they read. Along the last contracted axis, each lane
accumulates a part of an element, which requires that the order of the terms does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passes import attributes as attrs
from passes.analysis.identities import right_identity
from passes.kernels.arithmetic import apply
from passes.kernels.bounds import bounds
from passes.kernels.builder import Builder
from passes.kernels.code import Code
from passes.kernels.conversions import rounded
from passes.kernels.elements import Element
from passes.kernels.kernel import Lowering, Rule, element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import lanes_of, nest
from passes.kernels.record import Recorder
from passes.kernels.regions import region
from passes.kernels.scalars import limits
from passes.kernels.values import Index, Item, NotVectorsError, Value, View
from passes.match import combinations, dtype_of, splat_of

# Vectors of accumulators: along the result, and along a contracted axis.
_STRIP, _PARTS = 4, 4

# The kinds of `vector.reduction` of operations whose order does not matter, by kind of element.
COMBINERS = {
    "stablehlo.add": {"f": "add", "i": "add", "u": "add", "b": "or", "c": "add"},
    "stablehlo.multiply": {"f": "mul", "i": "mul", "u": "mul", "b": "and", "c": "mul"},
    "stablehlo.maximum": {"f": "maximumf", "i": "maxsi", "u": "maxui", "b": "or"},
    "stablehlo.minimum": {"f": "minimumf", "i": "minsi", "u": "minui", "b": "and"},
    "stablehlo.and": {"i": "and", "u": "and", "b": "and"},
    "stablehlo.or": {"i": "or", "u": "or", "b": "or"},
    "stablehlo.xor": {"i": "xor", "u": "xor", "b": "xor"},
}

Terms = Callable[[Builder, Index, Index], list[Item]]
Combine = Callable[[Builder, list[Item], list[Item]], list[Item]]


class Contraction:
    """Results of one shape, whose elements are all accumulated over the same axes.

    Attributes:
      shape: of the results.
      depth: sizes of the contracted axes.
      elements: element types of the results.
      initial: the initial values of the accumulators.
      terms: the terms at an index of the result and an index of the contracted axes.
      combine: the new accumulators, from accumulators and terms.
      kinds: how lanes are combined, if the order does not matter.
      rows: an axis of the results along which terms share reads, if there is one.
      ends: for each contracted axis, the first term that counts, and the one after the last; by default, all count.
    """

    def __init__(
        self,
        shape: Sequence[int],
        depth: Sequence[int],
        elements: Sequence[Element],
        initial: Sequence[Item],
        terms: Terms,
        combine: Combine,
        kinds: Sequence[str] | None,
        rows: int | None = None,
        ends: Sequence[tuple[Linear, Linear]] | None = None,
    ) -> None:
        self.shape, self.depth, self.elements = tuple(shape), tuple(depth), tuple(elements)
        self.initial, self.terms, self.combine, self.kinds = list(initial), terms, combine, kinds
        self.rows = rows
        self.ends = ends or [(ZERO, Linear(n)) for n in depth]

    def write(self, k: Lowering) -> list[Value]:
        """Write the contraction; returns the results."""
        shape, size = self.shape, math.prod(self.shape)
        along, across = self._share(k, True), self._share(k, False)
        if k.processor.is_portable and self.elements[0].kind in "fc" and set(self.kinds or ()) & {"add", "mul"}:
            across = None  # terms are added up one after the other, as in products
        if along is not None and across is not None and self.rows is None and self._is_narrow(k):
            along, across = self._time(k, True), self._time(k, False)
        cost = self._cost(k)
        k.note_work(size * math.prod(self.depth) * cost * self.elements[0].size)
        single = size == 1
        targets = [] if single else [k.temporary(shape, element) for element in self.elements]
        if along is not None and (across is None or along <= across):
            self._strips(k, targets)
        else:
            found = self._rows(k, targets, across is not None)
            if single:
                return [Value(shape, e, scalar=name) for e, name in zip(self.elements, found)]
        return [Value(shape, e, view=view) for e, view in zip(self.elements, targets)]

    # The choice of the vectorized axis.

    def _space(self, k: Lowering) -> tuple[Index, Index]:
        index = k.space((*self.shape, *self.depth)).symbols
        return index[: len(self.shape)], index[len(self.shape) :]

    def _cost(self, k: Lowering) -> int:
        recorder = Recorder(k.symbols)
        self.terms(recorder, *self._space(k))
        return recorder.cost + 1

    def _share(self, k: Lowering, along: bool) -> float | None:
        """The share of loads that are gathered lane by lane, along an axis of the result or a contracted one."""
        axes = self.shape if along else self.depth
        axis = _last(axes)
        if axis is None or (not along and self.kinds is None):
            return None
        width = lanes_of(self.elements, k.processor.vector_bytes, axes[axis])
        if width == 1:
            return None
        try:
            recorder = self._record(k, along, axis, width)
        except NotVectorsError:
            return None
        return recorder.gathers / max(1, len(recorder.reads))

    def _record(self, k: Lowering, along: bool, axis: int, width: int) -> Recorder:
        """What a vector of terms reads and costs, along an axis of the result or a contracted one."""
        recorder = Recorder(k.symbols, width)
        outer, inner = (list(index) for index in self._space(k))
        size = (self.shape if along else self.depth)[axis]
        (outer if along else inner)[axis] = k.symbols.new("", 0, max(size - width, 1)).lanes()
        self.terms(recorder, tuple(outer), tuple(inner))
        return recorder

    def _is_narrow(self, k: Lowering) -> bool:
        """Whether rows of the result are shorter than a vector, which those along a contracted axis fill."""
        row, depth = self.shape[_last(self.shape) or 0], self.depth[_last(self.depth) or 0]
        whole = lanes_of(self.elements, k.processor.vector_bytes, max(row, depth))
        return row < whole <= depth

    def _time(self, k: Lowering, along: bool) -> float:
        """The approximate number of operations for each term, along an axis of the result or a contracted one."""
        axes = self.shape if along else self.depth
        axis = _last(axes)
        assert axis is not None, "an axis was chosen"
        size = axes[axis]
        width = lanes_of(self.elements, k.processor.vector_bytes, size)
        cost = self._record(k, along, axis, width).cost + 1
        if along:
            return cost * -(-size // width) / size
        # The remainder is scalar. At the end, the lanes are combined: half of them at a time.
        row = cost * (size // width) + self._cost(k) * (size % width)
        return row / size + 2 * width.bit_length() / math.prod(self.depth)

    # Along an axis of the result.

    def _strips(self, k: Lowering, targets: Sequence[View]) -> None:
        """Vectors of elements of the result, several at a time."""
        axis = _last(self.shape)
        assert axis is not None, "an axis was chosen"
        size, code = self.shape[axis], k.code
        width = lanes_of(self.elements, k.processor.vector_bytes, size)
        rows = self.rows if self.rows != axis else None
        vectors, height = -(-size // width), 1
        if rows is not None:
            most = max(1, k.processor.registers // 2 // (min(_STRIP, vectors) * len(self.elements)))
            height = -(-self.shape[rows] // -(-self.shape[rows] // most))

        def strip(at: Sequence[Index], starts: Sequence[Linear]) -> None:
            with code.lanes(width):
                index = [(*row[:axis], p.lanes() if width > 1 else p, *row[axis + 1 :]) for row in at for p in starts]
                first = [code.vector(item, e) for _ in index for item, e in zip(self.initial, self.elements)]
                found = self._accumulate(k, index, first, width > 1)
                for j, element in enumerate(index):
                    for target, name in zip(targets, self._rounded(k, found[j * len(targets) :], width > 1)):
                        code.store(target, element, Item(name, width > 1))

        def across(at: Sequence[Index]) -> None:
            whole = size // (_STRIP * width) * _STRIP

            def inside(i: Linear, _: list[str]) -> None:
                strip(at, [i + j * width for j in range(_STRIP)])

            code.loop(ZERO, Linear(whole * width), _STRIP * width, inside)
            if whole < vectors:
                # The last vector ends with the axis: some elements are computed twice.
                strip(at, [Linear(min(j * width, size - width)) for j in range(whole, vectors)])

        def down(at: Index) -> None:
            """The rows at an index of the other axes, `height` at a time, the last ones ending with the axis."""
            if rows is None:
                across([at])
                return

            def inside(i: Linear, _: list[str]) -> None:
                i = code.at_most(i, self.shape[rows] - height)
                across([(*at[:rows], i + r, *at[rows + 1 :]) for r in range(height)])

            code.loop(ZERO, Linear(self.shape[rows]), height, inside)

        nest(code, [1 if d in (axis, rows) else n for d, n in enumerate(self.shape)], None, 1, 1, down)

    def _accumulate(self, k: Lowering, index: Sequence[Index], first: list[str], are_vectors: bool) -> list[str]:
        """Loops over the contracted axes, for several indices of the result."""
        code, count = k.code, len(self.elements)
        types = [code.type(e, are_vectors) for _ in index for e in self.elements]

        def level(axis: int, inner: Index, values: list[str]) -> list[str]:
            if axis < len(self.depth):
                return code.loop(*self.ends[axis], 1, lambda i, v: level(axis + 1, (*inner, i), v), values, types)
            found = []
            code.forget()
            for j, element in enumerate(index):
                old = [Item(name, are_vectors) for name in values[j * count : (j + 1) * count]]
                new = self.combine(code, old, self.terms(code, element, inner))
                found += [code.vector(i, e) if are_vectors else i.name for i, e in zip(new, self.elements)]
            return found

        return level(0, (), first)

    def _rounded(self, k: Lowering, names: Sequence[str], is_vector: bool) -> list[str]:
        """Sums of narrow floats, which are accumulated in wider ones."""
        return [rounded(k.code, name, element, is_vector) for name, element in zip(names, self.elements)]

    # Along a contracted axis.

    def _rows(self, k: Lowering, targets: Sequence[View], in_vectors: bool) -> list[str]:
        """One element of the result after the other; returns the names of the last one's accumulators."""
        last: list[str] = []

        def element(at: Index) -> None:
            nonlocal last
            first = [item.name for item in self.initial]
            last = self._in_parts(k, at) if in_vectors else self._accumulate(k, [at], first, False)
            last = self._rounded(k, last, False)
            for target, name in zip(targets, last):
                k.code.store(target, at, Item(name))

        if targets:
            nest(k.code, self.shape, None, 1, 1, element)
        else:
            element((ZERO,) * len(self.shape))
        return last

    def _in_parts(self, k: Lowering, at: Index) -> list[str]:
        """An element, in vectors of partial results along the last contracted axis."""
        axis = _last(self.depth)
        assert axis is not None and self.kinds is not None, "an axis was chosen"
        code, size = k.code, self.depth[axis]
        width = lanes_of(self.elements, k.processor.vector_bytes, size)
        parts = max(1, min(_PARTS, size // width))
        order = [d for d in range(len(self.depth)) if d != axis]
        with code.lanes(width):
            types = [e.of(width) for _ in range(parts) for e in self.elements]
            neutrals = [
                code.vector(Item(code.constant(neutral(kind, e), e)), e) for kind, e in zip(self.kinds, self.elements)
            ]

        def step(inner: dict[int, Linear], start: Linear, values: list[str], lanes: int) -> list[str]:
            """One vector into each of some accumulators."""
            found, count = [], len(self.elements)
            code.forget()
            with code.lanes(lanes):
                for j in range(len(values) // count):
                    first = start + j * lanes
                    index = {**inner, axis: first.lanes() if lanes > 1 else first}
                    terms = self.terms(code, at, tuple(index[d] for d in range(len(self.depth))))
                    old = [Item(name, lanes > 1) for name in values[j * count : (j + 1) * count]]
                    new = self.combine(code, old, terms)
                    found += [code.vector(i, e) if lanes > 1 else i.name for i, e in zip(new, self.elements)]
            return found

        def along(inner: dict[int, Linear], values: list[str], tail: list[str]) -> tuple[list[str], list[str]]:
            chunk, count = width * parts, len(self.elements)
            main = size // chunk * chunk
            # The first and the last vectors may have terms that do not count, which are identities.
            start, stop = self.ends[axis]
            stop = Linear(min(stop.constant, main)) if stop.is_constant else code.at_most(stop, main)
            start = code.multiple(start, chunk, main)
            values = code.loop(start, stop, chunk, lambda i, v: step(inner, i, v, width), values, types, True)
            position = main
            while size - position >= width:
                values = [*step(inner, Linear(position), values[:count], width), *values[count:]]
                position += width
            scalar = [e.text for e in self.elements]
            tail = code.loop(Linear(position), Linear(size), 1, lambda i, v: step(inner, i, v, 1), tail, scalar)
            return values, tail

        def level(number: int, inner: dict[int, Linear], state: list[str]) -> list[str]:
            split = len(types)
            if number == len(order):
                values, tail = along(inner, state[:split], state[split:])
                return [*values, *tail]
            everything = [*types, *(e.text for e in self.elements)]
            outer = order[number]

            def inside(i: Linear, values: list[str]) -> list[str]:
                return level(number + 1, {**inner, outer: i}, values)

            return code.loop(*self.ends[outer], 1, inside, state, everything)

        state = level(0, {}, [*neutrals * parts, *(item.name for item in self.initial)])
        count = len(self.elements)
        groups = [state[j * count : (j + 1) * count] for j in range(parts)]
        with code.lanes(width):
            while len(groups) > 1:
                groups = [
                    self._merged(k, groups[j], groups[j + 1]) if j + 1 < len(groups) else groups[j]
                    for j in range(0, len(groups), 2)
                ]
        with code.lanes(width):
            sums = [across(code, kind, e, name) for kind, e, name in zip(self.kinds, self.elements, groups[0])]
        total = self.combine(code, [Item(name) for name in state[parts * count :]], [Item(name) for name in sums])
        return [item.name for item in total]

    def _merged(self, k: Lowering, a: Sequence[str], b: Sequence[str]) -> list[str]:
        is_vector = k.code.width > 1
        found = self.combine(k.code, [Item(n, is_vector) for n in a], [Item(n, is_vector) for n in b])
        return [item.name for item in found]


def across(code: Code, kind: str, element: Element, name: str) -> str:
    """All lanes of a vector combined."""
    if element.parts == 1:
        flags = ("fastmath<reassoc>",) if element.is_float and kind in ("add", "mul") else ()
        return code.op("vector.reduction", (name,), (element.of(code.width), element.text), kind, *flags)
    if code.width == 1:
        return name
    half, type_ = code.width // 2, element.of(code.width)
    numbers = half * element.parts
    low, high = (
        code.op("vector.shuffle", (name, name), type_, *[*range(start, start + numbers)]) for start in (0, numbers)
    )
    with code.lanes(half):
        items = [Item(part, half > 1) for part in (low, high)]
        both = apply(code, None, items, [element] * 2, element, {"add": "add", "mul": "multiply"}[kind])
        return across(code, kind, element, both.name)


def _last(shape: Sequence[int]) -> int | None:
    return max((d for d, n in enumerate(shape) if n > 1), default=None)


def neutral(kind: str, element: Element) -> Any:
    """The identity element of a combination; -0.0 for sums, because 0.0 + -0.0 is 0.0."""
    if kind in ("maximumf", "minimumf"):
        return -math.inf if kind == "maximumf" else math.inf
    if kind in ("maxsi", "maxui"):
        return limits(element)[0]
    if kind in ("minsi", "minui"):
        return limits(element)[1]
    if kind == "add":
        return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(element.kind, 0)
    return {"mul": 1, "and": True if element.kind == "b" else -1}.get(kind, 0)


def kinds_of(op: Any) -> list[str] | None:
    """How the lanes of each result of a reduction are combined; None if the order may matter."""
    names = combinations(op.regions[0])
    elements = [element_type(result.type)[1] for result in op.results]
    kinds = [COMBINERS.get(name, {}).get(e.kind) for name, e in zip(names or [], elements)]
    known = [kind for kind in kinds if kind is not None]
    return known if len(known) == len(elements) else None


def _reduce(k: Lowering, op: Any) -> None:
    count = len(op.results)
    values, initial = [k.env[v] for v in op.operands[:count]], [k.env[v] for v in list(op.operands)[count:]]
    axes = sorted(attrs.ints(op, "dimensions"))
    for value in values:
        k.store_joined(value)
    block = op.regions[0].blocks[0]
    elements, kinds = [v.element for v in values], kinds_of(op)
    accumulated = elements if kinds is None else [e.wide for e in elements]
    kept = [d for d in range(len(values[0].shape)) if d not in axes]

    def terms(builder: Builder, outer: Index, inner: Index) -> list[Item]:
        index = [ZERO] * len(values[0].shape)
        for d, i in (*zip(kept, outer), *zip(axes, inner)):
            index[d] = i
        return [builder.get(v, tuple(index)) for v in values]

    def combine(builder: Builder, old: list[Item], new: list[Item]) -> list[Item]:
        return region(k, builder, block, [*old, *new], accumulated * 2, kinds is not None)

    made = Contraction(
        element_type(op.results[0].type)[0],
        [values[0].shape[d] for d in axes],
        elements,
        [k.item(v) for v in initial],
        terms,
        combine,
        kinds,
        ends=_ends(k, op, axes),
    )
    finish(k, op, made)


def _ends(k: Lowering, op: Any, axes: Sequence[int]) -> list[tuple[Linear, Linear]] | None:
    """Where masks begin and end the loops of a reduction of one array."""
    names, value, initial = combinations(op.regions[0]), op.operands[0], splat_of(list(op.operands)[-1])
    known = right_identity(names[0], dtype_of(value)) if names and len(names) == 1 else None
    if known is None or initial is None or initial != known:
        return None
    return [bounds(k, [value], [axis], initial) for axis in axes]


def finish(k: Lowering, op: Any, made: Contraction) -> None:
    """Write a contraction as the results of an operation."""
    for result, value in zip(op.results, made.write(k)):
        value.location = op.location
        k.env[result] = value


RULES: dict[str, Rule] = {"stablehlo.reduce": _reduce}
