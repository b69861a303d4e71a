"""Laws of arrays that a loop writes element by element, and reads again in the next round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import build
from passes.analysis.counters import LOOP, Counter, line
from passes.match import before_barriers, block_of, dtype_of, is_static, producer, shape_of, size_of, yielded
from passes.patterns import pattern
from passes.simplify.regions import rounds_of, with_state
from passes.simplify.running import combined, in_any_order

_UPDATE, _READ = "stablehlo.dynamic_update_slice", "stablehlo.dynamic_slice"


@pattern(LOOP)
def element_of_last_round(op: Any) -> Any:
    """y[i] = y[i - 1] + x in a loop of known length -> state that holds the element that was written last. Exact.

    The same for other operations that may be done in any order: the array is then known to hold their results so far.
    """
    return _with_last_element(op, in_any_order)


@pattern(LOOP, assumes="reassoc")
def element_of_last_round_of_sums(op: Any) -> Any:
    """y[i] = y[i - 1] + x for floats in a loop of known length -> state that holds the element that was written last.

    Exact; but only sums of floats that may be formed in another order gain from it.
    """
    return _with_last_element(op, lambda dtype, name: True)


def _with_last_element(op: Any, is_free: Callable[[Any, str], bool]) -> Any:
    loop = op.operation
    body = loop.regions[1].blocks[0]
    for i, updated in enumerate(yielded(body)):
        update = producer(updated, _UPDATE)
        if update is None or update.operand != body.arguments[i] or not is_static(updated):
            continue
        readers = _combined_reads(update, is_free) if size_of(update.update) == 1 else []
        count = rounds_of(loop) if readers else None
        if count is None:
            continue
        starts = _before(loop, count, update)
        found = [reader for reader in readers if starts and _reads(loop, count, reader, starts)]
        if found:
            indices = zip(starts, update.start_indices)
            first = [build.full(at.start, start) if isinstance(at, Counter) else at for at, start in indices]
            initial = build.dynamic_slice(before_barriers(loop.operands[i]), first, shape_of(update.update))
            inner = [o.operation for o in body.operations]
            numbers = [inner.index(reader) for reader in found]
            return with_state(op, initial, numbers, inner.index(update.update.owner.operation))
    return None


def _combined_reads(update: Any, is_free: Callable[[Any, str], bool]) -> list[Any]:
    """The ops that read an element of the array, which is combined with another value and then written."""
    maker, found = producer(update.update), []
    for value in maker.operation.operands if maker is not None else ():
        reader, how = producer(value, _READ), combined(value, update.update)
        if reader is not None and reader.operand == update.operand and how is not None:
            dtype = dtype_of(value)
            if dtype.kind != "c" and is_free(dtype, how.name):
                found.append(reader.operation)
    return found


def _before(loop: Any, count: int, update: Any) -> list[Any]:
    """The indices of the element that was written in the round before: lines, or values from outside of the loop.

    An empty list if they are not known, or not in range.
    """
    found = list[Any]()
    for size, start in zip(shape_of(update.operand), update.start_indices):
        at = line(start, loop, count)
        if at is not None:
            ends = at.start - at.step, at.start + at.step * (count - 1)
            if min(ends) < 0 or max(ends) >= size:
                return []
            found.append(Counter(at.start - at.step, at.step))
        elif block_of(start) == loop.regions[1].blocks[0]:
            return []
        else:
            found.append(start)
    return found if any(isinstance(at, Counter) and at.step for at in found) else []


def _reads(loop: Any, count: int, op: Any, starts: list[Any]) -> bool:
    """Whether an op reads the element at `starts`."""
    indices = list(op.operands)[1:]
    return all((line(i, loop, count) if isinstance(at, Counter) else i) == at for i, at in zip(indices, starts))


PATTERNS = (element_of_last_round, element_of_last_round_of_sums)
