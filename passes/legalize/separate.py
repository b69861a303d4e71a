"""Every operation in a kernel of its own, for programs that the compiler gets wrong once it has fused them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from passes import bindings, build
from passes.match import functions, producer, rank_of, uses

# Regions of these run on the host, one operation after the other; those of others are parts of a kernel.
_CONTROL = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
_BARRIER = "stablehlo.optimization_barrier"
_KEPT = ("stablehlo.constant", _BARRIER, "func.call", *_CONTROL)


def separate(module: Any) -> int:
    """Store the result of every operation before anything reads it. Exact.

    Constants, and what is broadcast from one number, stay parts of the kernels that read them.

    Returns:
      How many values are stored.
    """
    found = [pair for f in functions(module).values() for block in f.regions[0].blocks for pair in _computing(block)]
    for op, following in found:
        _store(list(op.results), op.location, following)
    return sum(len(op.results) for op, _ in found)


def store_sorted(module: Any) -> dict[str, int]:
    """A sort reads memory, and all that it sorts goes back to memory. Exact.

    The compiler refuses to sort what the sort's own kernel makes or nobody reads: it becomes memory that
    threads share.

    Returns:
      How many sorts were changed, by the reason's name; empty if none.
    """
    found = [pair for f in functions(module).values() for block in f.regions[0].blocks for pair in _computing(block)]
    count = 0
    for op, following in found:
        if op.name != "stablehlo.sort":
            continue
        made = [i for i, v in enumerate(op.operands) if producer(v) and not producer(v, _BARRIER)]
        with bindings.ir.InsertionPoint(op), op.location:
            for i in made:
                op.operands[i] = build.op(_BARRIER, [op.operands[i]])
        ignored = len(op.results) > 1 and any(uses(result) == 0 for result in op.results)
        if ignored:
            _store(list(op.results), op.location, following)
        count += bool(made or ignored)
    return {"store_sorted": count} if count else {}


def _computing(block: Any) -> Iterator[tuple[Any, Any]]:
    """The operations whose results are to be stored, each with the one behind it: blocks end in a terminator."""
    for op, following in itertools.pairwise([op.operation for op in block.operations]):
        if op.name in _CONTROL:
            for region in op.regions:
                for inner in region.blocks:
                    yield from _computing(inner)
        elif op.name not in _KEPT and not (op.name == "stablehlo.broadcast_in_dim" and rank_of(op.operands[0]) == 0):
            yield op, following


def _store(results: list[Any], location: Any, before: Any) -> None:
    readers = [list(result.uses) for result in results]
    with bindings.ir.InsertionPoint(before), location:
        stored = bindings.ir.Operation.create(_BARRIER, [r.type for r in results], results).results
    for result, uses_ in zip(stored, readers):
        for use in uses_:
            use.owner.operation.operands[use.operand_number] = result
