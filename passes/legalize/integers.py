"""Laws of integer powers and of conversions, where the CPU backend's results depend on the processor."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import build
from passes.legalize.expressions import Tensor, mapped, where
from passes.match import is_static, producer, splat_of
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype


def _bounds(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[float, float, bool]:
    """The least and greatest float of `source` that fit `target`, and whether the latter is `target`'s maximum."""
    info = np.iinfo(target)
    limit = np.finfo(source).max if source.kind == "f" else float("inf")
    low = max(float(info.min), -float(limit))
    bits = int(info.max).bit_length()
    # Floats below 2**bits have `precision` bits.
    precision = {2: 11, 4: 24, 8: 53}[source.itemsize]
    if precision >= bits:
        return low, min(float(info.max), float(limit)), float(limit) >= info.max
    high = float((1 << bits) - (1 << (bits - precision)))
    return low, min(high, float(limit)), False


@pattern("stablehlo.convert")
def saturating_convert(op: Any) -> Any:
    """float -> int: out of range gives the nearest bound, NaN gives 0, as in XLA.

    Exact. bfloat16 and float16 pass through float32. A conversion of a clamped
    value, which this law itself emits, is left alone.
    """
    (operand,) = op.operation.operands
    if not is_static(operand):
        return None
    x = Tensor(operand)
    target = numpy_dtype(op.operation.results[0].type.element_type)
    if target.kind not in "iu" or x.dtype.kind in "iubc" or target.itemsize > 8 or "int" not in target.name:
        return None
    if target.name in ("int4", "uint4", "int2", "uint2"):
        return None
    if x.dtype not in (np.float32, np.float64):
        return x.to(np.float32).to(target).value
    low, high, exact = _bounds(x.dtype, target)
    clamp = producer(operand, "stablehlo.clamp")
    if clamp is not None:
        lower, _, upper = clamp.operation.operands
        least, greatest = splat_of(lower), splat_of(upper)
        if least is not None and greatest is not None and float(least) >= low and float(greatest) <= high:
            return None
    inside = _clamp(x, low, high)
    result = inside.to(target)
    if not exact:
        result = where(x > high, result.like(int(np.iinfo(target).max)), result)
    return where(x.is_nan(), result.like(0), result).value


def _clamp(x: Tensor, low: float, high: float) -> Tensor:
    """`stablehlo.clamp` between two numbers."""
    bounded = build.op("stablehlo.clamp", [x.like(low).value, x.value, x.like(high).value], x.value.type)
    return Tensor(bounded)


@pattern("stablehlo.power", any_shape=True)
def integer_power(op: Any) -> Any:
    """x**y of integers by square and multiply over every bit of y, modulo 2**bits.

    Exact. A negative exponent gives 1 for 1, +-1 for -1, and 0 otherwise.
    """
    x, y = (Tensor(value) for value in op.operation.operands)
    if x.dtype.kind not in "iu":
        return None
    known = splat_of(y.value) if is_static(x.value) else None
    if known is not None and int(known) >= 0:
        exponent, result, square = int(known), None, x
        while exponent:
            if exponent & 1:
                result = square if result is None else result * square
            exponent >>= 1
            square = square * square if exponent else square
        return (x.like(1) if result is None else result).value
    return mapped(lambda base, exponent: _power(base, exponent).value, [x.value, y.value], x.dtype)


def _power(x: Tensor, y: Tensor) -> Tensor:
    signed = x.dtype.kind == "i"
    bits = x.dtype.itemsize * 8 - signed
    total, square = x.like(1), x
    for bit in range(bits):
        chosen = (y & (1 << bit)).differs(0)
        total = where(chosen, total * square, total)
        if bit + 1 < bits:
            square = square * square
    if signed:
        sign = where((y & 1).equals(0), x.like(1), x)
        unit = where(x.equals(1), x, where(x.equals(-1), sign, x.like(0)))
        total = where(y < 0, unit, total)
    return total


PATTERNS: list[Pattern] = [saturating_convert, integer_power]
