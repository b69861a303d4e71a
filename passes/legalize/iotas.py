"""Store the indices from which long expressions are computed."""

from __future__ import annotations

from typing import Any

from passes import bindings, build
from passes.legalize.many_operands import blocks, is_fused
from passes.match import splat_of

# The most operations, one on the result of the other, of an expression that reads no memory.
_MOST_OPERATIONS = 16
_BARRIER = "stablehlo.optimization_barrier"


def store(module: Any) -> dict[str, int]:
    """Store an iota from which alone more than 16 operations, one on the other, are computed. Exact.

    For Vulkan, the compiler's time grows exponentially with their number, such as the rounds of random bits whose key
    is known.

    Returns:
      The number of stored iotas, by the law's name; empty if none.
    """
    count = 0
    for block in blocks(module):
        for iota in _roots(block):
            readers = list(iota.result.uses)
            with bindings.ir.InsertionPoint.after(iota), iota.location:
                stored = build.op(_BARRIER, [iota.result])
            for use in readers:
                use.owner.operation.operands[use.operand_number] = stored
            count += 1
    return {"store_iota": count} if count else {}


def _roots(block: Any) -> list[Any]:
    """The iotas of a block from which long expressions are computed without anything else."""
    # By value that reads no memory: how many operations were one on the other, and their iotas.
    known: dict[Any, tuple[int, frozenset[Any]]] = {}
    found: dict[Any, None] = {}
    for op in block.operations:
        op = op.operation
        if op.name == "stablehlo.iota":
            known[op.results[0]] = 0, frozenset([op])
            continue
        operands = [value for value in op.operands if splat_of(value) is None]
        read = [known[value] for value in operands if value in known]
        if not read or len(read) < len(operands) or not is_fused(op):
            continue
        length = 1 + max(n for n, _ in read)
        roots = frozenset().union(*(iotas for _, iotas in read))
        if length > _MOST_OPERATIONS:
            found.update(dict.fromkeys(roots))
            continue
        for result in op.results:
            known[result] = length, roots
    return list(found)
