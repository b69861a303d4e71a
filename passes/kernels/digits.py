"""Pairs of keys and positions in memory of a kernel's own, which are sorted digit by digit."""

from __future__ import annotations

import math
from typing import Any

from passes.kernels.writer import Buffer, Index, Writer

# Counting takes a step for each value of a digit: fewer pairs have shorter digits.
_LONG = 2048


class Digits:
    """Sorts so many pairs, whose keys have unsigned integers' order and at most so many bits.

    Attributes:
      base: where the pairs' memory begins in `keys` and `places`, which have room for twice as many.
    """

    base: Index
    keys: Buffer
    places: Buffer

    def __init__(self, count: int, bits: int) -> None:
        self.count = count
        self.digit = 8 if count < _LONG or bits <= 16 else 11
        self.most, self.key = bits, f"i{bits}"
        self.w = Writer()

    def allocate_counts(self) -> None:
        """Have memory for how often each value of a digit occurs, and for where the pairs are."""
        self.counts = self.w.scratch((1 << self.digit) * math.ceil(self.most / self.digit), "i32")
        self.half = self.w.scratch(1, "i64")

    def load(self, buffer: Buffer, i: Index) -> str:
        """An element."""
        return self.w.op(f"memref.load {buffer.name}[{self.w.index(i)}] : {buffer.type}")

    def store(self, value: str, buffer: Buffer, i: Index) -> None:
        """Write an element."""
        self.w.do(f"memref.store {value}, {buffer.name}[{self.w.index(i)}] : {buffer.type}")

    def current(self) -> str:
        """Where the pairs are now: at the start of the memory, or in its second half."""
        return self.w.op(f"arith.index_cast {self.load(self.half, 0)} : i64 to index")

    def clear_counts(self, bits: int) -> None:
        """Begin to count the digits of so many bits."""
        w, numbers = self.w, len(range(0, bits, self.digit)) << self.digit
        w.loop(0, numbers, 1, lambda i, _: self.store(w.constant(0, "i32"), self.counts, i))

    def count_digits(self, key: str, bits: int) -> None:
        """Count the digits of a key."""
        w = self.w
        for start in range(0, bits, self.digit):
            place = w.add(self._digit(key, start, bits), start // self.digit << self.digit)
            number = w.op(f"arith.addi {self.load(self.counts, place)}, {w.constant(1, 'i32')} : i32")
            self.store(number, self.counts, place)

    def _digit(self, key: str, start: int, bits: int) -> str:
        w = self.w
        if start:
            key = w.op(f"arith.shrui {key}, {w.constant(start, self.key)} : {self.key}")
        if start + self.digit < bits:
            key = w.op(f"arith.andi {key}, {w.constant((1 << self.digit) - 1, self.key)} : {self.key}")
        return w.op(f"arith.index_castui {key} : {self.key} to index")

    def move(self, start: int, bits: int) -> None:
        """Sort by one digit of so many bits, unless all keys have the same one."""
        w = self.w
        offset = start // self.digit << self.digit
        half = self.current()
        here = w.add(self.base, half)
        alike = self.load(self.counts, w.add(self._digit(self.load(self.keys, here), start, bits), offset))
        differ = w.op(f"arith.cmpi ne, {alike}, {w.constant(self.count, 'i32')} : i32")

        def move() -> None:
            def begin(i: Index, total: list[str]) -> list[str]:
                count = self.load(self.counts, w.add(offset, i))
                self.store(total[0], self.counts, w.add(offset, i))
                return [w.op(f"arith.addi {total[0]}, {count} : i32")]

            w.loop(0, 1 << min(self.digit, bits - start), 1, begin, [w.constant(0, "i32")], ["i32"])
            other = w.sub(self.count, half)
            there = w.add(self.base, other)

            def body(i: Index, _: Any) -> None:
                key = self.load(self.keys, w.add(here, i))
                count = w.add(self._digit(key, start, bits), offset)
                place = self.load(self.counts, count)
                self.store(w.op(f"arith.addi {place}, {w.constant(1, 'i32')} : i32"), self.counts, count)
                target = w.add(there, w.op(f"arith.index_castui {place} : i32 to index"))
                self.store(key, self.keys, target)
                self.store(self.load(self.places, w.add(here, i)), self.places, target)

            w.loop(0, self.count, 1, body)
            self.store(w.op(f"arith.index_cast {w.index(other)} : index to i64"), self.half, 0)

        w.choose(differ, move)
