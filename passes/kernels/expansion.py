"""Expand CHLO functions, such as the error function, into StableHLO operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passes import bindings
from passes.legalize import PATTERNS_CPU
from passes.patterns import apply


def expand(module: Any, found: Iterable[Any]) -> bool:
    """Expand CHLO functions in place; the operations of the compiler's expansions are legalized again.

    Args:
      found: the operations of the module outside kernels.

    Returns:
      Whether there were any.
    """
    has_any = any(op.name.startswith("chlo.") for op in found)
    if has_any:
        bindings.run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
        apply(module, PATTERNS_CPU)
    return has_any
