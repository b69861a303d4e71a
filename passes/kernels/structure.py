"""What an operation is, apart from its place in the program: equal structures are the same code on other values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import bindings
from passes.match import captured_values, constant_of, dtype_of, splat_of


def of(op: Any, numbers: dict[Any, int], bodies: Bodies | None = None) -> Any:
    """An operation with its regions, without locations; values are numbers, in the order in which they come first.

    Args:
      numbers: of values that are known; those that come are added, among them the ones that are used from outside.
      bodies: where to look for regions that have been read.
    """
    operands = tuple([numbers.setdefault(value, len(numbers)) for value in op.operands])
    results = list(op.results)
    if op.name == "stablehlo.constant" and dtype_of(results[0]).kind == "c":
        # The bindings end the process where they read its attribute.
        number = splat_of(results[0])
        known: Any = np.asarray(constant_of(results[0]) if number is None else number).tobytes()
    else:
        known = tuple(op.attributes.items())
    for value in results:
        numbers[value] = len(numbers)
    regions: Any = ()
    if len(op.regions):
        regions = None if bodies is None else bodies.of(op).kind
        if regions is None:
            regions = tuple([of_block(block, numbers) for region in op.regions for block in region.blocks])
    return op.name, operands, known, tuple([value.type for value in results]), regions


def of_block(block: Any, numbers: dict[Any, int]) -> Any:
    """The same of a block: its arguments and its operations."""
    arguments = list(block.arguments)
    for value in arguments:
        numbers[value] = len(numbers)
    types = tuple([value.type for value in arguments])
    return types, tuple([of(inner.operation, numbers) for inner in block.operations])


class Body(NamedTuple):
    """The regions of an operation.

    Attributes:
      captured: what they use of the outside.
      kind: a number that equal ones share, where there is one region that uses nothing but constants of the outside.
    """

    captured: tuple[Any, ...]
    kind: int | None


class Bodies:
    """The regions of operations, of which those of equal operations are read once: functions have long ones.

    Args:
      kinds: the numbers that were given so far, which remain valid in another object.
    """

    def __init__(self, kinds: dict[Any, int]) -> None:
        self._kinds = kinds
        self._read: dict[Any, Body] = {}
        self._different: dict[Any, list[tuple[Any, Body]]] = {}

    def of(self, op: Any) -> Body:
        """That of an operation with regions."""
        body = self._read.get(op)
        if body is None:
            body = self._read[op] = self._of_equal(op)
        return body

    def _of_equal(self, op: Any) -> Body:
        key = op.name, *[value.type for value in (*op.operands, *op.results)]
        known = self._different.setdefault(key, [])
        for other, body in known:
            if _are_equal(op, other):
                return body
        captured = captured_values(op)
        known.append((op, made := Body(tuple(captured), self._kind(op, captured))))
        return made

    def _kind(self, op: Any, captured: list[Any]) -> int | None:
        if len(op.regions) != 1:
            return None
        numbers: dict[Any, int] = {}
        what = of_block(op.regions[0].blocks[0], numbers)
        constants = [_constant(value) for value in sorted(captured, key=numbers.__getitem__)]
        return self._kinds.setdefault((what, *constants), len(self._kinds)) if all(constants) else None


def _are_equal(op: Any, other: Any) -> bool:
    """Whether two operations with operands of the same types differ in these and in their lines alone."""
    # The compiler's comparison has no way to leave out operands, so a copy gets those of the other operation.
    copy = op.clone(ip=False)
    for number, value in enumerate(other.operands):
        copy.operands[number] = value
    return bool(copy.is_structurally_equivalent(other, bindings.ir.OperationEquivalenceFlags.IGNORE_LOCATIONS))


def _constant(value: Any) -> Any:
    """What a constant is, which folding may have put outside of the region that it is for."""
    number = splat_of(value)
    return None if number is None else (value.type, number.tobytes())
