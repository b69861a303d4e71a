"""What holds for the elements that each operation makes, by what holds for the elements of its operands."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passes import attributes as attrs, operations
from passes.analysis.elements import FLOATS, Facts, of_type
from passes.match import combinations, constant_of, is_assignment, is_static, shape_of, size_of, splat_of
from passes.numeric.elementwise import convert
from passes.types import numpy_dtype, spelled

# Constants of more elements are not read.
MAX_ELEMENTS = 1024
# A bound of functions whose results stay within 1, with room for the errors of different targets.
_UNIT = 2.0

Ask = Callable[[Any], Facts | None]


class Call:
    """The operation that makes a value, and what is known of its operands."""

    def __init__(self, result: Any, kind: str, anything: Any, ask: Ask) -> None:
        self.result, self.anything, self.ask = result, anything, ask
        self.operation = result.owner.operation
        self.floating = kind in FLOATS
        self.boolean = kind == "i1"

    @property
    def number(self) -> int:
        """Which of the operation's results the value is."""
        return list(self.operation.results).index(self.result)

    @property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.result.type.element_type)

    def operand(self, index: int = 0) -> Any:
        """What is known of an operand, whose type has facts."""
        found = self.ask(self.operation.operands[index])
        return self.anything if found is None else found

    def integers(self, low: float, high: float) -> Facts | None:
        """Integers between bounds, or None where the type cannot hold the bounds, so that results may wrap."""
        return Facts(low, high) if self.anything.low <= low and high <= self.anything.high else None

    def rounded(self, number: float, toward: float) -> float:
        """A bound rounded to the result's type; `toward` if the bound is NaN."""
        if math.isnan(number):
            return toward
        if math.isinf(number) or number in (-1, 0, 1):
            return float(number)
        return _rounded(number, self.dtype)

    def floats(self, low: float, high: float, **facts: bool) -> Facts:
        """Floats between bounds, each rounded as the operation rounds its result."""
        return Facts(self.rounded(low, -math.inf), self.rounded(high, math.inf), **facts)


@functools.lru_cache(maxsize=1024)
def _rounded(number: float, dtype: np.dtype[Any]) -> float:
    with np.errstate(all="ignore"):
        return float(convert(np.asarray(number, np.float64), dtype))


def _number(call: Call, number: Any) -> Facts | None:
    """What holds for a number that fills an array."""
    if not call.floating:
        return Facts(int(number), int(number))
    found = float(number)
    if math.isnan(found):
        return None
    whole = math.isinf(found) or found.is_integer()
    return Facts(found, found, minus_zero=found == 0 and math.copysign(1, found) < 0, whole=whole)


def _constant(call: Call) -> Facts | None:
    number = splat_of(call.result)
    if number is not None:
        return _number(call, number)
    if not is_static(call.result) or not 0 < size_of(call.result) <= MAX_ELEMENTS:
        return None
    array = constant_of(call.result)
    if array is None:
        return None
    if not call.floating:
        return Facts(int(array.min()), int(array.max()))
    wide = array.astype(np.float64)
    numbers = wide[~np.isnan(wide)]
    if not numbers.size:
        return None
    return Facts(
        float(numbers.min()),
        float(numbers.max()),
        bool(numbers.size != wide.size),
        bool(((numbers == 0) & np.signbit(numbers)).any()),
        bool((np.trunc(numbers) == numbers).all()),
    )


def _iota(call: Call) -> Facts | None:
    size = shape_of(call.result)[attrs.integer(call.operation, "iota_dimension")]
    if size < 1:
        return None
    return call.floats(0, size - 1) if call.floating else call.integers(0, size - 1)


def _moved(call: Call) -> Facts | None:
    operands = list(call.operation.operands)
    if len(operands) > 8:
        return None
    element = call.result.type.element_type
    if not operations.of(call.operation.name).joins:
        return call.operand(0) if operands[0].type.element_type == element else None
    parts = [i for i, value in enumerate(operands) if value.type.element_type == element]
    return functools.reduce(Facts.__or__, map(call.operand, parts))


def _barrier(call: Call) -> Facts | None:
    return call.operand(0) if len(call.operation.operands) == 1 else None


def _update(call: Call) -> Facts:
    return call.operand(0) | call.operand(1)


def _scatter(call: Call) -> Facts | None:
    operation = call.operation
    if len(operation.operands) != 3 or not is_assignment(operation.regions[0]):
        return None
    return call.operand(0) | call.operand(2)


def _sort(call: Call) -> Facts:
    return call.operand(call.number)


def _reduce(call: Call) -> Facts | None:
    names = combinations(call.operation.regions[0])
    if names is None:
        return None
    x, start = call.operand(call.number), call.operand(call.number + len(names))
    if operations.of(names[call.number]).chooses:
        return x | start
    return _sum(call, x, start) if names[call.number] == "stablehlo.add" else None


def _sum(call: Call, x: Facts, start: Facts) -> Facts | None:
    """What holds for sums of elements and an initial value."""
    array = call.operation.operands[call.number]
    if not is_static(array) or size_of(array) == 0:
        return None
    if not call.floating:
        count = size_of(array) // size_of(call.result)
        return call.integers(start.low + count * x.low, start.high + count * x.high)
    rising, falling = x.low >= 0 and start.low >= 0, x.high <= 0 and start.high <= 0
    return Facts(
        start.low if rising else -math.inf,
        start.high if falling else math.inf,
        nan=x.nan or start.nan or not (rising or falling),
        minus_zero=x.minus_zero and start.minus_zero,
        whole=x.whole and start.whole,
    )


def _top_k(call: Call) -> Facts | None:
    size = shape_of(call.operation.operands[0])[-1]
    return call.operand(0) if call.number == 0 else Facts(0, size - 1) if size > 0 else None


def _select(call: Call) -> Facts:
    return call.operand(1) | call.operand(2)


def _larger(x: Facts, y: Facts) -> Facts:
    minus_zero = (x.minus_zero and (y.low < 0 or y.minus_zero)) or (y.minus_zero and (x.low < 0 or x.minus_zero))
    return Facts(max(x.low, y.low), max(x.high, y.high), x.nan or y.nan, minus_zero, x.whole and y.whole)


def _smaller(x: Facts, y: Facts) -> Facts:
    return Facts(
        min(x.low, y.low), min(x.high, y.high), x.nan or y.nan, x.minus_zero or y.minus_zero, x.whole and y.whole
    )


def _clamp(call: Call) -> Facts:
    return _smaller(_larger(call.operand(1), call.operand(0)), call.operand(2))


def _add(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if not call.floating:
        return call.integers(x.low + y.low, x.high + y.high)
    return call.floats(
        x.low + y.low,
        x.high + y.high,
        nan=x.nan or y.nan or (x.high, y.low) == (math.inf, -math.inf) or (x.low, y.high) == (-math.inf, math.inf),
        minus_zero=x.minus_zero and y.minus_zero,
        whole=x.whole and y.whole,
    )


def _subtract(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if not call.floating:
        return call.integers(x.low - y.high, x.high - y.low)
    return call.floats(
        x.low - y.high,
        x.high - y.low,
        nan=x.nan or y.nan or x.high == y.high == math.inf or x.low == y.low == -math.inf,
        minus_zero=x.minus_zero and y.zero,
        whole=x.whole and y.whole,
    )


def _product(a: float, b: float) -> float:
    """A corner of a product of ranges, where zero times infinity is zero."""
    return 0 if a == 0 or b == 0 else a * b


def _multiply(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    corners = [_product(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    low, high = min(corners), max(corners)
    square = call.operation.operands[0] == call.operation.operands[1]
    if square:
        low = 0 if x.zero else min(x.low * x.low, x.high * x.high)
    if not call.floating:
        return call.integers(low, high)
    infinite = (x.size == math.inf and y.zero) or (y.size == math.inf and x.zero)
    return call.floats(
        low,
        high,
        nan=x.nan or y.nan or (infinite and not square),
        minus_zero=not square and not (x.nonnegative and y.nonnegative),
        whole=x.whole and y.whole,
    )


def _square(call: Call) -> Facts | None:
    x = call.operand()
    low = 0 if x.zero else min(x.low * x.low, x.high * x.high)
    high = x.size * x.size
    return call.floats(low, high, nan=x.nan, whole=x.whole) if call.floating else call.integers(low, high)


def _divide(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if not call.floating:
        if y.low <= 0:
            return None
        quotients = [_truncated(int(a), int(b)) for a in (x.low, x.high) for b in (y.low, y.high)]
        return call.integers(min(quotients), max(quotients))
    nan = x.nan or y.nan or (x.zero and y.zero) or (x.size == math.inf and y.size == math.inf)
    minus_zero = not (x.nonnegative and y.nonnegative)
    if y.low > 0 and x.size < math.inf:
        corners = [a / b for a in (x.low, x.high) for b in (y.low, y.high)]
        return call.floats(min(corners), max(corners), nan=nan, minus_zero=minus_zero, whole=False)
    low = -math.inf if minus_zero else 0
    return Facts(low, math.inf, nan, minus_zero, False)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if not call.floating:
        if y.zero:
            return None
        most = y.size - 1
        return call.integers(0 if x.low >= 0 else max(x.low, -most), 0 if x.high <= 0 else min(x.high, most))
    most = min(x.size, y.size)
    nan = x.nan or y.nan or y.zero or x.size == math.inf
    low, high = 0 if x.low >= 0 else -most, 0 if x.high <= 0 else most
    return Facts(low, high, nan, not x.nonnegative, x.whole and y.whole)


def _negate(call: Call) -> Facts | None:
    x = call.operand()
    if not call.floating:
        return call.integers(-x.high, -x.low)
    return Facts(-x.high, -x.low, x.nan, x.zero, x.whole)


def _abs(call: Call) -> Facts | None:
    kind = of_type(spelled(call.operation.operands[0].type.element_type))
    if kind is None:  # of complex numbers
        return Facts(0, math.inf, True, False, False)
    x = call.operand()
    low = 0 if x.zero else min(abs(x.low), abs(x.high))
    return Facts(low, x.size, x.nan, False, x.whole) if call.floating else call.integers(low, x.size)


def _sqrt(call: Call) -> Facts:
    x = call.operand()
    low, high = (math.sqrt(max(bound, 0)) for bound in (x.low, x.high))
    return call.floats(low, high, nan=x.nan or x.low < 0, minus_zero=x.minus_zero, whole=False)


def _rounding(call: Call) -> Facts:
    x = call.operand()
    meaning = operations.of(call.operation.name).numpy
    assert meaning is not None, "a rounding has no NumPy function"
    with np.errstate(all="ignore"):
        low, high = (float(meaning(np.asarray(bound, np.float64))) for bound in (x.low, x.high))
    return Facts(low, high, x.nan, not x.nonnegative)


def _sign(call: Call) -> Facts:
    x = call.operand()
    return Facts((x.low > 0) - (x.low < 0), (x.high > 0) - (x.high < 0), x.nan, x.minus_zero)


def _convert(call: Call) -> Facts | None:
    source = of_type(spelled(call.operation.operands[0].type.element_type))
    x = call.ask(call.operation.operands[0])
    if source is None or x is None or call.boolean:
        return None
    if call.floating:
        # A small number may be rounded to zero.
        minus_zero = x.minus_zero or (source.nan and x.low < 0)
        low, high = (x.low, x.high) if source.nan else (_in_double(x.low), -_in_double(-x.high))
        return call.floats(low, high, nan=x.nan, minus_zero=minus_zero, whole=x.whole)
    if not source.nan:
        return call.integers(x.low, x.high)
    least, most = call.anything.low, call.anything.high
    low, high = (least if b < least else most if b > most else math.trunc(b) for b in (x.low, x.high))
    return Facts(min(low, 0), max(high, 0)) if x.nan else Facts(low, high)


def _in_double(low: float) -> float:
    """A lower bound of integers that float64 represents, since a conversion of the bound must round only once."""
    exact = 2**53
    return low if abs(low) <= exact else exact if low > 0 else -(2**65)


def _and(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    bounds = [facts.high for facts in (x, y) if facts.low >= 0]
    return Facts(0, min(bounds)) if bounds else None


def _or(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if x.low < 0 or y.low < 0:
        return None
    low = max(x.low, y.low) if call.operation.name == "stablehlo.or" else 0
    return Facts(low, 2 ** int(max(x.high, y.high)).bit_length() - 1)


def _not(call: Call) -> Facts | None:
    x = call.operand()
    return None if call.boolean else Facts(-1 - x.high, -1 - x.low) if call.anything.low < 0 else None


def _shift_right(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    if not 0 <= y.low == y.high or (x.low < 0 and call.operation.name == "stablehlo.shift_right_logical"):
        return None
    if call.anything.low == 0 and x.high > call.anything.high // 2:
        return None  # the topmost bit may be set, which an arithmetic shift repeats
    return Facts(int(x.low) >> int(y.low), int(x.high) >> int(y.low))


def _shift_left(call: Call) -> Facts | None:
    x, y = call.operand(0), call.operand(1)
    width = int(call.anything.high).bit_length()
    if not 0 <= y.low == y.high <= width or x.low < 0:
        return None
    return call.integers(int(x.low) << int(y.low), int(x.high) << int(y.low))


def _count(call: Call) -> Facts:
    return Facts(0, (int(call.anything.high) - int(call.anything.low)).bit_length())


def _positive(call: Call) -> Facts | None:
    return Facts(0.0, math.inf, call.operand().nan, False, False) if call.floating else None


def _bounded(low: float, needs_finite: bool = False) -> Callable[[Call], Facts | None]:
    def rule(call: Call) -> Facts | None:
        if not call.floating:
            return None
        x = call.operand()
        nan = x.nan or (needs_finite and x.size == math.inf)
        return Facts(low, _UNIT, nan, low < 0, False)

    return rule


RULES: dict[str, Callable[[Call], Facts | None]] = {
    **dict.fromkeys(operations.where(moves=True), _moved),
    **dict.fromkeys(operations.where(integral=True), _rounding),
    "stablehlo.constant": _constant,
    "stablehlo.iota": _iota,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.dynamic_update_slice": _update,
    "stablehlo.scatter": _scatter,
    "stablehlo.sort": _sort,
    "stablehlo.reduce": _reduce,
    "chlo.top_k": _top_k,
    "stablehlo.select": _select,
    "stablehlo.maximum": lambda call: None if call.boolean else _larger(call.operand(0), call.operand(1)),
    "stablehlo.minimum": lambda call: None if call.boolean else _smaller(call.operand(0), call.operand(1)),
    "stablehlo.clamp": _clamp,
    "stablehlo.add": _add,
    "stablehlo.subtract": _subtract,
    "stablehlo.multiply": _multiply,
    "chlo.square": _square,
    "stablehlo.divide": _divide,
    "stablehlo.remainder": _remainder,
    "stablehlo.negate": _negate,
    "stablehlo.abs": _abs,
    "stablehlo.sqrt": _sqrt,
    "stablehlo.sign": _sign,
    "stablehlo.convert": _convert,
    "stablehlo.and": _and,
    "stablehlo.or": _or,
    "stablehlo.xor": _or,
    "stablehlo.not": _not,
    "stablehlo.shift_right_logical": _shift_right,
    "stablehlo.shift_right_arithmetic": _shift_right,
    "stablehlo.shift_left": _shift_left,
    "stablehlo.popcnt": _count,
    "stablehlo.count_leading_zeros": _count,
    "stablehlo.exponential": _positive,
    "stablehlo.logistic": _bounded(0.0),
    "stablehlo.tanh": _bounded(-_UNIT),
    "stablehlo.sine": _bounded(-_UNIT, needs_finite=True),
    "stablehlo.cosine": _bounded(-_UNIT, needs_finite=True),
    "chlo.erf": _bounded(-_UNIT),
    "chlo.atan": _bounded(-_UNIT),
}
