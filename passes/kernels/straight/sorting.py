"""Sorts of a few elements: a network of comparisons in registers, for as many rows at a time as a vector has lanes."""

from __future__ import annotations

import math

from passes import attributes as attrs
from passes.kernels.elements import RefusedError
from passes.kernels.kernel import element_type
from passes.kernels.linear import ZERO, Linear
from passes.kernels.regions import region
from passes.kernels.straight.alone import Alone
from passes.kernels.straight.staying import numbers_of
from passes.kernels.values import Item, View


def sort(a: Alone) -> None:
    """Insertion, in which only neighbours are exchanged, and only if the later one comes first: it is stable.

    Each element may have others with it, of which one is what is written.
    """
    axis = attrs.integer(a.op, "dimension")
    count, inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
    code, block = a.code, a.op.regions[0].blocks[0]
    elements = [element_type(value.type)[1] for value in a.op.operands]
    if not a.values or any(value.view is None for value in a.values):
        raise RefusedError("a sort of one number")
    memory = (View(value.view.buffer, (1,)) for value in a.values if value.view is not None)
    sources = [numbers_of(a.op, value) or next(memory) for value in a.op.operands]
    target, written = View(a.whole.buffer, (1,)), list(a.op.results).index(a.result)

    def loaded(place: Linear, number: int) -> list[Item]:
        return [
            code.load(source, (place,)) if isinstance(source, View) else Item(code.constant(source[number], element))
            for source, element in zip(sources, elements)
        ]

    def exchanged(first: list[Item], second: list[Item]) -> tuple[list[Item], list[Item]]:
        pairs = [item for pair in zip(second, first) for item in pair]
        test = region(a.k, code, block, pairs, [element for element in elements for _ in range(2)])[0]
        low: list[Item] = []
        high: list[Item] = []
        for left, right, element in zip(first, second, elements):
            names, is_vector = code.unify([left, right], [element] * 2)
            is_vector = is_vector or test.is_vector
            if is_vector:
                names = [code.vector(item, element) for item in (left, right)]
            kind = f"vector<{code.width}xi1>, " if test.is_vector else ""
            type_ = code.type(element, is_vector)
            for found, (x, y) in ((low, (1, 0)), (high, (0, 1))):
                name = code.op(f"arith.select {test.name}, {names[x]}, {names[y]} : {kind}{type_}")
                found.append(Item(name, is_vector))
        return low, high

    def row(start: Linear) -> None:
        rows = [loaded(start + k * inner, k) for k in range(count)]
        for last in range(1, count):
            for k in range(last, 0, -1):
                rows[k - 1], rows[k] = exchanged(rows[k - 1], rows[k])
        for k, items in enumerate(rows):
            code.store(target, (start + k * inner,), items[written])

    number = a.whole.buffer.size // count
    width = min(a.processor.vector_bytes // max(element.size for element in elements), 16)
    while width > (number if inner == 1 else inner):
        width //= 2
    work = 4 * number * count * count // width
    if inner == 1:
        a.along(*a.share(number, work), lambda i: row(i * count), width)
        return

    def outer(r: Linear, _: list[str]) -> None:
        a.along(ZERO, Linear(inner), lambda i: row(r * (count * inner) + i), width)

    code.loop(*a.share(number // inner, work), 1, outer)
