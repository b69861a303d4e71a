"""More laws of real numbers that floats follow up to rounding; they run under `fast_math` only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passes import build
from passes.match import (
    SPLAT,
    dtype_of,
    is_floating,
    splat_of,
)
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law

negated_difference = law("-(x - y) -> y - x for floats. Differs in the sign of zero.", assumes="nsz")
subtract_part = law("(x + y) - y -> x for floats. Differs by rounding, and for infinities.", assumes="reassoc,nnan")
subtract_from_part = law(
    "y - (x + y) -> -x and x - (x - y) -> y and (x - y) - x -> -y for floats. Differs by rounding, and for infinities.",
    assumes="reassoc,nnan,nsz",
)
add_difference = law("(x - y) + y -> x for floats. Differs by rounding, and for infinities.", assumes="reassoc,nnan")
common_factor = law(
    "[x * y] + [x * z] -> (y + z) * x and [x * y] - [x * z] -> (y - z) * x for floats. Differs by rounding.",
    assumes="reassoc,nnan",
)
common_divisor = law(
    "[x / z] + [y / z] -> (x + y) / z and [x / z] - [y / z] -> (x - y) / z for floats. Differs by rounding.",
    assumes="reassoc,arcp,nnan",
)
divide_twice = law(
    "[x / y] / z -> x / (y * z) and x / [y / z] -> x * z / y for floats. Differs by rounding, and "
    "where y * z overflows.",
    assumes="reassoc,arcp,nnan",
)
divide_product_by_factor = law(
    "(x * y) / y -> x for floats. Differs by rounding, and where y is zero.", assumes="reassoc,arcp,nnan"
)
multiply_quotient = law(
    "(x / y) * y -> x and [1 / y] * x -> x / y for floats. Differs by rounding, and where y is zero.",
    assumes="reassoc,arcp,nnan",
)
divide_by_reciprocal_root = law("x / rsqrt(y) -> x * sqrt(y) for floats. Differs by rounding.", assumes="arcp,afn")
product_with_reciprocal_root = law(
    "x * rsqrt(x) -> sqrt(x) and rsqrt(x) * rsqrt(x) -> 1 / x for floats. "
    "Differs by rounding, and for zero and infinity.",
    assumes="afn,nnan,ninf",
)
root_of_reciprocal = law(
    "sqrt(1 / x) -> rsqrt(x) and rsqrt(1 / x) -> sqrt(x) for floats. Differs by rounding.", assumes="afn"
)
product_of_roots = law(
    "[sqrt(x)] * [sqrt(y)] -> sqrt(x * y) for floats. Differs by rounding, and where x * y over- or underflows.",
    assumes="afn,reassoc,nnan,ninf",
)
inverse_function = law(
    "f(g(x)) -> x for inverse f g, floats. "
    "Functions that undo each other: tanh and atanh, log(1 + x) and exp(x) - 1, and others. Differs by rounding, and "
    "where g has no result or over- or underflows.",
    assumes="afn,nnan,ninf",
)
log_of_one_more = law(
    "log(x + 1) -> log1p(x) for floats. Differs by rounding: the law is more precise for small x.", assumes="afn"
)
exponential_less_one = law(
    "[exp(x)] - 1 -> expm1(x) and [exp(x)] + -1 -> expm1(x) for floats. "
    "Differs by rounding: the law is more precise for small x.",
    assumes="afn",
)
log_plus_one_of_less = law("log1p(x - 1) -> log(x) for floats. Differs by rounding.", assumes="afn")
log_of_reciprocal = law("log(1 / x) -> -log(x) for floats. Differs by rounding.", assumes="afn")
log_of_product_with_exponential = law(
    "log(exp(x) * y) -> x + log(y) for floats. Differs by rounding, and where the exponential over- or underflows.",
    assumes="afn,ninf,nnan",
)
root_of_exponential = law(
    "sqrt(exp(x)) -> exp(x * 0.5) and rsqrt(exp(x)) -> exp(x * -0.5) "
    "and cbrt(exp(x)) -> exp(x * 0.3333333333333333) for floats. Differs by rounding.",
    assumes="afn,ninf",
)
power_of_exponential = law(
    "exp(x) ** y -> exp(x * y) for floats. Differs by rounding, and where exp(x) over- or underflows.",
    assumes="afn,ninf",
)


@pattern("stablehlo.power", of=SPLAT, assumes="afn,nnan")
def power_of_constant(op: Any) -> Any:
    """c ** x -> exp(x * log(c)) for a positive c, and e ** x -> exp(x). Differs by rounding."""
    base = splat_of(op.lhs) if is_floating(op.lhs) else None
    if base is None or splat_of(op.rhs) is not None or not 0 < float(base) < math.inf or float(base) == 1:
        return None
    number = float(base)
    is_e = np.asarray(math.e).astype(dtype_of(op.lhs)) == base
    exponent = op.rhs if is_e else build.op("stablehlo.multiply", [op.rhs, build.full(math.log(number), op.rhs)])
    return build.op("stablehlo.exponential", [exponent])


power_of_root = law(
    "sqrt(x) ** n -> x ** (n * 0.5) and rsqrt(x) ** n -> x ** (n * -0.5) for floats; "
    "cbrt(x) ** n -> x ** (n / 3) for floats where n % 3 == 0. Differs by rounding, and for negative x.",
    assumes="afn,nnan,ninf,nsz",
)
power_of_power = law(
    "(x ** m) ** n -> x ** (m * n) for floats where n % 1 == 0. Differs by rounding and overflow.",
    assumes="afn,nnan,ninf",
)
power_of_known_exponent = law(
    "x ** 1.5 -> x * sqrt(x) and x ** -2 -> 1 / (x * x) and x ** -3 -> 1 / (x * (x * x)) "
    "and x ** -4 -> 1 / ((x * x) * (x * x)) and x ** 5 -> x * ((x * x) * (x * x)) "
    "and x ** 6 -> (x * x) * ((x * x) * (x * x)) and x ** 7 -> (x * (x * x)) * ((x * x) * (x * x)) "
    "and x ** 8 -> ((x * x) * (x * x)) * ((x * x) * (x * x)) for floats. Differs by rounding.",
    assumes="afn,nnan,ninf,nsz",
)
logistic = law(
    "exp(x) / (1 + exp(x)) -> logistic(x) and 1 / (1 + exp(-x)) -> logistic(x) "
    "and 1 / (1 + exp(x)) -> logistic(-x) for floats. Differs by rounding and overflow.",
    assumes="afn",
)
one_less_function = law(
    "1 - [logistic(x)] -> logistic(-x) for floats; 1 - [f(x)] -> g(x) for complement f g, floats. "
    "Such as erf and erfc. Differs by rounding: the law is more precise where the function is close to 1.",
    assumes="afn",
)
tangent = law(
    "sin(x) / cos(x) -> tan(x) and sinh(x) / cosh(x) -> tanh(x) for floats. Differs by rounding and overflow.",
    assumes="afn,arcp",
)
squares_of_sine_and_cosine = law(
    "sin(x) * sin(x) + cos(x) * cos(x) -> 1 for floats. Differs by rounding, and for infinities.",
    assumes="afn,nnan,reassoc",
)
select_extreme = law(
    "select(f(x, y), x, y) -> min(x, y) and select(f(x, y), y, x) -> max(y, x) for f in LT|LE, floats; "
    "select(f(x, y), x, y) -> max(x, y) and select(f(x, y), y, x) -> min(y, x) for f in GT|GE, floats. "
    "Differs for NaN and in the sign of zero.",
    assumes="nnan,nsz",
)
select_abs = law(
    "select(f(x, zero), -x, x) -> abs(x) for f in LT|LE, floats; "
    "select(f(x, zero), x, -x) -> abs(x) for f in GT|GE, floats. Differs in the sign of zero.",
    assumes="nsz",
)
multiply_by_boolean = law(
    "convert(p) * x -> select(p, x, 0) for floats, booleans p; select(p, 0, 1) * x -> select(p, 0, x) for floats. "
    "Differs for NaN and infinities, and in the sign of zero.",
    assumes="nnan,ninf,nsz",
)
compare_difference_with_zero = law(
    "f(x - y, zero) -> f(x, y) for f in EQ|NE|LT|LE|GT|GE, floats. Differs for infinities.", assumes="nnan,ninf"
)

PATTERNS = laws_of(globals())
