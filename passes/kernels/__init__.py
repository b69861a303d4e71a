"""CPU kernels: StableHLO ops are replaced by calls of kernels that are written here.

A kernel is a function of scf, memref, vector and arith ops. The compiler only
translates it to machine code; it neither fuses nor updates anything in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passes import bindings
from passes.analysis.host_scalars import is_whole
from passes.analysis.in_place import keep_safe_reuse
from passes.kernels import convolutions, loops, products, selection, straight
from passes.kernels.convolutions.filters import replace_filters
from passes.kernels.dispatch import Kernels
from passes.kernels.expansion import expand
from passes.kernels.processor import Processor
from passes.kernels.sort import form_sorts
from passes.match import STACKS, UNINITIALIZED, attributes_read_once, host_operations
from passes.pipeline import PassOptions

__all__ = ["form", "formed"]

# Each replaces ops of a module by calls of kernels, and returns their number by name. Ops in the kernel of a
# loop need no kernel of their own, so products come after loops. The kernels of products include the elementwise ops
# that follow.
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
      options: the target, and its processor's features.
      straight_line: whether elementwise operations and reductions become kernels too.
      weights: the arguments that are the same at each call. Packed copies of them may become further arguments
        (`passes.kernels.weights`).
      whole: whether loops and conditionals outside kernels are to contain kernels and host scalars only.

    Returns:
      The number of kernels of each kind; empty if the module did not change.
    """
    if options.laws != "cpu":
        return {}
    kernels, hits = formed(module, options, straight_line, weights, whole)
    kernels.insert_executables()
    return hits


def formed(
    module: Any,
    options: PassOptions,
    straight_line: bool,
    weights: Sequence[int] = (),
    whole: bool = False,
    alone: bool = False,
) -> tuple[Kernels, dict[str, int]]:
    """The kernels that replace operations of a module, whose executables are not in it yet; and what `form` returns."""
    kernels = Kernels(module, weights, alone=alone)
    processor = Processor.of(options.machine, options.features)
    if options.reproducible:
        processor = processor.portable
    hits: dict[str, int] = {}
    with module.context, attributes_read_once():
        # Each walk of a large module takes long.
        found = host_operations(module)
        if expand(module, found):
            found = host_operations(module)
        if any(UNINITIALIZED in op.attributes for op in found if op.name == "stablehlo.optimization_barrier"):
            module.operation.attributes[STACKS] = bindings.ir.UnitAttr.get()
        if straight_line:
            replace_filters(found)
        if options.reproducible:
            # Kernels of loops would add up complex numbers instead of their parts.
            products.expand_complex(kernels)
        for former in _FORMERS:
            hits |= former(kernels, processor)
        if straight_line:
            hits |= straight.form(kernels, processor, whole and is_whole(module))
        kernels.plan.attach(module)
        kernels.weights.attach()
    if hits:
        # A kernel may read an argument after it has begun to write the result.
        keep_safe_reuse(module)
    return kernels, hits
