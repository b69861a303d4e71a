"""Split expressions that read more arrays than one kernel may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passes import attributes as attrs, bindings, build, operations
from passes.match import functions, is_static, splat_of
from passes.operations import Regions

# The most arrays that an expression may read: the runtime refuses to run a dispatch of more than 32 buffers, and some
# of them are results.
MOST_ARRAYS = 24
_BARRIER = "stablehlo.optimization_barrier"


def divide(module: Any) -> dict[str, int]:
    """Store parts of expressions that read more than 24 arrays, and of concatenations of more. Exact.

    The compiler makes one kernel of the sum of 40 arrays, and the runtime refuses to run it.

    Returns:
      The number of stored parts, by the law's name; empty if none.
    """
    count = sum(map(_divide, blocks(module)))
    return {"divide_many_operands": count} if count else {}


def blocks(module: Any) -> Iterator[Any]:
    """The blocks of a module's functions, and those of the loops and conditionals in them."""
    for function in functions(module).values():
        for block in function.regions[0].blocks:
            yield from _nested(block)


def _nested(block: Any) -> Iterator[Any]:
    yield block
    for op in block.operations:
        if op.operation.name in operations.CONTROL:
            for region in op.operation.regions:
                for inner in region.blocks:
                    yield from _nested(inner)


def _divide(block: Any) -> int:
    ops = [op.operation for op in block.operations]
    # The arrays that each expression's value reads; a value without an entry is an array in memory.
    reads: dict[Any, frozenset[Any]] = {}
    stored = 0
    for op in ops:
        if not is_fused(op):
            continue
        operands = list(op.operands)
        if op.name == "stablehlo.concatenate" and len(operands) > MOST_ARRAYS and all(map(is_static, operands)):
            op, number = _in_steps(op)
            operands, stored = list(op.operands), stored + number
        found = [_reads(value, reads) for value in operands]
        total = frozenset().union(*found)
        while len(total) > MOST_ARRAYS:
            largest = max(range(len(found)), key=lambda i: len(found[i]))
            if len(found[largest]) < 2:
                break  # it has too many operands, each an array in memory
            with bindings.ir.InsertionPoint(op), op.location:
                kept = build.op(_BARRIER, [operands[largest]])
            for i, value in enumerate(operands):
                if value == operands[largest]:
                    op.operands[i] = kept
                    found[i] = frozenset([kept])
            stored += 1
            total = frozenset().union(*found)
        if len(total) <= MOST_ARRAYS:
            for result in op.results:
                reads[result] = total
    return stored


def _in_steps(op: Any) -> tuple[Any, int]:
    """Concatenate at most `MOST_ARRAYS` arrays at a time; returns the last operation, and how many parts are stored."""
    operands, count, dimension = list(op.operands), 0, attrs.integer(op, "dimension")
    with bindings.ir.InsertionPoint(op), op.location:
        while len(operands) > MOST_ARRAYS:
            parts = [operands[i : i + MOST_ARRAYS] for i in range(0, len(operands), MOST_ARRAYS)]
            operands = [build.op(_BARRIER, [build.concatenate(part, dimension)]) for part in parts]
            count += len(parts)
        made = build.concatenate(operands, dimension)
    op.results[0].replace_all_uses_with(made)
    op.erase()
    return made.owner, count


def _reads(value: Any, reads: dict[Any, frozenset[Any]]) -> frozenset[Any]:
    known = reads.get(value)
    if known is not None:
        return known
    # A splat is part of the code.
    return frozenset() if splat_of(value) is not None else frozenset([value])


def is_fused(op: Any) -> bool:
    """Whether an operation may be computed in the kernel that reads its results."""
    row = operations.of(op.name)
    return row.elementwise or row.moves or row.layout or row.regions is Regions.ELEMENTS
