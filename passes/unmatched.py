"""What MLIR's driver of patterns need not ask again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes.match import has_one_use


class Unmatched:
    """The operations that no pattern fitted, and what was around them, so that MLIR's driver need not ask again.

    After a round that changed an operation, it visits all of them once more. Patterns look at an operation, at what
    makes its operands, and whether others read these; what follows from a change further away is left to what is
    visited in any case. Objects are known by their addresses: references would outlive what MLIR erases.
    """

    def __init__(self) -> None:
        self._around: dict[int, tuple[int, ...] | None] = {}

    def around(self, operation: Any, operands: Sequence[tuple[Any, Any]]) -> tuple[int, ...] | None:
        """The operands of an operation, which `with_producers` found, and of their makers; None for operations with
        regions.
        """
        if len(operation.regions):
            return None
        found = []
        for value, maker in operands:
            found.append(hash(value))
            if maker is not None:
                found += [*map(hash, maker.operands), has_one_use(value)]
        return tuple(found)

    def has(self, operation: Any, around: tuple[int, ...] | None) -> bool:
        """Whether nothing fitted the operation when the same was around it."""
        return around is not None and self._around.get(hash(operation)) == around

    def add(self, operation: Any, around: tuple[int, ...] | None) -> None:
        """Note that nothing fits an operation."""
        self._around[hash(operation)] = around

    def forget(self, operation: Any, made: Sequence[Any]) -> None:
        """Drop what is known of a replaced operation, of those in two steps that read its results, and of new ones."""
        if any(len(other.operation.regions) for other in made):
            return self._around.clear()  # there are new operations in them
        near = [operation]
        for _ in range(2):
            near += [use.owner for other in near for result in other.operation.results for use in result.uses]
        for other in (*near, *made):
            self._around.pop(hash(other.operation), None)
        return None
