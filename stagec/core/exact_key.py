"""Keys of dictionaries for values that `==` does not tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

_OF_FLOATS = (float.__eq__, complex.__eq__)


def exact_key(value: Any) -> Any:
    """A hashable that is equal for values of one type and one meaning, where `==` takes 1 for True and 0.0 for -0.0.

    Numbers are told apart, also inside tuples and frozensets; every NaN of the same bits has the same key. Other
    classes are asked, by their `__eq__`.

    >>> exact_key(1) == exact_key(True), exact_key((0.0,)) == exact_key((-0.0,))
    (False, False)
    >>> exact_key(float("nan")) == exact_key(float("nan"))
    True
    """
    kind = type(value)
    equality: Any = kind.__eq__
    if equality in _OF_FLOATS or isinstance(value, np.inexact):
        return kind, np.asarray(value).tobytes()
    if equality is tuple.__eq__:
        return kind, *[exact_key(v) for v in value]
    if kind is frozenset:
        return kind, frozenset([exact_key(v) for v in value])
    return kind, value


class StaticValue:
    """A static argument as a part of a signature: the value, compared by its exact key."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = exact_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticValue) and bool(self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)
