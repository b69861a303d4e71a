"""Functions of a complex number in terms of real ones.

The compiler's own functions of complex128 do not link. complex64 is computed in float64
where the target has it, so that intermediate squares do not overflow. Inverse functions follow
Kahan, "Branch cuts for complex elementary functions" (1987), the sign of zero included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.legalize import elementary as el, special as sp
from passes.legalize.complex_products import by_parts, four_products
from passes.legalize.expressions import Tensor, copysign, has_doubles, has_sign, mapped, maximum, minimum, sqrt, where
from passes.match import combinations, dtype_of, is_assignment, is_static, shape_of, splat_of
from passes.patterns import Pattern, pattern
from passes.types import numpy_dtype, tensor_type

Pair = tuple[Tensor, Tensor]


def hypot(x: Tensor, y: Tensor) -> Tensor:
    """`sqrt(x**2 + y**2)` without overflow, within 2 ulp; infinite where either part is."""
    a, b = abs(x), abs(y)
    large, small = maximum(a, b), minimum(a, b)
    ratio = small / where(large.equals(0), large.like(1), large)
    result = large * sqrt(ratio * ratio + 1)
    infinite = a.equals(math.inf) | b.equals(math.inf)
    return where(infinite, x.like(math.inf), result)


def _times(factor: Tensor, part: Tensor) -> Tensor:
    """A product that is zero where `part` is, even if `factor` is infinite or NaN; the signs are multiplied."""
    return where(part.equals(0), where(has_sign(factor), -part, part), factor * part)


def _is_finite(x: Tensor) -> Tensor:
    return abs(x) < math.inf


def _is_undirected(x: Tensor, y: Tensor) -> Tensor:
    """Where a result has infinite size, because `x` is infinite, and no angle, because `y` is not finite."""
    return abs(x).equals(math.inf) & ~_is_finite(y)


def exp(x: Tensor, y: Tensor) -> Pair:
    """The exponential. exp(x) is split into two factors, so that it cannot overflow before the product does."""
    half = el.exp(x * 0.5)
    whole = where(x.equals(-math.inf), half.like(0), half)
    y = where(x.equals(-math.inf) & ~_is_finite(y), y.like(0), y)
    real = _times(whole, _times(half, el.cos(y)))
    return where(_is_undirected(x, y), x, real), _times(whole, _times(half, el.sin(y)))


def expm1(x: Tensor, y: Tensor) -> Pair:
    """`exp(z) - 1`: expm1(x) cos(y) - 2 sin(y / 2)**2."""
    y = where(x.equals(-math.inf) & ~_is_finite(y), y.like(0), y)
    half_sine = el.sin(y * 0.5)
    real = _times(el.expm1(x), el.cos(y)) - 2 * half_sine * half_sine
    return where(_is_undirected(x, y), x, real), exp(x, y)[1]


def log_abs(x: Tensor, y: Tensor) -> Tensor:
    """`log |z|`; near |z| = 1 from (|z|**2 - 1) by log1p."""
    a, b = abs(x), abs(y)
    large, small = maximum(a, b), minimum(a, b)
    safe = where((large < 2.0) & (large > 0.5), large, large.like(1))
    tail = where((large < 2.0) & (large > 0.5), small, small.like(0))
    near = el.log1p((safe - 1) * (safe + 1) + tail * tail) * 0.5
    size = safe * safe + tail * tail
    near_one = (large < 2.0) & (large > 0.5) & (size < 3.0)
    ratio = small / where(large.equals(0), large.like(1), large)
    far = el.log(large) + el.log1p(ratio * ratio) * 0.5
    result = where(near_one, near, far)
    return where(a.equals(math.inf) | b.equals(math.inf), x.like(math.inf), result)


def log(x: Tensor, y: Tensor) -> Pair:
    """The principal logarithm."""
    return log_abs(x, y), el.atan2(y, x)


def log1p(x: Tensor, y: Tensor) -> Pair:
    """`log(1 + z)`, accurate where z is small."""
    u = x + 1
    small = (abs(x) < 0.5) & (abs(y) < 0.5)
    real = where(small, el.log1p(where(small, x * (x + 2) + y * y, x * 0)) * 0.5, log_abs(u, y))
    return real, el.atan2(y, u)


def square_root(x: Tensor, y: Tensor) -> Pair:
    """The principal square root; its real part is never negative."""
    # Scaled so that intermediate results neither overflow nor are flushed to zero.
    a, b = abs(x), abs(y)
    large = maximum(a, b)
    bits = 104 if x.dtype == np.float64 else 48
    top, bottom = (1e300, 1e-280) if x.dtype == np.float64 else (1e37, 1e-26)
    shrink, grow = large > top, large < bottom
    scale = where(shrink, x.like(2.0**-4), where(grow, x.like(2.0**bits), x.like(1)))
    back = where(shrink, x.like(4.0), where(grow, x.like(2.0 ** -(bits // 2)), x.like(1)))
    u, v = a * scale, b * scale
    t = sqrt((hypot(u, v) + u) * 0.5)
    other = v / where(t.equals(0), t.like(1), t) * 0.5
    t, other = t * back, other * back
    right = ~has_sign(x)
    real, imaginary = where(right, t, other), where(right, other, t)
    infinite = b.equals(math.inf)
    real = where(infinite, b, where(x.equals(math.inf), a, real))
    left = x.equals(-math.inf)
    real = where(left & ~infinite, where(b.is_nan(), b, b.like(0)), real)
    imaginary = where(
        infinite, b, where(left, a, where(x.equals(math.inf), where(b.is_nan(), b, b.like(0)), imaginary))
    )
    return real, copysign(imaginary, y)


def reciprocal(x: Tensor, y: Tensor) -> Pair:
    """`1 / z` by Smith's method."""
    wide = abs(x) >= abs(y)
    p, q = where(wide, x, y), where(wide, y, x)
    ratio = q / where(p.equals(0), p.like(1), p)
    scale = 1 / (p + q * ratio)
    one, other = scale, -(ratio * scale)
    infinite = abs(x).equals(math.inf) | abs(y).equals(math.inf)
    real, imaginary = where(wide, one, -other), where(wide, other, -one)
    return where(infinite, copysign(x.like(0), x), real), where(infinite, copysign(x.like(0), -y), imaginary)


def divide(x: Tensor, y: Tensor, p: Tensor, q: Tensor) -> Pair:
    """A quotient by Smith's method ("Algorithm 116: Complex division", 1962), as NumPy computes it.

    The divisor's larger part is divided out, so that no square overflows or underflows. If the divisor is zero, each
    part is divided by it.
    """
    wide = abs(p) >= abs(q)
    large, small = where(wide, p, q), where(wide, q, p)
    zero = large.equals(0)
    ratio = small / where(zero, large.like(1), large)
    size = large + small * ratio
    one, other = where(wide, x, y), where(wide, y, x)
    turned = one * ratio
    real = where(zero, x, one + other * ratio) / size
    imaginary = where(zero, y, where(wide, other - turned, turned - other)) / size
    return real, imaginary


def rsqrt(x: Tensor, y: Tensor) -> Pair:
    """`1 / sqrt(z)`."""
    return reciprocal(*square_root(x, y))


def logistic(x: Tensor, y: Tensor) -> Pair:
    """`1 / (1 + exp(-z))`."""
    real, imaginary = exp(-x, -y)
    return reciprocal(real + 1, imaginary)


def sinh(x: Tensor, y: Tensor) -> Pair:
    """Hyperbolic sine."""
    real = where((x.equals(0) & ~_is_finite(y)) | _is_undirected(x, y), x, _times(sp.sinh(x), el.cos(y)))
    return real, _times(sp.cosh(x), el.sin(y))


def cosh(x: Tensor, y: Tensor) -> Pair:
    """Hyperbolic cosine."""
    real = where(_is_undirected(x, y), abs(x), _times(sp.cosh(x), el.cos(y)))
    return real, where(x.equals(0) & ~_is_finite(y), x, _times(sp.sinh(x), el.sin(y)))


def tanh(x: Tensor, y: Tensor) -> Pair:
    """Hyperbolic tangent, by Kahan's formula in tan(y) and sinh(x)."""
    far = abs(x) > 20.0
    near = where(far, x.like(1), x)
    t, s = el.tan(y), sp.sinh(near)
    b = t * t + 1
    r = sqrt(s * s + 1)
    d = b * s * s + 1
    # For large |x|, the imaginary part is proportional to exp(-2 |x|).
    tail = 4 * el.sin(y) * el.cos(y) * el.exp(-2 * abs(x))
    tail = where(abs(x).equals(math.inf) & tail.is_nan(), tail.like(0), tail)
    real = where(far, where(tail.is_nan(), tail, copysign(x.like(1), x)), b * r * s / d)
    real = where(x.equals(0), x, real)
    return real, where(far, tail, where(y.equals(0), y, t / d))


def _turned(fn: Callable[[Tensor, Tensor], Pair]) -> Callable[[Tensor, Tensor], Pair]:
    """`-i f(i z)`."""

    def turned(x: Tensor, y: Tensor) -> Pair:
        real, imaginary = fn(-y, x)
        return imaginary, -real

    return turned


def cos(x: Tensor, y: Tensor) -> Pair:
    """Cosine: cosh(i z)."""
    return cosh(-y, x)


def _is_infinite(x: Tensor, y: Tensor) -> Tensor:
    return abs(x).equals(math.inf) | abs(y).equals(math.inf)


def asin(x: Tensor, y: Tensor) -> Pair:
    """Arc sine."""
    (a, b), (c, d) = square_root(1 - x, -y), square_root(1 + x, y)
    infinite = _is_infinite(x, y)
    real = el.atan2(x, where(infinite, abs(y), a * c - b * d))
    imaginary = where(infinite, copysign(y.like(math.inf), y), sp.asinh(a * d - b * c))
    return where(x.equals(0), x, real), imaginary


def acos(x: Tensor, y: Tensor) -> Pair:
    """Arc cosine."""
    (a, b), (c, d) = square_root(1 - x, -y), square_root(1 + x, y)
    infinite = _is_infinite(x, y)
    real = where(infinite, el.atan2(abs(y), x), 2 * el.atan2(a, c))
    real = where(x.equals(0) & y.is_nan(), x.like(math.pi / 2), real)
    return real, where(infinite, copysign(y.like(math.inf), -y), sp.asinh(c * b - d * a))


def acosh(x: Tensor, y: Tensor) -> Pair:
    """Inverse hyperbolic cosine."""
    (a, b), (c, d) = square_root(x - 1, y), square_root(x + 1, y)
    infinite = _is_infinite(x, y)
    real = where(infinite, x.like(math.inf), sp.asinh(a * c + b * d))
    imaginary = where(infinite, el.atan2(y, x), 2 * el.atan2(b, c))
    return real, where(x.equals(0) & y.is_nan(), y.like(math.pi / 2), imaginary)


def atanh(x: Tensor, y: Tensor) -> Pair:
    """Inverse hyperbolic tangent."""
    a = abs(x)
    bound = 1e100 if x.dtype == np.float64 else 1e15
    far = (a > bound) | (abs(y) > bound)
    p, q = where(far, a.like(2), a), where(far, y.like(0), y)
    real = el.log1p(4 * p / ((1 - p) * (1 - p) + q * q)) * 0.25
    near = p.equals(1) & (abs(q) < 1e-10)  # q * q may underflow
    real = where(near, (math.log(2) - el.log(where(near, abs(q), q.like(1)))) * 0.5, real)
    imaginary = el.atan2(2 * q, (1 - p) * (1 + p) - q * q) * 0.5
    inverse, _ = reciprocal(a, y)
    quarter = copysign(y.like(math.pi / 2), y)
    quarter = where(y.is_nan(), y, where(x.is_nan() & _is_finite(y), x, quarter))
    real, imaginary = where(far, inverse, real), where(far, quarter, imaginary)
    return where(x.equals(0), x, copysign(real, x)), imaginary


def sign(x: Tensor, y: Tensor) -> Pair:
    """`z / |z|`, 0 for 0."""
    size = hypot(x, y)
    safe = where(size.equals(0), size.like(1), size)
    return x / safe, y / safe


def power(x: Tensor, y: Tensor, p: Tensor, q: Tensor) -> Pair:
    """`z**w` as `exp(w log z)`; 1 where w is 0, and z where it is 1.

    Where z is 0, it is 0 if w has a positive real part, else NaN.
    """
    a, b = log(x, y)
    level = q.equals(0)  # the logarithm may be infinite
    real, imaginary = exp(p * a - where(level, q.like(0), q * b), p * b + where(level, q.like(0), q * a))
    same = level & p.equals(1)
    real, imaginary = where(same, x, real), where(same, y, imaginary)
    zero = x.equals(0) & y.equals(0)
    limit = where(p > 0, p.like(0), p.like(math.nan))
    real, imaginary = where(zero, limit, real), where(zero, limit, imaginary)
    one = p.equals(0) & level
    return where(one, x.like(1), real), where(one, x.like(0), imaginary)


def cbrt(x: Tensor, y: Tensor) -> Pair:
    """The principal cube root."""
    return power(x, y, x.like(1 / 3), x.like(0))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "stablehlo.exponential": exp,
    "stablehlo.exponential_minus_one": expm1,
    "stablehlo.log": log,
    "stablehlo.log_plus_one": log1p,
    "stablehlo.sqrt": square_root,
    "stablehlo.rsqrt": rsqrt,
    "stablehlo.cbrt": cbrt,
    "stablehlo.logistic": logistic,
    "stablehlo.sine": _turned(sinh),
    "stablehlo.cosine": cos,
    "stablehlo.tan": _turned(tanh),
    "chlo.tan": _turned(tanh),
    "stablehlo.tanh": tanh,
    "stablehlo.divide": divide,
    "stablehlo.power": power,
    "stablehlo.abs": hypot,
    "stablehlo.sign": sign,
    "chlo.sinh": sinh,
    "chlo.cosh": cosh,
    "chlo.asin": asin,
    "chlo.acos": acos,
    "chlo.atan": _turned(atanh),
    "chlo.asinh": _turned(asin),
    "chlo.acosh": acosh,
    "chlo.atanh": atanh,
}


def _parts(value: Any) -> Pair:
    real, imaginary = map(Tensor, build.parts(value))
    inner = np.float64 if has_doubles() else real.dtype
    return real.to(inner), imaginary.to(inner)


def _law(name: str, fn: Callable[..., Any]) -> Pattern:
    def rewrite(op: Any) -> Any:
        operands = list(op.operation.operands)
        dtype = numpy_dtype(operands[0].type.element_type)
        if not is_static(operands[0]) or dtype.kind != "c":
            return None
        part = np.float32 if dtype == np.complex64 else np.float64

        def body(*scalars: Tensor) -> Any:
            result = fn(*(number for scalar in scalars for number in _parts(scalar.value)))
            if isinstance(result, Tensor):
                return result.to(part).value
            real, imaginary = (number.to(part).value for number in result)
            return build.op("stablehlo.complex", [real, imaginary], scalars[0].value.type)

        return mapped(body, operands, part if fn is hypot else dtype, name)

    doc = f"{name} of complex numbers in terms of real functions. {(fn.__doc__ or '').strip()}"
    return Pattern(f"expand_complex_{name.split('.')[1]}", (name,), rewrite, doc=doc)


@pattern("stablehlo.pad")
def expand_complex_pad(op: Any) -> Any:
    """Padding of complex numbers pads the parts. Exact.

    The compiler crashed on padding with a constant, between a slice and a select.
    """
    return by_parts(op, lambda value, padding: build.pad(value, padding, *attrs.padding(op)))


@pattern("stablehlo.pad")
def pad_parts_of_complex128(op: Any) -> Any:
    """Padding of complex numbers of 128 bits pads the parts. Exact.

    The compiler cannot fill memory with elements of 16 bytes.
    """
    return expand_complex_pad(op) if dtype_of(op.operation.operands[0]) == np.complex128 else None


@pattern("stablehlo.convolution")
def convolve_parts_of_complex(op: Any) -> Any:
    """A convolution of complex numbers as four of their parts. Exact up to the order of sums, as for real numbers.

    The compiler crashes on it.
    """
    return four_products(op)


@pattern("stablehlo.constant", "stablehlo.broadcast_in_dim")
def complex_constant(op: Any) -> Any:
    """An array of one complex number is computed from its parts. Exact.

    The compiler cannot fill memory with 16-byte values, and fails, or ends the process, where it updates 8-byte ones.
    """
    result = op.operation.results[0]
    number = splat_of(result) if dtype_of(result).kind == "c" else None
    if number is None or not shape_of(result) or 0 in shape_of(result):
        return None
    parts = [build.op("stablehlo.optimization_barrier", [build.constant(part)]) for part in (number.real, number.imag)]
    return build.op(
        "stablehlo.complex", [build.broadcast_in_dim(part, shape_of(result), ()) for part in parts], result.type
    )


@pattern("stablehlo.scatter")
def scatter_complex_parts(op: Any) -> Any:
    """A scatter of complex numbers scatters the parts, unless it multiplies. Exact.

    The compiler crashes on it.
    """
    if len(op.operation.results) != 1:
        return None
    names = combinations(op.operation.regions[0])
    if names == ["stablehlo.multiply"] or (names is None and not is_assignment(op.operation.regions[0])):
        return None

    def scattered(old: Any, indices: Any, new: Any) -> Any:
        made = build.op("stablehlo.scatter", [old, indices, new], old.type, attributes=attrs.copied(op), regions=1)
        scalar = tensor_type((), old.type.element_type)
        build.unary_region(made, 0, [scalar] * 2, lambda a, b: b if names is None else build.op(names[0], [a, b]))
        return made.results[0]

    return by_parts(op, scattered)


PATTERNS = [_law(name, fn) for name, fn in _FUNCTIONS.items()]
# Workarounds for compiler failures, needed only outside stagec's kernels.
MEMORY = [expand_complex_pad, complex_constant, scatter_complex_parts]
FORMS = [pad_parts_of_complex128, convolve_parts_of_complex]
