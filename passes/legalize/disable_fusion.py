"""Prevent fusion: IREE's kernels for Vulkan share memory between threads where they should not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from passes import bindings, build
from passes.analysis.aliases import is_view, written
from passes.legalize.memory import derived_value, force_copy
from passes.match import functions, is_static, rank_of, uses
from passes.operations import CONTROL

_BARRIER = "stablehlo.optimization_barrier"
# Arithmetic of sizes is no part of a kernel.
_ARRAYS = ("stablehlo.", "chlo.")
_KEPT = ("stablehlo.constant", _BARRIER, "func.call", *CONTROL)


def disable_fusion(module: Any) -> int:
    """Give every operation a dispatch of its own, by storing its results before anything reads them. Exact.

    Constants and broadcast scalars stay in the kernels that read them. Results never take the memory of donated
    arguments.

    Returns:
      How many operations are stored.
    """
    found = list(_computing(module))
    for function in functions(module).values():
        _forbid_output_reuse(function)
    numbers = itertools.count(1)
    for op, following in found:
        # The compiler does not make an update wait for readers of the same memory on the other side of a barrier.
        for i, value in written(op):
            if is_static(value):
                with bindings.ir.InsertionPoint(op), op.location:
                    op.operands[i] = build.op(_BARRIER, [force_copy(value, next(numbers))])
        if not all(is_view(result) and op.name != "stablehlo.convert" for result in op.results):
            _store(op, following)
    return len(found)


def read_sorted(module: Any) -> dict[str, int]:
    """Have a reader for every result of a sort. Exact.

    The compiler refuses, or crashes on, a sort with an unused result, for which it allocates memory that threads
    share. A select that never selects them reads the unused results.

    Returns:
      How many sorts were changed, by the reason's name; empty if none.
    """
    found = [
        p
        for p in _computing(module)
        if p[0].name == "stablehlo.sort" and len({uses(r) > 0 for r in p[0].results}) > 1 and is_static(p[0].results[0])
    ]
    for op, following in found:
        results = list(op.results)
        read = next(r for r in results if uses(r))
        readers = list(read.uses)
        with bindings.ir.InsertionPoint(following), op.location:
            made = read
            for i, ignored in enumerate(results):
                if not uses(ignored):
                    made = force_copy(made, i, derived_value(ignored, made))
        for use in readers:
            use.owner.operation.operands[use.operand_number] = made
    return {"read_sorted": len(found)} if found else {}


def _computing(module: Any) -> Iterator[tuple[Any, Any]]:
    """The operations whose results can be stored, each with the one after it."""
    for function in functions(module).values():
        for block in function.regions[0].blocks:
            yield from _computing_in(block)


def _computing_in(block: Any) -> Iterator[tuple[Any, Any]]:
    for op, following in itertools.pairwise([op.operation for op in block.operations]):
        if op.name in CONTROL:
            for region in op.regions:
                for inner in region.blocks:
                    yield from _computing_in(inner)
        elif (
            op.name.startswith(_ARRAYS)
            and op.name not in _KEPT
            and not (op.name == "stablehlo.broadcast_in_dim" and rank_of(op.operands[0]) == 0)
        ):
            yield op, following


def _forbid_output_reuse(function: Any) -> None:
    if "arg_attrs" in function.operation.attributes:
        every = bindings.ir.ArrayAttr(function.operation.attributes["arg_attrs"])
        kept = [
            bindings.ir.DictAttr.get({a.name: a.attr for a in bindings.ir.DictAttr(row) if a.name != "iree.abi.output"})
            for row in every
        ]
        function.operation.attributes["arg_attrs"] = bindings.ir.ArrayAttr.get(kept)


def _store(op: Any, following: Any) -> None:
    results = list(op.results)
    readers = [list(result.uses) for result in results]
    with bindings.ir.InsertionPoint(following), op.location:
        stored = bindings.ir.Operation.create(_BARRIER, [r.type for r in results], results).results
    for result, found in zip(stored, readers):
        for use in found:
            use.owner.operation.operands[use.operand_number] = result
