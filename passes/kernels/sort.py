"""Sorts of long axes: a radix sort for each column, instead of a network that is a loop over whole arrays.

`passes.legalize` turns a sort of a long axis into integer keys and a loop that
finds where each sorted element comes from. The attribute `sorts` of that loop
gives the number of rows; later rows are padding of the network. The kernel sorts
by one digit after the other, from the lowest to the highest: it counts the
digits, and moves (key, position) pairs to the run of their digit, so that equal
keys keep their order. A digit that all keys share is skipped.

Measured on one core, random numbers, time over that of XLA's sort: 10^5 float32 0.02,
int32 0.09, float64 0.04; rows of 64 0.10, of 1000 0.05; 1000 numbers 0.12, 100 0.56.
"""

from __future__ import annotations

import math
from typing import Any

from passes import bindings
from passes.kernels.digits import Digits
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.processor import Processor
from passes.kernels.writer import Buffer, Index
from passes.match import producer
from passes.types import numpy_dtype, tensor_type

# The most workgroups that columns are distributed to.
GROUPS = 64
# The most bytes of keys and positions on a workgroup's stack.
_STACK = 128 << 10


def form_sorts(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace sort loops by kernels; returns their number."""
    loops = [op for op in kernels.found("stablehlo.while") if "sorts" in op.attributes]
    for loop in loops:
        with bindings.ir.InsertionPoint(loop), loop.location:
            _replace(kernels, loop)
    return {"sorts": len(loops)} if loops else {}


def _replace(kernels: Kernels, loop: Any) -> None:
    # The loop carries the keys, the most significant first, the positions, and two counters.
    *keys, position, _, _ = loop.operands
    count = bindings.ir.IntegerAttr(loop.attributes["sorts"]).value
    shape = list(position.type.shape)
    words = [unpadded(key, count) for key in keys]
    sort = _Sort(count, shape[0], math.prod(shape[1:]), [numpy_dtype(w.type.element_type).itemsize * 8 for w in words])
    with bindings.ir.Location.unknown():
        kernel, scratch = sort.kernel([w.type.shape for w in words], loop.location)
    results = kernels.dispatch(kernel, words, [position.type, *scratch])
    loop.results[len(keys)].replace_all_uses_with(results[0])
    loop.erase()


def unpadded(key: Any, count: int) -> Any:
    """The keys without the padding rows of the network."""
    pad = producer(key, "stablehlo.pad")
    source = pad.operation.operands[0] if pad is not None else key
    return source if source.type.shape[0] >= count else key


class _Sort(Digits):
    """The kernel of one sort: `count` of `size` rows, in `columns` columns, by words of `bits` bits each."""

    def __init__(self, count: int, size: int, columns: int, bits: list[int]) -> None:
        super().__init__(count, max(bits))
        self.size, self.columns, self.bits = size, columns, bits
        self.groups = min(columns, GROUPS)

    def kernel(self, shapes: list[Any], location: Any) -> tuple[Kernel, list[Any]]:
        """The kernel, and the types of the additional results that serve as its scratch memory."""
        w = self.w
        words = [
            Buffer(f"%word{i}", math.prod(shape), f"i{bits}") for i, (shape, bits) in enumerate(zip(shapes, self.bits))
        ]
        out = Buffer("%positions", self.size * self.columns, "i32")
        pairs = 2 * self.count
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
            w.loop(group, self.columns, self.groups, lambda column, _: self._column(words, out, column))
        scratch = [tensor_type([b.size], bindings.ir.Type.parse(b.element)) for b in outputs[1:]]
        return Kernel.written("sort", w, words, outputs, [self.groups]), scratch

    def _column(self, words: list[Buffer], out: Buffer, column: Index) -> None:
        w = self.w
        self.store(w.constant(0, "i64"), self.half, 0)
        for number, (word, bits) in enumerate(reversed(list(zip(words, self.bits)))):
            self._count(word, bits, column, first=number == 0)
            for start in range(0, bits, self.digit):
                self.move(start, bits)
        here = w.add(self.base, self.current())

        def write(i: Index, _: Any) -> None:
            self.store(self.load(self.positions, w.add(here, i)), out, w.add(w.mul(i, self.columns), column))

        w.loop(0, self.count, 1, write)

        def fill(i: Index, _: Any) -> None:
            position = w.op("arith.index_cast", (w.index(i),), ("index", "i32"))
            self.store(position, out, w.add(w.mul(i, self.columns), column))

        w.loop(self.count, self.size, 1, fill)

    def _count(self, word: Buffer, bits: int, column: Index, first: bool) -> None:
        """Load a word's keys in the order of the current positions, and count the values of all digits."""
        w = self.w
        self.clear_counts(bits)
        here = w.add(self.base, self.current())

        def body(i: Index, _: Any) -> None:
            address = w.add(here, i)
            if first:
                row = i
                self.store(w.op("arith.index_cast", (w.index(i),), ("index", "i32")), self.positions, address)
            else:
                row = w.op("arith.index_cast", (self.load(self.positions, address),), ("i32", "index"))
            key = self.load(word, w.add(w.mul(row, self.columns), column))
            # Signed integers, mapped to the order of unsigned ones.
            key = w.op("arith.xori", (key, w.constant(-(1 << bits - 1), f"i{bits}")), f"i{bits}")
            if f"i{bits}" != self.key:
                key = w.op("arith.extui", (key,), (f"i{bits}", self.key))
            self.store(key, self.keys, address)
            self.count_digits(key, bits)

        w.loop(0, self.count, 1, body)
