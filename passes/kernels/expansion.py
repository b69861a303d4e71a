"""Expand CHLO functions, such as the error function, into StableHLO operations."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.legalize import PATTERNS_CPU
from passes.match import host_operations
from passes.patterns import apply


def expand(module: Any) -> None:
    """Expand CHLO functions in place; the operations of the compiler's expansions are legalized again."""
    if any(op.name.startswith("chlo.") for op in host_operations(module)):
        bindings.run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
        apply(module, PATTERNS_CPU)
