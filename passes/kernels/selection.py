"""The first elements of sorted rows without a full sort, for `top_k` of long rows.

The kernel reads a row in vectors, and skips those without a key that comes before the last one kept. Up to 16
elements are kept in order: each new one is inserted. More are collected in a buffer, which is radix-sorted when it is
full.

Measured on two cores, normal numbers in float32, time of a sort of all, and of JAX, over that of the program: 10^6
numbers and k of 8 14 and 1.8, k of 100 13 and 1.8; 50,000 and 40 6.2 and 0.9; 8 rows of 32,000 and 50 5.5 and 0.8;
1000 rows of 1000 and 10 6.6 and 1.3; 4096 rows of 64 and 2 9 and 1.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import attributes as attrs, bindings
from passes.kernels.digits import Digits
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.processor import Processor
from passes.kernels.sort import GROUPS, long_sorts
from passes.kernels.writer import Buffer, Index
from passes.match import uses
from passes.types import tensor_type

# The most elements that are kept by insertion; and the sizes of the buffer, by the most elements that are kept.
_INSERTED = 16
_COLLECTED = ((512, 1024), (2048, 4096))
# Vectors that are compared at a time.
_VECTORS = 4


def form(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace sorts of positions of which only the first ones are needed by kernels; returns their number."""
    count = sum(_replace(kernels, processor, op) for op in long_sorts(kernels))
    return {"selections": count} if count else {}


def _replace(kernels: Kernels, processor: Processor, op: Any) -> bool:
    (*_, key, _), (*more, positions), k = op.operands, op.results, _first(op)
    *outer, n = positions.type.shape
    if k == n or len(more) > 1 or attrs.sort_dimension(op) != len(outer) or capacity(k, n) is None:
        return False
    with bindings.ir.InsertionPoint(op), op.location:
        kernel = Selection(k, n, math.prod(outer), key.type.element_type.width, processor).kernel(op.location)
        (made,) = kernels.dispatch(kernel, [key], [tensor_type([*outer, k], np.int32)])
    positions.replace_all_uses_with(made)
    op.erase()
    return True


def _first(op: Any) -> int:
    """How many of the first positions along the last axis are read, by slices; all if something else reads a result."""
    *moved, positions = op.results
    readers = [use.owner.operation for use in positions.uses]
    cut = not any(map(uses, moved)) and all(reader.name == "stablehlo.slice" for reader in readers)
    return max(attrs.ints(r, "limit_indices")[-1] for r in readers) if cut and readers else positions.type.shape[-1]


def capacity(k: int, count: int) -> int | None:
    """The number of elements that the buffer holds; None if a full sort is as fast."""
    if k <= _INSERTED:
        return k
    return next((min(size, count) for most, size in _COLLECTED if k <= most), None)


class Selection(Digits):
    """The kernel that selects the first `k` of `count` keys, which are stored in rows, for each of `rows`."""

    def __init__(self, k: int, count: int, rows: int, bits: int, processor: Processor) -> None:
        size = capacity(k, count)
        assert size is not None, "there is memory for them"
        super().__init__(size, bits)
        self.k, self.total, self.rows = k, count, rows
        self.width = min(processor.vector_bytes * 8 // bits, 64)
        while self.width * _VECTORS > max(count - k, _VECTORS):
            self.width //= 2

    def kernel(self, location: Any) -> Kernel:
        """The kernel."""
        w = self.w
        word = Buffer("%word", self.total * self.rows, self.key)
        out = Buffer("%positions", self.k * self.rows, "i32")
        groups = min(self.rows, GROUPS)
        with w.at(location):
            group = w.workgroup(0, groups)
            self.base, pairs = 0, self.count if self.k <= _INSERTED else 2 * self.count
            self.keys, self.positions = w.scratch(pairs, self.key), w.scratch(pairs, "i32")
            if self.k > _INSERTED:
                self.filled = w.scratch(1, "i64")
                self.allocate_counts()
            w.loop(group, self.rows, groups, lambda row, _: self._select(word, out, row))
        return Kernel.written("top_k", w, [word], [out], [groups])

    def _select(self, word: Buffer, out: Buffer, row: Index) -> None:
        w, start = self.w, self.w.mul(row, self.total)
        first = self.k if self.k <= _INSERTED else self.count

        def begin(i: Index, _: Any) -> None:
            self._take(w.load(word, w.add(start, i)), i, i)

        w.loop(0, first, 1, begin)
        if self.k > _INSERTED:
            w.store(w.constant(first, "i64"), self.filled, 0)
            self._compact()
        step = self.width * _VECTORS
        whole = first + (self.total - first) // step * step if self.width > 1 else first
        w.loop(first, whole, step, lambda i, _: self._vectors(word, start, i))
        w.loop(whole, self.total, 1, lambda i, _: self._element(word, start, i))
        if self.k > _INSERTED and first < self.total:
            self._compact()
        target = w.mul(row, self.k)
        w.loop(0, self.k, 1, lambda i, _: w.store(w.load(self.positions, i), out, w.add(target, i)))

    def _vectors(self, word: Buffer, start: Index, i: Index) -> None:
        """Visit the elements of several vectors one by one if their minimum has a key that is selected."""
        w, type_ = self.w, f"vector<{self.width}x{self.key}>"
        starts = [w.index(w.add(w.add(start, i), j * self.width)) for j in range(_VECTORS)]
        least, *others = [w.load(word, first, type_) for first in starts]
        for other in others:
            least = w.op("arith.minsi", (least, other), type_)
        last = w.op("vector.broadcast", (self._last(),), (self.key, type_))
        before = w.op("arith.cmpi", (least, last), type_, "slt")
        some = w.op("vector.reduction", (before,), (f"vector<{self.width}xi1>", "i1"), "or")

        def look() -> None:
            w.loop(0, self.width * _VECTORS, 1, lambda j, _: self._element(word, start, w.add(i, j)))

        w.choose(some, look)

    def _element(self, word: Buffer, start: Index, i: Index) -> None:
        w = self.w
        key = w.load(word, w.add(start, i))
        before = w.op("arith.cmpi", (key, self._last()), self.key, "slt")

        def take() -> None:
            if self.k <= _INSERTED:
                self._take(key, i, self.k)
                return
            number = w.load(self.filled, 0)
            self._take(key, i, w.op("arith.index_cast", (number,), ("i64", "index")))
            number = w.op("arith.addi", (number, w.constant(1, "i64")), "i64")
            w.store(number, self.filled, 0)
            full = w.op("arith.cmpi", (number, w.constant(self.count, "i64")), "i64", "eq")
            w.choose(full, self._compact)

        w.choose(before, take)

    def _last(self) -> str:
        """The last key that is kept."""
        key = self.w.load(self.keys, self.k - 1)
        return key if self.k <= _INSERTED else self._flipped(key)

    def _flipped(self, key: str) -> str:
        """A signed key in the order of unsigned ones, or back."""
        return self.w.op("arith.xori", (key, self.w.constant(-(1 << self.most - 1), self.key)), self.key)

    def _take(self, key: str, i: Index, number: Index) -> None:
        """Insert an element into the `number` that are kept, or append it to the buffer."""
        w = self.w
        position = w.op("arith.index_cast", (w.index(i),), ("index", "i32"))
        if self.k > _INSERTED:
            w.store(self._flipped(key), self.keys, number)
            w.store(position, self.positions, number)
            return

        def step(j: Index, state: list[str]) -> list[str]:
            moving, from_, moved = state
            old, there = w.load(self.keys, j), w.load(self.positions, j)
            # The elements after it move by one, so that equal keys keep their order.
            after = w.op("arith.cmpi", (moving, old), self.key, "slt")
            moved = w.op("arith.ori", (moved, after), "i1")
            w.store(w.op("arith.select", (moved, moving, old), self.key), self.keys, j)
            w.store(w.op("arith.select", (moved, from_, there), "i32"), self.positions, j)
            return [
                w.op("arith.select", (moved, old, moving), self.key),
                w.op("arith.select", (moved, there, from_), "i32"),
                moved,
            ]

        state = w.loop(0, number, 1, step, [key, position, w.constant("false", "i1")], [self.key, "i32", "i1"])
        if number != self.k:
            w.store(state[0], self.keys, number)
            w.store(state[1], self.positions, number)

    def _compact(self) -> None:
        """Sort the buffer, and keep its first `k` elements."""
        w, bits = self.w, self.most
        # Free entries get the largest key, so that they come last.
        filled = w.op("arith.index_cast", (w.load(self.filled, 0),), ("i64", "index"))
        w.loop(filled, self.count, 1, lambda i, _: w.store(w.constant(-1, self.key), self.keys, i))
        w.store(w.constant(0, "i64"), self.half, 0)
        self.clear_counts(bits)
        w.loop(0, self.count, 1, lambda i, _: self.count_digits(w.load(self.keys, i), bits))
        for start in range(0, bits, self.digit):
            self.move(start, bits)
        half = self.current()

        def back(i: Index, _: Any) -> None:
            for buffer in (self.keys, self.positions):
                w.store(w.load(buffer, w.add(half, i)), buffer, i)

        w.loop(0, self.k, 1, back)
        w.store(w.constant(self.k, "i64"), self.filled, 0)
