"""The epilogue: elementwise operations that read a product's result become part of its kernel.

A bias, an activation, a residual or a conversion costs little while a sum is in a
register, and saves writing the sum to memory and reading it again.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from passes import attributes as attrs, bindings
from passes.analysis.strided import row_strides
from passes.kernels import arithmetic, conversions, structure
from passes.kernels.builder import Builder, Symbols
from passes.kernels.elements import Element, RefusedError
from passes.kernels.products.packing import batch_offset
from passes.kernels.products.shapes import Product, merged
from passes.kernels.products.vectors import Vectors
from passes.kernels.record import Recorder
from passes.kernels.values import Item
from passes.kernels.writer import Buffer, Index, Writer
from passes.match import element_name, is_static, producer, shape_of, size_of, splat_of

_MOST_OPERATIONS, _MOST_RESULTS, _MOST_INPUTS = 16, 3, 6
_SAME_ELEMENTS = "stablehlo.reshape"
# Operations of this cost, in additions, are not taken: their code is repeated for each vector of the register tile.
_COSTLY = 40
# A register tile goes through memory before an epilogue of this cost, or any epilogue of sums of so many terms or of
# so few results.
_LONG, _LONG_SUM, _FEW_RESULTS = 8, 64, 1 << 13


@dataclasses.dataclass(frozen=True)
class Input:
    """An array that the epilogue reads in addition to the sums.

    Attributes:
      value: the array.
      row, column: its strides, in elements, along the product's rows and columns.
      batch: its strides along the product's batch dimensions.
    """

    value: Any
    row: int
    column: int
    batch: tuple[int, ...]


class Epilogue:
    """The operations that are applied to a product's sums.

    Args:
      product: the product.
      result: its result.
      operations: the elementwise operations and reshapes that follow, in order; each reads earlier ones, inputs
        and splat constants.
      inputs: the sources of the other values that they read.

    Attributes:
      results: the values that are read outside.
    """

    def __init__(
        self, product: Product, result: Any, operations: Sequence[Any] = (), inputs: dict[Any, Input] | None = None
    ) -> None:
        self.product, self.result, self.operations = product, result, list(operations)
        self.sources = dict(inputs or {})
        # `_taken` has checked that all readers come after the last operation.
        values = [result, *(op.results[0] for op in operations)]
        inside = set(operations)
        self.results = [v for v in values if any(use.owner.operation not in inside for use in v.uses)] or values[-1:]
        distinct = {source.value: source for source in self.sources.values()}
        self.operands = list(distinct)
        self.inputs = [
            Buffer(f"%input{i}", size_of(value), _element(value).stored) for i, value in enumerate(self.operands)
        ]
        self.outputs = [
            Buffer(f"%result{i}", size_of(value), _element(value).stored) for i, value in enumerate(self.results)
        ]
        self._buffers = dict(zip(self.operands, self.inputs))
        self._offsets: dict[Any, Index] = {}

    @property
    def structure(self) -> Any:
        """Everything that its code depends on besides the product: the operations, and the layout of its inputs."""
        numbers: dict[Any, int] = {self.result: 0}
        computed = [structure.of(op, numbers) for op in self.operations]
        inside = {self.result, *(op.results[0] for op in self.operations)}
        given = []
        for value in (v for v in numbers if v not in inside):
            number = splat_of(value)
            source = self.sources.get(value)
            if number is None:
                assert source is not None, "a value that is not constant is an input"
                layout = source.row, source.column, source.batch, self.operands.index(source.value), source.value.type
            given.append((value.type, layout if number is None else number.tobytes()))
        returned = tuple(numbers[value] for value in self.results)
        return tuple(computed), tuple(given), returned, tuple(self.inputs), self.result.type

    def holds_sums(self, number: int) -> bool:
        """Whether an output can hold partial sums."""
        return element_name(self.results[number]) == self.product.element

    def begin(self, w: Writer, batch: Index) -> None:
        """Compute the offsets of the inputs for a matrix of the batch, once for each workgroup."""
        for value, source in self.sources.items():
            self._offsets[value] = batch_offset(w, batch, self.product.batch, source.batch)

    def is_loop(self, v: Vectors, terms: int) -> bool:
        """Whether a loop over rows of a register tile in memory applies it; else each vector has code of its own.

        Code of its own takes long to compile. The way through memory takes as long as about three terms of a sum.

        Args:
          terms: how many a sum has.
        """
        recorder = Recorder(Symbols(), v.lanes)
        conversions.converted(recorder, "", v.kind, _element(self.result), True)
        for op in self.operations:
            if op.name != _SAME_ELEMENTS:
                _applied(recorder, op, [""] * len(op.operands))
        for value in self.results:
            conversions.stored(recorder, "", _element(value), True)
        cost = recorder.cost + len(self.sources)
        results = self.product.batches * self.product.m * self.product.n
        return cost >= _LONG or (cost > 0 and (terms >= _LONG_SUM or results <= _FEW_RESULTS))

    def finish_rows(
        self,
        v: Vectors,
        sums: Buffer,
        axes: Sequence[tuple[Index, int, int]],
        at: Index,
        m: Index,
        n: Index,
        columns: int,
        partial: Buffer | None = None,
    ) -> None:
        """Apply the operations to rows of sums in memory, in a loop, and store the results.

        Args:
          axes: axes of rows: how many there are, and the distance of neighbours in `sums` and in rows of the result.
          at, m, n: the address, row and column of the first sum in the result.
          columns: the number of columns.
          partial: memory of sums that are added, with the addresses of the result.
        """
        w = v.w

        def over(axes: Sequence[tuple[Index, int, int]], source: Index, row: Index) -> None:
            if axes:
                (extent, step, rows), *rest = axes

                def inside(i: Index, _: object) -> None:
                    over(rest, w.add(source, w.mul(i, step)), w.add(row, w.mul(i, rows)))

                w.loop(0, extent, 1, inside)
                return
            start = w.add(at, w.mul(row, self.product.n))
            for j in range(0, columns, v.lanes):
                count, to = min(v.lanes, columns - j), w.add(start, j)
                value = v.load(sums, w.add(source, j))
                if partial is not None:
                    value = v.add(value, v.load(partial, to, count=count))
                self.finish(v, value, to, w.add(m, row), w.add(n, j), count)

        over(axes, 0, 0)

    def finish(self, v: Vectors, sums: str, at: Index, m: Index, n: Index, count: int) -> None:
        """Apply the operations to a vector of sums, and store the results.

        Args:
          at: the address of the first one in the result.
          m, n: its row and column.
          count: the number of lanes.
        """
        values = {self.result: v.cast(sums, v.kind, _element(self.result))}

        def value_of(value: Any) -> str:
            if value not in values:
                number = splat_of(value)
                if number is not None:
                    values[value] = v.code.full(number.item(), _element(value), True)
                else:
                    values[value] = self._input(v, value, m, n, count)
            return values[value]

        for op in self.operations:
            operands = [value_of(operand) for operand in op.operands]
            same = op.name == _SAME_ELEMENTS
            values[op.results[0]] = operands[0] if same else _applied(v.code, op, operands)
        for value, buffer in zip(self.results, self.outputs):
            v.write(values[value], _element(value), buffer, at, count)

    def _input(self, v: Vectors, value: Any, m: Index, n: Index, count: int) -> str:
        source, w = self.sources[value], v.w
        memory, element = self._buffers[source.value], _element(source.value)
        at = w.add(self._offsets[value], w.add(w.mul(m, source.row), w.mul(n, source.column)))
        if source.column == 0:
            return v.repeated(memory, at, element)
        return v.read(memory, at, element, count)


def _element(value: Any) -> Element:
    return Element.parse(element_name(value))


def _applied(code: Builder, op: Any, values: Sequence[str]) -> str:
    """The result of an elementwise operation on vectors."""
    elements, result = [_element(value) for value in op.operands], _element(op.results[0])
    if any(element.parts > 1 for element in (*elements, result)):
        raise RefusedError("complex numbers in an epilogue")
    return arithmetic.apply(code, op, [Item(value, True) for value in values], elements, result).name


def _is_taken(op: Any) -> bool:
    """Whether an operation is elementwise, makes floats or booleans, and is short enough for an epilogue."""
    if not arithmetic.can(op.name.removeprefix("stablehlo.")):
        return False
    if _element(op.results[0]).kind not in "fb":
        return False
    recorder = Recorder(Symbols(), 2)
    try:
        _applied(recorder, op, [""] * len(op.operands))
    except RefusedError:
        return False
    return recorder.cost < _COSTLY


def find(op: Any, product: Product) -> Epilogue:
    """The longest epilogue of a product."""
    result = op.operation.results[0]
    group: list[Any] = []
    inputs: dict[Any, Input] = {}
    refused: set[Any] = set()
    takes = functools.cache(_is_taken)
    grown = True
    while grown and len(group) < _MOST_OPERATIONS:
        grown = False
        for value in [result, *(member.results[0] for member in group)]:
            for use in value.uses:
                user = use.owner.operation
                if user in group or user in refused:
                    continue
                found = _taken(user, op.operation, result, group, inputs, product, takes)
                if found is None:
                    refused.add(user)
                    continue
                group, inputs = found
                # An operation that was refused because of this one may fit now.
                refused.clear()
                grown = True
                break
            if grown:
                break
    return Epilogue(product, result, group, inputs)


def _taken(
    user: Any,
    dot: Any,
    result: Any,
    group: list[Any],
    inputs: dict[Any, Input],
    product: Product,
    takes: Callable[[Any], bool],
) -> tuple[list[Any], dict[Any, Input]] | None:
    """The group with one more operation that `takes` allows, and its inputs; None if that cannot be."""
    if user.block != dot.block or len(user.results) != 1 or not is_static(user.results[0]):
        return None
    if size_of(user.results[0]) != size_of(result):
        return None
    if user.name != _SAME_ELEMENTS and not takes(user):
        return None
    inside = {result, *(member.results[0] for member in group)}
    found = dict(inputs)
    for operand in user.operands:
        if operand in inside or operand in found or splat_of(operand) is not None:
            continue
        source = _input(operand, product)
        if source is None:
            return None
        found[operand] = source
    if len({source.value for source in found.values()}) > _MOST_INPUTS:
        return None
    members = [*group, user]
    last = members[0]
    for member in members[1:]:
        last = member if last.is_before_in_block(member) else last
    # In the order of the block; they were found in another order.
    members = _ordered(members)
    results = 0
    for value in [result, *(member.results[0] for member in members)]:
        outside = [reader for use in value.uses if (reader := use.owner.operation) not in members]
        results += bool(outside)
        if not all(_comes_after(reader, last) for reader in outside):
            return None
    return (members, found) if results <= _MOST_RESULTS else None


def _ordered(members: list[Any]) -> list[Any]:
    found: list[Any] = []
    for member in members:
        position = next((i for i, other in enumerate(found) if member.is_before_in_block(other)), len(found))
        found.insert(position, member)
    return found


def _comes_after(reader: Any, last: Any) -> bool:
    """Whether an operation, or the one around it in the same block, comes after another."""
    while reader is not None and reader.block != last.block:
        reader = reader.parent.operation if reader.parent is not None else None
    return reader is not None and last.is_before_in_block(reader)


def _input(value: Any, product: Product) -> Input | None:
    """The strides of a product's rows and columns in an array of its size, or one broadcast to it; else None."""
    shape = list(shape_of(value))
    steps = list(row_strides(shape))
    broadcast = producer(value, "stablehlo.broadcast_in_dim")
    if broadcast is not None:
        value = broadcast.operation.operands[0]
        own = row_strides(shape_of(value))
        steps = [0] * len(shape)
        for axis, target in enumerate(attrs.ints(broadcast, "broadcast_dimensions")):
            if shape_of(value)[axis] > 1:
                steps[target] = own[axis]
    groups = _split(shape, steps, [product.n, product.m, *reversed(product.batch)])
    if groups is None or groups[0] not in (0, 1):
        return None
    column, row, *batch = groups
    return Input(value, row, column, tuple(reversed(batch)))


def _split(shape: list[int], steps: list[int], extents: list[int]) -> list[int] | None:
    """The stride of each extent, the last one first, where consecutive axes form each extent; None if they do not."""
    axes = [(size, step) for size, step in zip(shape, steps) if size != 1]
    found = []
    for extent in extents:
        taken: list[tuple[int, int]] = []
        while math.prod(size for size, _ in taken) < extent and axes:
            taken.insert(0, axes.pop())
        if math.prod(size for size, _ in taken) != extent:
            return None
        one = merged(taken)
        if len(one) > 1:
            return None
        found.append(one[0][1] if one else 0)
    return found


def replace(epilogue: Epilogue, made: Sequence[Any], op: Any) -> None:
    """Replace the product and its epilogue by a kernel's results, and erase them."""
    for value, result in zip(epilogue.results, made):
        value.replace_all_uses_with(result)
    for member in reversed(epilogue.operations):
        member.erase()
    op.operation.erase()


def last_operation(epilogue: Epilogue, op: Any) -> Any:
    """The operation before which the kernel is called."""
    return epilogue.operations[-1] if epilogue.operations else op.operation


def location_of(epilogue: Epilogue, op: Any) -> Any:
    """The lines of the product and of its epilogue."""
    found = [op.operation.location, *(member.location for member in epilogue.operations)]
    return found[0] if len(found) == 1 else bindings.ir.Location.fused(found)
