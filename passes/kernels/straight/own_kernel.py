"""The base of kernels of a single operation.

They read arrays in memory, and write one array, or several of one shape. A workgroup has rows of the result, and makes
all writes to them, so that updates of one element keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passes import operations
from passes.analysis.strided import row_strides
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.elements import Element
from passes.kernels.kernel import Lowering, element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import lanes_of, nest
from passes.kernels.processor import Processor
from passes.kernels.straight import shares
from passes.kernels.straight.unfused import read_in_place, results_of, sources_of, spare_row
from passes.kernels.values import Buffer, Index, NotVectorsError, Value, View
from passes.match import splat_of

# The most lanes of a vector.
_MAX_LANES = 64


class OwnKernel:
    """The kernel of one operation.

    Attributes:
      values: the operands.
      results: the results that are written, all of one shape.
      shape: the shape of each result.
      element: the element type of the first result.
      wholes: the memory of each result.
      groups: the number of workgroups.
      group: the index of the current workgroup.
      spilled: scratch memory that is too large for the stack.
    """

    def __init__(self, rules: Any, processor: Processor, op: Any) -> None:
        self.k = Lowering(rules, processor)
        self.code, self.op, self.processor = self.k.code, op, processor
        self.groups, self.group = 1, ZERO
        self.is_update = operations.of(op.name).memory is operations.Memory.UPDATED
        self.results = results_of(op)
        self.sources, self._moves = sources_of(op), read_in_place(op)
        if op.name == "stablehlo.scatter" and (spare := spare_row(op)) is not None:
            self.results = [spare[1].results[0]]
        self.shape, self.element = element_type(self.results[0].type)
        self.wholes = [self._output(f"%out{i}", result.type) for i, result in enumerate(self.results)]
        self.spilled: list[Buffer] = []

    @property
    def whole(self) -> View:
        """The memory of the first result."""
        return self.wholes[0]

    def _output(self, name: str, type_: Any) -> View:
        shape, element = element_type(type_)
        return View(Buffer(name, math.prod(shape), element), row_strides(shape))

    def write(self, form: Callable[[OwnKernel], None]) -> None:
        """Write the kernel by its rule; `RefusedError` if the operation is not supported."""
        with self.k.writer.at(self.op.location):
            for value in dict.fromkeys(self.sources):
                number = splat_of(value)
                if number is not None and (number.dtype.kind == "c" or value.owner.name == "stablehlo.constant"):
                    shape, element = element_type(value.type)
                    self.k.env[value] = Value(shape, element, splat=number.item())
                else:
                    self.k.operand(value)
            for move in self._moves:
                self.k.lower(move)
            self.values = [self.k.env[value] for value in (self.op.operands if self._moves else self.sources)]
            with self.code.scope():
                form(self)

    def call(self, kernels: Kernels) -> list[Any]:
        """Call the kernel; returns its results."""
        assert not self.k.scratch, "what is written has memory already"
        inputs = [buffer.binding for _, buffer in self.k.operands]
        outputs = [*(whole.buffer.binding for whole in self.wholes), *(buffer.binding for buffer in self.spilled)]
        name = self.op.name.removeprefix("stablehlo.")
        kernel = Kernel.written(name, self.k.writer, inputs, outputs, (self.groups,))
        values = [value for value, _ in self.k.operands]
        # An update reads an element of the array that it updates only before it writes that element.
        own = [values.index(self.sources[0])] if self.is_update and self.sources[0] in values else []
        types = [result.type for result in self.results]
        made = kernels.dispatch(kernel, values, types, own)
        kernels.plan.accept(name, self.op.location, len(self.k.writer.instructions), sum(b.bytes for b in self.spilled))
        return made

    # Helpers of the rules.

    def lanes(self, size: int, elements: Sequence[Element] = ()) -> int:
        """The number of lanes of a vector along an axis of that size; of the first result's type by default."""
        return lanes_of(elements or [self.element], self.processor.vector_bytes, size, _MAX_LANES)

    def share(self, units: int, work: int, most: int = MAX_WORKGROUPS) -> tuple[Linear, Linear]:
        """The range of units that the workgroup has; `work` counts additions of vectors."""
        each = -(-units // max(1, min(most, work // shares.SHARE, units)))
        self.groups = -(-units // each)
        if self.groups == 1:
            return ZERO, Linear(units)
        self.group = self.k.symbols.new(str(self.k.writer.workgroup(0, self.groups)), 0, self.groups - 1)
        low = self.group * each
        return low, self.clamped(low + each, 0, units)

    def clamped(self, form: Linear, low: int | Linear, high: int | Linear) -> Linear:
        """A form clamped to a range."""
        code, (bottom, top) = self.code, (Linear(x) if isinstance(x, int) else x for x in (low, high))
        limits = (self.k.symbols.bounds(bottom), self.k.symbols.bounds(top), self.k.symbols.bounds(form))
        name = code.position(form)
        known = limits[2]
        if known is None or limits[0] is None or known[0] < limits[0][1]:
            name = code.op("arith.maxsi", (name, code.position(bottom)), "index")
        if known is None or limits[1] is None or known[1] > limits[1][0]:
            name = code.op("arith.minsi", (name, code.position(top)), "index")
        return self.k.symbols.new(name, limits[0][0] if limits[0] else None, limits[1][1] if limits[1] else None)

    def along(self, low: Linear, high: Linear, body: Callable[[Linear], None], width: int) -> None:
        """A loop over a range, in vectors and then one by one."""
        code = self.code
        if width > 1:
            if low.is_constant and high.is_constant:
                middle = high - (high.constant - low.constant) % width
            else:
                length = code.op("arith.subi", (code.position(high), code.position(low)), "index")
                # A range may be empty, with its end before its beginning.
                length = code.op("arith.maxsi", (length, code.position(ZERO)), "index")
                remainder = code.op("arith.remui", (length, code.position(Linear(width))), "index")
                whole = code.op("arith.subi", (length, remainder), "index")
                end = code.op("arith.addi", (code.position(low), whole), "index")
                bounds = self.k.symbols.bounds(high)
                middle = self.k.symbols.new(end, 0, bounds[1] if bounds else None)

            def wide(i: Linear, _: list[str]) -> None:
                with code.lanes(width):
                    code.forget()
                    body(i.lanes())

            code.loop(low, middle, width, wide)
            low = middle

        def single(i: Linear, _: list[str]) -> None:
            code.forget()
            body(i)

        code.loop(low, high, 1, single)

    def copy(self, value: Value, low: Linear, high: Linear) -> None:
        """Copy a range of elements of an array of the result's size, in memory order."""
        row = flat(value)
        target = View(self.whole.buffer, (1,))

        def element(i: Linear) -> None:
            self.code.store(target, (i,), self.code.get(row, (i,)))

        def all_of_it() -> None:
            self.along(low, high, element, self.lanes(self.whole.buffer.size))

        if row.view is None:
            return all_of_it()
        # If the result is in the memory of a donated argument, its elements are there already.
        buffers = (row.view.buffer, target.buffer)
        names = [self.code.op("memref.extract_aligned_pointer_as_index", (b.name,), (b.type, "index")) for b in buffers]
        differ = self.code.op("arith.cmpi", (names[0], names[1]), "index", "ne")
        with self.k.writer.region("scf.if", (differ,)), self.code.scope():
            all_of_it()
        return None

    def nest(self, sizes: Sequence[int], body: Callable[[Index], None]) -> None:
        """A nest over all indices, in vectors along the last axis where that is possible."""
        axis = max((d for d, n in enumerate(sizes) if n > 1), default=None)
        width = 1 if axis is None else self.lanes(sizes[axis])
        mark = self.k.writer.mark()
        try:
            nest(self.code, sizes, axis if width > 1 else None, width, 1, body)
        except NotVectorsError:
            self.k.writer.rewind(mark)
            nest(self.code, sizes, None, 1, 1, body)


def flat(value: Value) -> Value:
    """An array in memory, flattened."""
    if value.is_scalar:
        return value
    assert value.view is not None, "a value that is not a scalar is in memory"
    return Value((value.size,), value.element, view=View(value.view.buffer, (1,)))
