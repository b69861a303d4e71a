"""Updates of an array, and padding between its elements: a copy, parts of which are overwritten."""

from __future__ import annotations

import math

from passes import attributes as attrs
from passes.kernels import updates
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.own_kernel import OwnKernel, flat
from passes.kernels.values import Index, Value, View


def dynamic_update_slice(a: OwnKernel) -> None:
    value, update = a.values[:2]
    limits = [n - m for n, m in zip(a.shape, update.shape)]
    starts = [a.k.start(start, high) for start, high in zip(a.values[2:], limits)]
    row = math.prod(a.shape[1:])
    size = a.whole.buffer.size
    low, high = a.share(a.shape[0], size // a.lanes(size))
    if update.shape[1:] == a.shape[1:]:
        # Whole rows: the rows before, the update, and the rows after.
        first, last, start = low * row, high * row, starts[0] * row
        begin = a.clamped(start, first, last)
        end = a.clamped(start + update.size, first, last)
        a.copy(value, first, begin)
        row_of, target = flat(update), View(a.whole.buffer, (1,))
        a.along(
            begin, end, lambda i: a.code.store(target, (i,), a.code.get(row_of, (i - start,))), a.lanes(update.size)
        )
        a.copy(value, end, last)
        return
    a.copy(value, low * row, high * row)
    begin = a.clamped(low - starts[0], 0, update.shape[0])
    end = a.clamped(high - starts[0], 0, update.shape[0])

    def rows(i: Linear, _: list[str]) -> None:
        def inner(at: Index) -> None:
            index = tuple(s + j for s, j in zip(starts, (i, *at)))
            a.code.store(a.whole, index, a.code.get(update, (i, *at)))

        a.nest(update.shape[1:], inner)

    a.code.loop(begin, end, 1, rows)


def scatter(a: OwnKernel) -> None:
    numbers = attrs.dimension_numbers(a.op, "scatter_dimension_numbers")
    update = a.values[2]
    by_rows = 0 in numbers.get("inserted_window_dims", ()) and 0 in numbers.get("scatter_dims_to_operand_dims", ())
    axes = numbers.get("update_window_dims", ())
    window = math.prod(update.shape[d] for d in axes)
    lanes = a.lanes(a.shape[-1])
    # Each workgroup reads all indices.
    work = (a.whole.buffer.size + 2 * update.size) // lanes
    # Smaller windows take no longer to write than to test which workgroup they belong to.
    by_rows = by_rows and window >= 8
    low, high = a.share(a.shape[0], work, 8) if by_rows else (ZERO, Linear(a.shape[0]))
    row = math.prod(a.shape[1:])
    a.copy(a.values[0], low * row, high * row)
    updates.scatter(a.k, a.op, a.shape, a.whole, (low, high) if by_rows else None)


def pad(a: OwnKernel) -> None:
    """Padding between elements: each row is filled, and then its elements are written."""
    value, padding = a.values
    before, between = (attrs.ints(a.op, name) for name in ("edge_padding_low", "interior_padding"))
    row = math.prod(a.shape[1:])
    low, high = a.share(a.shape[0], 2 * a.whole.buffer.size // a.lanes(a.shape[-1]))
    fill = Value(a.shape, a.element, function=lambda builder, at: builder.get(padding, ()))
    inside = a.whole.shifted([ZERO, *(Linear(n) for n in before[1:])])
    inside = inside._replace(strides=tuple(s * (n + 1) for s, n in zip(inside.strides, (0, *between[1:]))))
    code, step = a.code, between[0] + 1

    def rows(i: Linear, _: list[str]) -> None:
        filled, target = Value((row,), a.element, function=fill.function), View(a.whole.buffer, (1,), i * row)
        a.along(ZERO, Linear(row), lambda j: code.store(target, (j,), code.get(filled, (j,))), a.lanes(row))
        offset = code.op("arith.subi", (code.position(i), code.position(Linear(before[0]))), "index")
        source = code.op("arith.divui", (offset, code.position(Linear(step))), "index")
        remainder = code.op("arith.remui", (offset, code.position(Linear(step))), "index")
        tests = [
            # Before the first row, the offset is a huge unsigned number.
            code.op("arith.cmpi", (offset, code.position(Linear(value.shape[0] * step))), "index", "ult"),
            code.op("arith.cmpi", (remainder, code.position(ZERO)), "index", "eq"),
        ]
        test = code.op("arith.andi", (tests[0], tests[1]), "i1")
        with a.k.writer.region("scf.if", (test,)), code.scope():
            here = a.k.symbols.new(source, 0, value.shape[0] - 1)
            to = inside._replace(offset=inside.offset + i * row)
            a.nest(value.shape[1:], lambda at: code.store(to, (ZERO, *at), code.get(value, (here, *at))))

    code.loop(low, high, 1, rows)
