"""Weak references that run no Python code when their object is freed.

The standard library's `WeakSet` and `WeakKeyDictionary` have a callback in Python, in which a signal's handler may run.
What it raises there is printed and lost, so that Ctrl-C has no effect. With methods of `set` and `dict` as callbacks
there is no such moment.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakSet(Generic[T]):
    """Objects for as long as they are in use elsewhere.

    >>> class Thing: pass
    >>> things, kept = WeakSet(), Thing()
    >>> things.add(kept)
    >>> things.add(Thing())
    >>> list(things) == [kept]
    True
    """

    def __init__(self) -> None:
        self._references: set[weakref.ref[T]] = set()

    def add(self, value: T) -> None:
        """Add an object, which has a hash."""
        self._references.add(weakref.ref(value, self._references.discard))

    def __iter__(self) -> Iterator[T]:
        found = [reference() for reference in list(self._references)]
        return iter([value for value in found if value is not None])

    def clear(self) -> None:
        """Remove all."""
        self._references.clear()


class WeakKeyDictionary(Generic[T]):
    """A value for each object, for as long as the object is in use elsewhere.

    >>> def work(): pass
    >>> notes = WeakKeyDictionary()
    >>> notes.setdefault(work, []).append("first")
    >>> list(notes.values())
    [['first']]
    >>> del work
    >>> list(notes.values())
    []
    """

    def __init__(self) -> None:
        self._values: dict[weakref.ref[Any], T] = {}

    def setdefault(self, key: Any, default: T) -> T:
        """The value for `key`, which becomes `default` if there is none.

        Raises:
          TypeError: `key` has no hash, or cannot be referred to weakly.
        """
        return self._values.setdefault(weakref.ref(key, self._values.pop), default)

    def values(self) -> list[T]:
        """The values of all objects."""
        return list(self._values.values())
