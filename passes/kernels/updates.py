"""In-place updates: dynamic_update_slice and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs
from passes.kernels.builder import Builder
from passes.kernels.elements import RefusedError
from passes.kernels.hazards import Order
from passes.kernels.kernel import MUCH_SMALLER, Lowering, Rule
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import Write, lanes_of, nest
from passes.kernels.regions import region
from passes.kernels.values import Index, Item, NotVectorsError, Value, View
from passes.match import is_assignment


def target(k: Lowering, value: Value, updates: Sequence[Value]) -> View:
    """The memory in which to update a value: its own if that is writable, or that of an array that it replaces, or new.

    Args:
      updates: what the update reads.
    """
    if k.is_writable(value):
        assert value.view is not None, "what is writable is in memory"
        return value.view
    replaced = _replaced(k, value, updates)
    if replaced is not None:
        for update in updates:
            if k.reads(update, [replaced.buffer]):
                k.store(update)
        k.store_hazards(value, [(replaced, True)])
        k.store_overwritten(replaced, value.shape)
        k.write([Write(value, replaced)])
        return replaced
    order = _order(k, value)
    if order == sorted(order):
        copy = k.temporary(value.shape, value.element)
        k.write([Write(value, copy)])
        return copy
    shape = [value.shape[axis] for axis in order]

    def turned(builder: Builder, index: Index) -> Item:
        return builder.get(value, tuple(index[order.index(axis)] for axis in range(len(order))))

    copy = k.temporary(shape, value.element)
    k.write([Write(Value(shape, value.element, function=turned, location=value.location), copy)])
    return copy._replace(strides=tuple(copy.strides[order.index(axis)] for axis in range(len(order))))


def _replaced(k: Lowering, value: Value, updates: Sequence[Value]) -> View | None:
    """The memory of an array that a value is computed from element by element, and that nothing large needs any more.

    For instance, a matrix from which an outer product is subtracted before one of its columns is updated.
    """
    if value.function is None:
        return None
    for view in dict.fromkeys(other.view for other in k.env.values() if _is_like(k, other, value)):
        assert view is not None, "what is writable is in memory"
        needed = [other for name, other in k.env.items() if k.is_needed(name)]
        large = [other for other in (*needed, *updates) if other.size * MUCH_SMALLER > value.size]
        if k.replaces(value, view) and not any(k.reads(other, [view.buffer]) for other in large):
            return view
    return None


def _is_like(k: Lowering, other: Value, value: Value) -> bool:
    """Whether an array fills memory that may be written to with the elements of a value of this shape."""
    if other.shape != value.shape or other.element != value.element or not k.is_writable(other):
        return False
    return other.view is not None and other.view.buffer.size == value.size


def _order(k: Lowering, value: Value) -> list[int]:
    """The order of axes for a copy of a value: the axis along which most reads are contiguous comes last.

    For instance, an update of a column becomes an update of a row of a transposed copy.
    """
    axes = list(range(len(value.shape)))
    if value.is_scalar or len(axes) < 2:
        return axes
    symbols = k.space(value.shape).symbols
    addresses = [read.address for read in k.record(value).reads]

    def contiguous(axis: int) -> int:
        return sum(abs(a.coefficient(s)) == 1 for a in addresses for s, _ in symbols[axis].terms)

    last = max(reversed(axes), key=contiguous)
    return [axis for axis in axes if axis != last] + [last]


def _dynamic_update_slice(k: Lowering, op: Any) -> None:
    value, update = k.env[op.operands[0]], k.env[op.operands[1]]
    limits = [n - m for n, m in zip(value.shape, update.shape)]
    starts = [k.start(k.env[s], high) for s, high in zip(list(op.operands)[2:], limits)]
    if update.shape == value.shape:
        k.env[op.results[0]] = update
        return
    whole = target(k, value, [update])
    part = whole.shifted(starts)
    if k.order(update, part) is Order.CONFLICT:
        k.store_hazards(update, [(part, True)])
    k.store_overwritten(part, update.shape)
    k.write([Write(update, part)])
    k.define(op, Value(value.shape, value.element, view=whole))


def _scatter(k: Lowering, op: Any) -> None:
    """Windows of the operand, one for each row of indices; windows out of bounds are dropped."""
    check_scatter(op)
    value, indices, update = (k.env[v] for v in op.operands)
    whole = target(k, value, [indices, update])
    k.store_joined(indices)
    k.store_joined(update)
    # Rows may be written in any order and repeatedly, so nothing may read that memory meanwhile.
    for read in (indices, update):
        if k.reads(read, [whole.buffer]):
            k.store(read)
    k.store_overwritten(whole, value.shape)
    scatter(k, op, value.shape, whole)
    k.note_work(2 * update.size * (k.record(update).cost if not update.is_scalar else 1) * value.element.size)
    k.define(op, Value(value.shape, value.element, view=whole))


def check_scatter(op: Any) -> None:
    """Refuse scatters that `scatter` does not support."""
    if len(op.results) != 1:
        raise RefusedError("scatter of several arrays")
    if attrs.dimension_numbers(op, "scatter_dimension_numbers").get("input_batching_dims"):
        raise RefusedError("scatter with batching dimensions")


def scatter(k: Lowering, op: Any, shape: Sequence[int], whole: View, own: tuple[Linear, Linear] | None = None) -> None:
    """Write the windows of a scatter into memory, one after the other.

    Args:
      shape: the shape of the updated array.
      whole: its memory.
      own: the range of rows to write, if windows have one row each along the first axis; by default all.
    """
    numbers = attrs.dimension_numbers(op, "scatter_dimension_numbers")
    indices, update = (k.env[v] for v in list(op.operands)[1:])
    window_axes = numbers.get("update_window_dims", ())
    batch = [d for d in range(len(update.shape)) if d not in window_axes]
    kept = [d for d in range(len(shape)) if d not in numbers.get("inserted_window_dims", ())]
    window = [update.shape[d] for d in window_axes]
    depth_axis = numbers.get("index_vector_dim", 0)
    map_ = numbers.get("scatter_dims_to_operand_dims", ())
    code = k.code
    element = whole.buffer.element
    block = op.regions[0].blocks[0]
    replaces = is_assignment(op.regions[0])

    def row(at: Index) -> None:
        starts = [ZERO] * len(shape)
        inside = ""
        for number, d in enumerate(map_):
            where = list(at)
            where.insert(depth_axis, Linear(number))
            index = tuple(where[: len(indices.shape)])
            if own is not None and d == 0:
                start, test = _own_start(k, indices, index, own)
            else:
                start, test = _start(k, indices, index, shape[d] - _size(window, kept, d))
            if start is None:
                return
            starts[d] = start
            if test:
                inside = f"{code.op('arith.andi', (inside, test), 'i1')}" if inside else test
        if not inside:
            return put(at, starts)
        with k.writer.region("scf.if", (inside,)), code.scope():
            put(at, starts)
        return None

    def put(at: Index, starts: Sequence[Linear]) -> None:
        def write(inner: Index) -> None:
            source = [ZERO] * len(update.shape)
            for d, i in (*zip(batch, at), *zip(window_axes, inner)):
                source[d] = i
            target_index = list(starts)
            for d, i in zip(kept, inner):
                target_index[d] = target_index[d] + i
            item = code.get(update, tuple(source))
            if not replaces:
                old = code.load(whole, tuple(target_index))
                item = region(k, code, block, [old, item], [element] * 2)[0]
            code.store(whole, tuple(target_index), item)

        axis = max((d for d, n in enumerate(window) if n > 1), default=None)
        width = 1 if axis is None else lanes_of([element], k.processor.vector_bytes, window[axis])
        mark = k.writer.mark()
        try:
            nest(code, window, axis if width > 1 else None, width, 1, write)
        except NotVectorsError:
            k.writer.rewind(mark)
            nest(code, window, None, 1, 1, write)

    nest(code, [update.shape[d] for d in batch], None, 1, 1, row)


def _size(window: Sequence[int], kept: Sequence[int], axis: int) -> int:
    return window[kept.index(axis)] if axis in kept else 1


def _start(k: Lowering, indices: Value, where: Index, high: int) -> tuple[Linear | None, str]:
    """The start of a window along an axis, and a test of whether it is in range; None if it never is."""
    known = indices.linear if indices.splat is None else Linear(int(indices.splat))
    if known is not None:
        bounds = k.symbols.bounds(known)
        if bounds is not None and bounds[0] >= 0 and bounds[1] <= high:
            return known, ""
        if known.is_constant:
            return None, ""
    item: Item = k.code.get(indices, where)
    start = k.code.index_of(item, indices.element)
    test = k.code.op("arith.cmpi", (k.code.position(start), k.code.position(Linear(high))), "index", "ule")
    return start, test


def _own_start(k: Lowering, indices: Value, where: Index, own: tuple[Linear, Linear]) -> tuple[Linear | None, str]:
    """The row of a window, and a test of whether it is in the range `own`."""
    code = k.code
    start = code.index_of(code.get(indices, where), indices.element)
    low, high = (code.position(form) for form in own)
    from_low = code.op("arith.subi", (code.position(start), low), "index")
    size = code.op("arith.subi", (high, low), "index")
    return start, code.op("arith.cmpi", (from_low, size), "index", "ult")


RULES: dict[str, Rule] = {
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.scatter": _scatter,
}
