"""Updates that come from the array that they change, which the CPU backend does while it reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings, build
from passes.match import shape_of
from passes.pattern import Pattern, pattern
from passes.types import numpy_dtype

# A result of these may be (part of) an operand's memory.
_VIEWS = frozenset(
    f"stablehlo.{name}"
    for name in (
        "bitcast_convert broadcast_in_dim concatenate convert dynamic_slice dynamic_update_slice optimization_barrier "
        "pad reshape reverse select slice transpose"
    ).split()
)


def _memory(value: Any) -> set[Any]:
    """The values whose memory `value` may be a part of, itself included."""
    found: set[Any] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value.owner, bindings.ir.Block) or value.owner.name not in _VIEWS:
            continue
        stack += [operand for operand in value.owner.operands if len(operand.type.shape)]
    return found


@pattern("stablehlo.dynamic_update_slice")
def update_from_the_same_memory(op: Any) -> Any:
    """update(x, slice of x, at) -> the same with the slice in memory of its own. Exact.

    The compiler updates `x` in place and takes the slice for a view of it:
    where the two overlap, elements are read after they were written, or the
    call is refused. The choice that makes new memory is one that the compiler
    cannot decide before it lays out memory.
    """
    shape = shape_of(op.update)
    if not shape or isinstance(op.update.owner, bindings.ir.Block) or op.update.owner.name not in _VIEWS:
        return None
    if _memory(op.update).isdisjoint(_memory(op.operand)):
        return None
    number = build.op("stablehlo.iota", [], build.tensor_type(shape, np.int32), attributes={"iota_dimension": "0 : i64"})
    always = build.compare(number, build.full(0, number), "GE")
    zero = build.constant(np.zeros(shape, numpy_dtype(op.update.type.element_type)))
    update = build.select(always, op.update, zero)
    operands = list(op.operation.operands)
    return build.op("stablehlo.dynamic_update_slice", [operands[0], update, *operands[2:]])


PATTERNS: list[Pattern] = [update_from_the_same_memory]
