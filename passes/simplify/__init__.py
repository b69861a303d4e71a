"""Laws that make a program smaller without changing its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passes import bindings
from passes.pattern import Pattern, apply
from passes.pipeline import Pass, PassOptions
from passes.simplify import algebra, casts, constants, control_flow, fast_math, shapes

__all__ = ["ALGEBRA", "CASTS", "CONSTANTS", "CONTROL_FLOW", "CSE", "DCE", "FAST_MATH", "SHAPES", "SIMPLIFY"]

_EXACT = (
    *control_flow.PATTERNS,
    *constants.PATTERNS,
    *algebra.PATTERNS,
    *casts.PATTERNS,
    *shapes.PATTERNS,
)

FAST_MATH = fast_math.PATTERNS


def _patterns(laws: Sequence[Pattern]) -> Callable[[Any, PassOptions], dict[str, int]]:
    return lambda module, options: apply(module, laws)


def _cse(module: Any, options: PassOptions) -> None:
    manager = bindings.passmanager.PassManager.parse("builtin.module(cse)", module.context)
    manager.run(module.operation)


def _simplify(module: Any, options: PassOptions) -> dict[str, int]:
    """Rewrite, then merge equal ops, until neither changes anything."""
    laws = (*_EXACT, *FAST_MATH) if options.fast_math else _EXACT
    _cse(module, options)
    total = apply(module, laws)
    # Merging makes operands equal, which is what `x - x` and `select(p, x, x)` ask for.
    hits = total
    for _ in range(4):
        if not hits:
            break
        _cse(module, options)
        hits = apply(module, laws)
        for name, count in hits.items():
            total[name] = total.get(name, 0) + count
    return total


ALGEBRA = Pass("algebra", _patterns(algebra.PATTERNS), "Exact laws of arithmetic, comparison and logic.")
CONSTANTS = Pass("constants", _patterns(constants.PATTERNS), "Fold ops on constants, where the result is exact.")
SHAPES = Pass("shapes", _patterns(shapes.PATTERNS), "Exact laws of ops that only move elements.")
CASTS = Pass("casts", _patterns(casts.PATTERNS), "Exact laws of conversions.")
CONTROL_FLOW = Pass("control_flow", _patterns(control_flow.PATTERNS), "Take branches that are known.")
CSE = Pass("cse", _cse, "Merge equal ops.")
DCE = Pass("dce", _patterns(()), "Drop ops without side effects that nothing reads.")
SIMPLIFY = Pass("simplify", _simplify, "All of the above, until nothing changes.")
