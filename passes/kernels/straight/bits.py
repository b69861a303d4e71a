"""Bitcasts between element types of different widths."""

from __future__ import annotations

from passes.kernels.elements import ELEMENTS, RefusedError
from passes.kernels.straight.own_kernel import OwnKernel
from passes.kernels.values import Buffer, View


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
