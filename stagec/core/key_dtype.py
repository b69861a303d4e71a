"""The dtype of random keys, which NumPy does not know."""

from __future__ import annotations

from typing import Any

import numpy as np


class extended(np.generic):
    """The abstract scalar type of dtypes that NumPy does not know."""


class prng_key(extended):
    """The abstract scalar type of random keys."""


class ExtendedDtype:
    """The base of dtypes that NumPy does not know; `str()` of one is its short name."""

    type: type[Any] = extended


class KeyDtype(ExtendedDtype):
    """The dtype of random keys; `key<fry>` is that of Threefry-2x32, the generator of `stagec.random`.

    NumPy holds a key as an element of `dtype`, which is unlike that of any number. Compiled code holds its bits as an
    integer. So what moves elements moves keys, and operations on numbers refuse them.

    Args:
      name: of the dtype.
      implementation: the generator's name.
      words: how many words of 32 bits a key has.
    """

    type = prng_key
    kind = "V"
    isnative = True

    def __init__(self, name: str, implementation: str, words: int) -> None:
        self.name = name
        self.implementation = implementation
        self.words = words
        # Where NumPy takes a dtype, it looks for an attribute of this name.
        self.dtype: np.dtype[Any] = np.dtype([(name, np.uint32, (words,))])
        self.itemsize = self.dtype.itemsize

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, KeyDtype) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> str:
        return "KEY"

    def fingerprint(self) -> str:
        """Its part of a program's digest."""
        return self.name


KEY: Any = KeyDtype("key<fry>", "threefry2x32", 2)
