"""Rewrites that make several ops into one the compiler runs faster."""

from __future__ import annotations

from typing import Any

from passes.fusion.dots import TRANSPOSES, merge_shared_lhs
from passes.fusion.reductions import merge_reductions
from passes.pattern import apply
from passes.pipeline import Pass, PassOptions

__all__ = ["DOT_TRANSPOSES", "FUSION", "MERGE_DOTS", "MERGE_REDUCTIONS"]


def _transposes(module: Any, options: PassOptions) -> dict[str, int]:
    return apply(module, TRANSPOSES)


def _merge_dots(module: Any, options: PassOptions) -> int:
    return merge_shared_lhs(module)


def _merge_reductions(module: Any, options: PassOptions) -> int:
    return merge_reductions(module)


DOT_TRANSPOSES = Pass("dot_transposes", _transposes, "Fold transposes into products.")
MERGE_DOTS = Pass("merge_dots", _merge_dots, "Make products that share the left operand into one.")
MERGE_REDUCTIONS = Pass("merge_reductions", _merge_reductions, "Make reductions of one array into one.")
FUSION = Pass("fusion", _transposes, "What was measured to pay: transposes folded into products.")
