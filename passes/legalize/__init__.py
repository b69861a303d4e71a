"""What the CPU backend cannot do, or does inaccurately, rewritten into what it can."""

from __future__ import annotations

from passes.legalize import complexes, floats, integers, slices, sorting, unsigned, updates
from passes.pattern import Pattern

PATTERNS_CPU: list[Pattern] = [
    *integers.PATTERNS,
    *unsigned.PATTERNS,
    *sorting.PATTERNS,
    *floats.PATTERNS,
    *complexes.PATTERNS,
    *slices.PATTERNS,
    *updates.PATTERNS,
]

__all__ = ["PATTERNS_CPU"]
