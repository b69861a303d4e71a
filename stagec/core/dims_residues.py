"""The cases of an expression by the remainders of its symbols, in each of which its quotients are polynomials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from stagec.core.dims_terms import Function, Size, Symbol, Terms, Variable, value_of

# The most cases that are worth their time.
_MOST = 64


def cases(terms: Terms) -> Iterator[dict[Symbol, tuple[int, int, Symbol]]] | None:
    """For each remainder of the symbols, `(p, r, s)` by symbol: it is `p*s + r`. None where there are no such cases.

    For `b % 2 + b`, these are `(2, 0, b)` and `(2, 1, b)`, each with the bounds that those of `b` leave to the new `b`.
    """
    periods = _periods(terms)
    if periods is None or not 1 < math.prod(periods.values()) <= _MOST:
        return None
    return _cases(periods)


def _cases(periods: dict[Symbol, int]) -> Iterator[dict[Symbol, tuple[int, int, Symbol]]]:
    for remainders in itertools.product(*map(range, periods.values())):
        found = {}
        for (symbol, period), rest in zip(periods.items(), remainders):
            lower = -((rest - symbol.lower) // period)
            upper = symbol.upper if symbol.upper == math.inf else (symbol.upper - rest) // period
            if lower <= upper:
                found[symbol] = (period, rest, Symbol(symbol.name, lower, upper))
        if len(found) == len(periods):
            yield found


def _periods(terms: Terms) -> dict[Symbol, int] | None:
    """How far each symbol goes until the quotients by constants repeat; None where they do not."""
    found: dict[Symbol, int] = {}
    for monomial, coefficient in terms:
        if coefficient.denominator != 1:
            return None
        for variable, _ in monomial:
            inner = _of_variable(variable)
            if inner is None:
                return None
            for symbol, period in inner.items():
                found[symbol] = math.lcm(found.get(symbol, 1), period)
    return found


def _of_variable(variable: Variable) -> dict[Symbol, int] | None:
    if isinstance(variable, Symbol):
        return {variable: 1}
    found: dict[Symbol, int] = {}
    divides = variable.kind in ("//", "%")
    if divides and _has_extreme(variable.left):
        return None
    factor = variable.right if divides and isinstance(variable.right, int) else 1
    for part in (variable.left, variable.right):
        inner = {} if isinstance(part, (int, Fraction)) else _periods(part.terms)
        if inner is None:
            return None
        for symbol, period in inner.items():
            found[symbol] = math.lcm(found.get(symbol, 1), period * (factor if part is variable.left else 1))
    return found


def _has_extreme(size: Size) -> bool:
    """Whether a minimum or maximum is in a size: it stays one in each case, and so does a quotient of it."""
    if isinstance(size, (int, Fraction)):
        return False
    functions = [v for monomial, _ in size.terms for v, _ in monomial if isinstance(v, Function)]
    return any(f.kind in ("min", "max") or _has_extreme(f.left) or _has_extreme(f.right) for f in functions)


def sample(terms: Terms) -> Fraction:
    """The value of an expression for one number in place of each symbol, by the symbol's name.

    Raises:
      ZeroDivisionError: a divisor is 0 there.
    """
    return value_of(terms, lambda symbol: 2 + hash(symbol.name) % 999_983)
