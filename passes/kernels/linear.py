"""Linear forms of indices: a constant, symbols with integer coefficients, and the lanes of a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Symbols are numbered in the order of creation, so that terms of outer loops come first.
Ranges = Mapping[int, tuple[int, int]]


class Linear:
    """`constant + sum(coefficient * symbol) + stride * lane`, where `lane` counts the elements of a vector.

    >>> i = Linear.of(1)
    >>> (i * 8 + 3) - i * 8
    Linear(3)
    >>> (i * 8).lanes(1).at_lane(2)
    Linear(2 + 8*s1)
    """

    __slots__ = ("_key", "constant", "stride", "terms")

    def __init__(self, constant: int = 0, terms: tuple[tuple[int, int], ...] = (), stride: int = 0) -> None:
        self.constant, self.terms, self.stride = constant, terms, stride
        self._key = (constant, terms, stride)

    @staticmethod
    def of(symbol: int) -> Linear:
        """A symbol alone."""
        return Linear(0, ((symbol, 1),))

    @property
    def is_constant(self) -> bool:
        """Whether the form is a number."""
        return not self.terms and not self.stride

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return self if not other else Linear(self.constant + other, self.terms, self.stride)
        if not self.terms:
            terms = other.terms
        elif not other.terms:
            terms = self.terms
        else:
            total = dict(self.terms)
            for symbol, coefficient in other.terms:
                total[symbol] = total.get(symbol, 0) + coefficient
            terms = tuple(sorted(item for item in total.items() if item[1]))
        return Linear(self.constant + other.constant, terms, self.stride + other.stride)

    def __mul__(self, factor: int) -> Linear:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        terms = tuple((symbol, coefficient * factor) for symbol, coefficient in self.terms)
        return Linear(self.constant * factor, terms, self.stride * factor)

    def __sub__(self, other: Linear | int) -> Linear:
        return self + (-other if isinstance(other, int) else other * -1)

    def __repr__(self) -> str:
        parts = [str(self.constant)] if self.constant or not (self.terms or self.stride) else []
        parts += [f"{c}*s{s}" if c != 1 else f"s{s}" for s, c in self.terms]
        parts += [f"{self.stride}*lane"] if self.stride else []
        return f"Linear({' + '.join(parts)})"

    def lanes(self, stride: int = 1) -> Linear:
        """The same form, which increases by `stride` from lane to lane."""
        return Linear(self.constant, self.terms, stride)

    def at_lane(self, lane: int) -> Linear:
        """The form of one lane."""
        return Linear(self.constant + self.stride * lane, self.terms) if self.stride else self

    def coefficient(self, symbol: int) -> int:
        """The coefficient of a symbol; 0 if it does not occur."""
        return dict(self.terms).get(symbol, 0)

    def only(self, symbols: Iterable[int]) -> Linear:
        """The terms in some symbols, without the constant."""
        wanted = set(symbols)
        return Linear(0, tuple(item for item in self.terms if item[0] in wanted))

    def bounds(self, ranges: Ranges, width: int = 1) -> tuple[int, int] | None:
        """The least and greatest value over all lanes, or None if a symbol has no known range."""
        low = high = self.constant
        for symbol, coefficient in self.terms:
            found = ranges.get(symbol)
            if found is None:
                return None
            ends = (coefficient * found[0], coefficient * found[1])
            low, high = low + min(ends), high + max(ends)
        last = self.stride * (width - 1)
        return low + min(0, last), high + max(0, last)


ZERO = Linear()


def address(index: Iterable[Linear], strides: Iterable[int], offset: Linear = ZERO) -> Linear:
    """The address of an element, counted in elements.

    >>> address([Linear(2), Linear.of(0)], (10, 1))
    Linear(20 + s0)
    """
    total = offset
    for i, stride in zip(index, strides):
        total = total + i * stride
    return total
