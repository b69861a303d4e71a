"""What the CPU backend cannot do, or does inaccurately, rewritten into what it can."""

from __future__ import annotations

from typing import Any

from passes.legalize import complexes, control_flow, floats, integers, slices, sorting, unsigned, updates
from passes.pattern import Pattern, apply
from passes.pipeline import Pass, PassOptions

__all__ = ["LEGALIZE", "PATTERNS_CPU"]

PATTERNS_CPU: list[Pattern] = [
    *integers.PATTERNS,
    *unsigned.PATTERNS,
    *sorting.PATTERNS,
    *floats.PATTERNS,
    *complexes.PATTERNS,
    *slices.PATTERNS,
    *updates.PATTERNS,
]


def _legalize(module: Any, options: PassOptions) -> dict[str, int]:
    # The laws say what the CPU backend lacks; other targets have other gaps.
    hits = apply(module, PATTERNS_CPU) if options.target == "cpu" else {}
    # Where updates are done is decided before the target matters.
    return {**hits, **control_flow.keep_apart(module)}


LEGALIZE = Pass("legalize", _legalize, "Rewrite what the CPU backend cannot do.")
