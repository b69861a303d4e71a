"""Laws of arrays that a loop writes element by element, and reads again in the next round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import bindings, build, operations
from passes.analysis.counters import LOOP, Counter, line, trip_count
from passes.analysis.identities import identity_of
from passes.match import (
    before_barriers,
    block_of,
    dtype_of,
    has_one_use,
    is_inside,
    is_static,
    producer,
    shape_of,
    size_of,
    splat_of,
    uses,
    yielded,
)
from passes.patterns import laws_of, pattern
from passes.simplify.moves import used_once
from passes.simplify.regions import rounds_of, with_initial, with_state
from passes.simplify.running import combined, in_any_order

# A part that has more elements than the rounds write is carried if it has at most so many.
_SMALL = 64
# How many rounds a loop is assumed to have that does not say it.
_ROUNDS = 8
_UPDATE, _READ = "stablehlo.dynamic_update_slice", "stablehlo.dynamic_slice"


@pattern(LOOP)
def part_of_state(op: Any) -> Any:
    """An array of a loop's state of which all rounds read and write the same part -> that part. Exact.

    The part is written back after the loop. Only where it has few elements, or no more than the rounds write.
    """
    loop = op.operation
    for i in range(len(loop.operands)):
        found = _part(loop, i)
        if found is not None:
            return _with_part(op, i, *found)
    return None


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


@pattern("stablehlo.select", of=(*operations.where(associative=True), "stablehlo.subtract"))
def update_under_condition(op: Any) -> Any:
    """select(p, s + x, s) -> s + select(p, x, 0) for state s of a loop, and the same for other operations.

    The same for an element of an array of the state that is read and written. Exact: the identity of an operation
    changes nothing. Each round then combines the state with a value.
    """
    for updated, state in ((op.on_true, op.on_false), (op.on_false, op.on_true)):
        made = producer(updated)
        if made is None or not used_once(made) or dtype_of(state).kind == "c" or not _is_written_back(op, state):
            continue
        name = made.operation.name
        others = [value for value in made.operation.operands if value != state]
        if len(others) != 1 or combined(state, updated) is None:
            continue
        neutral = build.full(identity_of(name)(dtype_of(state)), state)
        pair = (others[0], neutral) if updated == op.on_true else (neutral, others[0])
        chosen = build.select(op.pred, *pair)
        return build.op(name, [state if value == state else chosen for value in made.operation.operands])
    return None


def _is_written_back(op: Any, state: Any) -> bool:
    """Whether a value is state of a loop, or an element of it, that the result of `op` replaces."""
    result, block = op.operation.results[0], block_of(state)
    loop = block.owner.operation
    if loop.name != LOOP or block != block_of(result) or block != loop.regions[1].blocks[0]:
        return False
    if state.owner == block:
        return bool(yielded(block)[state.arg_number] == result)
    reader = producer(state, _READ)
    if reader is None or size_of(state) != 1 or not has_one_use(result):
        return False
    (use,) = result.uses
    update = use.owner.operation
    return (
        update.name == _UPDATE
        and use.operand_number == 1
        and update.operands[0] == reader.operand
        and reader.operand.owner == block
        and list(update.operands)[2:] == list(reader.start_indices)
    )


def _part(loop: Any, i: int) -> tuple[list[int], dict[int, tuple[int, Any]]] | None:
    """The positions of the ops that read and write an array, and the size and start along axes where all are equal."""
    condition, body = (region.blocks[0] for region in loop.regions)
    array, updated = body.arguments[i], yielded(body)[i]
    if updated == array or producer(updated, _UPDATE) is None or uses(condition.arguments[i]) or not is_static(array):
        return None
    versions, written = [updated], 0
    while versions[-1] != array:
        update = producer(versions[-1], _UPDATE)
        if update is None or block_of(versions[-1]) != body:
            return None
        written += size_of(update.update)
        versions.append(update.operand)
    ops = list[Any]()
    for version in versions:
        for use in version.uses:
            user = use.owner.operation
            if user.name == "stablehlo.return" and user.block == body:
                if version != updated or use.operand_number != i:
                    return None
            elif user.name not in (_READ, _UPDATE) or use.operand_number != 0 or user.block != body:
                return None
            elif user.name == _READ or user.results[0] in versions:
                ops.append(user)
            else:
                return None
    axes = {}
    for d, size in enumerate(shape_of(array)):
        starts = {_start(loop, op, d) for op in ops}
        found = starts.pop()
        if not starts and found is not None and found[0] < size:
            axes[d] = found
    if not axes:
        return None
    left = size_of(array)
    for d, (width, _) in axes.items():
        left = left // shape_of(array)[d] * width
    count = trip_count(loop)
    if left > max(_SMALL, written * (_ROUNDS if count is None else count)):
        return None
    inner = [o.operation for o in body.operations]
    return [inner.index(op) for op in ops], axes


def _with_part(op: Any, i: int, numbers: list[int], axes: dict[int, tuple[int, Any]]) -> list[Any]:
    """Rebuild a loop with a part of an array as its state, and write that back after the loop."""
    loop = op.operation
    initial, index = before_barriers(loop.operands[i]), loop.regions[1].blocks[0]
    first = [o.operation for o in index.operations][numbers[0]]
    kinds = list(first.operands)[1 if first.name == _READ else 2 :]
    starts = [_built(axes[d][1], kind) if d in axes else build.full(0, kind) for d, kind in enumerate(kinds)]
    sizes = [axes[d][0] if d in axes else size for d, size in enumerate(shape_of(initial))]
    part = build.dynamic_slice(initial, starts, sizes)
    copy = loop.clone(ip=False)
    for region in copy.regions:
        region.blocks[0].arguments[i].set_type(part.type)
    body = copy.regions[1].blocks[0]
    inner = [o.operation for o in body.operations]
    for number in numbers:
        user = inner[number]
        offset = 1 if user.name == _READ else 2
        with bindings.ir.InsertionPoint(user), user.location:
            for d in axes:
                user.operands[offset + d] = build.full(0, user.operands[offset + d])
        if user.name == _UPDATE:
            user.results[0].set_type(part.type)
    results = with_initial(copy, i, part)
    written = build.op(_UPDATE, [initial, results[i], *starts])
    return [written if n == i else result for n, result in enumerate(results)]


def _built(start: Any, like: Any) -> Any:
    return build.full(start, like) if isinstance(start, int) else start


def _start(loop: Any, op: Any, d: int) -> tuple[int, Any] | None:
    """The size and the start of what an op reads or writes along an axis; None if the start may vary."""
    is_read = op.name == _READ
    width = shape_of(op.results[0] if is_read else op.operands[1])[d]
    start = op.operands[(1 if is_read else 2) + d]
    number = splat_of(start)
    if number is not None:
        return width, int(number)
    return (width, start) if not is_inside(block_of(start), loop) else None


PATTERNS = laws_of(globals())
