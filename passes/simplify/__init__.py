"""Laws that make a program smaller without changing its results."""

from __future__ import annotations

from collections import Counter
from typing import Any

from passes import bindings
from passes.match import operations_in
from passes.patterns import apply_own
from passes.pipeline import Pass, PassOptions, count_ops, pattern_pass
from passes.simplify import (
    algebra,
    arms,
    bilinear,
    casts,
    commutative,
    comparisons,
    conditionals,
    constants,
    convolutions,
    dynamic_slices,
    empty,
    fast_math,
    gathers,
    independent,
    joins,
    layouts,
    loops,
    monotone,
    products,
    ranges,
    recurrences,
    reductions,
    scatters,
    selections,
    shapes,
    slices,
    sparse_products,
    stacks,
    updates,
    windows,
)
from passes.unmatched import Unmatched

__all__ = [
    "ALGEBRA", "CASTS", "CONSTANTS", "CONTROL_FLOW", "CSE", "DCE", "INLINE", "LAWS", "PRODUCTS", "REDUCTIONS", "SHAPES",
    "SIMPLIFY",
]  # fmt: skip

# Laws of ops that move elements.
MOVES = (
    *shapes.PATTERNS,
    *slices.PATTERNS,
    *dynamic_slices.PATTERNS,
    *layouts.PATTERNS,
    *joins.PATTERNS,
    *stacks.PATTERNS,
    *updates.PATTERNS,
    *gathers.PATTERNS,
    *scatters.PATTERNS,
)

_ALGEBRA = (
    *algebra.PATTERNS,
    *ranges.PATTERNS,
    *comparisons.PATTERNS,
    *selections.PATTERNS,
    *arms.PATTERNS,
)
_PRODUCTS = (*products.PATTERNS, *sparse_products.PATTERNS, *bilinear.PATTERNS, *convolutions.PATTERNS)
_REDUCTIONS = (*reductions.PATTERNS, *monotone.PATTERNS, *windows.PATTERNS)
_FLOW = (
    *conditionals.PATTERNS,
    *loops.PATTERNS,
    *recurrences.PATTERNS,
    *independent.PATTERNS,
    *empty.PATTERNS,
)
LAWS = (
    *_FLOW,
    *constants.PATTERNS,
    *_ALGEBRA,
    *casts.PATTERNS,
    *MOVES,
    *_PRODUCTS,
    *_REDUCTIONS,
    *fast_math.PATTERNS,
)


def _inline(module: Any, options: PassOptions | None = None) -> int:
    """Inline function calls, and drop private functions that nothing calls; return how many calls were inlined."""
    calls = len(operations_in(module, "func.call"))
    if not calls:
        return 0
    bindings.run_passes(module, "inline,symbol-dce")
    return calls - len(operations_in(module, "func.call"))


def _cse(module: Any, options: PassOptions) -> None:
    _merge(module)


def _merge(module: Any) -> bool:
    """Merge equal ops, and return whether operands of commutative ops were exchanged for that."""
    bindings.run_passes(module, "cse")
    if not commutative.has_exchanged_operands(module):
        return False
    # This takes ten times as long as asking whether it is needed.
    commutative.canonicalize(module)
    bindings.run_passes(module, "cse")
    return True


def _simplify(module: Any, options: PassOptions) -> dict[str, int]:
    """Rewrite, then merge equal ops, until neither changes anything."""
    laws = options.select(LAWS)
    calls, arguments = _inline(module), empty.replace_arguments(module)
    _merge(module)
    unmatched = Unmatched()
    matches = apply_own(module, laws, unmatched)
    total = Counter(matches)
    total.update({name: n for name, n in (("inline", calls), ("empty_arguments", arguments)) if n})
    # Merging makes operands equal, which is what `x - x` and `select(p, x, x)` ask for.
    for _ in range(4):
        before = count_ops(module) if matches else 0
        if not matches or not (_merge(module) or count_ops(module) < before):
            break  # no law matches what `apply_own` left
        matches = apply_own(module, laws, unmatched)
        total.update(matches)
    return dict(total)


ALGEBRA = pattern_pass("algebra", _ALGEBRA, "Exact laws of arithmetic, comparison and logic.")
CONSTANTS = pattern_pass("constants", constants.PATTERNS, "Fold ops on constants, where the result is exact.")
SHAPES = pattern_pass("shapes", MOVES, "Exact laws of ops that only move elements.")
PRODUCTS = pattern_pass("products", _PRODUCTS, "Laws of products and convolutions: less to multiply, or to move.")
REDUCTIONS = pattern_pass("reductions", _REDUCTIONS, "Laws of reductions: fewer elements to combine, or none.")
CASTS = pattern_pass("casts", casts.PATTERNS, "Exact laws of conversions.")
CONTROL_FLOW = pattern_pass("control_flow", _FLOW, "Laws of conditionals and loops: known branches, unused state.")
INLINE = Pass("inline", _inline, "Inline function calls.")
CSE = Pass("cse", _cse, "Merge equal ops.")
DCE = pattern_pass("dce", (), "Drop ops without side effects that nothing reads.")
SIMPLIFY = Pass("simplify", _simplify, "All of the above, until nothing changes.")
