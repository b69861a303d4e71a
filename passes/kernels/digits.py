"""Radix sort of pairs of keys and positions in a kernel's scratch memory."""

from __future__ import annotations

import math
from typing import Any

from passes.kernels.writer import Buffer, Index, Writer

# From this many pairs on, digits have 11 bits. Counting takes a step for each value of a digit.
_LONG = 2048


class Digits:
    """Sorts `count` pairs, whose keys are ordered as unsigned integers of at most `bits` bits.

    Attributes:
      base: where the pairs' memory begins in `keys` and `positions`, which have room for twice as many.
    """

    base: Index
    keys: Buffer
    positions: Buffer

    def __init__(self, count: int, bits: int) -> None:
        self.count = count
        self.digit = 8 if count < _LONG or bits <= 16 else 11
        self.most, self.key = bits, f"i{bits}"
        self.w = Writer()

    def allocate_counts(self) -> None:
        """Allocate the counts of each digit's values, and the offset of the half of the memory that holds the pairs."""
        self.counts = self.w.scratch((1 << self.digit) * math.ceil(self.most / self.digit), "i32")
        self.half = self.w.scratch(1, "i64")

    def current(self) -> str:
        """The offset of the pairs: the start of the memory, or its second half."""
        return self.w.op("arith.index_cast", (self.w.load(self.half, 0),), ("i64", "index"))

    def clear_counts(self, bits: int) -> None:
        """Clear the counts of all digits of keys of this many bits."""
        w, numbers = self.w, len(range(0, bits, self.digit)) << self.digit
        w.loop(0, numbers, 1, lambda i, _: w.store(w.constant(0, "i32"), self.counts, i))

    def count_digits(self, key: str, bits: int) -> None:
        """Count the digits of a key."""
        w = self.w
        for start in range(0, bits, self.digit):
            index = w.add(self._digit(key, start, bits), start // self.digit << self.digit)
            number = w.op("arith.addi", (w.load(self.counts, index), w.constant(1, "i32")), "i32")
            w.store(number, self.counts, index)

    def _digit(self, key: str, start: int, bits: int) -> str:
        w = self.w
        if start:
            key = w.op("arith.shrui", (key, w.constant(start, self.key)), self.key)
        if start + self.digit < bits:
            key = w.op("arith.andi", (key, w.constant((1 << self.digit) - 1, self.key)), self.key)
        return w.op("arith.index_castui", (key,), (self.key, "index"))

    def move(self, start: int, bits: int) -> None:
        """Sort by the digit at a bit, unless all keys have the same one."""
        w = self.w
        offset = start // self.digit << self.digit
        half = self.current()
        here = w.add(self.base, half)
        alike = w.load(self.counts, w.add(self._digit(w.load(self.keys, here), start, bits), offset))
        differ = w.op("arith.cmpi", (alike, w.constant(self.count, "i32")), "i32", "ne")

        def move() -> None:
            def begin(i: Index, total: list[str]) -> list[str]:
                count = w.load(self.counts, w.add(offset, i))
                w.store(total[0], self.counts, w.add(offset, i))
                return [w.op("arith.addi", (total[0], count), "i32")]

            w.loop(0, 1 << min(self.digit, bits - start), 1, begin, [w.constant(0, "i32")], ["i32"])
            other = w.sub(self.count, half)
            there = w.add(self.base, other)

            def body(i: Index, _: Any) -> None:
                key = w.load(self.keys, w.add(here, i))
                count = w.add(self._digit(key, start, bits), offset)
                next_ = w.load(self.counts, count)
                w.store(w.op("arith.addi", (next_, w.constant(1, "i32")), "i32"), self.counts, count)
                target = w.add(there, w.op("arith.index_castui", (next_,), ("i32", "index")))
                w.store(key, self.keys, target)
                w.store(w.load(self.positions, w.add(here, i)), self.positions, target)

            w.loop(0, self.count, 1, body)
            w.store(w.op("arith.index_cast", (w.index(other),), ("index", "i64")), self.half, 0)

        w.choose(differ, move)
