"""One kernel that is being written: its values, their memory, and which of them are still needed."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from passes import bindings, operations
from passes.analysis.strided import row_strides
from passes.kernels import cost, scalars
from passes.kernels.builder import Symbols
from passes.kernels.code import Code
from passes.kernels.elements import Element, RefusedError
from passes.kernels.hazards import Order, are_disjoint, compare
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import Space, Write, fill
from passes.kernels.processor import Processor
from passes.kernels.record import Read, Recorder
from passes.kernels.structure import Bodies
from passes.kernels.values import Buffer, Index, Item, Value, View
from passes.kernels.writer import Writer
from passes.match import size_of
from passes.types import spelled

Rule = Callable[["Lowering", Any], None]

# Values of at most this cost, in additions and loads, are computed again for each reader.
_CHEAP = 6
# Arrays of at most this many elements are never stored for their cost.
_SMALL = 8
# Scratch of more bytes is not on the stack if there is much of it.
LARGE = 4096
# How many records of values are kept.
_RECORDS = 256
# Instead of a value that would be overwritten while it is read, parts that are this many times smaller are stored.
MUCH_SMALLER = 4


def element_type(type_: Any) -> tuple[tuple[int, ...], Element]:
    """Shape and element type of a tensor; `RefusedError` for types that kernels do not support."""
    ir = bindings.ir
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise RefusedError(f"values of type {type_}")
    shape = tuple(type_.shape)
    if 0 in shape:
        raise RefusedError("arrays without elements")
    return shape, Element.parse(spelled(type_.element_type))


class _Block:
    """A block whose operations are being written: the last use of each value, and the current position."""

    def __init__(self, block: Any) -> None:
        self.at = 0
        self.last: dict[Any, int] = {}
        for position, op in enumerate(block.operations):
            self._note(op.operation, position)

    def _note(self, op: Any, position: int) -> None:
        for value in op.operands:
            self.last[value] = position
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    self._note(inner.operation, position)

    def needs(self, value: Any) -> bool:
        """Whether a value is used after the current operation."""
        return self.last.get(value, -1) > self.at


class _Env(dict[Any, Value]):
    """The kernel's value for each value of the program.

    Attributes:
      scopes: the arrays defined outside of blocks, and in each block that is being written. Those that the block does
        not use again may be missing.
    """

    def __init__(self) -> None:
        self.scopes: list[dict[Any, None]] = [{}]

    def __setitem__(self, name: Any, value: Value) -> None:
        super().__setitem__(name, value)
        if not value.is_scalar:
            self.scopes[-1][name] = None


class Lowering:
    """Writes operations of StableHLO into one kernel.

    Attributes:
      env: the kernel's value for each value of the program.
      scratch: memory that the kernel has for itself.
      work: by depth of loops, the additions times bytes of one iteration.
      total: the additions times bytes of all iterations, as far as their numbers are known.
      repeats: how often the current iteration runs.
      joins: whether the loops that are being lowered would be one dispatch outside of the kernel.
      share: the number of this workgroup, and how many there are, where they share the rounds of a loop.
      parts_in_memory: whether a joined array gets memory unless a single nest reads it.
      reads_constants: whether constant arrays in the code become operands.
    """

    parts_in_memory = True
    reads_constants = False

    def __init__(self, rules: dict[str, Rule], processor: Processor, bodies: Bodies | None = None) -> None:
        self.rules, self.processor = rules, processor
        self.bodies = bodies or Bodies({})
        self.symbols = Symbols()
        self.writer = Writer()
        self.code = Code(self.symbols, self.writer)
        self.code.halves = processor.halves
        self.env = _Env()
        self.operands: list[tuple[Any, Buffer]] = []
        self.scratch: list[Buffer] = []
        self.work: dict[int, int] = {}
        self.depth = 0
        self.total, self.repeats = 0, 1
        self.joins = False
        self.share: tuple[Linear, int] | None = None
        self.regions: dict[Any, Any] = {}
        self._blocks: list[_Block] = []
        self._writable: list[set[Buffer]] = [set()]
        self._stored: list[list[tuple[Value, Any, Any]]] = [[]]
        self._spaces: dict[tuple[int, ...], Space] = {}
        self._inner: set[int] = set()
        self._records: dict[Value, Recorder] = {}
        self._copies: list[dict[Any, Value]] = [{}]

    # Memory.

    def operand(self, value: Any) -> None:
        """Make a value of the program an operand of the kernel."""
        shape, element = element_type(value.type)
        buffer = Buffer(f"%in{len(self.operands)}", math.prod(shape), element, True)
        self.operands.append((value, buffer))
        self.env[value] = self.whole(buffer, shape)
        if self.env[value].size == 1:
            self.env[value] = self.loaded(self.env[value])

    def loaded(self, value: Value) -> Value:
        """A value of one element as a scalar, which is loaded."""
        item = self.code.get(value, (ZERO,) * len(value.shape))
        return Value(value.shape, value.element, scalar=item.name, location=value.location)

    def whole(self, buffer: Buffer, shape: Sequence[int]) -> Value:
        """A buffer as an array."""
        return Value(shape, buffer.element, view=View(buffer, row_strides(shape)))

    def temporary(self, shape: Sequence[int], element: Element) -> View:
        """Memory for an array, writable until the current region ends."""
        number, count = self.share or (ZERO, 1)
        size = math.prod(shape)
        if count == 1 or size * element.size <= LARGE:
            return self._memory(size, shape, element)
        # It does not fit on the stack, so the workgroups have parts of one array.
        return self._memory(size * count, shape, element)._replace(offset=number * size)

    def result(self, shape: Sequence[int], element: Element) -> View:
        """Memory for an array of which each workgroup writes a part."""
        return self._memory(math.prod(shape), shape, element)

    def _memory(self, size: int, shape: Sequence[int], element: Element) -> View:
        buffer = Buffer(f"%t{len(self.scratch)}", size, element)
        self.scratch.append(buffer)
        self._writable[-1].add(buffer)
        return View(buffer, row_strides(shape))

    def is_writable(self, value: Value) -> bool:
        """Whether updates may write to the memory of a value."""
        view = value.view
        return view is not None and view.buffer in self._writable[-1] and 0 not in _steps(view, value.shape)

    @contextlib.contextmanager
    def region(self, claimed: Sequence[Buffer]) -> Iterator[None]:
        """A region that may run repeatedly or not at all, and of outer memory writes to `claimed` only."""
        self._writable.append(set(claimed))
        self._stored.append([])
        self._copies.append({})
        with self.code.scope():
            yield
        self._writable.pop()
        self._copies.pop()
        for value, function, view in reversed(self._stored.pop()):
            # The region may not have run, so nothing outside may read what it stored.
            value.function, value.view = function, view
            self._records.clear()

    # Values.

    def space(self, shape: Sequence[int]) -> Space:
        """The iteration space of a shape, the same at each call."""
        key = tuple(shape)
        if key not in self._spaces:
            self._spaces[key] = space = Space.of(key, self.symbols)
            self._inner.update(space.symbol(axis) for axis, n in enumerate(key) if n > 1)
        return self._spaces[key]

    def record(self, value: Value, operands: Sequence[Value] = ()) -> Recorder:
        """What an element of a value reads, and its cost.

        Args:
          operands: values whose elements at the same index it is computed from: what is known of them is not found
            again, so that the time does not grow with the length of an expression.
        """
        if value not in self._records:
            known = [v for v in operands if v in self._records and v.shape == value.shape]
            if known:
                longest = max(known, key=lambda v: self._records[v].cost)
                recorder = self._records[longest].copy()
                recorder.in_order &= all(v.splat is not None for v in operands[: operands.index(longest)])
            else:
                recorder = Recorder(self.symbols)
            recorder.get(value, self.space(value.shape).symbols)
            if len(self._records) == _RECORDS:
                del self._records[next(iter(self._records))]
            self._records[value] = recorder
        return self._records[value]

    def pass_on(self, value: Value, other: Value) -> None:
        """Keep for another value, which is the same function, what is known of one that is about to change."""
        if value in self._records and other.function is not None:
            self._records[other] = recorder = self._records.pop(value)
            recorder.visited.remove(value)
            recorder.visited.add(other)

    def forget(self, value: Value) -> None:
        """Drop what is known of values that are computed from one that is about to change."""
        self._records = {v: record for v, record in self._records.items() if value not in record.visited}

    def together(self, writes: Sequence[Write]) -> Recorder:
        """What elements of several values of one shape read and cost, if computed together."""
        recorder = Recorder(self.symbols)
        for write in writes:
            recorder.get(write.value, self.space(write.value.shape).symbols)
        return recorder

    def define(self, op: Any, value: Value) -> None:
        """Define the result of an operation; scalars, and costly values with several readers, are computed now."""
        result = op.results[0]
        value.location = op.location
        self.env[result] = value
        if value.size == 1:
            if not value.is_scalar:
                self.code.forget()
                value.scalar = self.code.get(value, (ZERO,) * len(value.shape)).name
        elif (
            value.function is not None
            and value.size > _SMALL
            and self._is_shared(result)
            and self.record(value).cost > _CHEAP
        ):
            self.store(value)

    def _is_shared(self, result: Any) -> bool:
        users = [use.owner.operation for use in result.uses]
        return len(users) > 1 or any(
            u.block != result.owner.operation.block or (operations.of(u.name).repeats and not _is_dot_of_rows(u))
            for u in users
        )

    def store(self, value: Value) -> None:
        """Compute a value into memory of its own, which is read from now on."""
        view = self.temporary(value.shape, value.element)
        self.write([Write(value, view)])
        self._stored[-1].append((value, value.function, value.view))
        value.function, value.view = None, view
        self._records.clear()

    def copied(self, key: Any, make: Callable[[], Value]) -> Value:
        """A copy of a value in another order, made once for a region and the regions in it."""
        known = next((copies[key] for copies in self._copies if key in copies), None)
        if known is None:
            known = self._copies[-1][key] = make()
        return known

    def store_joined(self, value: Value) -> None:
        """Store a value that is joined from parts, for a reader whose nest cannot be cut where they meet."""
        if not value.is_scalar and value.size > 1 and self.record(value).undecided_parts:
            self.store(value)

    def write(self, writes: Sequence[Write]) -> None:
        """Compute values of one shape into memory; their reads must not be hazards."""
        recorder = self.together(writes)
        size = sum(w.value.element.size for w in writes)
        self.note_work(writes[0].value.size * recorder.cost * size // len(writes))
        space = self.space(writes[0].value.shape)
        fill(self.code, writes, space, recorder, self.processor.vector_bytes, self.depth > 0)

    def note_work(self, amount: int) -> None:
        """Count work, in additions times bytes, at the current loop depth; `RefusedError` if it is too much."""
        self.work[self.depth] = self.work.get(self.depth, 0) + amount
        self.total += amount * self.repeats
        # Workgroups may share long rounds of the outermost loop, too.
        if self.depth > (self.share is not None):
            cost.check_round(self.work[self.depth], self.joins and self.share is None)

    # Hazards.

    def reads(self, value: Value, buffers: Sequence[Buffer]) -> bool:
        """Whether a value is computed from the contents of some buffers."""
        return not value.is_scalar and any(read.buffer in buffers for read in self.record(value).reads)

    def order(self, value: Value, target: View) -> Order:
        """The worst order of a value's reads to the writes of its elements to `target`."""
        found = {Order.DISJOINT}
        space = self.space(value.shape)
        for read in self.record(value).reads if not value.is_scalar else ():
            if read.buffer is target.buffer:
                found.add(compare(read.address, space, target, self.symbols, self._inner))
        return next(order for order in reversed(Order) if order in found)

    def replaces(self, value: Value, target: View) -> bool:
        """Whether a value reads memory at its own index, and elsewhere only for parts that are much smaller."""
        space, reads_own = self.space(value.shape), False
        for read in self.record(value).reads:
            if read.buffer is not target.buffer:
                continue
            order = compare(read.address, space, target, self.symbols, self._inner)
            reads_own = reads_own or order is Order.SAME
            if order not in (Order.DISJOINT, Order.SAME) and _small_part(read, value) is None:
                return False
        return reads_own

    def store_hazards(self, value: Value, targets: Sequence[tuple[View, bool]]) -> bool:
        """Store a value, or its parts, if they read memory that is written before or while the value is computed.

        Parts that are much smaller, such as the row and the column of an outer product that is added to a matrix,
        are stored instead of the value if they cover all such reads.

        Args:
          targets: the memory that is written, and whether the value itself is written to it, element by element.

        Returns:
          Whether anything was stored.
        """
        if value.is_scalar:
            return False
        space = self.space(value.shape)
        parts: dict[Value, None] = {}
        for read in self.record(value).reads:
            for target, is_own in targets:
                if read.buffer is not target.buffer:
                    continue
                order = compare(read.address, space, target, self.symbols, self._inner)
                if is_own and order in (Order.DISJOINT, Order.SAME):
                    continue
                part = _small_part(read, value)
                if part is None:
                    self.store(value)
                    return True
                parts[part] = None
        for part in parts:
            self.store(part)
        return bool(parts)

    def store_overwritten(self, target: View, shape: Sequence[int], also: Collection[Any] = ()) -> None:
        """Before an array of that shape is written, store the needed values that read the overwritten memory.

        Args:
          also: values of the program that count as needed.
        """
        written = target.address(self.space(shape).symbols)
        for scope, block in zip(self.env.scopes[1:], self._blocks):
            for name in [name for name in scope if block.last.get(name, block.at) < block.at]:
                del scope[name]
        for name in list(itertools.chain(*self.env.scopes)):
            value = self.env[name]
            if value.is_scalar or not (name in also or self.is_needed(name)):
                continue
            for read in self.record(value).reads:
                if read.buffer is target.buffer and not are_disjoint(read.address, written, self.symbols, self._inner):
                    self.store(value)
                    break

    def is_needed(self, name: Any) -> bool:
        """Whether a value of the program is used after the current operation."""
        return any(block.needs(name) for block in self._blocks)

    # Operations.

    def lower(self, op: Any) -> None:
        """Write one operation."""
        name = op.name
        rule = self.rules.get(name)
        if rule is None:
            raise RefusedError(f"{name.removeprefix('stablehlo.')} has no form in kernels")
        with self.code.located(op.location):
            self.code.forget()
            rule(self, op)

    @contextlib.contextmanager
    def block(self, block: Any) -> Iterator[list[Value]]:
        """Write the operations of a block; yields the operands of its terminator."""
        self._blocks.append(state := _Block(block))
        self.env.scopes.append({})
        *operations, end = (op.operation for op in block.operations)
        for state.at, op in enumerate(operations):
            self.lower(op)
        state.at = len(operations)
        yield [self.env[value] for value in end.operands]
        self._blocks.pop()
        self.env.scopes.pop()

    def item(self, value: Value) -> Item:
        """The only element of a value."""
        assert value.size == 1, "scalars have one element"
        return self.code.get(value, (ZERO,) * len(value.shape))

    def start(self, value: Value, high: int) -> Linear:
        """The start index of a slice, clamped to `0..high`."""
        if high <= 0:
            return ZERO
        found = value.linear if value.splat is None else Linear(int(value.splat))
        if found is not None:
            bounds = self.symbols.bounds(found)
            if bounds is not None and bounds[0] >= 0 and bounds[1] <= high:
                return found
            if found.is_constant:
                return Linear(min(max(found.constant, 0), high))
        return self.code.index_of(self.item(value), value.element, 0, high)

    def elementwise(self, op: Any, value: Value, values: Sequence[Value]) -> None:
        """Define the result of an elementwise operation; integer scalars become linear forms where possible."""
        known = scalars.follow(op, values, value, self.symbols)
        self.define(op, known or value)

    def function(self, shape: Sequence[int], element: Element, function: Callable[[Any, Index], Item]) -> Value:
        """An array as a function of its indices."""
        return Value(shape, element, function=function)


def _is_dot_of_rows(op: Any) -> bool:
    """Whether an operation is a product with one result, which reads each element once."""
    return op.name == "stablehlo.dot_general" and size_of(op.results[0]) == 1


def _small_part(read: Read, value: Value) -> Value | None:
    """The outermost part through which a value reads memory, if it is much smaller and no scalar; else None."""
    part = next((v for v in read.path if v.size * MUCH_SMALLER <= value.size), None)
    return None if part is None or part.is_scalar else part


def _steps(view: View, shape: Sequence[int]) -> list[int]:
    return [step for step, n in zip(view.strides, shape) if n > 1]
