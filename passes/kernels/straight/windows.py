"""Reductions over windows, such as pooling, and cumulative ones, which are windows as long as the axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from passes.kernels.contractions import kinds_of, neutral
from passes.kernels.conversions import rounded
from passes.kernels.elements import RefusedError
from passes.kernels.linear import ZERO, Linear
from passes.kernels.regions import region
from passes.kernels.straight.nodes import MAX_WORKGROUPS
from passes.kernels.straight.own_kernel import OwnKernel
from passes.kernels.straight.unfused import Window, windows_of
from passes.kernels.values import Index, Item, View

# The most iterations of a loop over a window that is unrolled; the vectors of a strip of columns.
_UNROLLED, _STRIP = 4, 4


def reduce_window(a: OwnKernel) -> None:
    """Each element of the result, from the elements of its window within the array."""
    source = a.values[0]
    found = windows_of(a.op, len(a.shape))
    kind, first = (kinds_of(a.op) or [""])[0], a.values[1].splat
    long = [d for d, w in enumerate(found) if w.size > 1]
    others = [w for w in found if w.size == 1]
    whole = all(w.step == 1 and not w.low and not w.high for w in others)
    if len(long) == 1 and whole and first == neutral(kind, a.element):
        axis = long[0]
        w, n = found[axis], source.shape[axis]
        if w.size == n and w.step == w.dilation == 1 and sorted((w.low, w.high)) == [0, n - 1]:
            return _cumulative(a, axis, w.high > 0)
    return _pooled(a, found)


def _combined(a: OwnKernel, left: Item, right: Item) -> Item:
    """Two numbers combined, narrow floats in a wider type if the order of the reduction does not matter."""
    is_wide = kinds_of(a.op) is not None
    element = a.element.wide if is_wide else a.element
    return region(a.k, a.code, a.op.regions[0].blocks[0], [left, right], [element] * 2, is_wide)[0]


def _store(a: OwnKernel, target: View, at: Index, item: Item) -> None:
    a.code.store(target, at, Item(rounded(a.code, item.name, a.element, item.is_vector), item.is_vector))


def _unfolded(a: OwnKernel, r: Linear, sizes: Sequence[int]) -> list[Linear]:
    found = []
    for size in reversed(sizes[1:]):
        r, remainder = a.code.divided(r, size)
        found.append(remainder)
    return [r, *reversed(found)] if sizes else []


def _pooled(a: OwnKernel, found: Sequence[Window]) -> None:
    code, source, element = a.code, a.values[0], a.element
    *outer, size = a.shape
    last = found[-1]
    units, amount = math.prod(outer), math.prod(w.size for w in found)
    width = a.lanes(size)
    work = units * size * amount // width + units
    # Workgroups share the outer axes without the last one if there are enough rows, which saves divisions.
    inner = len(outer) > 1 and units // outer[-1] >= MAX_WORKGROUPS
    low, high = a.share(units // outer[-1] if inner else units, work)
    # The range of elements along the last axis whose windows are within the array.
    inside = source.shape[-1] + last.low - (last.size - 1) * last.dilation
    begin = min(size, -(-last.low // last.step))
    end = max(begin, min(size, -(-inside // last.step)))

    def visit(at: Sequence[Linear], is_inside: bool) -> None:
        is_vector = code.width > 1
        type_ = code.type(element, is_vector)

        def level(axis: int, source_index: tuple[Linear, ...], state: list[str]) -> list[str]:
            if axis == len(found):
                item = code.get(source, source_index)
                made = _combined(a, Item(state[0], is_vector), item)
                return [code.vector(made, element) if is_vector else made.name]
            w = found[axis]
            start = at[axis] * w.step - w.low
            if not (w.low or w.high) or (is_inside and axis == len(found) - 1):
                if w.size <= _UNROLLED:
                    for j in range(w.size):
                        state = level(axis + 1, (*source_index, start + j * w.dilation), state)
                    return state
                ends = ZERO, Linear(w.size)
            else:
                ends = a.clamped(start * -1, 0, w.size), a.clamped(start * -1 + source.shape[axis], 0, w.size)

            def along(j: Linear, values: list[str]) -> list[str]:
                code.forget()
                return level(axis + 1, (*source_index, start + j * w.dilation), values)

            return code.loop(*ends, 1, along, state, [type_])

        first = Item(code.constant(a.values[1].splat, element))
        name = code.vector(first, element) if is_vector else first.name
        _store(a, a.whole, tuple(at), Item(level(0, (), [name])[0], is_vector))

    def row(index: Sequence[Linear]) -> None:
        a.along(ZERO, Linear(begin), lambda i: visit([*index, i], False), 1)
        a.along(Linear(begin), Linear(end), lambda i: visit([*index, i], True), width)
        a.along(Linear(end), Linear(size), lambda i: visit([*index, i], False), 1)

    def rows(r: Linear, _: list[str]) -> None:
        if not inner:
            return row(_unfolded(a, r, outer))
        index = _unfolded(a, r, outer[:-1])

        def each(i: Linear, _: list[str]) -> None:
            row([*index, i])

        code.loop(ZERO, Linear(outer[-1]), 1, each)
        return None

    code.loop(low, high, 1, rows)


def _cumulative(a: OwnKernel, axis: int, is_reversed: bool) -> None:
    n, inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
    if a.values[0].view is None:
        raise RefusedError("windows over one number")
    source = View(a.values[0].view.buffer, (1,))
    if inner > 1:
        _columns(a, source, n, inner, is_reversed)
    else:
        _rows(a, source, n, is_reversed)


def _columns(a: OwnKernel, source: View, n: int, inner: int, is_reversed: bool) -> None:
    """Each lane accumulates a column."""
    code, element = a.code, a.element
    target = View(a.whole.buffer, (1,))
    width = a.lanes(inner)
    strands = min(_STRIP, inner // width)
    strip = width * strands
    strips = -(-inner // strip)
    units = a.whole.buffer.size // (n * inner) * strips
    low, high = a.share(units, 2 * a.whole.buffer.size // width)

    def column(r: Linear, _: list[str]) -> None:
        outer, number = code.divided(r, strips)
        # The last strip begins earlier, so some of its columns are computed twice, with the same result.
        first = outer * (n * inner) + a.clamped(number * strip, 0, inner - strip)
        type_ = element.of(width)
        start = [code.vector(Item(code.constant(neutral((kinds_of(a.op) or [""])[0], element), element)), element)]

        def step(j: Linear, state: list[str]) -> list[str]:
            found = []
            here = first + (j * -1 + (n - 1) if is_reversed else j) * inner
            for strand, old in enumerate(state):
                address = (here + strand * width).lanes() if width > 1 else here + strand
                made = _combined(a, Item(old, width > 1), code.load(source, (address,)))
                _store(a, target, (address,), made)
                found.append(made.name)
            return found

        code.loop(ZERO, Linear(n), 1, step, start * strands, [type_] * strands)

    with code.lanes(width):
        code.loop(low, high, 1, column)


def _rows(a: OwnKernel, source: View, n: int, is_reversed: bool) -> None:
    """Lanes are neighbours: a prefix sum within each vector, to which the total before it is added."""
    code, element = a.code, a.element
    target = View(a.whole.buffer, (1,))
    width = 1 if element.kind in "bc" else a.lanes(n)
    rows = a.whole.buffer.size // n
    low, high = a.share(rows, 8 * rows * n // width)
    first = code.constant(neutral((kinds_of(a.op) or [""])[0], element), element)

    def row(r: Linear, _: list[str]) -> None:
        begin = r * n

        def vector(i: Linear, state: list[str]) -> list[str]:
            with code.lanes(width):
                at = (begin - i + (n - 1)).lanes(-1) if is_reversed else (begin + i).lanes()
                item = code.load(source, (at,))
                step, type_ = 1, element.of(width)
                while step < width:
                    order = [max(0, j - step) for j in range(width)]
                    name = code.op(f"vector.shuffle {item.name}, {item.name} {order} : {type_}, {type_}")
                    added = _combined(a, Item(name, True), item)
                    lanes = ", ".join("true" if j >= step else "false" for j in range(width))
                    mask = code.writer.constant(f"dense<[{lanes}]>", f"vector<{width}xi1>")
                    name = code.op(f"arith.select {mask}, {added.name}, {item.name} : vector<{width}xi1>, {type_}")
                    item, step = Item(name, True), step * 2
                whole = _combined(a, Item(code.vector(Item(state[0]), element), True), item)
                last = code.op(f"vector.extract {item.name}[{width - 1}] : {element.text} from {type_}")
                if is_reversed:
                    order = list(range(width))[::-1]
                    name = code.op(f"vector.shuffle {whole.name}, {whole.name} {order} : {type_}, {type_}")
                    _store(a, target, ((begin - i + (n - width)).lanes(),), Item(name, True))
                else:
                    _store(a, target, (at,), whole)
            return [_combined(a, Item(state[0]), Item(last)).name]

        def single(i: Linear, state: list[str]) -> list[str]:
            at = begin - i + (n - 1) if is_reversed else begin + i
            made = _combined(a, Item(state[0]), code.load(source, (at,)))
            _store(a, target, (at,), made)
            return [made.name]

        types, state, whole = [element.text], [first], 0
        if width > 1:
            whole = n // width * width
            state = code.loop(ZERO, Linear(whole), width, vector, state, types)
        code.loop(Linear(whole), Linear(n), 1, single, state, types)

    code.loop(low, high, 1, row)
