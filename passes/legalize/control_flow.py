"""In-place hazards of control flow: arrays that are updated in place and that a loop or a conditional reads or returns.

The CPU backend runs control flow between its kernels. It treats an in-place update
after a loop or a conditional as independent of it, and may run the update first, even
if the loop or the conditional reads the same memory. It ignores that a result may share
the memory of an operand, or of another result. And it computes a value that depends on
constants alone once, and gives the same memory to all updates and loops that start from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from passes import bindings, build
from passes.analysis.aliases import is_view, memory, shared_by, written
from passes.legalize.memory import force_copy, is_forced_copy
from passes.match import (
    block_of,
    captured_values,
    constant_of,
    functions,
    is_inside,
    is_static,
    operations_in,
    size_of,
    splat_of,
)
from passes.operations import CONDITIONALS, CONTROL, IN_PLACE

_CONTROL = (*CONTROL, "func.call")


def resolve_hazards(module: Any, freed: bool = False) -> dict[str, int]:
    """Force copies of values that control flow reads and an update overwrites. Exact.

    Args:
      freed: whether the device refuses to read memory that was freed. The compiler frees what a conditional
        returns, though that may be the memory of an earlier value; on the CPU memory is reference-counted.

    Returns:
      How many copies were made, by reason.
    """
    hits: dict[str, int] = {}
    numbers = itertools.count(1)
    for function in functions(module).values():
        if not len(function.regions[0].blocks):
            continue
        found = operations_in(function, *_CONTROL, *IN_PLACE)
        flow = [op for op in found if op.name in _CONTROL]
        updates = [op for op in found if op.name in IN_PLACE]
        for op in updates:
            _copy_updated_constant(op, numbers, hits)
        for op in flow:
            if op.name == "stablehlo.while":
                _own_results(op.regions[1].blocks[0], False, numbers, hits)
            elif op.name in CONDITIONALS:
                for region in op.regions:
                    _own_results(region.blocks[0], freed, numbers, hits)
        if not flow or not updates:
            continue
        for op in (o for o in flow if o.name == "stablehlo.while"):
            _copy_state(op, numbers, hits)
        for op in flow:
            _copy_for_later_updates(op, numbers, hits)
        for op in updates:
            _copy_for_later_uses(op, written(op), numbers, hits)
    return hits


def _copy(value: Any, before: Any, numbers: Iterator[int], hits: dict[str, int], reason: str) -> Any:
    hits[reason] = hits.get(reason, 0) + 1
    with bindings.ir.InsertionPoint(before), before.location:
        return force_copy(value, next(numbers))


def _copy_updated_constant(op: Any, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """Copy an updated value that is computed from constants alone, with or without control flow."""
    for i, value in written(op):
        if is_static(value) and _is_made_once(value):
            op.operands[i] = _copy(value, op, numbers, hits, "copied_updated_constant")


def _is_made_once(value: Any) -> bool:
    """Whether a value is computed from constants alone, and is not a forced copy.

    The compiler computes it once for all its readers, whatever shapes they give it, and several updates and loops
    overwrite the same memory, at every call.
    """
    if splat_of(value) is not None or is_forced_copy(value):
        return False
    found, stack = {value}, [value]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, bindings.ir.Block) or owner.name in _CONTROL:
            return False
        new = [v for v in owner.operands if v not in found]
        found.update(new)
        stack += new
    return True


def _own_results(block: Any, freed: bool, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """Have a region return values that are made inside it, each of them once.

    The compiler computes the location and the size of a value in one region, and wrongly reuses them in another one.
    """
    end = list(block.operations)[-1].operation
    given: set[Any] = set()
    for i, value in enumerate(end.operands):
        source = value
        while is_view(source) and _is_made_in(source, block):
            source = source.owner.operands[0]
        constant = splat_of(source) is not None
        foreign = freed and not all(_is_made_in(v, block) for v in memory(value))
        if is_static(value) and (constant or foreign or source in given):
            end.operands[i] = _copy(value, end, numbers, hits, "copied_region_result")
        elif constant or not _is_made_in(source, block):
            hits["barrier_on_region_result"] = hits.get("barrier_on_region_result", 0) + 1
            with bindings.ir.InsertionPoint(end), end.location:
                end.operands[i] = build.op("stablehlo.optimization_barrier", [value])
        given.add(source)


def _is_made_in(value: Any, block: Any) -> bool:
    return block_of(value) == block or is_inside(block_of(value), block.owner.operation)


def _copy_for_later_updates(op: Any, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """Copy a value that control flow reads and a later update overwrites: before the smaller of the two."""
    later = list(itertools.dropwhile(lambda o: o.operation != op, op.block.operations))[1:]
    updates = [u for o in later for u in ((o.operation, *operations_in(o.operation)))]
    updates = [u for u in updates if u.name in IN_PLACE]
    if not updates:
        return
    for value in dict.fromkeys((*op.operands, *captured_values(op))):
        if not is_static(value):
            continue
        read = memory(value)
        shared = [(u, i, v) for u in updates for i, v in written(u) if is_static(v) and not memory(v).isdisjoint(read)]
        if not shared:
            continue
        if all(u.block == op.block and size_of(v) <= size_of(value) for u, _, v in shared):
            for u, i, v in shared:
                u.operands[i] = _copy(v, u, numbers, hits, "copied_for_update_after_control_flow")
        else:
            copy = _copy(value, op, numbers, hits, "copied_for_control_flow")
            for use in list(value.uses):
                user = use.owner.operation
                if user == op or is_inside(user.block, op):
                    user.operands[use.operand_number] = copy


def _copy_state(loop: Any, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """Copy the initial state that a loop updates in place, if its memory is shared.

    The compiler computes a constant, and what follows from constants, once for all the loops that start from it, and
    ignores what a loop's body captures.
    """
    updated = _written_by_loop(loop)
    around = _loop_around(loop)
    captured = captured_values(loop)
    for i, value in updated:
        own = memory(value, within=around)
        others = captured + [v for j, v in enumerate(loop.operands) if j != i]
        if is_static(value) and (
            _is_made_once(value)
            or any(constant_of(v) is not None for v in own)
            or any(not own.isdisjoint(memory(v, within=around)) for v in others)
        ):
            loop.operands[i] = _copy(value, loop, numbers, hits, "copied_loop_state")
    _copy_for_later_uses(loop, updated, numbers, hits)


def _copy_for_later_uses(op: Any, updated: list[tuple[int, Any]], numbers: Iterator[int], hits: dict[str, int]) -> None:
    """Copy a value before its update if it is read afterwards, in functions with control flow.

    The compiler copies it too, but may then drop its own copy.
    """
    for i, value in updated:
        if op.operands[i] == value and is_static(value) and _is_needed_after(op, value):
            op.operands[i] = _copy(value, op, numbers, hits, "copied_for_later_use")


def _written_by_loop(loop: Any) -> list[tuple[int, Any]]:
    """The parts of the loop's state that an update in its body may overwrite: their indices and initial values."""
    found: set[Any] = set()
    for inner in operations_in(loop):
        if inner.name in IN_PLACE:
            for _, value in written(inner):
                found |= memory(value, within=loop)
    arguments = loop.regions[1].blocks[0].arguments
    return [(i, v) for i, v in enumerate(loop.operands) if arguments[i] in found]


def _is_needed_after(op: Any, value: Any) -> bool:
    """Whether an operation that does not depend on `op` reads the memory of `value` after `op`."""
    loop = _loop_around(op)
    values = list(memory(value, within=loop))
    # The next iteration reads what is from outside of the loop. A repeated number gets memory for each use.
    if loop is not None and any(not is_inside(block_of(v), loop) and splat_of(v) is None for v in values):
        return True
    seen = set(values)
    while values:
        for use in values.pop().uses:
            user = use.owner.operation
            if user == op or _in_another_branch(user, op):
                continue
            follows = shared_by(user, use.operand_number)
            if (not follows or user.name in _CONTROL) and _is_after(user, op):
                return True
            values += [v for v in follows if v not in seen]
            seen.update(follows)
    return False


def _loop_around(op: Any) -> Any:
    parent = op.parent.operation
    while parent.name != "func.func":
        if parent.name == "stablehlo.while":
            return parent
        parent = parent.parent.operation
    return None


def _is_after(user: Any, op: Any) -> bool:
    """Whether `user` runs after `op`, an operation of the same function."""
    path = _path(op)
    while user.parent.operation.name != "builtin.module":
        other = next((o for o in path if o.block == user.block), None)
        if other is not None:
            return other != user and _position(user) > _position(other)
        user = user.parent.operation
    return False


def _in_another_branch(user: Any, op: Any) -> bool:
    """Whether the two are in different branches of a conditional, so that at most one of them runs."""
    for outer in _path(op):
        if outer.name in CONDITIONALS and outer != op and is_inside(user.block, outer):
            return not any(_is_in_region(user, region) and _is_in_region(op, region) for region in outer.regions)
    return False


def _is_in_region(op: Any, region: Any) -> bool:
    return any(inner.block == block for block in region.blocks for inner in _path(op))


def _path(op: Any) -> list[Any]:
    found = [op]
    while op.parent.operation.name != "func.func":
        op = op.parent.operation
        found.append(op)
    return found


def _position(op: Any) -> int:
    return next(i for i, other in enumerate(op.block.operations) if other.operation == op)
