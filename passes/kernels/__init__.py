"""Kernels for CPUs that are written here: StableHLO ops replaced by calls of machine code to be.

A kernel is a function of scf, memref, vector and arith, so the compiler only
assembles it, and neither fuses nor updates anything on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passes import bindings
from passes.analysis.host_scalars import has_control
from passes.analysis.in_place import keep_safe_reuse
from passes.kernels import convolutions, loops, products, selection, straight
from passes.kernels.dispatch import Kernels
from passes.kernels.expansion import expand
from passes.kernels.processor import Processor
from passes.kernels.sort import form_sorts
from passes.pipeline import PassOptions

__all__ = ["form"]

# Each replaces ops by calls of kernels, in the module of `Kernels`, and returns how many by name. Sorts are loops that
# are better replaced as such; then come loops, since what is in one needs no kernel of its own; products take in what
# follows them.
_FORMERS: tuple[Callable[[Kernels, Processor], dict[str, int]], ...] = (
    selection.form,
    form_sorts,
    loops.form,
    products.form,
    convolutions.form,
)


def form(
    module: Any,
    options: PassOptions,
    straight_line: bool = False,
    weights: Sequence[int] = (),
    whole: bool = False,
) -> dict[str, int]:
    """Replace ops of a StableHLO module by kernels, in place, where they are known to be faster.

    Args:
      module: as it goes to the compiler.
      options: the target, and what its processor has.
      straight_line: whether elementwise operations and reductions become kernels too.
      weights: the arguments that are the same at each call. Packed copies of them may become further arguments
        (`passes.kernels.weights`).
      whole: whether loops and choices that stay are to hold nothing else, but for what their host counts with.

    Returns:
      How many kernels of each kind were formed; empty if the module is as it was.
    """
    if options.laws != "cpu":
        return {}
    bindings.prepare(module.context)
    # Calls of kernels are its operations, and the module may go through the compiler in this context.
    module.context.dialects["flow"]
    kernels = Kernels(module, weights)
    processor = Processor.of(options.machine, options.features)
    hits: dict[str, int] = {}
    with module.context:
        expand(module)
        for former in _FORMERS:
            hits |= former(kernels, processor)
        if straight_line:
            hits |= straight.form(kernels, processor, whole and has_control(module))
        kernels.plan.attach(module)
        kernels.weights.attach()
    if hits:
        # A kernel may read an argument after it has begun to write the result.
        keep_safe_reuse(module)
    return hits
