"""Sums in the kernels of loops whose order follows from shapes alone: that of the same sum in a kernel of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from passes import attributes as attrs
from passes.kernels import contractions
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import Lowering, Rule, element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import nest
from passes.kernels.order import keeps_order, lane_bytes, merges, sets_of
from passes.kernels.sweep import SHARED, STRIP, Part, Sweep, spread, starts_of, strands_of, strip_of, width_of
from passes.kernels.values import Index, Item, Value, View
from passes.match import splat_of


class _Space(NamedTuple):
    """What a sweep has to know of the operation: its shape, the axes of more than one element, and its cost."""

    op: Any
    shape: tuple[int, ...]
    axes: list[int]
    cost: int


def _reduce(k: Lowering, op: Any) -> None:
    count, size = len(op.results), lane_bytes(op) if k.processor.is_portable else 0
    shape = k.env[op.operands[0]].shape
    dimensions = attrs.ints(op, "dimensions")
    axes = [d for d, n in enumerate(shape) if n > 1]
    kept = [number for number, d in enumerate(axes) if d not in dimensions]
    begins = all(splat_of(value) is not None for value in list(op.operands)[count:])
    if not size or len(kept) == len(axes) or not begins:
        return contractions.RULES["stablehlo.reduce"](k, op)
    if not kept and math.prod(shape) > SHARED:
        raise RefusedError("a sum that workgroups share")
    values, initial = ([k.env[v] for v in part] for part in (op.operands[:count], list(op.operands)[count:]))
    reduced = set(range(len(axes))) - set(kept)
    for value in values:
        if value.splat is None and not keeps_order(merges(k, [value], shape), reduced):
            k.store(value)
    cost = sum(k.record(value).cost + 1 for value in values)
    k.note_work(math.prod(shape) * cost * values[0].element.size)
    result = element_type(op.results[0].type)[0]
    single = math.prod(result) == 1
    targets = [] if single else [k.temporary(result, value.element) for value in values]
    part = Part(
        _Space(op, shape, axes, cost),
        values,
        values,
        [None] * count,
        contractions.kinds_of(op) or [],
        [*map(k.item, initial)],
    )
    found = _Sums(k, part, result, kept, k.processor.vector_bytes // size).write(targets)
    if single:
        made = [Value(result, v.element, scalar=name) for v, name in zip(values, found)]
    else:
        made = [Value(result, v.element, view=view) for v, view in zip(values, targets)]
    for to, value in zip(op.results, made):
        value.location = op.location
        k.env[to] = value


class _Sums:
    """Sums over the same axes.

    Args:
      shape: of the results.
      kept: the axes that are not reduced, counted like those of `part.node.axes`.
      lanes: of a vector.
    """

    def __init__(self, k: Lowering, part: Part, shape: Sequence[int], kept: Sequence[int], lanes: int) -> None:
        self.k, self.code, self.part = k, k.code, part
        self.shape, self.kept, self.lanes = shape, kept, lanes
        sizes = {number: part.node.shape[d] for number, d in enumerate(part.node.axes)}
        self.sizes = [sizes[number] for number in kept]
        for number in range(len(sizes) - 1):
            if number not in kept and number + 1 not in kept:
                sizes[number + 1] *= sizes.pop(number)
        self.inner = {number: (0, n) for number, n in sizes.items() if number not in kept}

    def write(self, targets: Sequence[View]) -> list[str]:
        """Write all sums; returns the names of the last ones."""
        if self.kept and self.kept[-1] > max(self.inner):
            return self._columns(targets)
        size = self.inner[max(self.inner)][1]
        width = width_of(self.lanes, size)
        strands = strands_of(self.k.processor, 0, size, width, True)
        sweep = Sweep(self.k, [self.part], self.inner, width, strands, True)
        last: list[str] = []

        def row(at: Index) -> None:
            nonlocal last
            last = sweep.rows(dict(zip(self.kept, at)))
            self._store(targets, at, [Item(name) for name in last])

        nest(self.code, self.sizes, None, 1, 1, row)
        return last

    def _columns(self, targets: Sequence[View]) -> list[str]:
        size = self.sizes[-1]
        width = width_of(self.lanes, size)
        strands, strip = strip_of(size, width, STRIP)
        sets = sets_of(strands, self.lanes, math.prod(self.sizes))
        sweep = Sweep(self.k, [self.part], self.inner, width, sets, True)

        def rows(at: Index) -> None:
            def columns(number: Linear, _: list[str]) -> None:
                starts = starts_of(self.k, number, size, width, strands, strip)
                index = [(*at[:-1], start) for start in starts]
                with self.code.lanes(width):
                    strips = [{n: i.lanes() if n == self.kept[-1] else i for n, i in zip(self.kept, i)} for i in index]
                    for sums, place in zip(sweep.columns(strips, [[] for _ in strips]), index):
                        self._store(targets, (*place[:-1], place[-1].lanes()), [Item(name, True) for name in sums])

            self.code.loop(ZERO, Linear(-(-size // strip)), 1, columns)

        nest(self.code, [*self.sizes[:-1], 1], None, 1, 1, rows)
        return []

    def _store(self, targets: Sequence[View], at: Index, items: Sequence[Item]) -> None:
        """Store sums at an index of the kept axes of more than one element."""
        for target, item in zip(targets, items):
            self.code.store(target, spread(at, self.shape), item)


RULES: dict[str, Rule] = {"stablehlo.reduce": _reduce}
