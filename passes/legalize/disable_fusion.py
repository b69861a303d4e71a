"""Operations that are not fused: IREE shares memory between the threads of kernels for Vulkan where it should not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from passes import bindings, build
from passes.analysis.aliases import is_view, written
from passes.legalize.memory import bits_as, force_copy
from passes.match import functions, is_static, rank_of, uses
from passes.operations import CONTROL

_BARRIER = "stablehlo.optimization_barrier"
_KEPT = ("stablehlo.constant", _BARRIER, "func.call", *CONTROL)


def disable_fusion(module: Any) -> int:
    """Give every operation a dispatch of its own, by storing its results before anything reads them. Exact.

    Constants, and what is broadcast from one number, stay parts of the kernels that read them. Results take
    memory of their own, donated or not.

    Returns:
      How many operations are stored.
    """
    found = list(_computing(module))
    for function in functions(module).values():
        _keep_donated(function)
    numbers = itertools.count(1)
    for op, following in found:
        # The compiler does not let an update wait for those who read the same memory on another side of a barrier.
        for i, value in written(op):
            if is_static(value):
                with bindings.ir.InsertionPoint(op), op.location:
                    op.operands[i] = build.op(_BARRIER, [force_copy(value, next(numbers))])
        if not all(is_view(result) and op.name != "stablehlo.convert" for result in op.results):
            _store(op, following)
    return len(found)


def read_sorted(module: Any) -> dict[str, int]:
    """All that a sort moves is read. Exact.

    The compiler refuses, or crashes on, a sort some of whose results nobody reads: they become memory that
    threads share. A choice that never falls on them reads them.

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
                    made = force_copy(made, i, bits_as(ignored, made))
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
        elif op.name not in _KEPT and not (op.name == "stablehlo.broadcast_in_dim" and rank_of(op.operands[0]) == 0):
            yield op, following


def _keep_donated(function: Any) -> None:
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
