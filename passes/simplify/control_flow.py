"""Branches that are known, and loops that never run."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.match import SPLATS, splat_of
from passes.patterns import pattern


def inline_block(block: Any, arguments: list[Any]) -> list[Any]:
    """Clone a block's ops at the insertion point and return what it would have yielded."""
    ir = bindings.ir
    mapping: list[tuple[Any, Any]] = list(zip(block.arguments, arguments))
    point = ir.InsertionPoint.current
    for op in block.operations:
        operation = op.operation
        if operation.name == "stablehlo.return":
            found = dict(mapping)
            return [found.get(value, value) for value in operation.operands]
        clone = operation.clone(point).operation
        for old, new in mapping:
            _replace_in(clone, old, new)
        mapping += zip(operation.results, clone.results)
    raise AssertionError("invariant: a StableHLO region ends in stablehlo.return")


def _replace_in(operation: Any, old: Any, new: Any) -> None:
    """Replace `old` in an op and in its regions."""
    operation.replace_uses_of_with(old, new)
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_in(inner.operation, old, new)


@pattern("stablehlo.case", "stablehlo.if", of=SPLATS)
def known_branch(op: Any) -> Any:
    """case or if with a constant index -> the ops of that branch. Exact."""
    number = splat_of(op.operation.operands[0])
    if number is None:
        return None
    regions = op.operation.regions
    if op.operation.name == "stablehlo.if":
        index = 0 if bool(number) else 1
    else:
        index = int(number) if 0 <= int(number) < len(regions) else len(regions) - 1
    return inline_block(regions[index].blocks[0], [])


@pattern("stablehlo.case")
def single_branch(op: Any) -> Any:
    """case of one branch -> its ops. Exact."""
    return inline_block(op.operation.regions[0].blocks[0], []) if len(op.operation.regions) == 1 else None


@pattern("stablehlo.while")
def loop_that_never_runs(op: Any) -> Any:
    """while whose condition is the constant false -> its initial values. Exact.

    The condition's ops run once, for those that call the host.
    """
    condition = op.operation.regions[0].blocks[0]
    last = list(condition.operations)[-1].operation
    number = splat_of(last.operands[0])
    if number is None or bool(number):
        return None
    initial = list(op.operation.operands)
    inline_block(condition, initial)
    return initial


PATTERNS = (known_branch, single_branch, loop_that_never_runs)
