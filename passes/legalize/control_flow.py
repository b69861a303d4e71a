"""Arrays that are updated in place beside control flow that reads them or gives them back.

The CPU backend runs control flow between its kernels. It takes an update in
place that follows a loop or a choice for independent of it, and runs it first,
even if the loop or the choice reads the same memory; and it does not see that a
result may be the memory of what went in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from passes import bindings
from passes.legalize.memory import CHOICES, apart, block_of, is_inside, memory, yielded
from passes.match import functions, is_static, size_of

_UPDATES = ("stablehlo.sort", "stablehlo.dynamic_update_slice", "stablehlo.scatter", "chlo.top_k")
_CONTROL = (*CHOICES, "stablehlo.while", "func.call")


def keep_apart(module: Any) -> dict[str, int]:
    """Give control flow and the updates beside it memory of their own. Exact.

    Returns:
      How many copies were made, by reason.
    """
    hits: dict[str, int] = {}
    numbers = itertools.count(1)
    for function in functions(module).values():
        if not len(function.regions[0].blocks):
            continue
        everything = list(_operations(function.regions[0].blocks[0]))
        flow = [op for op in everything if op.name in _CONTROL]
        updates = [op for op in everything if op.name in _UPDATES]
        for op in flow:
            if op.name == "stablehlo.while":
                _separate_repeated_state(op, numbers, hits)
            elif op.name in CHOICES and updates:
                _separate_results(op, updates, numbers, hits)
        if not updates:
            continue
        for op in flow:
            _separate_later_updates(op, numbers, hits)
    return hits


def _operations(block: Any) -> Iterator[Any]:
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _copy(value: Any, before: Any, numbers: Iterator[int], hits: dict[str, int], reason: str) -> Any:
    hits[reason] = hits.get(reason, 0) + 1
    with bindings.ir.InsertionPoint(before), before.location:
        return apart(value, next(numbers))


def _written(update: Any) -> list[tuple[int, Any]]:
    """The operands that an update may write to, with their positions."""
    operands = list(enumerate(update.operands))
    if update.name == "stablehlo.dynamic_update_slice":
        return operands[:1]
    if update.name == "stablehlo.scatter":
        return operands[: len(operands) // 2]
    return operands


def _separate_results(op: Any, updates: list[Any], numbers: Iterator[int], hits: dict[str, int]) -> None:
    """A branch yields a copy of what it got, if that or the result is updated while both are needed."""
    written = [memory(value) for u in updates if not is_inside(u.block, op) for _, value in _written(u)]
    for region in op.regions:
        block = region.blocks[0]
        last = list(block.operations)[-1].operation
        before: set[Any] = set()
        for i, value in enumerate(yielded(block)):
            found = memory(value)
            outside = {v for v in found if not is_inside(block_of(v), op)}
            shared = bool(found & before) or (
                bool(outside) and not _only_used_in(op, outside) and any(not w.isdisjoint(outside) for w in written)
            )
            before |= found
            if shared and is_static(value):
                last.operands[i] = _copy(value, last, numbers, hits, "branch_results_apart")


def _separate_repeated_state(op: Any, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """A loop with a choice in it does not begin with one argument twice, which fails when it runs."""
    if not any(inner.name in CHOICES for inner in _inner(op)):
        return
    before: set[Any] = set()
    for i, value in enumerate(op.operands):
        arguments = {v for v in memory(value) if _is_argument(v)}
        if arguments & before and is_static(value):
            op.operands[i] = _copy(value, op, numbers, hits, "loop_state_apart")
        before |= arguments


def _is_argument(value: Any) -> bool:
    owner = value.owner
    return isinstance(owner, bindings.ir.Block) and owner.owner.operation.name == "func.func"


def _only_used_in(op: Any, values: set[Any]) -> bool:
    """Whether nothing but `op` reads the values, which then are the result's to overwrite."""
    for value in values:
        for use in value.uses:
            user = use.owner.operation
            inside = user == op or is_inside(user.block, op)
            around = any(is_inside(op.block, user) for _ in user.regions)
            if not inside and not around and not any(result in values for result in user.results):
                return False
    return True


def _reads(op: Any) -> list[Any]:
    """The values from outside that control flow reads."""
    found = dict.fromkeys(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for inner in _operations(block):
                found |= dict.fromkeys(v for v in inner.operands if not is_inside(block_of(v), op))
    return list(found)


def _separate_later_updates(op: Any, numbers: Iterator[int], hits: dict[str, int]) -> None:
    """What is updated behind control flow is not what it reads: the smaller of the two becomes a copy."""
    later = list(itertools.dropwhile(lambda o: o.operation != op, op.block.operations))[1:]
    updates = [u for o in later for u in ((o.operation, *_inner(o.operation)))]
    updates = [u for u in updates if u.name in _UPDATES]
    if not updates:
        return
    for value in _reads(op):
        if not is_static(value):
            continue
        read = memory(value)
        shared = [(u, i, v) for u in updates for i, v in _written(u) if is_static(v) and not memory(v).isdisjoint(read)]
        if not shared:
            continue
        if all(u.block == op.block and size_of(v) <= size_of(value) for u, _, v in shared):
            for u, i, v in shared:
                u.operands[i] = _copy(v, u, numbers, hits, "update_apart_from_control_flow")
        else:
            copy = _copy(value, op, numbers, hits, "control_flow_apart_from_update")
            for use in list(value.uses):
                user = use.owner.operation
                if user == op or is_inside(user.block, op):
                    user.operands[use.operand_number] = copy


def _inner(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            yield from _operations(block)
