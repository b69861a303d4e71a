"""Canonicalization of commutative operands, so that ops that differ in their order are merged."""

from __future__ import annotations

from typing import Any

from passes import operations
from passes.match import host_operations

_NAMES = operations.where(commutative=True)


def has_exchanged_operands(module: Any) -> bool:
    """Whether two commutative ops of one kind have the same two operands in another order.

    Where equal ops have been merged, each op that `canonicalize` would change comes after such a pair, or is in one.
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

    The compiler merges the two in a kernel otherwise, and miscompiles a kernel that returns one value twice: it reads
    another value for the second result.

    Returns:
      How many ops were changed.
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
