"""Range analysis of scalar integers: linear forms with ranges, and the comparisons that these decide."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from passes import attributes as attrs
from passes.kernels.builder import Symbols
from passes.kernels.elements import Element
from passes.kernels.linear import Linear
from passes.kernels.values import Value

Bounds = tuple[int, int]


def limits(element: Element) -> tuple[int, int]:
    """The least and greatest number of an integer type.

    >>> limits(Element.parse("ui8"))
    (0, 255)
    """
    if element.kind == "i":
        return -(1 << (element.bits - 1)), (1 << (element.bits - 1)) - 1
    return 0, (1 << element.bits) - 1


def follow(op: Any, operands: Sequence[Value], result: Value, symbols: Symbols) -> Value | None:
    """The result of an elementwise op on scalars, if it is a constant or a linear form; else None.

    A form represents a value only if no operation that led to it can have wrapped around.
    """
    if result.size != 1 or result.element.kind in "fc":
        return None
    name = op.name.removeprefix("stablehlo.")
    if name == "select":
        chosen = operands[0].splat
        if chosen is None:
            return None
        return _like(operands[1] if chosen else operands[2], result)
    if name in _LOGIC and result.element.kind == "b":
        return _LOGIC[name](operands, result)
    forms = [_form(value) for value in operands]
    if None in forms:
        return None
    known = [form for form in forms if form is not None]
    bounds = [symbols.bounds(form) for form in known]
    if name == "compare":
        decided = _compare(attrs.word(op, "comparison_direction"), bounds, known)
        return None if decided is None else Value(result.shape, result.element, splat=decided)
    found = _RULES[name](known, bounds) if name in _RULES else None
    if found is None:
        return None
    reach = symbols.bounds(found)
    low, high = limits(result.element)
    if reach is None or reach[0] < low or reach[1] > high:
        return None
    if found.is_constant:
        return Value(result.shape, result.element, splat=found.constant)
    return Value(result.shape, result.element, linear=found)


def _form(value: Value) -> Linear | None:
    if value.element.kind not in "iu":
        return None
    return Linear(int(value.splat)) if value.splat is not None else value.linear


def _like(chosen: Value, result: Value) -> Value | None:
    if not chosen.is_scalar:
        return None
    return Value(result.shape, result.element, splat=chosen.splat, scalar=chosen.scalar, linear=chosen.linear)


def _logic(absorbing: bool, operands: Sequence[Value], result: Value) -> Value | None:
    """The `or` of booleans, which `absorbing` decides, or the `and`, which its opposite does."""
    known = [value.splat for value in operands]
    if any(splat is not None and bool(splat) == absorbing for splat in known):
        return Value(result.shape, result.element, splat=absorbing)
    unknown = [value for value in operands if value.splat is None]
    if not unknown:
        return Value(result.shape, result.element, splat=not absorbing)
    return _like(unknown[0], result) if len(unknown) == 1 else None


def _compare(direction: str, bounds: Sequence[Bounds | None], forms: list[Linear]) -> bool | None:
    if forms[0] == forms[1]:
        return direction in ("EQ", "LE", "GE")
    first, second = bounds
    if first is None or second is None:
        return None
    (a, b), (c, d) = first, second
    if direction in ("EQ", "NE"):
        if b < c or d < a:
            return direction == "NE"
        return None
    if direction in ("GT", "GE"):
        (a, b), (c, d), direction = (c, d), (a, b), direction.replace("G", "L")
    if direction == "LT":
        return True if b < c else False if a >= d else None
    return True if b <= c else False if a > d else None


def _multiply(forms: Sequence[Linear], bounds: Sequence[Bounds | None]) -> Linear | None:
    for a, b in (forms, forms[::-1]):
        if b.is_constant:
            return a * b.constant
    return None


def _smaller(forms: Sequence[Linear], bounds: Sequence[Bounds | None]) -> Linear | None:
    x, y = bounds
    if x is None or y is None or (x[1] > y[0] and y[1] > x[0]):
        return None
    return forms[0] if x[1] <= y[0] else forms[1]


def _larger(forms: Sequence[Linear], bounds: Sequence[Bounds | None]) -> Linear | None:
    smaller = _smaller(forms, bounds)
    return None if smaller is None else forms[1] if smaller is forms[0] else forms[0]


def _clamp(forms: Sequence[Linear], bounds: Sequence[Bounds | None]) -> Linear | None:
    low, inside, high = bounds
    if low is None or inside is None or high is None:
        return None
    return forms[1] if low[1] <= inside[0] and inside[1] <= high[0] else None


_RULES: dict[str, Callable[[Sequence[Linear], Sequence[Bounds | None]], Linear | None]] = {
    "add": lambda forms, bounds: forms[0] + forms[1],
    "clamp": _clamp,
    "convert": lambda forms, bounds: forms[0],
    "maximum": _larger,
    "minimum": _smaller,
    "multiply": _multiply,
    "negate": lambda forms, bounds: forms[0] * -1,
    "reshape": lambda forms, bounds: forms[0],
    "subtract": lambda forms, bounds: forms[0] - forms[1],
}
_LOGIC: dict[str, Callable[[Sequence[Value], Value], Value | None]] = {
    "and": functools.partial(_logic, False),
    "or": functools.partial(_logic, True),
}
