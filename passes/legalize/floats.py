"""Patterns that expand functions of real numbers, by dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np

from passes.legalize import elementary, special
from passes.legalize.expressions import Tensor, has_branches, has_doubles, mapped, where
from passes.match import is_static, splat_of
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype

F64, F32, F16 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)


# op: (function, the dtypes it is written for, the wider dtypes that other dtypes are computed in)
_FUNCTIONS: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...], dict[Any, Any]]] = {
    "stablehlo.sine": (elementary.sin, (F64, F32), {F16: F32, BF16: F32}),
    "stablehlo.cosine": (elementary.cos, (F64, F32), {F16: F32, BF16: F32}),
    "stablehlo.tan": (elementary.tan, (F64, F32), {F16: F32, BF16: F32}),
    "chlo.tan": (elementary.tan, (F64, F32), {F16: F32, BF16: F32}),
    "stablehlo.atan2": (elementary.atan2, (F64, F32), {F16: F32, BF16: F32}),
    "chlo.atan": (elementary.atan, (F64, F32), {}),
    "chlo.asin": (elementary.asin, (F64, F32), {}),
    "chlo.acos": (elementary.acos, (F64, F32), {}),
    "stablehlo.exponential": (elementary.exp, (F64,), {}),
    "stablehlo.exponential_minus_one": (elementary.expm1, (F64, F32), {}),
    "stablehlo.log": (elementary.log, (F64,), {}),
    "stablehlo.log_plus_one": (elementary.log1p, (F64, F32), {F16: F32, BF16: F32}),
    "stablehlo.cbrt": (elementary.cbrt, (F64, F32), {F32: F64, F16: F64, BF16: F64}),
    "stablehlo.remainder": (elementary.remainder, (F64,), {}),
    "stablehlo.tanh": (special.tanh, (F64,), {}),
    "chlo.sinh": (special.sinh, (F64, F32), {}),
    "chlo.cosh": (special.cosh, (F64, F32), {}),
    "chlo.asinh": (special.asinh, (F64,), {}),
    "chlo.acosh": (special.acosh, (F64,), {}),
    "chlo.atanh": (special.atanh, (F64,), {}),
    "chlo.erfc": (special.erfc, (F64, F32), {}),
    "chlo.erf_inv": (special.erf_inv, (F64, F32), {}),
    "chlo.lgamma": (special.lgamma, (F64,), {F32: F64, F16: F64, BF16: F64}),
    "stablehlo.logistic": (special.logistic, (F64,), {}),
    "chlo.polygamma": (special.polygamma, (F64,), {}),
    "chlo.zeta": (special.zeta, (F64, F32), {F16: F32, BF16: F32}),
    "chlo.digamma": (special.digamma, (F64,), {F32: F64, F16: F64, BF16: F64}),
}
# Of narrower floats, which are computed in float64 with fewer terms.
_OF_NARROW: dict[str, Callable[..., Tensor]] = {
    "chlo.polygamma": special.polygamma_of_narrow,
    "chlo.zeta": special.zeta_of_narrow,
}


def _law(
    name: str, fn: Callable[..., Tensor], native: Iterable[Any], wider: dict[Any, Any], prefix: str = "expand"
) -> Pattern:
    direct = frozenset(native)

    def rewrite(op: Any) -> Any:
        operands = list(op.operation.operands)
        dtype = numpy_dtype(operands[0].type.element_type)
        inner = wider.get(dtype, dtype if dtype in direct else None)
        if inner == F64 and not has_doubles():
            # Functions that are not written for float32 are left to the compiler's own expansion.
            inner = F32 if F32 in direct and dtype != F64 else None
        if inner is None:
            return None
        return mapped(lambda *x: fn(*(v.to(inner) for v in x)).to(dtype).value, operands, dtype, name)

    doc = f"{name} as straight-line arithmetic. {(fn.__doc__ or '').strip()}"
    return Pattern(f"{prefix}_{name.split('.')[1]}", (name,), rewrite, doc=doc, any_shape=True)


@pattern("stablehlo.power", any_shape=True)
def expand_power(op: Any) -> Any:
    """x**y of floats with C's special cases, within 1 ulp.

    Exponents 0, 1, 2 and -1 need no logarithm; that of a constant base is computed here.
    """
    x, y = (Tensor(value) for value in op.operation.operands)
    if x.dtype not in (F64, F32, F16, BF16):
        return None
    base = splat_of(x.value) if is_static(y.value) else None
    if base is not None and 0 < (number := float(base)) < math.inf and number != 1:
        inner = F64 if x.dtype == F64 else F32
        return mapped(lambda b: special.power_of_constant(number, b.to(inner)).to(b.dtype).value, [y.value], y.dtype)
    constant = splat_of(y.value) if is_static(x.value) else None
    if constant is not None:
        exponent = float(constant)
        if exponent == 0:
            return x.like(1).value
        if exponent == 1:
            return x.value
        if exponent == 2:
            return (x * x).value
        if exponent == -1:
            return (1 / x).value
    return mapped(lambda a, b: special.power(a, b).value, [x.value, y.value], x.dtype, "power")


@pattern("stablehlo.remainder", any_shape=True)
def expand_narrow_remainder(op: Any) -> Any:
    """x % y of floats of up to 32 bits in float64, where only kernels with large quotients pay for these. Exact."""
    operands = list(op.operation.operands)
    dtype = numpy_dtype(operands[0].type.element_type)
    if dtype not in (F32, F16, BF16) or not has_branches():
        return None

    def remainder(x: Tensor, y: Tensor) -> Any:
        return elementary.remainder_in_double(x.to(F64), y.to(F64)).to(dtype).value

    return mapped(remainder, operands, dtype, "remainder")


def _floor(x: Tensor) -> Tensor:
    # All numbers from this size on are integers.
    whole = 2.0 ** np.finfo(x.dtype).nmant
    size = abs(x)
    near = (size + whole) - whole
    near = where(x < 0, -near, near)
    down = where(near > x, near - 1, near)
    return where((size < whole) & down.differs(x), down, x)


@pattern("stablehlo.floor", any_shape=True)
def expand_floor(op: Any) -> Any:
    """floor by adding and subtracting 2**52, or 2**23 in float32. Exact, the sign of zeros included.

    For x86 without SSE4.1, which has no instruction for it. There, the compiler
    calls library functions, of which `ceil` and `trunc` do not link, and turns
    floor(x) == x into a call of `trunc`.
    """
    x = Tensor(op.operation.operands[0])
    if x.dtype not in (F64, F32):
        return None
    return mapped(lambda a: _floor(a).value, [x.value], x.dtype)


@pattern("stablehlo.ceil", any_shape=True)
def expand_ceil(op: Any) -> Any:
    """ceil(x) -> -floor(-x), with floor expanded. Exact."""
    x = Tensor(op.operation.operands[0])
    if x.dtype not in (F64, F32):
        return None
    return mapped(lambda a: (-_floor(-a)).value, [x.value], x.dtype)


PATTERNS_SSE2: list[Pattern] = [expand_floor, expand_ceil]
PATTERNS = [
    *(_law(name, fn, (), {F32: F64, F16: F64, BF16: F64}, "expand_narrow") for name, fn in _OF_NARROW.items()),
    *(_law(name, *row) for name, row in _FUNCTIONS.items()),
    expand_power,
    expand_narrow_remainder,
]
