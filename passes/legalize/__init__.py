"""Legalization: operations that a target cannot execute, or executes inaccurately, rewritten into others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passes import bindings
from passes.legalize import (
    broadcasts,
    complex_products,
    complexes,
    control_flow,
    convolutions,
    floats,
    indices,
    integers,
    iotas,
    loops,
    many_operands,
    precision,
    scatters,
    slices,
    sorting,
    spirv,
    unsigned,
    updates,
    widening,
    windows,
)
from passes.legalize.disable_fusion import read_sorted
from passes.legalize.expressions import Arithmetic, arithmetic
from passes.match import operations_in
from passes.patterns import Pattern, apply
from passes.pipeline import Pass, PassOptions
from passes.simplify import gathers, scatters as known_scatters

__all__ = ["FORMS", "LEGALIZE", "MEMORY", "PATTERNS_CPU", "PATTERNS_GPU", "PATTERNS_SPIRV", "SORTS"]

# Laws for operations in a form that a target does not accept. They are applied before simplification, so that it also
# simplifies what they build, and again after it.
_COMMON_FORMS: list[Pattern] = [
    *scatters.PATTERNS,
    *indices.PATTERNS,
    *windows.FORMS,
    *unsigned.FORMS,
    *complexes.FORMS,
]
FORMS_CPU: list[Pattern] = [*sorting.FORMS, *_COMMON_FORMS]
FORMS_SPIRV: list[Pattern] = [*sorting.FORMS, *_COMMON_FORMS]
FORMS_GPU: list[Pattern] = [*sorting.FORMS_GPU, *_COMMON_FORMS]
_FORMS = {"cpu": FORMS_CPU, "spirv": FORMS_SPIRV, "gpu": FORMS_GPU}

_COMMON: list[Pattern] = [
    *integers.PATTERNS,
    *unsigned.PATTERNS,
    *floats.PATTERNS,
    *complexes.PATTERNS,
    *slices.PATTERNS,
    *windows.PATTERNS,
    *broadcasts.PATTERNS,
]
PATTERNS_CPU: list[Pattern] = [*FORMS_CPU, *convolutions.PATTERNS, *widening.PATTERNS, *precision.PATTERNS, *_COMMON]
_GPUS: list[Pattern] = [
    *(widening.half_function_in_single, *scatters.PATTERNS_GPU, *_COMMON, *complexes.MEMORY, *updates.PATTERNS)
]
PATTERNS_GPU: list[Pattern] = [*FORMS_GPU, *sorting.PATTERNS, *_GPUS, *complex_products.PATTERNS]
PATTERNS_SPIRV: list[Pattern] = [*FORMS_SPIRV, *sorting.PATTERNS, *convolutions.PATTERNS_SPIRV, *spirv.PATTERNS, *_GPUS]


def _forms(module: Any, options: PassOptions) -> dict[str, int]:
    # Indices are easier to follow before they are clamped, and scatters before they are made those of rows.
    return apply(module, [*gathers.PATTERNS, *known_scatters.PATTERNS, *_FORMS[options.laws]]) | loops.hold_state(
        module
    )


def _legalize(module: Any, options: PassOptions) -> dict[str, int]:
    return _apply_laws(module, options) | loops.read_state(module) | many_operands.divide(module)


def _apply_laws(module: Any, options: PassOptions) -> dict[str, int]:
    if options.laws == "cpu":
        if options.machine != "x86_64" or "sse4_1" in options.features:
            return apply(module, PATTERNS_CPU)
        return _expanded(module, [*PATTERNS_CPU, *floats.PATTERNS_SSE2])
    for_spirv = options.laws == "spirv"
    found = Arithmetic(doubles=options.doubles, ordered=not for_spirv, branches=False)
    with arithmetic(found):
        hits = _expanded(module, PATTERNS_SPIRV if for_spirv else PATTERNS_GPU)
    hits |= control_flow.resolve_hazards(module, freed=True)
    return hits | read_sorted(module) | iotas.store(module) if for_spirv else hits


def _expanded(module: Any, laws: Sequence[Pattern]) -> dict[str, int]:
    hits = apply(module, laws)
    # The compiler's expansions of the remaining functions contain operations that need these laws again.
    bindings.run_passes(module, "func.func(chlo-legalize-to-stablehlo)")
    for name, count in apply(module, laws).items():
        hits[name] = hits.get(name, 0) + count
    return hits


def _sorts(module: Any, options: PassOptions) -> dict[str, int]:
    # For GPUs, which have no kernels, `legalize` includes these laws.
    if options.laws != "cpu" or not operations_in(module, "stablehlo.sort"):
        return {}
    return apply(module, [*sorting.PATTERNS, *PATTERNS_CPU])


def _memory(module: Any, options: PassOptions) -> dict[str, int]:
    if options.laws != "cpu":
        return {}  # for GPUs, `legalize` includes these laws, and applies its laws again to the copies
    # An update of complex numbers may become a select, which has laws of its own.
    return {
        **apply(module, [*complexes.PATTERNS, *complexes.MEMORY, *updates.PATTERNS]),
        **control_flow.resolve_hazards(module),
    }


FORMS = Pass("forms", _forms, "Rewrite operations into forms that the target accepts, before they are simplified.")
LEGALIZE = Pass("legalize", _legalize, "Rewrite operations that the target cannot execute, or executes inaccurately.")
SORTS = Pass("sorts", _sorts, "Rewrite sorts that no kernel takes into what the CPU backend can execute.")
MEMORY = Pass(
    "memory", _memory, "Copy arrays that are updated in place, where the CPU backend would wrongly share their memory."
)
