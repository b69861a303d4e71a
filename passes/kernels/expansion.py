"""Functions that StableHLO has no operation for, such as the error function, in operations that it has."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.legalize import PATTERNS_CPU
from passes.match import host_operations
from passes.patterns import apply


def expand(module: Any) -> None:
    """Expand the functions, in place; the compiler's own expansions hold operations that have laws in turn."""
    if any(op.name.startswith("chlo.") for op in host_operations(module)):
        bindings.run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
        apply(module, PATTERNS_CPU)
