"""The integers and booleans that a host program computes: those that follow from constants and from one another.

Where loops stay outside kernels, the host decides how often they run. Its scalars never depend on what a kernel
computes in the same iteration, so the host need not wait for kernels. It reads a number that a kernel computes before a
loop once, before the loop begins.
"""

from __future__ import annotations

from typing import Any

from passes import operations
from passes.match import functions, host_operations
from passes.operations import CONDITIONALS, CONTROL
from passes.types import spelled

# Integers and booleans of these types are registers of the host.
TYPES = ("i1", "i32", "i64")
_LOOP = "stablehlo.while"


def is_host_scalar(value: Any) -> bool:
    """Whether a value is a scalar of a type that the host has registers for."""
    return not value.type.shape and spelled(value.type.element_type) in TYPES


class HostScalars:
    """The scalars of a function that its host program holds in registers.

    Attributes:
      found: the values.
      depth: the number of loops around the operation that makes each value.
    """

    def __init__(self, function: Any) -> None:
        self.depth: dict[Any, int] = {}
        # For each candidate, the values that it is computed from, and the number of loops around that computation.
        self._needs: dict[Any, list[tuple[Any, int]]] = {}
        for block in function.regions[0].blocks:
            for argument in block.arguments:
                self.depth[argument] = 0
            self._visit(block, 0, True)
        self.found = {value for value in self._needs if is_host_scalar(value)}
        while lost := [v for v in self.found if not all(self.is_known(*need) for need in self._needs[v])]:
            self.found.difference_update(lost)

    def is_known(self, value: Any, depth: int) -> bool:
        """Whether the host has a scalar inside `depth` loops, or can read it before the innermost of them begins."""
        return value in self.found or (is_host_scalar(value) and self.depth[value] < depth)

    def _visit(self, block: Any, depth: int, is_function: bool) -> None:
        for op in (o.operation for o in block.operations):
            for result in op.results:
                self.depth[result] = depth
            if op.name == "stablehlo.constant":
                self._needs[op.results[0]] = []
            elif op.name == _LOOP:
                self._loop(op, depth)
            elif op.name in CONDITIONALS:
                self._conditional(op, depth)
            elif not is_function and _is_possible(op):
                self._needs[op.results[0]] = [(value, depth) for value in op.operands]

    def _loop(self, op: Any, depth: int) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        following = list(body.operations)[-1].operation.operands
        for block in (condition, body):
            for argument, first, then in zip(block.arguments, op.operands, following):
                self.depth[argument] = depth + 1
                self._needs[argument] = [(first, depth + 1), (then, depth + 1)]
        for result, argument in zip(op.results, body.arguments):
            # At depth 0, the host cannot read the value before a loop: the state itself has to be known.
            self._needs[result] = [(argument, 0)]
        for block in (condition, body):
            self._visit(block, depth + 1, False)

    def _conditional(self, op: Any, depth: int) -> None:
        for region in op.regions:
            self._visit(region.blocks[0], depth, False)
        ends = [list(region.blocks[0].operations)[-1].operation.operands for region in op.regions]
        for i, result in enumerate(op.results):
            self._needs[result] = [(values[i], 0) for values in ends]


def _is_possible(op: Any) -> bool:
    """Whether the host can compute an operation."""
    types = operations.of(op.name).host
    return bool(types) and all(map(is_host_scalar, op.operands)) and spelled(op.results[0].type.element_type) in types


def is_whole(module: Any) -> bool:
    """Whether IREE's host programs cannot run a module's kernels as they are.

    So it is where loops or conditionals stay outside kernels; and where the program has no arguments, because IREE runs
    kernels that read nothing ahead of the first call, and mixes up their results.
    """
    return bool(host_operations(module, *CONTROL)) or not functions(module)["main"].regions[0].blocks[0].arguments
