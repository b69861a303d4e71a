"""Rounding to narrower float formats, by operations on bits."""

from __future__ import annotations

from typing import Any

from passes import attributes as attrs
from passes.legalize.expressions import Tensor, mapped, where
from passes.legalize.floats import BF16, F16, F32, F64
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype

# Bits of the exponent and of the fraction.
_LAYOUT = {BF16: (8, 7), F16: (5, 10), F32: (8, 23), F64: (11, 52)}


def _rounded(x: Tensor, exponent_bits: int, mantissa_bits: int) -> Tensor:
    width, mantissa = _LAYOUT[x.dtype]
    top, infinity = 1 << (width + mantissa), ((1 << width) - 1) << mantissa
    bits = x.bits()
    size = bits & (top - 1)
    number = size
    drop = mantissa - mantissa_bits
    if drop > 0:
        # To nearest, halves to even: add just less than half, and one more where the last bit that is kept is set.
        number = (number + ((number >> drop & 1) + ((1 << (drop - 1)) - 1))) & -(1 << drop)
    if exponent_bits < width:
        bias, narrow = (1 << (width - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        number = where(number >= (bias + narrow + 1) << mantissa, infinity, number)
        number = where(number < (bias - narrow + 1) << mantissa, 0, number)
    sign = bits & -top
    return where(size < infinity, (number | sign).bitcast(x.dtype), x)


@pattern("stablehlo.reduce_precision", any_shape=True)
def expand_reduce_precision(op: Any) -> Any:
    """reduce_precision on bits, halves to even. Exact; NaN and infinities stay, and subnormal results are zero."""
    (value,) = op.operation.operands
    if numpy_dtype(value.type.element_type) not in _LAYOUT:
        return None
    bits = [attrs.integer(op.operation, f"{name}_bits") for name in ("exponent", "mantissa")]
    return mapped(lambda x: _rounded(x, *bits).value, [value], numpy_dtype(value.type.element_type))


PATTERNS: list[Pattern] = [expand_reduce_precision]
