"""Rewrites that combine several ops into one that runs faster."""

from __future__ import annotations

from typing import Any

from passes.fusion.dots import TRANSPOSES, merge_shared_lhs
from passes.fusion.reductions import compute_once, merge_reductions
from passes.patterns import apply_own
from passes.pipeline import Pass, PassOptions, pattern_pass

__all__ = ["COMPUTE_ONCE", "DOT_TRANSPOSES", "FUSION", "MERGE_DOTS", "MERGE_REDUCTIONS"]


def _fusion(module: Any, options: PassOptions) -> dict[str, int]:
    hits = apply_own(module, options.select(TRANSPOSES))
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
    "Merge products that share the left operand; slower on the CPU.",
)
COMPUTE_ONCE = Pass(
    "compute_once",
    lambda module, options: compute_once(module),
    "Compute the operand of a reduction once, if a later operation reads it too.",
)
MERGE_REDUCTIONS = Pass(
    "merge_reductions", lambda module, options: merge_reductions(module), "Merge reductions of one array."
)
FUSION = Pass("fusion", _fusion, "Fold transposes into products, merge reductions, and compute their operands once.")
