"""Refuses arrays of other libraries whose conversion would silently lose a part of their meaning, such as a mask."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from stagec.core import errors, location

# A subclass that keeps these is an array with a name: data from images, memory maps.
_ARITHMETIC = (
    *("__array_ufunc__", "__array_function__", "__getitem__"),
    *("__add__", "__mul__", "__matmul__", "__truediv__", "__pow__", "__eq__", "__lt__"),
)


@functools.lru_cache(256)
def lost_meaning(kind: type) -> tuple[str, str]:
    """What arrays of a class would lose as an Array, and the fix; two empty strings if nothing.

    >>> lost_meaning(np.ma.MaskedArray)[0]
    'a masked array has a mask, which would be lost'
    >>> lost_meaning(np.memmap)
    ('', '')
    """
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "scipy" and "sparse" in base.__module__:
            return f"a {kind.__name__} of scipy.sparse is not an array of numbers", "x.toarray() makes a dense array"
    if not issubclass(kind, np.ndarray) or kind in (np.ndarray, np.memmap):
        return "", ""
    if issubclass(kind, np.ma.MaskedArray):
        fix = "x.filled(0) puts numbers in place of what is masked; x.data and np.ma.getmaskarray(x) are two arrays"
        return "a masked array has a mask, which would be lost", fix
    if issubclass(kind, np.matrix):
        return "* of a np.matrix is the matrix product, which would be lost", "np.asarray(x), and @ for products"
    if issubclass(kind, np.recarray):
        return "a np.recarray has fields, which would be lost", "pass a dict: {name: x[name] for name in x.dtype.names}"
    base = np.memmap if issubclass(kind, np.memmap) else np.ndarray
    if all(getattr(kind, name) is getattr(base, name) for name in _ARITHMETIC):
        return "", ""
    what = f"a {kind.__module__}.{kind.__qualname__} has arithmetic of its own, which would be lost"
    return what, "np.asarray(x) has its numbers alone"


def refuse_lossy(value: Any, name: str = "") -> None:
    """Raise for a value that means more than an Array can hold.

    Args:
      name: what the message calls the value, if anything.

    Raises:
      ArgumentTypeError: it is a masked array, a sparse matrix, or another class with a meaning of its own.
    """
    kind: type = type(value)
    what, fix = lost_meaning(kind)
    if what:
        headline = f"{name}: {what}" if name else what
        raise location.error(errors.ArgumentTypeError, headline, fix=fix)
