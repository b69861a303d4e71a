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
common_factor = law(
    "[x * y] + [x * z] -> (y + z) * x and [x * y] - [x * z] -> (y - z) * x for floats. Differs by rounding.",
    assumes="reassoc,nnan",
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
product_with_reciprocal_root = law(
    "x * rsqrt(x) -> sqrt(x) and rsqrt(x) * rsqrt(x) -> 1 / x for floats. "
    "Differs by rounding, and for zero and infinity.",
    assumes="afn,nnan,ninf",
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
log_of_reciprocal = law("log(1 / x) -> -log(x) for floats. Differs by rounding.", assumes="afn")


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
select_extreme = law(
    "select(f(x, y), x, y) -> min(x, y) and select(f(x, y), y, x) -> max(y, x) for f in LT|LE, floats; "
    "select(f(x, y), x, y) -> max(x, y) and select(f(x, y), y, x) -> min(y, x) for f in GT|GE, floats. "
    "Differs for NaN and in the sign of zero.",
    assumes="nnan,nsz",
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
