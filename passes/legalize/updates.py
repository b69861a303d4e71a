"""Updates of an array that are computed from the array, which the CPU backend writes while it still reads."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from passes import bindings, build
from passes.analysis.aliases import is_view, memory
from passes.legalize.memory import force_copy, index_along
from passes.match import has_one_use, shape_of, splat_of
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype


def _reaches(value: Any, targets: set[Any]) -> bool:
    """Whether `value` is one of `targets`, or computed from one in the same block."""
    seen: set[Any] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if value in targets:
            return True
        if value not in seen and not isinstance(value.owner, bindings.ir.Block):
            arrays = [v for v in value.owner.operands if isinstance(v.type, bindings.ir.RankedTensorType)]
            stack += [v for v in arrays if len(v.type.shape)]
        seen.add(value)
    return False


def _selected(operand: Any, update: Any, starts: list[int]) -> Any:
    """The update at known indices, as a select for each element."""
    dtype = numpy_dtype(operand.type.element_type)
    shape, sizes = shape_of(operand), shape_of(update)
    ends = [n - start - size for n, start, size in zip(shape, starts, sizes)]
    inside = []
    for axis, (start, size, end) in enumerate(zip(starts, sizes, ends)):
        number = index_along(shape, axis)
        if start:
            inside.append(build.compare(number, build.full(start, number), "GE"))
        if end:
            inside.append(build.compare(number, build.full(start + size, number), "LT"))
    if not inside:
        return update
    zero = build.constant(np.zeros((), dtype))
    padded = build.pad(update, zero, starts, ends, [0] * len(shape))
    return build.select(reduce(lambda a, b: build.op("stablehlo.and", [a, b]), inside), padded, operand)


@pattern("stablehlo.dynamic_update_slice")
def update_from_the_same_memory(op: Any) -> Any:
    """update(x, f(x), at) never writes to x while f reads it. Exact.

    The compiler updates `x` in place. At constant indices it computes `f(x)` in
    the same kernel, so that elements are read after they were written; the
    update becomes a select for each element. At other indices it uses a slice
    of `x` as a view, and copies between overlapping ranges; the slice is
    copied first.
    """
    shape = shape_of(op.update)
    operand, update, *indices = op.operation.operands
    if not shape or 0 in shape or not _reaches(update, memory(operand)):
        return None
    at = [int(i) for i in map(splat_of, indices) if i is not None]
    if len(at) == len(indices):
        return _selected(operand, update, [min(max(i, 0), n - m) for i, n, m in zip(at, shape_of(operand), shape)])
    if not is_view(update):
        return None
    return build.op("stablehlo.dynamic_update_slice", [operand, force_copy(update), *indices])


@pattern("stablehlo.optimization_barrier")
def barrier_for_every_use(op: Any) -> Any:
    """Have every use of a value read the result of its barrier. Exact.

    The compiler ignores that both sides share memory: an update in place on one
    side changes the values on the other. A repeated number gets memory for each use.
    """
    if len(op.operation.operands) != 1:
        return None
    (value,) = op.operation.operands
    if has_one_use(value) or splat_of(value) is not None:
        return None
    ir = bindings.ir
    defined = value.owner
    point = (
        ir.InsertionPoint.at_block_begin(defined)
        if isinstance(defined, ir.Block)
        else ir.InsertionPoint.after(defined.operation)
    )
    with point:
        held = build.op("stablehlo.optimization_barrier", [value])
    value.replace_all_uses_except(held, [held.owner.operation])
    return held


PATTERNS: list[Pattern] = [update_from_the_same_memory, barrier_for_every_use]
