"""Sorts of positions along long axes: a radix sort for each row.

`passes.legalize` turns a sort of a long axis into one of integer keys and positions. The kernel sorts
by one digit after the other, from the lowest to the highest: it counts the
digits, and moves (key, position) pairs to the run of their digit, so that equal
keys keep their order. A digit that all keys share is skipped.

Measured on one core, random numbers, time over that of XLA's sort: 10^5 float32 0.02,
int32 0.09, float64 0.04; rows of 64 0.10, of 1000 0.05; 1000 numbers 0.12, 100 0.56.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs, bindings
from passes.kernels.digits import Digits
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.processor import Processor
from passes.kernels.writer import Buffer, Index
from passes.legalize.sort_network import taken
from passes.legalize.sorting import is_long, position_keys
from passes.match import uses

# The most workgroups that rows are distributed to.
GROUPS = 64
# The most bytes of keys and positions on a workgroup's stack.
_STACK = 128 << 10


def form_sorts(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace sorts of positions by kernels; returns their number."""
    sorts = long_sorts(kernels)
    for op in sorts:
        dimension, (*keys, _), (*moved, positions) = attrs.sort_dimension(op), op.operands, op.results
        with bindings.ir.InsertionPoint(op), op.location:
            bits = [key.type.element_type.width for key in keys]
            kernel = _Sort(positions.type.shape, dimension, bits).kernel(op.location)
            (made,) = kernels.dispatch(kernel, keys, [positions.type])
            positions.replace_all_uses_with(made)
            for key, result in zip(keys, moved):
                if uses(result):
                    result.replace_all_uses_with(taken(key, made, dimension))
        op.erase()
    return {"sorts": len(sorts)} if sorts else {}


def long_sorts(kernels: Kernels) -> list[Any]:
    """The sorts of positions along long axes where kernels can be called."""
    return [op for op in kernels.found("stablehlo.sort") if is_long(op) and position_keys(op)]


class _Sort(Digits):
    """The kernel of one sort along a dimension, by keys of `bits` bits each."""

    def __init__(self, shape: Sequence[int], dimension: int, bits: list[int]) -> None:
        super().__init__(shape[dimension], max(bits))
        self.bits, self.inner, self.rows = bits, math.prod(shape[dimension + 1 :]), math.prod(shape) // self.count
        self.groups = min(self.rows, GROUPS)

    def kernel(self, location: Any) -> Kernel:
        """The kernel, which may have further outputs as its scratch memory."""
        w = self.w
        size, pairs = self.count * self.rows, 2 * self.count
        words = [Buffer(f"%word{i}", size, f"i{bits}") for i, bits in enumerate(self.bits)]
        out = Buffer("%positions", size, "i32")
        outputs = [out]
        with w.at(location):
            group = w.workgroup(0, self.groups)
            if pairs * (max(self.bits) // 8 + 4) <= _STACK:
                self.base: Index = 0
                self.keys, self.positions = w.scratch(pairs, self.key), w.scratch(pairs, "i32")
            else:
                self.base = w.mul(group, pairs)
                self.keys = Buffer("%keys", self.groups * pairs, self.key)
                self.positions = Buffer("%places", self.groups * pairs, "i32")
                outputs += [self.keys, self.positions]
            self.allocate_counts()
            w.loop(group, self.rows, self.groups, lambda row, _: self._row(words, out, row))
        return Kernel.written("sort", w, words, outputs, [self.groups])

    def _row(self, words: list[Buffer], out: Buffer, row: Index) -> None:
        w, start = self.w, self._start(row)
        w.store(w.constant(0, "i64"), self.half, 0)
        for number, (word, bits) in enumerate(reversed(list(zip(words, self.bits)))):
            self._count(word, bits, start, first=number == 0)
            for digit in range(0, bits, self.digit):
                self.move(digit, bits)
        here = w.add(self.base, self.current())

        def write(i: Index, _: Any) -> None:
            w.store(w.load(self.positions, w.add(here, i)), out, w.add(w.mul(i, self.inner), start))

        w.loop(0, self.count, 1, write)

    def _start(self, row: Index) -> Index:
        """Where a row begins: rows along the last axis follow one another, others begin at adjacent elements."""
        w = self.w
        if self.inner in (1, self.rows):
            return w.mul(row, self.count) if self.inner == 1 else row
        outer, inner = (
            w.op(f"arith.{name}", (w.index(row), w.index(self.inner)), "index") for name in ("divui", "remui")
        )
        return w.add(w.mul(outer, self.count * self.inner), inner)

    def _count(self, word: Buffer, bits: int, start: Index, first: bool) -> None:
        """Load a row's keys in the order of the current positions, and count the values of all digits."""
        w = self.w
        self.clear_counts(bits)
        here = w.add(self.base, self.current())

        def body(i: Index, _: Any) -> None:
            address = w.add(here, i)
            if first:
                place = i
                w.store(w.op("arith.index_cast", (w.index(i),), ("index", "i32")), self.positions, address)
            else:
                place = w.op("arith.index_cast", (w.load(self.positions, address),), ("i32", "index"))
            key = w.load(word, w.add(w.mul(place, self.inner), start))
            # Signed integers, mapped to the order of unsigned ones.
            key = w.op("arith.xori", (key, w.constant(-(1 << bits - 1), f"i{bits}")), f"i{bits}")
            if f"i{bits}" != self.key:
                key = w.op("arith.extui", (key,), (f"i{bits}", self.key))
            w.store(key, self.keys, address)
            self.count_digits(key, bits)

        w.loop(0, self.count, 1, body)
