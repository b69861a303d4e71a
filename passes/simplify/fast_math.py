"""Laws of real numbers that floats follow up to rounding; they run under `fast_math` only.

Each law names what it assumes (`passes.fast_math.FLAGS`), and its docstring says what can change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from passes import build, operations
from passes.match import SPLAT, dtype_of, has_one_use, is_floating, is_splat, producer, splat_of
from passes.patterns import pattern


@pattern("stablehlo.log", of="stablehlo.exponential", assumes="afn,ninf")
def log_of_exponential(op: Any) -> Any:
    """log(exp(x)) -> x. Differs where exp overflows or underflows (the law gives the true value), and by rounding."""
    inner = producer(op.operand, "stablehlo.exponential")
    return inner.operand if inner is not None and is_floating(op.operand) else None


@pattern("stablehlo.exponential", of="stablehlo.log", assumes="afn,nnan")
def exponential_of_log(op: Any) -> Any:
    """exp(log(x)) -> x. Differs by rounding, and for negative x, where it gives x instead of NaN."""
    inner = producer(op.operand, "stablehlo.log")
    return inner.operand if inner is not None and is_floating(op.operand) else None


@pattern("stablehlo.log", of=("stablehlo.sqrt", "stablehlo.rsqrt"), assumes="afn")
def log_of_root(op: Any) -> Any:
    """log(sqrt(x)) -> 0.5 * log(x) and log(rsqrt(x)) -> -0.5 * log(x). Differs by rounding."""
    for name, factor in (("stablehlo.sqrt", 0.5), ("stablehlo.rsqrt", -0.5)):
        inner = producer(op.operand, name)
        if inner is not None and is_floating(op.operand):
            log = build.op("stablehlo.log", [inner.operand])
            return build.op("stablehlo.multiply", [build.full(factor, log), log])
    return None


@pattern("stablehlo.log", of="stablehlo.power", assumes="afn,ninf")
def log_of_power(op: Any) -> Any:
    """log(x ** y) -> y * log(x) for a constant y that is not an even integer.

    Differs by rounding, and where the power over- or underflows; an even power
    of a negative x would turn into NaN, so those are left.
    """
    inner = producer(op.operand, "stablehlo.power")
    if inner is None or not is_floating(op.operand):
        return None
    exponent = splat_of(inner.rhs)
    if exponent is None or not np.isfinite(exponent) or float(exponent) % 2 == 0:
        return None
    return build.op("stablehlo.multiply", [inner.rhs, build.op("stablehlo.log", [inner.lhs])])


@pattern("stablehlo.multiply", of="stablehlo.sqrt", assumes="reassoc,nnan,nsz")
def square_of_root(op: Any) -> Any:
    """sqrt(x) * sqrt(x) -> x. Differs by rounding, and for negative x, where it gives x instead of NaN."""
    inner = producer(op.lhs, "stablehlo.sqrt")
    return inner.operand if inner is not None and op.lhs == op.rhs and is_floating(op.lhs) else None


@pattern("stablehlo.multiply", of="stablehlo.exponential", assumes="reassoc,afn,nnan")
def product_of_exponentials(op: Any) -> Any:
    """exp(x) * exp(y) -> exp(x + y). Differs by rounding and where one factor overflows."""
    left, right = producer(op.lhs, "stablehlo.exponential"), producer(op.rhs, "stablehlo.exponential")
    if left is None or right is None or not is_floating(op.lhs):
        return None
    return build.op("stablehlo.exponential", [build.op("stablehlo.add", [left.operand, right.operand])])


@pattern("stablehlo.divide", of=SPLAT, assumes="arcp")
def divide_by_constant(op: Any) -> Any:
    """x / c -> x * (1 / c). Differs by one rounding."""
    if not is_floating(op.lhs):
        return None
    number = splat_of(op.rhs)
    if number is not None:
        with np.errstate(all="ignore"):
            reciprocal = np.divide(1, np.asarray(number, np.float64))
        if np.isfinite(reciprocal) and abs(reciprocal) > 1e-30 and number != 0:
            return build.op("stablehlo.multiply", [op.lhs, build.full(reciprocal, op.lhs)])
    return None


@pattern("stablehlo.divide", of=("stablehlo.sqrt", "stablehlo.exponential"), assumes="arcp,afn")
def divide_by_root(op: Any) -> Any:
    """x / sqrt(y) -> x * rsqrt(y) and x / exp(y) -> x * exp(-y). Differs by rounding."""
    inner = producer(op.rhs)
    if inner is None or not is_floating(op.lhs):
        return None
    if inner.operation.name == "stablehlo.sqrt":
        factor = build.op("stablehlo.rsqrt", [inner.operand])
    elif inner.operation.name == "stablehlo.exponential":
        factor = build.op("stablehlo.exponential", [build.op("stablehlo.negate", [inner.operand])])
    else:
        return None
    return build.op("stablehlo.multiply", [op.lhs, factor])


@pattern("stablehlo.subtract", assumes="nnan")
def subtract_itself(op: Any) -> Any:
    """x - x -> 0 for floats. Differs for infinities and NaN."""
    return build.full(0, op.lhs) if op.lhs == op.rhs and is_floating(op.lhs) else None


@pattern("stablehlo.divide", assumes="nnan")
def divide_by_itself(op: Any) -> Any:
    """x / x -> 1 for floats. Differs for zero, infinities and NaN."""
    return build.full(1, op.lhs) if op.lhs == op.rhs and is_floating(op.lhs) else None


@pattern("stablehlo.multiply", of=SPLAT, assumes="nnan,nsz")
def multiply_by_zero(op: Any) -> Any:
    """x * 0 -> 0 for floats. Differs for infinities and NaN, and in the sign of zero."""
    zero = is_splat(op.rhs, 0) or is_splat(op.lhs, 0) or is_splat(op.rhs, -0.0) or is_splat(op.lhs, -0.0)
    return build.full(0, op.lhs) if zero and is_floating(op.lhs) else None


@pattern("stablehlo.add", of=SPLAT, assumes="nsz")
def add_positive_zero(op: Any) -> Any:
    """x + 0.0 -> x. Differs in the sign of zero."""
    if not is_floating(op.lhs):
        return None
    return op.lhs if is_splat(op.rhs, 0.0) else op.rhs if is_splat(op.lhs, 0.0) else None


@pattern("stablehlo.add", "stablehlo.multiply", of=("stablehlo.add", "stablehlo.multiply"), assumes="reassoc,nsz")
def reassociate_constants(op: Any) -> Any:
    """(x + c) + d -> x + (c + d), and the same for products. Differs by rounding."""
    name = op.operation.name
    for outer, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        inner = producer(other, name)
        if splat_of(outer) is None or inner is None or not is_floating(op.lhs):
            continue
        for constant, value in ((inner.rhs, inner.lhs), (inner.lhs, inner.rhs)):
            if splat_of(constant) is not None and splat_of(value) is None:
                return build.op(name, [value, build.op(name, [constant, outer])])
    return None


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


@pattern("stablehlo.power", of=SPLAT, assumes="afn,ninf,nsz")
def expand_power(op: Any) -> Any:
    """x ** 3, x ** 4, x ** -1, x ** 0.5, x ** -0.5 -> products, a quotient, roots.

    Differs by rounding, and for -inf and -0.0 under a square root.
    """
    number = splat_of(op.rhs)
    if number is None or not is_floating(op.lhs):
        return None
    x = op.lhs
    square = None
    if number in (3, 4):
        square = build.op("stablehlo.multiply", [x, x])
        return build.op("stablehlo.multiply", [square, x if number == 3 else square])
    if number == -1:
        return build.op("stablehlo.divide", [build.full(1, x), x])
    if number == 0.5:
        return build.op("stablehlo.sqrt", [x])
    return build.op("stablehlo.rsqrt", [x]) if number == -0.5 else None


@pattern("stablehlo.sqrt", of="stablehlo.multiply", assumes="afn,ninf")
def root_of_square(op: Any) -> Any:
    """sqrt(x * x) -> |x|. Differs where the square over- or underflows (the law gives the true value)."""
    inner = producer(op.operand, "stablehlo.multiply")
    if inner is None or inner.lhs != inner.rhs or not is_floating(op.operand):
        return None
    return build.op("stablehlo.abs", [inner.lhs])


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


PATTERNS = (
    log_of_exponential,
    exponential_of_log,
    log_of_root,
    log_of_power,
    square_of_root,
    product_of_exponentials,
    divide_by_constant,
    divide_by_root,
    subtract_itself,
    divide_by_itself,
    multiply_by_zero,
    add_positive_zero,
    reassociate_constants,
    regroup_differences,
    regroup_quotients,
    chain_of_factors,
    expand_power,
    root_of_square,
    fold_functions,
)
