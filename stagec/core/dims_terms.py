"""What the sizes of open dimensions are made of: symbols, functions of sizes, and their products."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

# An int or a Dim. Shapes are declared as tuples of int, since most are.
Size: TypeAlias = Any


class Symbol:
    """A size that is known when the program runs, within bounds. Interned by its name and what is known of it.

    Args:
      lower, upper: the least and the greatest number that it may be.
      facts: polynomials of it and other symbols that are not negative. Their symbols have no facts.
    """

    __slots__ = ("facts", "lower", "name", "upper")
    _interned: dict[tuple[Any, ...], Symbol] = {}  # noqa: RUF012

    name: str
    lower: int
    upper: float
    facts: tuple[Terms, ...]

    def __new__(cls, name: str, lower: int = 1, upper: float = math.inf, facts: tuple[Terms, ...] = ()) -> Symbol:
        key = name, lower, upper, facts
        found = cls._interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.name, found.lower, found.upper, found.facts = key
            found = cls._interned.setdefault(key, found)
        return found

    def __reduce__(self) -> Any:
        return Symbol, (self.name, self.lower, self.upper, self.facts)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    @property
    def alone(self) -> Symbol:
        """The symbol without its facts."""
        return Symbol(self.name, self.lower, self.upper) if self.facts else self

    @property
    def fingerprint(self) -> str:
        """The symbol and what is known of it, for cache keys: what a program may take for granted."""
        return f"{self.name}:{self.lower}:{self.upper}" + "".join(f":{polynomial_text(fact)}" for fact in self.facts)


class Function:
    """A quotient rounded down, a remainder, or an extreme: what is no polynomial, and counts as a variable in one."""

    __slots__ = ("kind", "left", "right")

    def __init__(self, kind: str, left: Size, right: Size) -> None:
        self.kind = kind
        self.left = left
        self.right = right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.left, self.right

    def __str__(self) -> str:
        if self.kind in ("//", "%"):
            space = " " if self.kind == "%" else ""
            return f"{_factor(self.left)}{space}{self.kind}{space}{_factor(self.right)}"
        return f"{self.kind}({self.left}, {self.right})"


Variable = Symbol | Function
Monomial = tuple[tuple[Variable, int], ...]
Terms = tuple[tuple[Monomial, Fraction], ...]


def times(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    powers = dict(a)
    for variable, power in b:
        powers[variable] = powers.get(variable, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def value_of(terms: Terms, number: Callable[[Symbol], int]) -> Fraction:
    """The value of a polynomial, by the numbers in place of its symbols."""
    total = Fraction(0)
    for monomial, product in terms:
        for variable, power in monomial:
            if isinstance(variable, Symbol):
                value = Fraction(number(variable))
            else:
                value = _APPLIED[variable.kind](*(_value(n, number) for n in (variable.left, variable.right)))
            product *= value**power
        total += product
    return total


_APPLIED: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}


def _value(size: Size | Fraction, number: Callable[[Symbol], int]) -> Fraction:
    return Fraction(size) if isinstance(size, (int, Fraction)) else value_of(size.terms, number)


def symbols_of(terms: Terms) -> list[Symbol]:
    """The symbols in a polynomial, each once, in order of appearance."""
    found: dict[Symbol, None] = {}
    for monomial, _ in terms:
        for variable, _ in monomial:
            parts = [variable.left, variable.right] if isinstance(variable, Function) else []
            inner = [s for n in parts if hasattr(n, "terms") for s in symbols_of(n.terms)]
            found.update(dict.fromkeys(inner if isinstance(variable, Function) else [variable]))
    return list(found)


def polynomial_text(terms: Terms) -> str:
    """A polynomial as users write it."""
    found = ""
    for monomial, coefficient in terms:
        part = _term(monomial, abs(coefficient), not found and coefficient < 0)
        if found:
            found += f" {'-' if coefficient < 0 else '+'} {part}"
        else:
            found = f"-{part}" if coefficient < 0 else part
    return found


def _term(monomial: Monomial, coefficient: Fraction, signed: bool) -> str:
    # A sign in front binds closer than the operators of quotients and remainders.
    inside = signed or len(monomial) > 1 or coefficient != 1
    factors = [f"{_power(v)}**{n}" if n > 1 else _power(v, inside) for v, n in monomial]
    if coefficient.numerator != 1 or not factors:
        factors.insert(0, str(coefficient.numerator))
    text = "*".join(factors)
    return text if coefficient.denominator == 1 else f"{text}/{coefficient.denominator}"


def _power(variable: Variable, alone: bool = True) -> str:
    text = str(variable)
    return f"({text})" if alone and isinstance(variable, Function) and variable.kind in ("//", "%") else text


def _factor(size: Size) -> str:
    text = str(size)
    return f"({text})" if any(c in text for c in " */%") else text


def order(term: tuple[Monomial, Fraction]) -> tuple[Any, ...]:
    """Higher degrees first, constants last."""
    monomial, _ = term
    return -sum(n for _, n in monomial), [(str(v), -n) for v, n in monomial]
