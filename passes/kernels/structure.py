"""What an operation is, apart from its place in the program: equal structures are the same code on other values."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes.match import constant_of, dtype_of, splat_of


def of(op: Any, numbers: dict[Any, int]) -> Any:
    """An operation with its regions, without locations; values are numbers, in the order in which they come first.

    Args:
      numbers: of values that are known; those that come are added, among them the ones that are used from outside.
    """
    operands = tuple([numbers.setdefault(value, len(numbers)) for value in op.operands])
    results = list(op.results)
    if op.name == "stablehlo.constant" and dtype_of(results[0]).kind == "c":
        # The bindings end the process where they read its attribute.
        number = splat_of(results[0])
        known: Any = np.asarray(constant_of(results[0]) if number is None else number).tobytes()
    else:
        attributes = op.attributes
        known = tuple([(attributes[i].name, attributes[i].attr) for i in range(len(attributes))])
    for value in results:
        numbers[value] = len(numbers)
    regions = tuple([of_block(block, numbers) for region in op.regions for block in region.blocks])
    return op.name, operands, known, tuple([value.type for value in results]), regions


def of_block(block: Any, numbers: dict[Any, int]) -> Any:
    """The same of a block: its arguments and its operations."""
    arguments = list(block.arguments)
    for value in arguments:
        numbers[value] = len(numbers)
    types = tuple([value.type for value in arguments])
    return types, tuple([of(inner.operation, numbers) for inner in block.operations])
