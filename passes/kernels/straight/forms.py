"""The rules of operations that have a kernel of their own, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passes import bindings
from passes.kernels.dispatch import Kernels
from passes.kernels.elements import RefusedError
from passes.kernels.processor import Processor
from passes.kernels.straight import bits, joining, sorting, updating, windows
from passes.kernels.straight.own_kernel import OwnKernel

FORMS: dict[str, Callable[[OwnKernel], None]] = {
    "stablehlo.bitcast_convert": bits.bitcast_convert,
    "stablehlo.concatenate": joining.concatenate,
    "stablehlo.dynamic_update_slice": updating.dynamic_update_slice,
    "stablehlo.pad": updating.pad,
    "stablehlo.reduce": windows.reduce,
    "stablehlo.reduce_window": windows.reduce_window,
    "stablehlo.scatter": updating.scatter,
    "stablehlo.sort": sorting.sort,
}


def form(kernels: Kernels, rules: Any, processor: Processor, op: Any) -> bool:
    """Replace an operation by a kernel of its own; returns whether that was possible."""
    try:
        kernel = OwnKernel(rules, processor, op)
        kernel.write(FORMS[op.name])
    except RefusedError as error:
        kernels.plan.refuse(op.name.removeprefix("stablehlo."), op.location, str(error))
        return False
    with bindings.ir.InsertionPoint(op), op.location:
        made = kernel.call(kernels)
    for result, written in zip(kernel.results, made):
        result.replace_all_uses_with(written)
    return True
