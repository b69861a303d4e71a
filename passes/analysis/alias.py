"""Which arguments' memory a compiled program may return as a result, and whether results share memory."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.analysis.clobber import Flow
from passes.match import functions


def returned_arguments(module: Any, function: str = "main") -> tuple[int, ...]:
    """Indices of a function's arguments that a result may share its memory with.

    Errs on the safe side, as `clobbered_arguments` does: an argument that is
    not listed is never behind a result.
    """
    flow = Flow(functions(module))
    flow.clobbered(function)
    last = list(flow.functions[function].regions[0].blocks[0].operations)[-1].operation
    return tuple(sorted(flow.union(last.operands)))


# What may give the memory of its operand another type or shape, if there are as many elements.
_SAME_MEMORY = (
    "stablehlo.reshape",
    "stablehlo.bitcast_convert",
    "stablehlo.broadcast_in_dim",
    "stablehlo.convert",
    "stablehlo.optimization_barrier",
    "stablehlo.transpose",
)


def results_may_share(module: Any, function: str = "main") -> bool:
    """Whether two results of a function may be the same memory: one array in two shapes.

    >>> from passes.bindings import ir, new_context
    >>> text = '''func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
    ...   %0 = stablehlo.sine %x : tensor<4xf32>
    ...   %1 = stablehlo.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
    ...   return %0, %1 : tensor<4xf32>, tensor<2x2xf32>
    ... }'''
    >>> results_may_share(ir.Module.parse(text, new_context()))
    True
    """
    last = list(functions(module)[function].regions[0].blocks[0].operations)[-1].operation
    made = [_source(v) for v in last.operands]
    return len(set(made)) < len(made)


def _source(value: Any) -> Any:
    """The value whose memory this one may be."""
    while not isinstance(value.owner, bindings.ir.Block) and value.owner.name in _SAME_MEMORY:
        position = list(value.owner.results).index(value)
        value = value.owner.operands[position]
    return value
