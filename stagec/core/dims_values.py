"""What the sizes of open dimensions say of their symbols, and what they are for given values of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from stagec.core.dims import Dim, of_symbol
from stagec.core.dims_terms import Size, Symbol, Terms, Variable, polynomial_text, symbols_of, value_of


def symbols(value: Any) -> list[Symbol]:
    """The symbols in a size or a shape, each once, in order of appearance."""
    if isinstance(value, Dim):
        return list(symbols_of(value.terms))
    if isinstance(value, (tuple, list)):
        return list(dict.fromkeys(s for part in value for s in symbols(part)))
    return []


def solutions(sizes: Sequence[Size]) -> Iterator[tuple[int, Symbol, int, Size]]:
    """How symbols follow from sizes: `(i, s, factor, rest)` with `sizes[i] == factor * s + rest`, each symbol once.

    The symbols in `rest` are solved for before. Those that do not follow are left out.

    >>> b, n = of_symbol(Symbol("b")), of_symbol(Symbol("n"))
    >>> list(solutions([b * n + n, 4 * b + 2, n - b]))
    [(1, b, 4, 2), (2, n, 1, -b)]
    """
    known: set[Symbol] = set()
    solved = True
    while solved:
        solved = False
        for i, size in enumerate(sizes):
            found = _solution(size, known)
            if found is not None:
                known.add(found[0])
                yield i, *found
                solved = True


def _solution(size: Size, known: Container[Symbol]) -> tuple[Symbol, int, Size] | None:
    """`(s, factor, rest)`, where `s` is the only symbol that is not known; None if there is no such form."""
    if not isinstance(size, Dim):
        return None
    unknown = [s for s in symbols(size) if s not in known]
    if len(unknown) != 1:
        return None
    linear = dict(size.terms).get(((unknown[0], 1),))
    if linear is None or linear.denominator != 1 or linear < 1:
        return None
    rest = size - int(linear) * of_symbol(unknown[0])
    return None if unknown[0] in symbols(rest) else (unknown[0], int(linear), rest)


def broken_fact(values: Mapping[Symbol, int]) -> str:
    """A condition on several symbols that does not hold for their values, as text; empty if all hold."""
    numbers = {s.name: n for s, n in values.items()}
    for fact in dict.fromkeys([fact for s in values for fact in s.facts]):
        if all(s.name in numbers for s in symbols_of(fact)) and value_of(fact, lambda s: numbers[s.name]) < 0:
            return fact_text(fact)
    return ""


def fact_text(fact: Terms) -> str:
    """A fact as users write it."""
    return f"{polynomial_text(fact)} >= 0"


# The size by which the work of a program for any size is estimated.
_TYPICAL = 256


def typical(size: Size) -> int:
    """A number in place of a size, for estimates of work."""
    return evaluate(size, {s: int(min(max(s.lower, _TYPICAL), s.upper)) for s in symbols(size)})


def evaluate(size: Size, values: Mapping[Symbol, int]) -> int:
    """The number that a size is, by the values of its symbols.

    >>> b = Symbol("b")
    >>> evaluate(2 * of_symbol(b) + 1, {b: 3})
    7
    """
    total = fraction(size, values)
    assert total.denominator == 1, f"{size} is not whole for {values}"
    return int(total)


def composed(
    size: Dim, number: Callable[[int], Any], variable: Callable[[Variable], Any], binary: Callable[[str, Any, Any], Any]
) -> Any:
    """A size as operations of a program.

    Args:
      number: makes a constant.
      variable: the value of a symbol, or of a function of sizes.
      binary: what one of `+ * /` makes of two values; `/` is a division without a remainder.
    """
    common = math.lcm(*[c.denominator for _, c in size.terms])
    total: Any = None
    for monomial, coefficient in size.terms:
        factor = int(coefficient * common)
        part: Any = None
        for item, power in monomial:
            for _ in range(power):
                value = variable(item)
                part = value if part is None else binary("*", part, value)
        if part is None:
            part = number(factor)
        elif factor != 1:
            part = binary("*", part, number(factor))
        total = part if total is None else binary("+", total, part)
    return total if common == 1 else binary("/", total, number(common))


def fraction(size: Size, values: Mapping[Symbol, int]) -> Fraction:
    """As `evaluate`, for a share that may turn out not to be whole."""
    return value_of(size.terms, values.__getitem__) if isinstance(size, Dim) else Fraction(size)
