"""Canonicalization of commutative operands, so that ops that differ only in operand order are merged."""

from __future__ import annotations

from typing import Any

from passes import operations
from passes.match import host_operations

_NAMES = operations.where(commutative=True)


def has_exchanged_operands(module: Any) -> bool:
    """Whether two commutative ops of the same kind have the same operands in different order.

    Once equal ops have been merged, `canonicalize` changes nothing unless there is such a pair.
    """
    seen = set()
    for op in host_operations(module, *_NAMES):
        x, y = op.operands
        if x != y:
            if (op.name, y, x) in seen:
                return True
            seen.add((op.name, x, y))
    return False


def canonicalize(module: Any) -> int:
    """Give `y * x` the order of an `x * y` before it, so that equal ops are merged. Exact.

    Otherwise IREE merges the two inside a dispatch, and it miscompiles a dispatch that returns the same value twice:
    the second result is read from another value.

    Returns:
      The number of ops that were changed.
    """
    numbers: dict[Any, int] = {}
    leaders: dict[Any, tuple[list[int], list[int]]] = {}
    count = 0
    for op in host_operations(module):
        own = [numbers.setdefault(value, len(numbers)) for value in op.operands]
        results = list(op.results)
        if not results or not own or len(op.regions):
            continue
        commutes = op.name in _NAMES
        key = (
            op.name,
            tuple(sorted(own) if commutes else own),
            tuple(value.type for value in results),
            tuple(op.attributes.items()),
        )
        order, made = leaders.setdefault(key, (own, [len(numbers) + i for i in range(len(results))]))
        numbers.update(zip(results, made))
        if order != own:
            op.operands[0], op.operands[1] = op.operands[1], op.operands[0]
            count += 1
    return count
