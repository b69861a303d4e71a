"""Stable sorts by any comparator, of several operands that move together.

Rows of a few elements go through a network of comparisons in registers, and somewhat longer ones are sorted by
insertion in memory, each for as many rows at a time as a vector has lanes. All others are merged, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passes.kernels.elements import RefusedError
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.merging import merge
from passes.kernels.straight.own_kernel import OwnKernel
from passes.kernels.straight.sorted_rows import Rows
from passes.kernels.values import Buffer

# The most elements of a row that is sorted in registers, with code for each pair of them.
_IN_REGISTERS = 9
# The most elements of a row for each lane for which insertion is faster than merging.
_INSERTED = 6


def sort(a: OwnKernel) -> None:
    """Sort rows, and write the results that are used."""
    if not a.k.operands:
        raise RefusedError("a sort of constants")
    rows = Rows(a)
    width = min(a.processor.vector_bytes // max(element.size for element in rows.elements), 16)
    while width > (rows.number if rows.inner == 1 else rows.inner):
        width //= 2
    width = max(1, width)
    if rows.count <= _IN_REGISTERS:
        _in_lanes(rows, width, lambda start: _network(rows, start))
    elif rows.count <= _INSERTED * width:
        buffers = rows.scratch(rows.count * width)
        _in_lanes(rows, width, lambda start: _insertion(rows, buffers, start))
    else:
        merge(rows)


def _in_lanes(rows: Rows, width: int, row: Callable[[Linear], None]) -> None:
    """All rows, as many at a time as a vector has lanes."""
    a, count, inner = rows.a, rows.count, rows.inner
    work = 4 * rows.number * count * count // width
    if inner == 1:
        a.along(*a.share(rows.number, work), lambda i: row(i * count), width)
        return

    def outer(r: Linear, _: list[str]) -> None:
        a.along(ZERO, Linear(inner), lambda i: row(r * (count * inner) + i), width)

    a.code.loop(*a.share(rows.number // inner, work), 1, outer)


def _network(rows: Rows, start: Linear) -> None:
    """A sorting network of insertion: it exchanges neighbours only if the later one comes first, so it is stable."""
    row = [rows.loaded(start, Linear(k)) for k in range(rows.count)]
    for last in range(1, rows.count):
        for k in range(last, 0, -1):
            test = rows.is_before(row[k], row[k - 1])
            row[k - 1], row[k] = rows.chosen(test, row[k], row[k - 1]), rows.chosen(test, row[k - 1], row[k])
    for k, items in enumerate(row):
        rows.store(start, Linear(k), items)


def _insertion(rows: Rows, buffers: Sequence[Buffer], start: Linear) -> None:
    """Insertion sort in memory, with a vector for each element of the rows."""
    width = rows.code.width

    def address(k: Linear) -> Linear:
        return (k * width).lanes() if width > 1 else k

    def write(k: Linear, _: list[str]) -> None:
        rows.store(start, k, rows.kept(buffers, address(k)))

    rows.insert(lambda k: rows.loaded(start, k), Linear(rows.count), buffers, address)
    rows.code.loop(ZERO, Linear(rows.count), 1, write)
