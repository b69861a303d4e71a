"""The rules of operations that have a kernel of their own, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from passes import attributes as attrs, bindings
from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.dispatch import Kernels
from passes.kernels.elements import ELEMENTS, RefusedError
from passes.kernels.linear import ZERO, Linear
from passes.kernels.processor import Processor
from passes.kernels.straight import sorting, updating, windows
from passes.kernels.straight.own_kernel import OwnKernel, flat
from passes.kernels.values import Buffer, Value, View


def concatenate(a: OwnKernel) -> None:
    """Copy the parts for each index of the axes before the concatenated one."""
    axis, size = attrs.integer(a.op, "dimension"), a.whole.buffer.size
    outer, width = math.prod(a.shape[:axis]), a.lanes(a.shape[-1])
    # If there are few such indices, workgroups share each part in this many pieces.
    pieces = MAX_WORKGROUPS if outer < MAX_WORKGROUPS else 1
    low, high = a.share(pieces if pieces > 1 else outer, 2 * size // width)
    first, last = (ZERO, Linear(outer)) if pieces > 1 else (low, high)
    target, parts = View(a.whole.buffer, (1,)), [_flat(value) for value in a.values]
    row = size // outer

    def rows(r: Linear, _: list[str]) -> None:
        offset = r * row
        for part in parts:
            length = part.size // outer
            begin, end = (a.code.divided(ends * length, pieces)[0] for ends in (low, high))
            begin, end = (begin, end) if pieces > 1 else (ZERO, Linear(length))
            _copy(a, part, r * length, target, offset, begin, end)
            offset = offset + length

    a.code.loop(first, last, 1, rows)


def _copy(a: OwnKernel, part: Value, start: Linear, target: View, offset: Linear, begin: Linear, end: Linear) -> None:
    width = a.lanes(part.size)
    a.along(begin, end, lambda i: a.code.store(target, (offset + i,), a.code.get(part, (start + i,))), width)


def _flat(value: Value) -> Value:
    return Value((value.size,), value.element, splat=value.splat) if value.splat is not None else flat(value)


def bitcast_convert(a: OwnKernel) -> None:
    """Copy the bytes, as integers of the narrower width: copying floats could change the bits of NaN."""
    if a.values[0].view is None:
        raise RefusedError("a bitcast of one number")
    ((value, operand),) = a.k.operands
    element = ELEMENTS[f"i{8 * min(operand.element.size, a.element.size)}"]
    size = operand.bytes // element.size
    a.k.operands[0] = value, Buffer(operand.name, size, element, True)
    a.element, a.wholes = element, [View(Buffer(a.whole.buffer.name, size, element), (1,))]
    source, width = View(a.k.operands[0][1], (1,)), a.lanes(size)
    low, high = a.share(size, 2 * size // width)
    a.along(low, high, lambda i: a.code.store(a.whole, (i,), a.code.load(source, (i,))), width)


FORMS: dict[str, Callable[[OwnKernel], None]] = {
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.concatenate": concatenate,
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
