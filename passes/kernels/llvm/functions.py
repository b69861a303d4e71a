"""Functions of float32 that have no instruction, in the steps of IREE's compiler, with the same bits."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

from passes.kernels.llvm.function import Function
from passes.kernels.llvm.types import full, lanes_of, like, scalar_of

# The name of a value, or a number.
Operand: TypeAlias = str | float


def _bits(number: int) -> float:
    """The float32 with these bits."""
    return float(struct.unpack("<f", struct.pack("<I", number))[0])


# From where on all numbers of a type are whole.
WHOLE = {"float": 2.0**23, "double": 2.0**52}


class Expressions:
    """Arithmetic on scalars or vectors of one type of float; Python numbers are constants.

    Args:
      type_: LLVM's type of the values.
    """

    def __init__(self, function: Function, type_: str) -> None:
        self.function, self.floats = function, type_
        self.integers, self.booleans = like(type_, "i32"), like(type_, "i1")

    def _operand(self, value: Operand, type_: str) -> str:
        return value if isinstance(value, str) else full(value, type_)

    def do(self, operation: str, a: Operand, b: Operand) -> str:
        """An operation of two floats, such as `fadd contract` or `fcmp olt`."""
        first, second = self._operand(a, self.floats), self._operand(b, self.floats)
        return self.function.let(f"{operation} {self.floats} {first}, {second}")

    def add(self, a: Operand, b: Operand) -> str:
        return self.do("fadd contract", a, b)

    def sub(self, a: Operand, b: Operand) -> str:
        return self.do("fsub contract", a, b)

    def mul(self, a: Operand, b: Operand) -> str:
        return self.do("fmul contract", a, b)

    def fma(self, a: Operand, b: Operand, c: Operand) -> str:
        """`a * b + c`, rounded once if the processor has an instruction for that and products are contracted."""
        if not self.function.contracts:
            return self.add(self.mul(a, b), c)
        given = [(self.floats, self._operand(value, self.floats)) for value in (a, b, c)]
        return self.function.call("fmuladd", self.floats, *given)

    def call(self, name: str, a: str) -> str:
        """An intrinsic of one float."""
        return self.function.call(name, self.floats, (self.floats, a))

    def rounded(self, name: str, a: str) -> str:
        """`floor`, `ceil`, `trunc`, `round` or `roundeven`.

        Where the processor has no instruction for it, LLVM would call a function of the C library for each lane. Sums
        with numbers so large that all are whole round to the nearest number, and to the even one of two.
        """
        whole = WHOLE.get(scalar_of(self.floats))
        if self.function.rounds or whole is None:
            return self.call(name, a)
        size = self.call("fabs", a)
        near = self.do("fsub", self.do("fadd", size, whole), whole)
        if name in ("floor", "ceil"):
            near = self.with_sign(near, a)
            order, step = ("ogt", "fsub") if name == "floor" else ("olt", "fadd")
            near = self.select(self.do(f"fcmp {order}", near, a), self.do(step, near, 1.0), near)
        elif name != "roundeven":
            near = self.select(self.do("fcmp ogt", near, size), self.do("fsub", near, 1.0), near)
        if name == "round":
            is_half = self.do("fcmp oge", self.do("fsub", size, near), 0.5)
            near = self.select(is_half, self.do("fadd", near, 1.0), near)
        return self.select(self.do("fcmp olt", size, whole), self.with_sign(near, a), a)

    def with_sign(self, a: str, b: str) -> str:
        """`a` with the sign of `b`."""
        return self.function.call("copysign", self.floats, (self.floats, a), (self.floats, b))

    def bits(self, operation: str, a: str, b: Operand) -> str:
        """An operation of two integers."""
        return self.function.let(f"{operation} {self.integers} {a}, {self._operand(b, self.integers)}")

    def select(self, chosen: str, a: Operand, b: Operand) -> str:
        first, second = self._operand(a, self.floats), self._operand(b, self.floats)
        return self.function.let(f"select {self.booleans} {chosen}, {self.floats} {first}, {self.floats} {second}")

    def keep(self, predicate: str, a: str, bound: float) -> str:
        """The value where it compares so with a bound, else the bound."""
        return self.select(self.do(f"fcmp {predicate}", a, bound), a, bound)

    def as_bits(self, a: str) -> str:
        return self.function.let(f"bitcast {self.floats} {a} to {self.integers}")

    def as_floats(self, a: str) -> str:
        return self.function.let(f"bitcast {self.integers} {a} to {self.floats}")

    def to_integers(self, a: str) -> str:
        return self.function.let(f"fptosi {self.floats} {a} to {self.integers}")

    def to_floats(self, a: str) -> str:
        return self.function.let(f"sitofp {self.integers} {a} to {self.floats}")

    def polynomial(self, x: str, *coefficients: float) -> str:
        """By Horner's rule, the highest coefficient first."""
        first, *others = coefficients
        found: Operand = first
        for coefficient in others:
            found = self.fma(x, found, coefficient)
        return str(found)


_LOG2_E, _LN_2 = _bits(0x3FB8AA3B), _bits(0x3F317218)
_LN_2_HIGH, _LN_2_LOW = _bits(0x3F318000), _bits(0x395E8083)
_EXP = tuple(map(_bits, (0x39506967, 0x3AB743CE, 0x3C088908, 0x3D2AA9C1, 0x3E2AAAAA, 0x3F000000)))
_TANH_BOUND = _bits(0x40FFF644)
_TANH_OVER = tuple(map(_bits, (0xA59F25C0, 0x2A61337E, 0xAEBD37FF, 0x335C0041, 0x3779434A, 0x3A270DED, 0x3BA059DC)))
_TANH_UNDER = tuple(map(_bits, (0x35A0D3D8, 0x38F895D6, 0x3B14AA05, 0x3BA059DD)))
_LOG = tuple(
    tuple(map(_bits, row))
    for row in (
        (0x3D9021BB, 0xBDEBD1B8, 0x3DEF251A),
        (0xBDFE5D4F, 0x3E11E9BF, 0xBE2AAE50),
        (0x3E4CCEAC, 0xBE7FFFFC, 0x3EAAAAAA),
    )
)
_SMALLEST_NORMAL, _ROOT_HALF = _bits(0x00800000), _bits(0x3F3504F3)
_INFINITY = float("inf")


def exp(e: Expressions, x: str) -> str:
    """The exponential function: 2^n times that of the rest, which a polynomial gives."""
    x = e.keep("ule", e.keep("uge", x, _bits(0xC2AF999A)), _bits(0x42B1999A))
    n = e.rounded("floor", e.fma(x, _LOG2_E, 0.5))
    n = e.keep("ule", e.keep("uge", n, -127.0), 127.0)
    rest = e.fma(_LN_2_LOW, n, e.fma(-_LN_2_HIGH, n, x))
    found = e.polynomial(rest, *_EXP)
    found = e.add(e.fma(found, e.mul(rest, rest), rest), 1.0)
    power = e.as_floats(e.bits("shl", e.bits("add", e.to_integers(n), 127), 23))
    return e.mul(found, power)


def tanh(e: Expressions, x: str) -> str:
    """The hyperbolic tangent: a quotient of polynomials; of small numbers, the number itself."""
    near = e.keep("ugt", e.keep("ult", x, _TANH_BOUND), -_TANH_BOUND)
    is_small = e.do("fcmp olt", e.call("fabs", x), _bits(0x39D1B717))
    square = e.mul(near, near)
    over = e.mul(near, e.polynomial(square, *_TANH_OVER))
    return e.select(is_small, near, e.do("fdiv", over, e.polynomial(square, *_TANH_UNDER)))


def log(e: Expressions, x: str) -> str:
    """The natural logarithm: that of the exponent, and a polynomial of the mantissa between sqrt(1/2) and sqrt(2)."""
    bits = e.as_bits(e.keep("ugt", x, _SMALLEST_NORMAL))
    mantissa = e.as_floats(e.bits("or", e.bits("and", bits, -2139095041), 1056964608))
    exponent = e.sub(e.to_floats(e.bits("lshr", bits, 23)), 126.0)
    is_below = e.do("fcmp olt", mantissa, _ROOT_HALF)
    again = e.select(is_below, mantissa, 0.0)
    less = e.sub(mantissa, 1.0)
    exponent = e.sub(exponent, e.select(is_below, 1.0, 0.0))
    y = e.add(less, again)
    square = e.mul(y, y)
    cube = e.mul(square, y)
    starts = [e.fma(a, y, b) for a, b, _ in _LOG]
    first, second, third = (e.fma(start, y, row[2]) for start, row in zip(starts, _LOG))
    found = e.mul(e.fma(e.fma(first, cube, second), cube, third), cube)
    found = e.add(y, e.fma(-0.5, square, found))
    found = e.fma(exponent, _LN_2, found)
    is_negative, is_zero = e.do("fcmp ult", x, 0.0), e.do("fcmp oeq", x, 0.0)
    found = e.select(e.do("fcmp oeq", x, _INFINITY), _INFINITY, found)
    return e.select(is_zero, -_INFINITY, e.select(is_negative, float("nan"), found))


def extremum(f: Function, a: str, b: str, type_: str, is_maximum: bool) -> str:
    """`maximum` or `minimum` of floats; NaN if one of them is, and -0 is less than 0.

    Releases of LLVM lower `llvm.maximum` differently. This is the shortest form: where the processor's comparison takes
    both zeros as equal, its result is `b`, and the sign of `a` decides.
    """
    integers = like(type_, "i64" if scalar_of(type_) == "double" else "i32")
    booleans = like(type_, "i1")
    width = int(scalar_of(integers)[1:])
    order = f.let(f"fcmp {'ogt' if is_maximum else 'olt'} {type_} {a}, {b}")
    found = f.let(f"select {booleans} {order}, {type_} {a}, {type_} {b}")
    signs, bits = (f.let(f"bitcast {type_} {value} to {integers}") for value in (a, found))
    if is_maximum:
        other = f.let(f"or {integers} {signs}, {full((1 << width - 1) - 1, integers)}")
        bits = f.let(f"and {integers} {bits}, {other}")
    else:
        other = f.let(f"and {integers} {signs}, {full(-(1 << width - 1), integers)}")
        bits = f.let(f"or {integers} {bits}, {other}")
    found = f.let(f"bitcast {integers} {bits} to {type_}")
    unordered = f.let(f"fcmp uno {type_} {a}, {a}")
    return f.let(f"select {booleans} {unordered}, {type_} {a}, {type_} {found}")


def by_halves(f: Function, value: str, vector: str, combined: Callable[[str, str, str], str]) -> str:
    """The lanes of a vector combined into one, half of them with the other half at a time.

    Args:
      combined: of two values and their type.
    """
    lanes = lanes_of(vector)
    scalar = scalar_of(vector)
    while lanes > 1:
        half = lanes // 2
        if 2 * half != lanes:
            raise ValueError(f"lanes of {vector} are no power of two")
        low, high = (
            f.let(
                f"shufflevector {vector} {value}, {vector} poison, "
                f"<{half} x i32> <{', '.join(f'i32 {start + lane}' for lane in range(half))}>"
            )
            for start in (0, half)
        )
        vector = f"<{half} x {scalar}>"
        value, lanes = combined(low, high, vector), half
    return f.let(f"extractelement {vector} {value}, i64 0")
