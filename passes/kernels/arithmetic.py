"""Elementwise StableHLO operations on scalars and vectors of a kernel.

Where the specification leaves a result to the implementation, stagec defines it: integer division by zero is all ones,
the remainder by zero is the dividend, the smallest integer divided by -1 is itself, and a shift by the width or more
gives zeros or copies of the sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passes import attributes as attrs
from passes.kernels import conversions
from passes.kernels.builder import Builder
from passes.kernels.elements import BOOLEAN, FLOAT32, FLOAT64, Element, RefusedError
from passes.kernels.values import Item
from passes.operations import Precision, of

# By kind of element: floats, signed and unsigned integers, booleans, complex numbers.
_INSTRUCTIONS = {
    "abs": {"f": "math.absf", "i": "math.absi", "u": "math.absi"},
    "add": {"f": "arith.addf", "i": "arith.addi", "u": "arith.addi", "b": "arith.ori", "c": "arith.addf"},
    "and": {"i": "arith.andi", "u": "arith.andi", "b": "arith.andi"},
    "atan2": {"f": "math.atan2"},
    "cbrt": {"f": "math.cbrt"},
    "ceil": {"f": "math.ceil"},
    "cosine": {"f": "math.cos"},
    "count_leading_zeros": {"i": "math.ctlz", "u": "math.ctlz"},
    "exponential": {"f": "math.exp"},
    "exponential_minus_one": {"f": "math.expm1"},
    "floor": {"f": "math.floor"},
    "log": {"f": "math.log"},
    "log_plus_one": {"f": "math.log1p"},
    "maximum": {"f": "arith.maximumf", "i": "arith.maxsi", "u": "arith.maxui", "b": "arith.ori"},
    "minimum": {"f": "arith.minimumf", "i": "arith.minsi", "u": "arith.minui", "b": "arith.andi"},
    "multiply": {"f": "arith.mulf", "i": "arith.muli", "u": "arith.muli", "b": "arith.andi"},
    "or": {"i": "arith.ori", "u": "arith.ori", "b": "arith.ori"},
    "popcnt": {"i": "math.ctpop", "u": "math.ctpop"},
    "power": {"f": "math.powf"},
    "round_nearest_afz": {"f": "math.round"},
    "round_nearest_even": {"f": "math.roundeven"},
    "rsqrt": {"f": "math.rsqrt"},
    "sine": {"f": "math.sin"},
    "sqrt": {"f": "math.sqrt"},
    "subtract": {"f": "arith.subf", "i": "arith.subi", "u": "arith.subi", "c": "arith.subf"},
    "tan": {"f": "math.tan"},
    "tanh": {"f": "math.tanh"},
    "xor": {"i": "arith.xori", "u": "arith.xori", "b": "arith.xori"},
}
# Functions that the compiler has no code for in float64 in these kernels; the legalizing passes expand them.
_SINGLE_ONLY = frozenset("math.cbrt math.cos math.sin math.tan math.tanh math.atan2".split())

Rule = Callable[["Operation"], str]


class Operation:
    """One elementwise operation that is being written; its operands are all scalars or all vectors."""

    def __init__(
        self,
        builder: Builder,
        names: Sequence[str],
        is_vector: bool,
        elements: Sequence[Element],
        result: Element,
        op: Any,
        items: Sequence[Item],
    ) -> None:
        self.builder, self.names, self.is_vector, self.source, self.items = builder, names, is_vector, op, items
        self.elements, self.element, self.result = elements, elements[0], result

    def type(self, element: Element | None = None) -> str:
        """The type of a value; of the first operand if no element type is given."""
        return self.builder.type(element or self.element, self.is_vector)

    def op(self, name: str, *names: str, element: Element | None = None) -> str:
        """An operation whose operands and result have one type."""
        return self.builder.op(name, names, self.type(element))

    def constant(self, number: Any) -> str:
        """A number like the operands."""
        return self.builder.full(number, self.element, self.is_vector)

    def compare(self, predicate: str, a: str, b: str) -> str:
        """A comparison, by its predicate in `arith.cmpf` or `arith.cmpi`."""
        kind = "f" if self.element.is_float else "i"
        return self.builder.op(f"arith.cmp{kind}", (a, b), self.type(), predicate)

    def select(self, chosen: str, a: str, b: str, element: Element | None = None) -> str:
        """The first value where a boolean holds, else the second."""
        return conversions.select(self.builder, chosen, a, b, element or self.element, self.is_vector)

    def part(self, name: str, number: int) -> str:
        """The real parts of complex numbers, 0, or the imaginary ones, 1."""
        return conversions.part(self.builder, name, number, self.element, self.is_vector)

    def shuffled(self, a: str, b: str, order: Sequence[int]) -> str:
        """Two numbers for each pair, by their indices in the first pair of `a`, after which come the numbers of `b`."""
        type_ = self.type()
        indices = [2 * lane + i for lane in range(self.builder.width if self.is_vector else 1) for i in order]
        return self.builder.op("vector.shuffle", (a, b), type_, *indices)


def apply(
    builder: Builder, op: Any, items: Sequence[Item], elements: Sequence[Element], result: Element, name: str = ""
) -> Item:
    """The result of an elementwise op for the items of its operands.

    A result of a narrow type is rounded to it after each operation.

    Raises:
      RefusedError: kernels do not support the operation, or not for these elements.
    """
    name = name or op.name.removeprefix("stablehlo.")
    names, is_vector = builder.unify(items, elements)
    operation = Operation(builder, names, is_vector, elements, result, op, items)
    kind = operation.element.kind
    rule = (_COMPLEX_RULES if kind == "c" else _RULES).get(name)
    if rule is not None:
        found = rule(operation)
    else:
        text = _INSTRUCTIONS.get(name, {}).get(kind)
        if text is None or (text in _SINGLE_ONLY and operation.element.bits == 64):
            raise RefusedError(f"{name} of {operation.element.name}")
        found = operation.op(text, *names)
    if result.is_narrow and not _is_exact(builder, name, items, result):
        # Such instructions produce one NaN only, or pass on an operand's.
        short = of(f"stablehlo.{name}").precision is Precision.ROUNDED
        found = conversions.rounded(builder, found, result, is_vector, short)
    return Item(found, is_vector)


def _is_exact(builder: Builder, name: str, items: Sequence[Item], element: Element) -> bool:
    """Whether the result of an operation on numbers of a narrow type needs no rounding."""
    if name == "multiply" and element.name == "bf16":
        # bfloat16 has the exponent range of float32.
        return any(_is_power_of_two(builder.known(item)) for item in items)
    # A conversion rounds its result itself.
    return name == "convert" or of(f"stablehlo.{name}").precision is Precision.EXACT


def _is_power_of_two(number: Any) -> bool:
    return isinstance(number, float) and abs(math.frexp(number)[0]) == 0.5


def can(name: str) -> bool:
    """Whether an op is elementwise and has a form in kernels."""
    return name in _RULES or name in _INSTRUCTIONS


def _divide(o: Operation) -> str:
    x, y = o.names
    if o.element.is_float:
        return o.op("arith.divf", x, y)
    zero, one = o.constant(0), o.constant(1)
    by_zero = o.compare("eq", y, zero)
    safe = o.select(by_zero, one, y)
    if o.element.kind == "u":
        return o.select(by_zero, o.constant(-1), _quotient(o, x, safe))
    minus = o.compare("eq", y, o.constant(-1))
    # The processor traps when it divides the smallest integer by -1; the quotient is the negation.
    quotient = _quotient(o, x, o.select(minus, one, safe))
    quotient = o.select(minus, o.op("arith.subi", zero, x), quotient)
    return o.select(by_zero, o.constant(-1), quotient)


def _remainder(o: Operation) -> str:
    x, y = o.names
    if o.element.is_float:
        if o.element.bits == 64:
            raise RefusedError("remainder of f64")
        return o.op("arith.remf", x, y)
    zero, one = o.constant(0), o.constant(1)
    by_zero = o.compare("eq", y, zero)
    safe = o.select(by_zero, one, y)
    if o.element.kind == "i":
        safe = o.select(o.compare("eq", y, o.constant(-1)), one, safe)
    if _divides_as_floats(o):
        remainder = o.op("arith.subi", x, o.op("arith.muli", _quotient(o, x, safe), safe))
    else:
        remainder = o.op(f"arith.rem{_letter(o)}i", x, safe)
    return o.select(by_zero, x, remainder)


def _letter(o: Operation) -> str:
    """How the names of operations on signed and on unsigned integers differ."""
    return "u" if o.element.kind == "u" else "s"


def _divides_as_floats(o: Operation) -> bool:
    """Whether floats divide these integers: no processor divides vectors of integers, but by constants."""
    return o.is_vector and o.element.bits < 64 and o.builder.known(o.items[1]) is None


def _quotient(o: Operation, x: str, y: str) -> str:
    """The quotient of integers, rounded toward zero. The divisor is not 0, and not -1.

    That of floats with more bits than the integers is rounded to an integer only where the exact one is an integer.
    """
    sign = _letter(o)
    if not _divides_as_floats(o):
        return o.op(f"arith.div{sign}i", x, y)
    wide = FLOAT64 if o.element.bits == 32 else FLOAT32
    types = (o.type(), o.type(wide))
    a, b = (o.builder.op(f"arith.{sign}itofp", (name,), types) for name in (x, y))
    return o.builder.op(f"arith.fpto{sign}i", (o.op("arith.divf", a, b, element=wide),), types[::-1])


def _shift(name: str) -> Rule:
    def rule(o: Operation) -> str:
        x, y = o.names
        if o.element.kind == "b":
            raise RefusedError("shifts of booleans")
        over = o.compare("uge", y, o.constant(o.element.bits))
        if name == "arith.shrsi":
            return o.op(name, x, o.select(over, o.constant(o.element.bits - 1), y))
        return o.select(over, o.constant(0), o.op(name, x, o.select(over, o.constant(0), y)))

    return rule


def _negate(o: Operation) -> str:
    if o.element.kind in "fc":
        return o.op("arith.negf", *o.names)
    return o.op("arith.subi", o.constant(0), *o.names)


def _sign(o: Operation) -> str:
    (x,) = o.names
    if o.element.is_float:
        ones = o.op("math.copysign", o.constant(1.0), x)
        # Subnormal numbers compare as zeros, and are their signs.
        zeros = o.op("math.copysign", o.constant(0.0), x)
        others = o.select(o.compare("uno", x, x), x, zeros)
        return o.select(o.compare("one", x, o.constant(0.0)), ones, others)
    if o.element.kind == "u":
        return o.op("arith.minui", x, o.constant(1))
    return o.op("arith.maxsi", o.op("arith.minsi", x, o.constant(1)), o.constant(-1))


def _not(o: Operation) -> str:
    return o.op("arith.xori", *o.names, o.constant(1 if o.element.kind == "b" else -1))


def _is_finite(o: Operation) -> str:
    return o.compare("olt", o.op("math.absf", *o.names), o.constant(math.inf))


def _logistic(o: Operation) -> str:
    (x,) = o.names
    power = o.op("math.exp", o.op("arith.negf", x))
    one = o.constant(1.0)
    return o.op("arith.divf", one, o.op("arith.addf", one, power))


def _compare(o: Operation) -> str:
    direction = attrs.word(o.source, "comparison_direction")
    if o.element.is_float:
        if attrs.word(o.source, "compare_type") == "TOTALORDER":
            raise RefusedError("comparisons by total order")
        predicate = {"EQ": "oeq", "NE": "une", "LT": "olt", "LE": "ole", "GT": "ogt", "GE": "oge"}[direction]
    elif direction in ("EQ", "NE"):
        predicate = direction.lower()
    else:
        predicate = ("s" if o.element.kind == "i" else "u") + direction.lower()
    return o.compare(predicate, *o.names)


def _select(o: Operation) -> str:
    chosen, a, b = o.names
    return o.select(chosen, a, b, o.elements[1])


def _clamp(o: Operation) -> str:
    low, x, high = o.names
    kind = o.element.kind
    return o.op(_INSTRUCTIONS["minimum"][kind], o.op(_INSTRUCTIONS["maximum"][kind], x, low), high)


def _convert(o: Operation) -> str:
    return conversions.converted(o.builder, o.names[0], o.element, o.result, o.is_vector)


def _bitcast(o: Operation) -> str:
    a, b = o.element, o.result
    if a.bits != b.bits or a.parts != b.parts:
        raise RefusedError("bitcasts between widths")
    name = conversions.stored(o.builder, o.names[0], a, o.is_vector)
    if a.stored != b.stored:
        types = (o.builder.memory(element, o.is_vector) for element in (a, b))
        name = o.builder.op("arith.bitcast", (name,), tuple(types))
    return conversions.loaded(o.builder, name, b, o.is_vector)


def _real(o: Operation) -> str:
    return o.names[0] if o.element.parts == 1 else o.part(o.names[0], 0)


def _imag(o: Operation) -> str:
    return o.constant(0.0) if o.element.parts == 1 else o.part(o.names[0], 1)


def _complex(o: Operation) -> str:
    real, imaginary = o.names
    return conversions.paired(o.builder, real, imaginary, o.result, o.is_vector)


def _complex_multiply(o: Operation) -> str:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i, from the vectors a(c, d) and b(d, c)."""
    x, y = o.names
    real, imaginary = o.shuffled(x, x, [0, 0]), o.shuffled(x, x, [1, 1])
    along, across = o.op("arith.mulf", real, y), o.op("arith.mulf", imaginary, o.shuffled(y, y, [1, 0]))
    width = o.builder.width if o.is_vector else 1
    return o.shuffled(o.op("arith.subf", along, across), o.op("arith.addf", along, across), [0, 2 * width + 1])


def _complex_compare(o: Operation) -> str:
    direction = attrs.word(o.source, "comparison_direction")
    if direction not in ("EQ", "NE"):
        raise RefusedError(f"comparisons of {o.element.name} by size")
    both = [
        o.builder.op("arith.cmpf", (a, b), o.type(o.element.part), "oeq" if direction == "EQ" else "une")
        for a, b in ((o.part(o.names[0], part), o.part(o.names[1], part)) for part in (0, 1))
    ]
    return o.op("arith.andi" if direction == "EQ" else "arith.ori", *both, element=BOOLEAN)


_RULES: dict[str, Rule] = {
    "divide": _divide,
    "remainder": _remainder,
    "shift_left": _shift("arith.shli"),
    "shift_right_arithmetic": _shift("arith.shrsi"),
    "shift_right_logical": _shift("arith.shrui"),
    "negate": _negate,
    "sign": _sign,
    "not": _not,
    "is_finite": _is_finite,
    "logistic": _logistic,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
    "convert": _convert,
    "bitcast_convert": _bitcast,
    "real": _real,
    "imag": _imag,
    "complex": _complex,
}
_COMPLEX_RULES: dict[str, Rule] = {
    "negate": _negate,
    "multiply": _complex_multiply,
    "compare": _complex_compare,
    "convert": _convert,
    "bitcast_convert": _bitcast,
    "real": _real,
    "imag": _imag,
}
