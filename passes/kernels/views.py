"""Operations that only move elements: lazy values that read their operand at other indices, or views of memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passes import attributes as attrs, operations
from passes.analysis.strided import groups, reshaped
from passes.kernels.builder import Builder
from passes.kernels.conversions import converted
from passes.kernels.elements import Element, RefusedError
from passes.kernels.kernel import Lowering, Rule, element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import Write
from passes.kernels.regions import region
from passes.kernels.values import Index, Item, NotVectorsError, Value, View
from passes.match import constant_of, splat_of

# Constants and concatenations of scalars of at most this many elements are selects between these, not memory.
_SELECTED = 16

Mapping = Callable[[Builder, Index], Index]


def moved(k: Lowering, op: Any, index: Mapping, view: View | None = None) -> None:
    """Define a result whose elements are those of the first operand at the indices that `index` returns."""
    shape, element = element_type(op.results[0].type)
    value = k.env[op.operands[0]]
    if value.is_scalar:
        same = Value(shape, element, splat=value.splat)
        if value.splat is None and math.prod(shape) == 1:
            same = Value(shape, element, scalar=value.scalar, linear=value.linear)
        elif value.splat is None:
            same = k.function(shape, element, lambda b, i: b.get(value, ()))
        k.define(op, same)
        return
    if view is not None and value.view is not None:
        k.define(op, Value(shape, element, view=view))
        return

    def read(builder: Builder, at: Index) -> Item:
        try:
            source = index(builder, at)
        except NotVectorsError:
            return builder.lane_by_lane(result, at)
        return builder.get(value, source)

    result = k.function(shape, element, read)
    k.define(op, result)


def _alias(k: Lowering, op: Any, value: Value) -> None:
    k.env[op.results[0]] = value


def _broadcast(k: Lowering, op: Any) -> None:
    dims = attrs.ints(op, "broadcast_dimensions")
    source = element_type(op.operands[0].type)[0]
    shape = element_type(op.results[0].type)[0]
    value = k.env[op.operands[0]]
    if shape == source and dims == tuple(range(len(shape))):
        return _alias(k, op, value)
    view = None
    # A repeated array is read through its source, so that only the source is stored if necessary.
    if value.view is not None and math.prod(shape) == value.size:
        strides = [0] * len(shape)
        for d, n, stride in zip(dims, source, value.view.strides):
            strides[d] = stride if n > 1 else 0
        view = value.view._replace(strides=tuple(strides))
    return moved(k, op, lambda b, i: tuple(i[d] if n > 1 else ZERO for d, n in zip(dims, source)), view)


def _transpose(k: Lowering, op: Any) -> None:
    order = attrs.ints(op, "permutation")
    value = k.env[op.operands[0]]
    view = value.view and value.view._replace(strides=tuple(value.view.strides[d] for d in order))

    def index(_: Builder, at: Index) -> Index:
        found = [ZERO] * len(order)
        for i, d in zip(at, order):
            found[d] = i
        return tuple(found)

    moved(k, op, index, view)


def _slice(k: Lowering, op: Any) -> None:
    starts, _, steps = attrs.cut(op)
    value = k.env[op.operands[0]]
    shape = element_type(op.results[0].type)[0]
    if shape == value.shape:
        return _alias(k, op, value)
    view = None
    if value.view is not None:
        view = value.view.shifted([Linear(s) for s in starts])
        view = view._replace(strides=tuple(s * t for s, t in zip(view.strides, steps)))
    return moved(k, op, lambda b, at: tuple(i * t + s for i, s, t in zip(at, starts, steps)), view)


def _reverse(k: Lowering, op: Any) -> None:
    dims = attrs.ints(op, "dimensions")
    value = k.env[op.operands[0]]
    shape = value.shape
    view = None
    if value.view is not None:
        view = value.view.shifted([Linear(n - 1 if d in dims else 0) for d, n in enumerate(shape)])
        view = view._replace(strides=tuple(-s if d in dims else s for d, s in enumerate(view.strides)))

    def index(_: Builder, at: Index) -> Index:
        return tuple(i * -1 + (n - 1) if d in dims else i for d, (i, n) in enumerate(zip(at, shape)))

    moved(k, op, index, view)


def _reshape(k: Lowering, op: Any) -> None:
    value = k.env[op.operands[0]]
    source, target = value.shape, element_type(op.results[0].type)[0]
    if source == target:
        return _alias(k, op, value)
    matched = [pair for pair in groups(source, target) or () if all(pair)]

    def index(builder: Builder, at: Index) -> Index:
        found = [ZERO] * len(source)
        for left, right in matched:
            flat, step = ZERO, 1
            for d in reversed(right):
                flat, step = flat + at[d] * step, step * target[d]
            for d in reversed(left[1:]):
                flat, found[d] = builder.divided(flat, source[d])
            found[left[0]] = flat
        return tuple(found)

    steps = reshaped(value.view.strides, source, target) if value.view is not None else None
    view = value.view._replace(strides=steps) if value.view is not None and steps is not None else None
    return moved(k, op, index, view)


def _dynamic_slice(k: Lowering, op: Any) -> None:
    value = k.env[op.operands[0]]
    sizes = attrs.ints(op, "slice_sizes")
    limits = [n - m for n, m in zip(value.shape, sizes)]
    starts = [k.start(k.env[s], high) for s, high in zip(list(op.operands)[1:], limits)]
    view = value.view and value.view.shifted(starts)
    moved(k, op, lambda b, at: tuple(i + s for i, s in zip(at, starts)), view)


def _iota(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    axis = attrs.integer(op, "iota_dimension")

    def count(builder: Builder, at: Index) -> Item:
        number = element.part.wide
        item = builder.numbers(at[axis], number)
        return Item(converted(builder, item.name, number, element, item.is_vector), item.is_vector)

    k.define(op, k.function(shape, element, count))


def _constant(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    number = splat_of(op.results[0])
    if number is not None:
        k.env[op.results[0]] = Value(shape, element, splat=number.item())
        return
    if math.prod(shape) > _SELECTED:
        if not k.reads_constants:
            raise RefusedError("a constant array in the kernel")
        return k.operand(op.results[0])
    found = constant_of(op.results[0])
    assert found is not None, "the operation is a constant"
    k.define(op, selected_scalar(k, shape, element, [Value((), element, splat=x.item()) for x in np.ravel(found)]))


def selected_scalar(k: Lowering, shape: Sequence[int], element: Element, items: Sequence[Value]) -> Value:
    """A small array of scalars, which are selected by the index."""

    def select(builder: Builder, at: Index) -> Item:
        flat, step = ZERO, 1
        for i, n in reversed(list(zip(at, shape))):
            flat, step = flat + i * step, step * n
        if flat.stride:
            return builder.lane_by_lane(value, at)
        if flat.is_constant:
            return builder.get(items[flat.constant], ())
        position = builder.position(flat)
        found = builder.get(items[-1], ()).name
        for number in range(len(items) - 2, -1, -1):
            here = builder.op("arith.cmpi", (position, builder.position(Linear(number))), "index", "eq")
            found = builder.op("arith.select", (here, builder.get(items[number], ()).name, found), element.text)
        return Item(found)

    value = k.function(shape, element, select)
    return value


def _concatenate(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    axis = attrs.integer(op, "dimension")
    values = [k.env[v] for v in op.operands]
    if math.prod(shape) <= _SELECTED and all(v.size == 1 for v in values):
        # Each becomes a scalar of shape (): their own shapes of one element may differ.
        k.define(op, selected_scalar(k, shape, element, [_as_scalar(k, v) for v in values]))
        return
    starts = list(itertools.accumulate((v.shape[axis] for v in values), initial=0))

    def read(builder: Builder, at: Index) -> Item:
        def of(value: Value, start: int) -> Callable[[], Item]:
            return lambda: builder.get(value, (*at[:axis], at[axis] - start, *at[axis + 1 :]))

        return builder.part(at[axis], starts[1:-1], [of(v, start) for v, start in zip(values, starts)], element)

    if not k.parts_in_memory or _is_read_in_nests(op):
        k.define(op, k.function(shape, element, read))
        return
    target = k.temporary(shape, element)
    for value, start in zip(values, starts):
        first = [Linear(start) if d == axis else ZERO for d in range(len(shape))]
        k.write([Write(value, target.shifted(first))])
    k.define(op, Value(shape, element, view=target))


# Operations that read an array once, element by element, in a nest that can be cut where its parts meet; elementwise
# ones do, too.
_NESTS = frozenset(f"stablehlo.{name}" for name in "concatenate dynamic_update_slice map reshape return slice".split())


def _is_read_in_nests(op: Any) -> bool:
    """Whether the result of an operation has a single reader, which needs no memory for it."""
    user = _only_user(op)
    if user is None or user.block != op.block:
        return False
    return user.name in _NESTS or operations.of(user.name).elementwise


def _as_scalar(k: Lowering, value: Value) -> Value:
    if value.is_scalar:
        return Value((), value.element, splat=value.splat, scalar=value.scalar, linear=value.linear)
    if k.parts_in_memory:
        return Value((), value.element, scalar=k.item(value).name)
    # Nothing may be read here, since another kernel may have to compute it first.
    return k.function((), value.element, lambda builder, at: builder.get(value, (ZERO,) * len(value.shape)))


def _pad(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    value, fill = (k.env[v] for v in op.operands)
    low, high, inner = attrs.padding(op)
    if _is_spare_row(op, low, inner, value.shape):
        # A scatter in a kernel drops windows out of range itself.
        return _alias(k, op, value)
    if min((*low, *high), default=0) < 0:
        raise RefusedError("pad with negative padding")
    padding = k.function(shape, element, lambda b, i: b.get(fill, (ZERO,) * len(fill.shape)))

    def read(builder: Builder, at: Index) -> Item:
        def outside() -> Item:
            return builder.get(padding, at)

        def along(axis: int) -> Item:
            if axis == len(shape):
                return builder.get(value, tuple(i - n for i, n in zip(at, low)))
            if not low[axis] and not high[axis]:
                return along(axis + 1)
            if value.shape[axis] == 1 and (value.splat is not None or k.record(value).cost <= 1):
                # The element is cheap to read, so a select takes less code than a nest for each part. What it costs is
                # the same before and after it has a place in memory.
                return builder.where(at[axis], low[axis], along(axis + 1), outside(), element)
            bounds = [low[axis], low[axis] + value.shape[axis]]
            return builder.part(at[axis], bounds, [outside, lambda: along(axis + 1), outside], element)

        return along(0)

    if not any(inner) and (not k.parts_in_memory or _is_read_in_nests(op)):
        k.define(op, k.function(shape, element, read))
        return None
    target = k.temporary(shape, element)
    k.write([Write(padding, target)])
    inside = target.shifted([Linear(n) for n in low])
    inside = inside._replace(strides=tuple(s * (n + 1) for s, n in zip(inside.strides, inner)))
    k.write([Write(value, inside)])
    k.define(op, Value(shape, element, view=target))
    return None


def _is_spare_row(op: Any, low: Sequence[int], inner: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether the padding is a spare row for windows of a scatter out of range, which is removed afterwards."""
    if any(low) or any(inner):
        return False
    scatter = _only_user(op)
    if scatter is None or scatter.name != "stablehlo.scatter" or scatter.operands[0] != op.results[0]:
        return False
    cut = _only_user(scatter)
    return cut is not None and cut.name == "stablehlo.slice" and tuple(cut.results[0].type.shape) == tuple(shape)


def _only_user(op: Any) -> Any:
    users = [use.owner.operation for use in op.results[0].uses]
    return users[0] if len(users) == 1 and len(op.results) == 1 else None


def _gather(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    numbers = attrs.dimension_numbers(op, "dimension_numbers")
    source, indices = (k.env[v] for v in op.operands)
    sizes = attrs.ints(op, "slice_sizes")
    batching = dict(zip(numbers.get("operand_batching_dims", ()), numbers.get("start_indices_batching_dims", ())))
    offsets = numbers.get("offset_dims", ())
    batch = [d for d in range(len(shape)) if d not in offsets]
    kept = [d for d in range(len(source.shape)) if d not in (*numbers.get("collapsed_slice_dims", ()), *batching)]
    depth_axis, map_ = numbers.get("index_vector_dim", 0), numbers.get("start_index_map", ())

    def index_at(builder: Builder, at: Index, starts: Sequence[Item]) -> Index:
        index = [ZERO] * len(source.shape)
        for d, offset in zip(kept, offsets):
            index[d] = at[offset]
        for d, axis in batching.items():
            index[d] = at[batch[axis - (axis > depth_axis)]]
        for d, item in zip(map_, starts):
            index[d] = index[d] + builder.index_of(item, indices.element, 0, source.shape[d] - sizes[d])
        return tuple(index)

    def read(builder: Builder, at: Index) -> Item:
        starts = []
        for number in range(len(map_)):
            where = [at[b] for b in batch]
            where.insert(depth_axis, Linear(number))
            starts.append(builder.get(indices, tuple(where[: len(indices.shape)])))
        if not any(at[d].stride for d in batch):
            return builder.get(source, index_at(builder, at, starts))
        builder.note_gather(at)
        parts = []
        for lane in range(builder.width):
            here = tuple(i.at_lane(lane) for i in at)
            own = [builder.at_lane(item, indices.element, lane) for item in starts]
            parts.append(builder.get(source, index_at(builder, here, own)).name)
        return builder.from_elements(parts, element.text)

    k.define(op, k.function(shape, element, read))


def _barrier(k: Lowering, op: Any) -> None:
    for result, operand in zip(op.results, op.operands):
        k.env[result] = k.env[operand]


def _map(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    values = [k.env[v] for v in op.operands]
    block = op.regions[0].blocks[0]
    elements = [v.element for v in values]

    def read(builder: Builder, at: Index) -> Item:
        return region(k, builder, block, [builder.get(v, at) for v in values], elements)[0]

    k.define(op, k.function(shape, element, read))


RULES: dict[str, Rule] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _gather,
    "stablehlo.iota": _iota,
    "stablehlo.map": _map,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
