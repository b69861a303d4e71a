"""Laws of real numbers, and of functions, that floats follow up to rounding; they run under `fast_math` only.

Each law names what it assumes (`passes.fast_math.FLAGS`), and its docstring says what can change.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from passes import build, operations
from passes.match import SPLAT, dtype_of, has_one_use, is_floating, producer, splat_of
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law

log_of_exponential = law(
    "log(exp(x)) -> x for floats. Differs "
    "where exp overflows or underflows (the law gives the true value), and by rounding.",
    assumes="afn,ninf",
)
exponential_of_log = law(
    "exp(log(x)) -> x for floats. Differs by rounding, and for negative x, where it gives x instead of NaN.",
    assumes="afn,nnan",
)
log_of_root = law(
    "log(sqrt(x)) -> 0.5 * log(x) and log(rsqrt(x)) -> -0.5 * log(x) for floats. Differs by rounding.", assumes="afn"
)
square_of_root = law(
    "sqrt(x) * sqrt(x) -> x for floats. Differs by rounding, and for negative x, where it gives x instead of NaN.",
    assumes="reassoc,nnan,nsz",
)
product_of_exponentials = law(
    "exp(x) * exp(y) -> exp(x + y) for floats. Differs by rounding and where one factor overflows.",
    assumes="reassoc,afn,nnan",
)
divide_by_constant = law(
    "x / n -> x * (1 / n) for floats where n != 0 and 1e-30 < abs(1 / n) < inf. Differs by one rounding.",
    assumes="arcp",
)
divide_by_root = law(
    "x / sqrt(y) -> x * rsqrt(y) and x / exp(y) -> x * exp(-y) for floats. Differs by rounding.", assumes="arcp,afn"
)
subtract_itself = law("x - x -> 0 for floats. Differs for infinities and NaN.", assumes="nnan")
divide_by_itself = law("x / x -> 1 for floats. Differs for zero, infinities and NaN.", assumes="nnan")
multiply_by_zero = law(
    "x * zero -> 0 for floats. Differs for infinities and NaN, and in the sign of zero.", assumes="nnan,nsz"
)
add_positive_zero = law("x + 0.0 -> x for floats. Differs in the sign of zero.", assumes="nsz")
reassociate_constants = law(
    "(v + m) + n -> v + (m + n) and (v * m) * n -> v * (m * n) for floats v. Differs by rounding.",
    assumes="reassoc,nsz",
)


class _Group(NamedTuple):
    """Sums or products: the op, that of its inverse, what they compute, and the number that changes nothing."""

    plain: str
    inverse: str
    combine: Any
    undo: Any
    neutral: float


_SUMS = _Group("stablehlo.add", "stablehlo.subtract", np.add, np.subtract, 0.0)
_PRODUCTS = _Group("stablehlo.multiply", "stablehlo.divide", np.multiply, np.divide, 1.0)


def _with_number(op: Any, group: _Group) -> tuple[Any, Any, bool] | None:
    """Return (x, c, False) for an op that is x + c, and (x, c, True) for c - x; products likewise; else None."""
    name, left, right = op.operation.name, splat_of(op.lhs), splat_of(op.rhs)
    if name not in group[:2] or (left is None) == (right is None):
        return None
    x, number = (op.rhs, np.float64(left)) if right is None else (op.lhs, np.float64(right))
    if name == group.plain or right is None:
        return x, number, name == group.inverse
    return x, group.undo(group.neutral, number), False


def _regrouped(op: Any, group: _Group) -> Any:
    """Return one op for two of a group that follow one another, each on a number; None for others."""
    with np.errstate(all="ignore"):
        outer = _with_number(op, group) if is_floating(op.lhs) else None
        inner = producer(outer[0]) if outer is not None else None
        found = _with_number(inner, group) if inner is not None and inner.operation.name in group[:2] else None
        if (
            outer is None
            or inner is None
            or found is None
            or {op.operation.name, inner.operation.name} == {group.plain}
        ):
            return None
        (_, d, from_number), (x, c, is_from_number) = outer, found
        number = np.asarray(group.undo(d, c) if from_number else group.combine(c, d)).astype(dtype_of(op.lhs))
    if not np.isfinite(number) or (group is _PRODUCTS and number == 0):
        return None
    constant = build.full(number, op.operation.results[0])
    mirrored = from_number != is_from_number
    return build.op(group.inverse, [constant, x]) if mirrored else build.op(group.plain, [x, constant])


@pattern("stablehlo.add", "stablehlo.subtract", of=("stablehlo.add", "stablehlo.subtract"), assumes="reassoc,nsz")
def regroup_differences(op: Any) -> Any:
    """(x - c) + d -> x + (d - c), (c - x) + d -> (c + d) - x, d - (c - x) -> x + (d - c), and the like.

    Differs by rounding.
    """
    return _regrouped(op, _SUMS)


@pattern("stablehlo.multiply", "stablehlo.divide", of="stablehlo.divide", assumes="reassoc,arcp")
def regroup_quotients(op: Any) -> Any:
    """(c / x) * d -> (c * d) / x, (x / c) * d -> x * (d / c), d / (c / x) -> x * (d / c), and the like.

    Differs by rounding.
    """
    return _regrouped(op, _PRODUCTS)


def _factors(value: Any, x: Any) -> int:
    """Return n for a value that is x, multiplied by x n - 1 times, and that nothing else reads; 0 for others."""
    if value == x:
        return 1
    maker = producer(value, "stablehlo.multiply")
    before = _factors(maker.lhs, x) if maker is not None and maker.rhs == x and has_one_use(value) else 0
    return before + 1 if before else 0


@pattern("stablehlo.multiply", of="stablehlo.multiply", assumes="reassoc")
def chain_of_factors(op: Any) -> Any:
    """((x * x) * x) * x -> (x * x) * (x * x), and the same for more factors. Differs by rounding."""
    x = op.rhs
    count = _factors(op.lhs, x) + 1 if is_floating(x) else 0
    if count < 4:
        return None
    power, product = x, None
    while count:
        if count & 1:
            product = power if product is None else build.op("stablehlo.multiply", [product, power])
        count >>= 1
        power = build.op("stablehlo.multiply", [power, power]) if count else power
    return product


expand_power = law(
    "x ** 3 -> x * x * x and x ** 4 -> (x * x) * (x * x) "
    "and x ** -1 -> 1 / x and x ** 0.5 -> sqrt(x) and x ** -0.5 -> rsqrt(x) for floats. "
    "Differs by rounding, and for -inf and -0.0 under a square root.",
    assumes="afn,ninf,nsz",
)
root_of_square = law(
    "sqrt(x * x) -> abs(x) for floats. Differs where the square over- or underflows (the law gives the true value).",
    assumes="afn,ninf",
)


_OPEN = operations.where(precision=operations.Precision.OPEN)
_FUNCTIONS = tuple(name for name in _OPEN if operations.of(name).numpy is not None)


@pattern(*_FUNCTIONS, of=SPLAT, assumes="afn")
def fold_functions(op: Any) -> Any:
    """A function of constants -> its value. Differs from the compiled function by rounding."""
    numbers = [splat_of(value) for value in op.operation.operands]
    if any(number is None for number in numbers) or not is_floating(op.operation.results[0]):
        return None
    arrays = [np.asarray(n, dtype_of(v)) for n, v in zip(numbers, op.operation.operands)]
    meaning = operations.of(op.operation.name).numpy
    assert meaning is not None, "_FUNCTIONS are evaluated by NumPy"
    with np.errstate(all="ignore"):
        return build.full(meaning(*arrays), op.operation.results[0])


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
divide_zero = law("zero / x -> 0 for floats. Differs for zero and NaN, and in the sign of zero.", assumes="nnan,nsz")

PATTERNS = laws_of(globals())
