"""What the compiler gets wrong between its kernels, mended from outside it."""

from __future__ import annotations

import importlib
from typing import Any

_BRANCHES = ("vm.br", "vm.cond_br")


def prepare(invocation: Any) -> None:
    """Have the kernels run in the order of the program, and loops update their state in place.

    Where one kernel reads what a later one updates in place, the compiler's
    own schedules take the two for independent, and may run the update first.
    What a loop carries has no device for it, so that each round would begin
    with copies of all of it.

    Args:
      invocation: of `iree.compiler.api`, after the source is parsed.
    """
    module = invocation.export_module()
    with module.context:
        parse = _ir().Attribute.parse
        module.attributes["stream.partitioning"] = parse('#stream.partitioning_config<"debug">')
        module.attributes["stream.affinity"] = parse("#hal.device.promise<@__device_0>")
    invocation.import_module(module)


def own_references(invocation: Any) -> int:
    """Have no branch between blocks pass one reference twice.

    A loop or a choice becomes branches, and what it carries becomes their
    operands. The compiler's register allocation may move a reference out of its
    register for one operand, and then read it again for another: the program
    runs with a buffer lost. Each further operand gets a reference of its own.

    Args:
      invocation: of `iree.compiler.api`, after its pipeline has run.

    Returns:
      How many operands were given a reference of their own.
    """
    ir = _ir()
    module = invocation.export_module()
    branches: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name in _BRANCHES:
            branches.append(operation)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    count = 0
    for branch in branches:
        seen: set[Any] = set()
        for i, value in enumerate(branch.operands):
            if value in seen:
                with ir.InsertionPoint(branch), branch.location:
                    own = ir.Operation.create("vm.assign.ref", results=[value.type], operands=[value])
                branch.operands[i] = own.result
                count += 1
            elif str(value.type).startswith("!vm.ref"):
                seen.add(value)
    invocation.import_module(module)
    return count


def _ir() -> Any:
    return importlib.import_module("iree.compiler.ir")
