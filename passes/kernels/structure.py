"""The structure of operations, independent of their values: operations of equal structure have the same code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import bindings
from passes.match import captured_values, constant_of, dtype_of, splat_of


def of(op: Any, numbers: dict[Any, int], bodies: Bodies | None = None) -> Any:
    """The structure of an operation and its regions, without locations; values are numbered by first occurrence.

    Args:
      numbers: the numbers of known values, to which new ones are added, captured values included.
      bodies: a cache of regions.
    """
    operands = tuple([numbers.setdefault(value, len(numbers)) for value in op.operands])
    results = list(op.results)
    if op.name == "stablehlo.constant" and dtype_of(results[0]).kind == "c":
        # The bindings crash when they read this attribute.
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
    """The structure of a block: its arguments' types and its operations."""
    arguments = list(block.arguments)
    for value in arguments:
        numbers[value] = len(numbers)
    types = tuple([value.type for value in arguments])
    return types, tuple([of(inner.operation, numbers) for inner in block.operations])


class Body(NamedTuple):
    """The regions of an operation.

    Attributes:
      captured: the values that they capture.
      kind: a number that equal regions share, if there is one region that captures constants only; else None.
    """

    captured: tuple[Any, ...]
    kind: int | None


class Bodies:
    """A cache of the regions of operations; regions of equal operations are analyzed once, since they may be long.

    Attributes:
      known: what is known of regions by their kind: their costs, and their procedures.

    Args:
      kinds: the numbers assigned so far, which several caches may share.
    """

    def __init__(self, kinds: dict[Any, int]) -> None:
        self.known: dict[Any, Any] = {}
        self._kinds = kinds
        self._read: dict[Any, Body] = {}
        self._different: dict[Any, list[tuple[Any, Body]]] = {}

    def of(self, op: Any) -> Body:
        """The regions of an operation."""
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
    """Whether two operations with operands of the same types differ only in their operands and locations."""
    # MLIR's comparison cannot ignore operands, so a clone gets those of the other operation.
    copy = op.clone(ip=False)
    for number, value in enumerate(other.operands):
        copy.operands[number] = value
    return bool(copy.is_structurally_equivalent(other, bindings.ir.OperationEquivalenceFlags.IGNORE_LOCATIONS))


def _constant(value: Any) -> Any:
    """The type and number of a splat constant, which folding may have moved out of a region; None for other values."""
    number = splat_of(value)
    return None if number is None else (value.type, number.tobytes())
