"""Products in the kernels of loops: contractions, whose operands are first prepared for repeated reads.

A computed operand is stored. An operand whose lanes would be strided is transposed: a copy of it has the free axis
last. If the operand is loop-invariant, the copy is made before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passes import attributes as attrs
from passes.kernels.arithmetic import apply
from passes.kernels.bounds import bounds
from passes.kernels.builder import STEPS, Builder
from passes.kernels.contractions import COMBINERS, Contraction, finish
from passes.kernels.elements import Element, RefusedError
from passes.kernels.kernel import Lowering, Rule, element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.nests import lanes_of, nest
from passes.kernels.products.shapes import free
from passes.kernels.values import Index, Item, Value, View
from passes.match import dtype_of, operations_in, shape_of

# A product of more multiply-adds and results than these is faster in tiles of its own (`products`).
LARGE_PRODUCT, LARGE_RESULT = 1 << 20, 4096
# An operand whose elements are read more often than this is stored, with contiguous lanes.
_READERS = 4
# Lanes of the smallest square that is worth transposing.
_SQUARE = 4
# An operand that costs more, loads included, is not computed for each reader.
_CHEAP = 2


class _Axes:
    """The batch, contracted and free axes of an operand."""

    def __init__(self, shape: Sequence[int], batch: Sequence[int], contracted: Sequence[int]) -> None:
        self.batch, self.contracted = list(batch), list(contracted)
        self.free = free(shape, batch, contracted)

    def index(self, batch: Index, free: Index, inner: Index) -> Index:
        """The index of an operand's element."""
        found = [ZERO] * (len(batch) + len(free) + len(inner))
        for axis, i in (*zip(self.batch, batch), *zip(self.free, free), *zip(self.contracted, inner)):
            found[axis] = i
        return tuple(found)


def _axes(op: Any) -> tuple[_Axes, _Axes]:
    d = attrs.dot_dimensions(op)
    left, right = (shape_of(value) for value in op.operands)
    return _Axes(left, d.lhs_batch, d.lhs_contract), _Axes(right, d.rhs_batch, d.rhs_contract)


def _dot_general(k: Lowering, op: Any) -> None:
    shape, element = element_type(op.results[0].type)
    left, right = _axes(op)
    x, y = (k.env[v] for v in op.operands)
    k.store_joined(x)
    k.store_joined(y)
    depth = [x.shape[axis] for axis in left.contracted]
    if math.prod(depth) * math.prod(shape) > LARGE_PRODUCT and math.prod(shape) > LARGE_RESULT:
        raise RefusedError("a large product in the loop")
    _store_computed(k, x, math.prod(y.shape[axis] for axis in right.free))
    y = _with_contiguous_lanes(k, y, right, math.prod(x.shape[axis] for axis in left.free))
    batch, middle = len(left.batch), len(left.batch) + len(left.free)

    def terms(builder: Builder, outer: Index, inner: Index) -> list[Item]:
        found = []
        for value, axes, free_index in ((x, left, outer[batch:middle]), (y, right, outer[middle:])):
            index = axes.index(outer[:batch], free_index, inner)
            item = builder.get(value, index)
            builder.remember(value, index, item)
            found.append(_converted(builder, op, value, item, element))
        return found

    wide, fused = element.wide, element.is_float and k.processor.fused

    def combine(builder: Builder, old: list[Item], new: list[Item]) -> list[Item]:
        if len(new) == 1:
            return [apply(builder, op, [old[0], new[0]], [wide] * 2, wide, "add")]
        if fused:
            names, is_vector = builder.unify([*new, old[0]], [element] * 3)
            return [Item(builder.op("math.fma", names, builder.type(element, is_vector)), is_vector)]
        product = apply(builder, op, new, [wide] * 2, wide, "multiply")
        return [apply(builder, op, [old[0], product], [wide] * 2, wide, "add")]

    zero = Item(k.code.constant(False if element.kind == "b" else 0, element))
    kinds = [COMBINERS["stablehlo.add"][element.kind]]
    rows = max((axis for axis in range(batch, middle) if shape[axis] > 1), default=None)
    positions = zip(left.contracted, right.contracted, strict=True)
    dtypes = [dtype_of(value) for value in op.operands]
    same = dtypes[0] == dtypes[1]
    ends = [bounds(k, list(op.operands), pair, dtypes[0].type(0)) for pair in positions] if same else None
    finish(k, op, Contraction(shape, depth, [element], [zero], terms, combine, kinds, rows, ends))


def _converted(builder: Builder, op: Any, value: Value, item: Item, element: Element) -> Item:
    if value.element == element:
        return item
    return apply(builder, op, [item], [value.element], element, "convert")


def prepare(k: Lowering, op: Any, state: Sequence[Any]) -> None:
    """Before a loop, prepare the loop-invariant operands of its products.

    Args:
      state: the arguments of its blocks that the loop changes.
    """
    for inner in operations_in(op, "stablehlo.dot_general"):
        left, right = inner.operands
        value = k.env.get(right)
        if value is not None and right not in state and value.size > 1:
            left_axes, right_axes = _axes(inner)
            k.store_joined(value)
            _with_contiguous_lanes(k, value, right_axes, math.prod(left.type.shape[axis] for axis in left_axes.free))


def _store_computed(k: Lowering, value: Value, readers: int) -> None:
    """Store an operand that would be computed for each of its readers."""
    if value.function is not None and not value.is_scalar and readers > _READERS and k.record(value).cost > _CHEAP:
        k.store(value)


def _with_contiguous_lanes(k: Lowering, value: Value, axes: _Axes, readers: int) -> Value:
    """A right operand with contiguous lanes, if that pays; else the operand itself."""
    _store_computed(k, value, readers)
    view, shape = value.view, value.shape
    lane = max((axis for axis in axes.free if shape[axis] > 1), default=None)
    if view is None or lane is None or readers <= _READERS or view.strides[lane] in (0, 1, -1, *STEPS):
        return value
    down = next((axis for axis in axes.contracted if view.strides[axis] == 1), None)
    if down is None:
        return value
    width = lanes_of([value.element], k.processor.vector_bytes, min(shape[lane], shape[down]))
    if width < _SQUARE:
        return value
    return k.copied((value, lane, down), lambda: _transposed(k, value, view, lane, down, width))


def _transposed(k: Lowering, value: Value, view: View, lane: int, down: int, width: int) -> Value:
    """A copy of a value with `lane` instead of `down` as the last axis in memory, transposed square by square."""
    code, shape = k.code, value.shape
    order = [axis for axis in range(len(shape)) if axis not in (lane, down)] + [down, lane]
    memory = k.temporary([shape[axis] for axis in order], value.element)
    target = memory._replace(strides=tuple(memory.strides[order.index(axis)] for axis in range(len(shape))))
    k.note_work(value.size * value.element.size)

    def squares(at: Index) -> None:
        def index(i: Linear, j: Linear) -> Index:
            return tuple({lane: i, down: j}.get(axis, outer) for axis, outer in enumerate(at))

        def square(i: Linear, j: Linear) -> None:
            # The last squares end with the array, so some elements are copied twice.
            i, j = code.at_most(i, shape[lane] - width).lanes(), code.at_most(j, shape[down] - width)
            with code.lanes(width):
                code.load_transposed(view.buffer, view.address(index(i, j)))
                for number in range(width):
                    element = index(i, j + number)
                    code.store(target, element, code.load(view, element))
                code.transposed_loads.clear()

        def along(i: Linear, _: list[str]) -> None:
            code.loop(ZERO, Linear(shape[down]), width, lambda j, _: square(i, j))

        code.loop(ZERO, Linear(shape[lane]), width, along)

    with code.located(value.location):
        nest(code, [1 if axis in (lane, down) else n for axis, n in enumerate(shape)], None, 1, 1, squares)
    return Value(shape, value.element, view=target, location=value.location)


RULES: dict[str, Rule] = {"stablehlo.dot_general": _dot_general}
