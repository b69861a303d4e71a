"""Bounds of expressions by conditions on several symbols, such as `n >= b`: polynomials that are not negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from stagec.core.dims_terms import Monomial, Symbol, Terms, times

# How many facts are combined.
_MOST = 3


def least(terms: Terms, facts: Sequence[Terms], bound: Callable[[Mapping[Monomial, Fraction]], float]) -> float:
    """A lower bound of an expression: `e >= e - c*f` for each `c >= 0` and fact `f`.

    Args:
      bound: a lower bound without the facts.
    """
    known: dict[frozenset[tuple[Monomial, Fraction]], float] = {}

    def search(rest: dict[Monomial, Fraction], depth: int) -> float:
        key = frozenset(rest.items())
        if key not in known:
            known[key] = bound(rest)
            if depth:
                known[key] = max([known[key], *(search(other, depth - 1) for other in _reduced(rest, facts))])
        return known[key]

    return search(dict(terms), _MOST)


def _reduced(rest: Mapping[Monomial, Fraction], facts: Sequence[Terms]) -> list[dict[Monomial, Fraction]]:
    """What remains after a multiple of a fact is subtracted, for each that removes a monomial."""
    found = []
    for monomial, coefficient in rest.items():
        for fact in facts:
            for lead, factor in fact:
                share = _quotient(monomial, lead) if lead and coefficient / factor > 0 else None
                if share is not None:
                    found.append(_without(rest, fact, share, coefficient / factor))
    return found


def _quotient(monomial: Monomial, lead: Monomial) -> Monomial | None:
    """One monomial divided by another, if that is a product of symbols, which are not negative."""
    powers = dict(monomial)
    for variable, power in lead:
        powers[variable] = powers.get(variable, 0) - power
    left = {v: n for v, n in powers.items() if n}
    return tuple(left.items()) if all(n > 0 and isinstance(v, Symbol) for v, n in left.items()) else None


def _without(
    rest: Mapping[Monomial, Fraction], fact: Terms, share: Monomial, factor: Fraction
) -> dict[Monomial, Fraction]:
    found = dict(rest)
    for monomial, coefficient in fact:
        product = times(monomial, share)
        total = found.pop(product, Fraction(0)) - factor * coefficient
        if total:
            found[product] = total
    return found
