"""Integers of the host program: virtual machine instructions that compute them, and pass them to kernels and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stagec.compiler.direct.instructions import Function
from stagec.compiler.direct.program import Number

# Comparisons in terms of those of the machine: whether the operands are swapped, and whether the result is negated.
_ORDERS = {
    "EQ": ("eq.{}", False, False),
    "NE": ("eq.{}", False, True),
    "LT": ("lt.{}.s", False, False),
    "GE": ("lt.{}.s", False, True),
    "GT": ("lt.{}.s", True, False),
    "LE": ("lt.{}.s", True, True),
}


def register(type_: str) -> str:
    """The type of the register that holds an integer or boolean."""
    return "i64" if type_ == "i64" else "i32"


Rule = Callable[[Function, Number, Sequence[str]], str]


def computed(f: Function, number: Number, operands: Sequence[str]) -> str:
    """The register that holds a number, once it is computed."""
    return _RULES[number.operation](f, number, operands)


def _binary(name: str) -> Rule:
    def rule(f: Function, number: Number, operands: Sequence[str]) -> str:
        kind = register(number.type)
        return f.op(f"vm.{name}.{kind} {operands[0]}, {operands[1]} : {kind}")

    return rule


def _chosen(direction: str) -> Rule:
    """The first of two operands where a comparison of them holds, else the second."""

    def rule(f: Function, number: Number, operands: Sequence[str]) -> str:
        return _select(f, number, [_compared(f, direction, register(number.type), operands), *operands])

    return rule


def _constant(f: Function, number: Number, operands: Sequence[str]) -> str:
    return f.number(int(number.value), register(number.type))


def _negate(f: Function, number: Number, operands: Sequence[str]) -> str:
    kind = register(number.type)
    return f.op(f"vm.sub.{kind} {f.number(0, kind)}, {operands[0]} : {kind}")


def _not(f: Function, number: Number, operands: Sequence[str]) -> str:
    kind = register(number.type)
    ones = f.number(1 if number.type == "i1" else -1, kind)
    return f.op(f"vm.xor.{kind} {operands[0]}, {ones} : {kind}")


def _compare(f: Function, number: Number, operands: Sequence[str]) -> str:
    return _compared(f, str(number.value), register(number.type), operands)


def _compared(f: Function, direction: str, kind: str, operands: Sequence[str]) -> str:
    order, is_swapped, is_negated = _ORDERS[direction]
    a, b = reversed(operands) if is_swapped else operands
    found = f.op(f"vm.cmp.{order.format(kind)} {a}, {b} : {kind}")
    return f.op(f"vm.xor.i32 {found}, {f.small(1)} : i32") if is_negated else found


def _select(f: Function, number: Number, operands: Sequence[str]) -> str:
    kind = register(number.type)
    return f.op(f"vm.select.{kind} {', '.join(operands)} : {kind}")


def _convert(f: Function, number: Number, operands: Sequence[str]) -> str:
    (operand,) = operands
    kind, to = register(number.type), register(number.result_type)
    if number.result_type == "i1":
        return f.op(
            f"vm.xor.i32 {f.op(f'vm.cmp.eq.{kind} {operand}, {f.number(0, kind)} : {kind}')}, {f.small(1)} : i32"
        )
    if kind == to:
        return operand
    return f.op(
        f"vm.ext.i32.i64.s {operand} : i32 -> i64" if to == "i64" else f"vm.trunc.i64.i32 {operand} : i64 -> i32"
    )


_RULES: dict[str, Rule] = {
    "add": _binary("add"),
    "and": _binary("and"),
    "compare": _compare,
    "constant": _constant,
    "convert": _convert,
    "maximum": _chosen("GT"),
    "minimum": _chosen("LT"),
    "multiply": _binary("mul"),
    "negate": _negate,
    "not": _not,
    "or": _binary("or"),
    "select": _select,
    "subtract": _binary("sub"),
    "xor": _binary("xor"),
}


def stored(f: Function, value: str, buffer: str, offset: str, type_: str) -> None:
    """Store a number where kernels read it."""
    if type_ == "i64":
        high = f.op(f"vm.shr.i64.u {value}, {f.small(32)} : i64")
        upper = f.op(f"vm.add.i64 {offset}, {f.number(4)} : i64")
        f.call("buffer.store", f.op(f"vm.trunc.i64.i32 {high} : i64 -> i32"), buffer, upper, f.small(4))
        value = f.op(f"vm.trunc.i64.i32 {value} : i64 -> i32")
    f.call("buffer.store", value, buffer, offset, f.small(1 if type_ == "i1" else 4))


def loaded(f: Function, buffer: str, offset: int, type_: str) -> str:
    """Load a number that kernels stored."""
    low = f.call("buffer.load", buffer, f.number(offset), f.small(1 if type_ == "i1" else 4))
    if type_ != "i64":
        return low
    high = f.call("buffer.load", buffer, f.number(offset + 4), f.small(4))
    wide = [f.op(f"vm.ext.i32.i64.u {half} : i32 -> i64") for half in (low, high)]
    shifted = f.op(f"vm.shl.i64 {wide[1]}, {f.small(32)} : i64")
    return f.op(f"vm.or.i64 {wide[0]}, {shifted} : i64")
