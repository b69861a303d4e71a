"""Exact laws that use what `passes.analysis.facts` knows of values: bounds, signs, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import attributes as attrs, build
from passes.analysis.facts import KNOWN, Facts, of
from passes.match import dtype_of, producer
from passes.patterns import laws_of, pattern
from passes.simplify.terms import law
from passes.types import is_lossless

abs_of_known_sign = law("abs(x) -> x for real where x.nonnegative; abs(x) -> -x for integers where x.high <= 0. Exact.")
extreme_of_ranges = law(
    "max(x, y) -> x for numbers where y.high <= x.low and not y.nan and not (x.zero and y.zero and x.minus_zero); "
    "min(x, y) -> x for numbers where x.high <= y.low and not y.nan and not (x.zero and y.zero and y.minus_zero). "
    "Exact: y is never NaN, and the two never compare zeros of different signs."
)
clamp_of_range = law(
    "clamp(a, x, b) -> x where not a.nan and not b.nan and (a.high < x.low or (a.high == x.low and (x.low != 0 or "
    "not x.minus_zero))) and (x.high < b.low or (x.high == b.low and (x.high != 0 or not b.minus_zero))). "
    "Exact: a zero bound of the other sign would replace a zero."
)


def _holds(direction: str, x: Facts, y: Facts) -> bool:
    """Whether all numbers of these ranges, apart from NaN, compare in this direction."""
    return {
        "LT": x.high < y.low,
        "LE": x.high <= y.low,
        "GT": x.low > y.high,
        "GE": x.low >= y.high,
        "EQ": x.low == x.high == y.low == y.high,
        "NE": x.high < y.low or x.low > y.high,
    }[direction]


@pattern("stablehlo.compare", of=KNOWN)
def compare_ranges(op: Any) -> Any:
    """x < y -> true where every x is less than every y, and the like. Exact: with NaN, only != is true."""
    y = of(op.rhs)
    x = of(op.lhs) if y is not None and not y.low == -np.inf == -y.high else None
    if x is None or y is None or attrs.word(op, "compare_type") == "TOTALORDER":
        return None
    direction = attrs.word(op, "comparison_direction")
    nan = x.nan or y.nan
    if _holds(direction, x, y) and (not nan or direction == "NE"):
        return build.full(True, op.operation.results[0].type)
    if _holds(attrs.OPPOSITE[direction], x, y) and (not nan or direction != "NE"):
        return build.full(False, op.operation.results[0].type)
    return None


compare_with_end_of_range = law(
    "x > n -> x != n and x <= n -> x == n for integers|booleans where x.low == n != x.high; x < n -> x != n "
    "and x >= n -> x == n for integers|booleans where x.low != n == x.high. Exact; "
    "other laws know more about equality."
)
compare_number_with_itself = law(
    "f(x, x) -> true for f in EQ|LE|GE, floats where not x.nan; f(x, x) -> false for f in NE|LT|GT, floats "
    "where not x.nan. Exact."
)
is_finite_known = law("is_finite(x) -> true where x.finite. Exact.")
round_whole_number = law(
    "f(x) -> x for integral f where x.whole. "
    "Exact, for floor, ceil, and rounding of whole numbers, such as one that was rounded before."
)


@pattern("stablehlo.convert", of="stablehlo.convert")
def convert_there_and_back(op: Any) -> Any:
    """convert(convert(x, t), u) -> convert(x, u) where t represents all numbers in the range of x. Exact."""
    inner = producer(op.operand, "stablehlo.convert")
    if inner is None:
        return None
    source, middle, target = dtype_of(inner.operand), dtype_of(op.operand), dtype_of(op.operation.results[0])
    x = of(inner.operand)
    if x is None or source.kind == "b" or is_lossless(source, middle) or not _holds_values(middle, x):
        return None
    # Out of range, conversions of integers wrap and conversions of floats saturate.
    if target.kind in "bc" or (target.kind in "iu" and not _holds_values(target, x)):
        return None
    return inner.operand if target == source else build.convert(inner.operand, target)


def _holds_values(dtype: np.dtype[Any], x: Facts) -> bool:
    """Whether a value is a finite whole number, never -0.0, and a type represents its whole range."""
    if not x.whole or x.minus_zero or x.nan or not x.finite:
        return False
    if dtype.kind in "iu" and dtype.isbuiltin == 1:
        info = np.iinfo(dtype)
        return x.within(int(info.min), int(info.max))
    most = {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8}.get(dtype.name, -1)
    return x.within(-most, most)


remainder_of_less = law("x % y -> x where not y.nan and not y.zero and x.size < min(abs(y.low), abs(y.high)). Exact.")
divide_by_power_of_two_known_sign = law(
    "x / n -> shift_right_logical(x, n.bit_length() - 1) and x % n -> x & (n - 1) for integers "
    "where n > 1 and n & n - 1 == 0 and x.low >= 0. Exact, for n that is a power of two."
)
modulo_power_of_two = law(
    "select(x % n < 0, x % n + n, x % n) -> x & (n - 1) for integers where n > 1 and n & n - 1 == 0. "
    "Exact, for n that is a power of two. This is Python's modulo. "
    "Measured on a CPU with AVX-512: up to 1.3 times as fast for 200,000 elements."
)
floor_of_power_of_two = law(
    "select((sign(x) != 1) & (x % n != 0), x / n + -1, x / n) -> x >> (n.bit_length() - 1) for signed_integers "
    "where n > 1 and n & n - 1 == 0. Exact, for n that is a power of two. This is Python's division of integers. "
    "Measured on a CPU with AVX-512: 1.3 times as fast for 200,000 elements."
)
add_zero_to_known = law("x + 0.0 -> x and x - -0.0 -> x for floats where not x.minus_zero. Exact.")
finite_with_itself = law(
    "x - x -> 0 for numbers where x.finite; x / x -> 1 for numbers where x.finite and not x.zero. Exact."
)
multiply_finite_by_zero = law("x * 0.0 -> 0.0 for floats where x.finite and x.nonnegative. Exact.")

PATTERNS = laws_of(globals())
