"""Rewrites that make several ops into one the compiler runs faster."""

from __future__ import annotations

from typing import Any

from passes.fusion.dots import TRANSPOSES, merge_shared_lhs
from passes.fusion.reductions import compute_once, merge_reductions
from passes.patterns import apply_own, selected
from passes.pipeline import Pass, PassOptions, pattern_pass

__all__ = ["COMPUTE_ONCE", "DOT_TRANSPOSES", "FUSION", "MERGE_DOTS", "MERGE_REDUCTIONS"]


def _fusion(module: Any, options: PassOptions) -> dict[str, int]:
    hits = apply_own(module, selected(TRANSPOSES, options.granted))
    counts = {"merge_reductions": merge_reductions(module)}
    if options.laws == "cpu":
        counts["compute_once"] = compute_once(module)
    return hits | {name: count for name, count in counts.items() if count}


# Measured on llvm-cpu by tests/passes/bench_fusion.py: merged reductions run
# 1.3 to 1.7 times as fast; folded transposes run the same and leave fewer ops;
# merged products run 0.5 to 0.9 times as fast, so `fusion` leaves them out.
DOT_TRANSPOSES = pattern_pass("dot_transposes", TRANSPOSES, "Fold transposes into products.")
MERGE_DOTS = Pass(
    "merge_dots",
    lambda module, options: merge_shared_lhs(module),
    "Make products that share the left operand into one; slower on the CPU.",
)
COMPUTE_ONCE = Pass(
    "compute_once",
    lambda module, options: compute_once(module),
    "Compute a function once that a reduction and a later operation read.",
)
MERGE_REDUCTIONS = Pass(
    "merge_reductions", lambda module, options: merge_reductions(module), "Make reductions of one array into one."
)
FUSION = Pass(
    "fusion", _fusion, "Transposes folded into products, reductions made into one, their operands computed once."
)
