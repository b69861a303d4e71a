"""exp, log and the trigonometric functions as straight-line polynomials.

Written for float32 and float64. No function has branches or tables, so that all
vectorize. Subnormal numbers count as zero: the CPU backend runs with
flush-to-zero.
"""

from __future__ import annotations

import math

import numpy as np

from passes.legalize import polynomials as co
from passes.legalize.angles import RARE_FROM, nearest, reduced
from passes.legalize.expressions import (
    Tensor,
    call,
    copysign,
    estrin,
    fast_two_sum,
    keeps_order,
    mantissa_exponent,
    maximum,
    minimum,
    power_of_two,
    rint,
    split,
    sqrt,
    two_product,
    two_sum,
    where,
)

_LN2_HIGH = {8: float.fromhex("0x1.62e42feep-1"), 4: float.fromhex("0x1.62ep-1")}
_LN2_LOW = {8: float.fromhex("0x1.a39ef35793c76p-33"), 4: float.fromhex("0x1.0bfbe8e7bcd5ep-15")}


def _is_double(x: Tensor) -> bool:
    return x.dtype == np.float64


def _to_float(k: Tensor, like: Tensor) -> Tensor:
    """A small integer tensor as a float of the same width, without a conversion."""
    magic = like.like(1.5 * 2.0 ** np.finfo(like.dtype).nmant)
    return (k + magic.bits()).bitcast(like.dtype) - magic


def _exp_parts(x: Tensor, low: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """`exp(x + low)` as `(expm1(r), k)`, which stands for `(1 + expm1(r)) * 2**k`."""
    size = x.dtype.itemsize
    n, k = nearest(x * (1 / math.log(2)))
    high = x - n * _LN2_HIGH[size]
    correction = n * _LN2_LOW[size]
    if low is not None:
        correction = correction - low
    r = high - correction
    error = (high - r) - correction
    tail = r * r * estrin(r, co.EXP if size == 8 else co.EXP_F32)
    return r + (tail + (error + error * r)), k


def _scaled(value: Tensor, k: Tensor) -> Tensor:
    """`value * 2**k` in two steps, so that neither factor leaves the normal range."""
    half = k >> 1
    return value * power_of_two(half, value.dtype) * power_of_two(k - half, value.dtype)


def _clamped(x: Tensor) -> Tensor:
    bound = 1000.0 if _is_double(x) else 150.0
    return maximum(minimum(x, bound), -bound)


def exp(x: Tensor, low: Tensor | None = None, scale: int = 0) -> Tensor:
    """`exp(x + low) * 2**scale`, within 1 ulp."""
    tail, k = _exp_parts(_clamped(x), low)
    return _scaled(tail + 1, k + scale if scale else k)


def exp2(x: Tensor) -> Tensor:
    """`2**x`, within 1 ulp."""
    bound = 1100.0 if _is_double(x) else 160.0
    x = maximum(minimum(x, bound), -bound)
    n, k = nearest(x)
    r = (x - n) * math.log(2)
    return _scaled(r + r * r * estrin(r, co.EXP if _is_double(x) else co.EXP_F32) + 1, k)


def expm1(x: Tensor) -> Tensor:
    """`exp(x) - 1`, within 2 ulp."""
    tail, k = _exp_parts(_clamped(x))
    # 2**k (1 + tail) - 1; from 2**precision on, subtracting 1 changes nothing.
    precision = np.finfo(x.dtype).nmant + 4
    inner = where(k > precision, k.like(precision), k)
    inner = where(inner < -precision, inner.like(-precision), inner)
    scale = power_of_two(inner, x.dtype)
    small = tail * scale + (scale - 1)
    result = where(k > precision, _scaled(tail + 1, k), small)
    return where(x.equals(0), x, result)


def _log_specials(x: Tensor, result: Tensor) -> Tensor:
    tiny = float(np.finfo(x.dtype).tiny)
    result = where(x < tiny, x.like(-math.inf), result)
    result = where(x <= -tiny, x.like(math.nan), result)
    result = where(x.equals(math.inf), x, result)
    return where(x.is_nan(), x, result)


def _log(x: Tensor, low: Tensor | None = None) -> Tensor:
    size = x.dtype.itemsize
    m, k = mantissa_exponent(x, math.sqrt(0.5))
    n = _to_float(k, x)
    f = m - 1
    s = f / (f + 2)
    z = s * s
    half_square = f * f * 0.5
    tail = s * (half_square + z * estrin(z, co.LOG if size == 8 else co.LOG_F32)) + n * _LN2_LOW[size]
    if low is not None:
        tail = tail + low
    return n * _LN2_HIGH[size] - ((half_square - tail) - f)


def log(x: Tensor) -> Tensor:
    """The natural logarithm, within 1 ulp."""
    return _log_specials(x, _log(x))


def log1p(x: Tensor) -> Tensor:
    """`log(1 + x)`, within 1.5 ulp."""
    u = x + 1
    if not keeps_order():
        # Near zero without the sum: its rounding error cannot be computed.
        near = (x > -0.25) & (x < 0.375)
        return where(near, _log1p_near(where(near, x, x.like(0))), log(u))
    # The rounding error of the sum, relative to it.
    low = where(x > 1, 1 - (u - x), x - (u - 1)) / u
    low = where(abs(u) < math.inf, low, low.like(0))
    result = _log_specials(u, _log(u, low))
    return where(abs(x) < np.finfo(x.dtype).eps / 4, x, result)


def _log1p_near(x: Tensor) -> Tensor:
    """`log(1 + x)` for `sqrt(0.5) <= 1 + x <= sqrt(2)`."""
    s = x / (x + 2)
    z = s * s
    half_square = x * x * 0.5
    coefficients = co.LOG if _is_double(x) else co.LOG_F32
    return x - (half_square - s * (half_square + z * estrin(z, coefficients)))


def log_pair(x: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm of a positive normal float64 as an unevaluated sum, to about 2**-66."""
    m, k = mantissa_exponent(x, math.sqrt(0.5))
    n = _to_float(k, x)
    f = m - 1
    g, g_low = two_sum(x.like(2), f)
    s = f / g
    p, p_low = two_product(s, g)
    s_low = (((f - p) - p_low) - s * g_low) / g
    z, z_low = two_product(s, s)
    z_low = z_low + 2 * (s * s_low)
    q, q_low = fast_two_sum(x.like(2 / 3), z * estrin(z, co.LOG_TAIL))
    q_low = q_low + 2.0**-54 * (2 / 3)
    v, v_low = two_product(z, q)
    v_low = v_low + (z * q_low + z_low * q)
    u, u_low = two_product(s, v)
    u_low = u_low + (s * v_low + s_low * v)
    a, a_low = two_sum(n * _LN2_HIGH[8], s * 2)
    b, b_low = two_sum(a, u)
    return fast_two_sum(b, a_low + b_low + (s_low * 2 + u_low + n * _LN2_LOW[8]))


def _sin_cos(r: Tensor, low: Tensor) -> tuple[Tensor, Tensor]:
    double = _is_double(r)
    z = r * r
    half = z * 0.5
    sine = r + (r * z * estrin(z, co.SIN if double else co.SIN_F32) + low * (1 - half))
    whole = 1 - half
    cosine = whole + (((1 - whole) - half) + (z * z * estrin(z, co.COS if double else co.COS_F32) - r * low))
    return sine, cosine


def _flip(value: Tensor, k: Tensor) -> Tensor:
    """Negate where bit 1 of `k` is set."""
    return (value.bits() ^ ((k & 2) << (value.dtype.itemsize * 8 - 2))).bitcast(value.dtype)


def sin(x: Tensor, bounded: bool = False) -> Tensor:
    """Sine, within 1 ulp (float32: 1.5) for every finite number."""
    r, low, k = reduced(x, bounded)
    sine, cosine = _sin_cos(r, low)
    result = _flip(where((k & 1).equals(0), sine, cosine), k)
    return where(abs(x) < (2.0**-27 if _is_double(x) else 2.0**-13), x, result)


def cos(x: Tensor) -> Tensor:
    """Cosine, within 1 ulp (float32: 1.5) for every finite number."""
    r, low, k = reduced(x)
    sine, cosine = _sin_cos(r, low)
    return _flip(where((k & 1).equals(0), cosine, sine), k + 1)


def tan(x: Tensor, bounded: bool = False) -> Tensor:
    """Tangent, within 2 ulp (float32: 3) for every finite number."""
    r, low, k = reduced(x, bounded)
    sine, cosine = _sin_cos(r, low)
    even = (k & 1).equals(0)
    result = where(even, sine, -cosine) / where(even, cosine, sine)
    return where(abs(x) < (2.0**-27 if _is_double(x) else 2.0**-13), x, result)


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y), within 2 ulp; zeros and infinities as in C."""
    double = _is_double(y)
    ay, ax = abs(y), abs(x)
    swap = ay > ax
    small, large = where(swap, ax, ay), where(swap, ay, ax)
    # Sums of the two must neither overflow nor lose their low bits to flushing.
    big = float(np.finfo(y.dtype).max) / 8
    scale = where(large > big, y.like(0.125), y.like(1))
    small, large = small * scale, large * scale
    fold = small > large * (math.sqrt(2) - 1)
    t = where(fold, small - large, small) / where(fold, small + large, large)
    z = t * t
    angle = t * z * estrin(z, co.ATAN if double else co.ATAN_F32)
    fraction = where(fold, y.like(math.pi / 4), y.like(0))
    result = fraction + (angle + t)
    infinite = small.equals(math.inf)
    result = where(infinite, y.like(math.pi / 4), where(large.equals(0), y.like(0), result))
    # pi/2 and pi with their rounding errors.
    dtype = y.dtype.type
    half, whole = float(dtype(math.pi / 2)), float(dtype(math.pi))
    half_low = math.pi / 2 - half if not double else 6.123233995736766e-17
    result = where(swap, half - (result - half_low), result)
    result = where(x.bits() < 0, whole - (result - 2 * half_low), result)
    result = where(x.is_nan(), x, where(y.is_nan(), y, result))
    return copysign(result, y)


def atan(x: Tensor) -> Tensor:
    """Arc tangent, within 1.5 ulp."""
    return atan2(x, x.like(1))


def _asin_parts(a: Tensor, small: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Whether a size is large, the sine of the angle or of half its complement, and what its arc sine adds to it."""
    large = a > 0.5
    z = where(large, (1 - a) * 0.5, a * a)
    s = where(large, sqrt(z), small)
    return large, s, s * (z * estrin(z, co.ASIN if _is_double(z) else co.ASIN_F32))


def _half_turn(x: Tensor) -> tuple[float, float]:
    """Half of pi in the dtype of `x`, and the rest."""
    half = float(x.dtype.type(math.pi / 2))
    return half, 6.123233995736766e-17 if _is_double(x) else math.pi / 2 - half


def asin(x: Tensor) -> Tensor:
    """Arc sine, within 2 ulp; NaN outside [-1, 1]."""
    a = abs(x)
    large, s, tail = _asin_parts(a, a)
    half, half_low = _half_turn(x)
    result = where(large, half - (2 * s + (2 * tail - half_low)), a + tail)
    return copysign(result, x)


def acos(x: Tensor) -> Tensor:
    """Arc cosine, within 2 ulp; NaN outside [-1, 1]."""
    large, s, tail = _asin_parts(abs(x), x)
    half, half_low = _half_turn(x)
    middle = half - (x - (half_low - tail))
    near = 2 * (s + tail)
    return where(large, where(x < 0, 2 * half - (near - 2 * half_low), near), middle)


def cbrt(x: Tensor) -> Tensor:
    """Cube root, of a float64 within 1 ulp."""
    a = abs(x)
    m, k = mantissa_exponent(a, 1.0)
    # k // 3 by a multiplication: |k| <= 1074.
    third = ((k + 3072) * 21846 >> 16) - 1024
    m = m * power_of_two(k - third * 3, x.dtype)
    root = estrin(m, co.CBRT)
    for _ in range(2):
        cube = root * root * root
        root = root * ((cube + 2 * m) / (2 * cube + m))
    # One Newton step with an exact residual removes the rounding of the last one.
    high = split(root)[0]
    square, square_low = two_product(root, root)
    cube, cube_low = two_product(square, root)
    residual = (m - cube) - (cube_low + square_low * root)
    root = root + residual / (3 * high * high)
    result = root * power_of_two(third, x.dtype)
    plain = (a < math.inf) & (a >= float(np.finfo(x.dtype).tiny))
    return where(plain, copysign(result, x), x)


def remainder_in_double(x: Tensor, y: Tensor) -> Tensor:
    """C's `fmod` of float32 numbers, which are given as float64; exact.

    A quotient below 2**29 times `y` is exact in float64. A larger one is found in steps of 28 bits.
    """
    a, b = abs(x), abs(y)

    def modulo(a: Tensor, b: Tensor) -> Tensor:
        rest = a - call("floor", a / b) * b  # the rounded quotient may be the next integer
        return where(rest < 0, rest + b, rest)

    rest = a
    for step in range(9, -1, -1):  # the quotients of float32 are below 2**277
        rest = modulo(rest, b * 2.0 ** (28 * step))
    result = where(a / b < RARE_FROM[np.dtype(np.float64)], modulo(a, b), rest)
    return copysign(where(a < b, a, result), x)


def remainder(x: Tensor, y: Tensor) -> Tensor:
    """C's `fmod` for float64, exact: the sign of `x`, NaN for `y == 0` or infinite `x`."""
    # Scaled, so that nothing below overflows or vanishes.
    scale = where(abs(y) < 1, x.like(2.0**100), x.like(2.0**-100))
    a, b = abs(x) * scale, abs(y) * scale
    # The products of a quotient of 23 bits and the halves of `b` are exact, and so are the differences.
    whole = rint(a / b)
    high, low = split(b)
    rest = (a - whole * high) - whole * low
    near = where(abs(x) < abs(y), abs(x), where(rest < 0, rest + b, rest) / scale)
    usual = a / b * 2 < RARE_FROM[np.dtype(np.float64)]
    return copysign(where(usual, near, _remainder_of_integers(abs(x), abs(y))), x)


def _remainder_of_integers(ax: Tensor, ay: Tensor) -> Tensor:
    """The remainder of numbers that are not negative, for any quotient.

    x = m 2**e and y = n 2**f with 53-bit integers m and n. For e >= f the answer is
    2**f (m 2**(e - f) mod n), by square and multiply with products modulo n.
    """
    info = np.finfo(np.float64)
    implicit, mask = 1 << info.nmant, (1 << info.nmant) - 1
    ex, ey = ax.bits() >> info.nmant, ay.bits() >> info.nmant
    m = (ax.bits() & mask) | implicit
    n = (ay.bits() & mask) | implicit
    distance = where(ex > ey, ex - ey, ex.like(0))

    def as_float(value: Tensor) -> Tensor:
        # value < 2**53, without a 64-bit conversion: high and low halves through magic numbers.
        magic = ax.like(2.0**52).bits()
        low = ((value & ((1 << 26) - 1)) | magic).bitcast(np.float64) - 2.0**52
        high = ((value >> 26) | magic).bitcast(np.float64) - 2.0**52
        return high * 2.0**26 + low

    modulus = as_float(n)

    def modulo(a: Tensor, b: Tensor) -> Tensor:
        """`a * b mod n` for a, b < n < 2**53: the wrapped difference is exact, the quotient off by two."""
        quotient = call("floor", as_float(a) * as_float(b) / modulus)
        whole = Tensor(quotient.value).to(np.int64)
        difference = a * b - whole * n
        for _ in range(2):
            difference = where(difference < 0, difference + n, difference)
        for _ in range(2):
            difference = where(difference >= n, difference - n, difference)
        return difference

    one = m.like(1)
    # 2**distance mod n: the top bits directly (at most 2**32 < n), six more by squaring.
    power = one << (distance >> 6)
    for bit in range(5, -1, -1):
        power = modulo(power, power)
        doubled = power + power
        doubled = where(doubled >= n, doubled - n, doubled)
        power = where((distance >> bit & 1).differs(0), doubled, power)
    start = where(m >= n, m - n, m)
    reduced_mantissa = as_float(modulo(start, power))
    # reduced_mantissa * 2**(ey - 1075), in two factors that stay normal.
    shift = ey - 1075
    result = _scaled(reduced_mantissa, where(shift < -1020, shift.like(-1020), shift))
    result = where(shift < -1020, result * power_of_two(shift + 1020, np.float64), result)
    result = where(ax < ay, ax, result)
    tiny = float(info.tiny)
    invalid = (ay < tiny) | ax.equals(math.inf) | ax.is_nan() | ay.is_nan()
    return where(invalid, ax.like(math.nan), result)
