"""Conversions between element types, and between their forms in memory and in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from passes.kernels.elements import BOOLEAN, FLOAT32, FLOAT64, INT32, Element, RefusedError
from passes.kernels.instructions import Types


class Emitter(Protocol):
    """The interface with which conversions write code, on scalars or vectors of `width` lanes."""

    width: int
    halves: bool  # whether the processor has conversions from and to float16

    def op(self, name: str, operands: Sequence[str], types: Types, *details: Any) -> str:
        """An operation with one result, whose name is returned."""

    def full(self, number: int | float, element: Element, is_vector: bool) -> str:
        """A number, or a vector of it."""

    def type(self, element: Element, is_vector: bool) -> str:
        """The type of elements in registers."""

    def memory(self, element: Element, is_vector: bool) -> str:
        """The type of elements as they are loaded and stored."""


def loaded(e: Emitter, name: str, element: Element, is_vector: bool) -> str:
    """A loaded value in its form in registers."""
    if element.stored == element.computed:
        return name
    memory, type_ = e.memory(element, is_vector), e.type(element, is_vector)
    if element.kind == "b":
        return e.op("arith.trunci", (name,), (memory, type_))
    if element.stored == "f16":
        return e.op("arith.extf", (name,), (memory, type_)) if e.halves else _from_half(e, name, is_vector)
    # bfloat16 is the upper half of float32.
    bits = e.type(INT32, is_vector)
    name = e.op("arith.extui", (name,), (memory, bits))
    name = e.op("arith.shli", (name, e.full(16, INT32, is_vector)), bits)
    return e.op("arith.bitcast", (name,), (bits, type_))


def stored(e: Emitter, name: str, element: Element, is_vector: bool) -> str:
    """A value in registers in its form in memory."""
    if element.stored == element.computed:
        return name
    memory, type_ = e.memory(element, is_vector), e.type(element, is_vector)
    if element.kind == "b":
        return e.op("arith.extui", (name,), (type_, memory))
    if element.stored == "f16":
        return e.op("arith.truncf", (name,), (type_, memory)) if e.halves else _to_half(e, name, is_vector)
    bits = e.type(INT32, is_vector)
    name = e.op("arith.bitcast", (name,), (type_, bits))
    name = e.op("arith.shrui", (name, e.full(16, INT32, is_vector)), bits)
    return e.op("arith.trunci", (name,), (bits, memory))


def rounded(e: Emitter, name: str, element: Element, is_vector: bool, short: bool = False) -> str:
    """A value that was computed in float32 for a narrow type, rounded to it: to nearest, ties to even; NaN stays.

    Args:
      short: whether a NaN has only bits that a bfloat16 has, as the processor's own NaN and those of its operands do;
        then NaN needs no code of its own.
    """
    if not element.is_narrow:
        return name
    if element.stored == "f16":
        return loaded(e, stored(e, name, element, is_vector), element, is_vector)
    floats, bits = e.type(element, is_vector), e.type(INT32, is_vector)
    whole = e.op("arith.bitcast", (name,), (floats, bits))
    odd = e.op("arith.shrui", (whole, e.full(16, INT32, is_vector)), bits)
    odd = e.op("arith.andi", (odd, e.full(1, INT32, is_vector)), bits)
    half = e.op("arith.addi", (odd, e.full(0x7FFF, INT32, is_vector)), bits)
    upper = e.op("arith.addi", (whole, half), bits)
    upper = e.op("arith.andi", (upper, e.full(-0x10000, INT32, is_vector)), bits)
    found = e.op("arith.bitcast", (upper,), (bits, floats))
    if short:
        return found
    unordered = e.op("arith.cmpf", (name, name), floats, "uno")
    return select(e, unordered, name, found, element, is_vector)


def converted(e: Emitter, name: str, source: Element, target: Element, is_vector: bool) -> str:
    """A number converted to another type, both in registers."""
    if source == target or (source.computed == target.computed and source.kind in "iu" and target.kind in "iu"):
        return name
    if target.kind == "c":
        return _complex(e, name, source, target, is_vector)
    if source.kind == "c":
        raise RefusedError("a conversion of complex numbers to real ones")
    if target.kind == "b":
        kind, predicate = ("f", "une") if source.is_float else ("i", "ne")
        zero = e.full(0, source.wide, is_vector)
        return e.op(f"arith.cmp{kind}", (name, zero), e.type(source, is_vector), predicate)
    a, b = source.wide, target.wide
    if a.is_float and b.is_float and a != b:
        if target.stored == "f16":
            name = _to_odd(e, name, is_vector)
        else:
            operation = "arith.extf" if b.bits > a.bits else "arith.truncf"
            name = e.op(operation, (name,), (e.type(a, is_vector), e.type(b, is_vector)))
    elif a != b:
        if a.is_float:
            operation = "arith.fptoui" if b.kind == "u" else "arith.fptosi"
        elif b.is_float:
            operation = "arith.uitofp" if a.kind in "ub" else "arith.sitofp"
        elif b.bits < a.bits:
            operation = "arith.trunci"
        else:
            operation = "arith.extui" if a.kind in "ub" else "arith.extsi"
        name = e.op(operation, (name,), (e.type(a, is_vector), e.type(b, is_vector)))
    return rounded(e, name, target, is_vector)


def _complex(e: Emitter, name: str, source: Element, target: Element, is_vector: bool) -> str:
    if source.kind == "c":
        operation = "arith.extf" if target.bits > source.bits else "arith.truncf"
        return e.op(operation, (name,), (e.type(source, is_vector), e.type(target, is_vector)))
    real = converted(e, name, source, target.part, is_vector)
    return paired(e, real, e.full(0, target.part, is_vector), target, is_vector)


def paired(e: Emitter, real: str, imaginary: str, element: Element, is_vector: bool) -> str:
    """Complex numbers from their parts."""
    if not is_vector:
        return e.op("vector.from_elements", (real, imaginary), element.text)
    type_ = e.type(element.part, True)
    order = [i for lane in range(e.width) for i in (lane, e.width + lane)]
    return e.op("vector.shuffle", (real, imaginary), type_, *order)


def part(e: Emitter, name: str, number: int, element: Element, is_vector: bool) -> str:
    """The real parts of complex numbers, 0, or the imaginary ones, 1."""
    type_ = e.type(element, is_vector)
    if not is_vector:
        return e.op("vector.extract", (name,), (element.part.text, type_), number)
    order = [2 * lane + number for lane in range(e.width)]
    return e.op("vector.shuffle", (name, name), type_, *order)


class _Bits:
    """Arithmetic on the bits of floats."""

    def __init__(self, e: Emitter, is_vector: bool) -> None:
        self.e, self.is_vector = e, is_vector

    def __call__(self, name: str, a: str, b: int | float | str, *details: str, element: Element = INT32) -> str:
        other = b if isinstance(b, str) else self.e.full(b, element, self.is_vector)
        return self.e.op(f"arith.{name}", (a, other), self.e.type(element, self.is_vector), *details)

    def cast(self, name: str, value: str, source: str, target: str) -> str:
        lanes = f"vector<{self.e.width}x{{}}>" if self.is_vector else "{}"
        return self.e.op(f"arith.{name}", (value,), (lanes.format(source), lanes.format(target)))

    def select(self, chosen: str, a: str | int, b: str) -> str:
        first = a if isinstance(a, str) else self.e.full(a, INT32, self.is_vector)
        return select(self.e, chosen, first, b, INT32, self.is_vector)


def _from_half(e: Emitter, name: str, is_vector: bool) -> str:
    """float16 as float32, on a processor that has no instruction for it."""
    do = _Bits(e, is_vector)
    bits = do.cast("extui", do.cast("bitcast", name, "f16", "i16"), "i16", "i32")
    length = do("andi", bits, 0x7FFF)
    rebased = do("addi", do("shli", length, 13), 112 << 23)
    special = do("cmpi", length, 0x7C00, "uge")
    rebased = do.select(special, do("addi", rebased, 112 << 23), rebased)
    # Subnormal numbers are multiples of the smallest one.
    small = do("mulf", do.cast("sitofp", length, "i32", "f32"), 2.0**-24, element=FLOAT32)
    small = do.cast("bitcast", small, "f32", "i32")
    rebased = do.select(do("cmpi", length, 0x400, "ult"), small, rebased)
    sign = do("shli", do("andi", bits, 0x8000), 16)
    return do.cast("bitcast", do("ori", rebased, sign), "i32", "f32")


def _to_half(e: Emitter, name: str, is_vector: bool) -> str:
    """float32 rounded to float16, on a processor that has no instruction for it."""
    do = _Bits(e, is_vector)
    bits = do.cast("bitcast", name, "f32", "i32")
    length = do("andi", bits, 0x7FFFFFFF)
    odd = do("andi", do("shrui", length, 13), 1)
    rounded_ = do("shrui", do("addi", do("addi", length, odd), 0xFFF - (112 << 23)), 13)
    # Next to 0.5, consecutive float32 numbers differ by as much as subnormal float16 numbers.
    small = do("addf", do.cast("bitcast", length, "i32", "f32"), 0.5, element=FLOAT32)
    small = do("subi", do.cast("bitcast", small, "f32", "i32"), 0x3F000000)
    found = do.select(do("cmpi", length, 0x38800000, "ult"), small, rounded_)
    found = do.select(do("cmpi", length, 0x47800000, "uge"), 0x7C00, found)
    found = do.select(do("cmpi", length, 0x7F800000, "ugt"), 0x7E00, found)
    found = do("ori", found, do("andi", do("shrui", bits, 16), 0x8000))
    return do.cast("bitcast", do.cast("trunci", found, "i32", "i16"), "i16", "f16")


def _to_odd(e: Emitter, name: str, is_vector: bool) -> str:
    """float64 rounded to float32 by rounding to odd, so that it can be rounded again without a double-rounding error.

    NumPy rounds to float16 once, and to bfloat16 by way of float32.
    """
    wide, narrow, bits = (e.type(element, is_vector) for element in (FLOAT64, FLOAT32, INT32))
    near = e.op("arith.truncf", (name,), (wide, narrow))
    back = e.op("arith.extf", (near,), (narrow, wide))
    whole = e.op("arith.bitcast", (near,), (narrow, bits))
    lengths = [e.op("math.absf", (value,), wide) for value in (back, name)]
    # If rounding went away from zero, the float before is the truncated number.
    outward = e.op("arith.cmpf", (lengths[0], lengths[1]), wide, "ogt")
    one = e.full(1, INT32, is_vector)
    before = e.op("arith.subi", (whole, one), bits)
    cut = select(e, outward, before, whole, INT32, is_vector)
    odd = e.op("arith.ori", (cut, one), bits)
    inexact = e.op("arith.cmpf", (back, name), wide, "one")
    found = select(e, inexact, odd, whole, INT32, is_vector)
    return e.op("arith.bitcast", (found,), (bits, narrow))


def select(e: Emitter, chosen: str, a: str, b: str, element: Element, is_vector: bool) -> str:
    """The first value where a boolean holds, else the second."""
    type_ = e.type(element, is_vector)
    if not is_vector:
        return e.op("arith.select", (chosen, a, b), type_)
    masks = e.type(BOOLEAN, True)
    if element.parts > 1:
        order = [lane for lane in range(e.width) for _ in range(element.parts)]
        chosen = e.op("vector.shuffle", (chosen, chosen), masks, *order)
        masks = f"vector<{len(order)}xi1>"
    return e.op("arith.select", (chosen, a, b), (masks, type_))
