"""Fields of a manifest: JSON values, each checked for its type and its range.

A function returns what its field says, or raises `Malformed` with what the field is called.
"""

from __future__ import annotations

import math
from typing import Any

from stagec.artifact.trees import Malformed
from stagec.core import dtypes, errors
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim, is_open
from stagec.core.dims_text import Scope
from stagec.core.duration import Duration

BYTES_LIMIT = 1 << 60
_NAME_LIMIT = 1000
_DTYPES = {dtype.name: dtype for dtype in (*dtypes.ELEMENTS, dtypes.float0)}


def is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _NAME_LIMIT and value.isprintable()


def text(value: Any, what: str) -> str:
    if type(value) is not str:
        raise Malformed(what)
    return value


def fields(value: Any, what: str, *names: str) -> list[Any]:
    if not isinstance(value, dict) or value.keys() != set(names):
        raise Malformed(what)
    return [value[name] for name in names]


def listed(value: Any, what: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise Malformed(what)
    return value


def index(value: Any, count: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise Malformed(what)
    return value


def indices(value: Any, count: int, what: str, increasing: bool = False) -> tuple[int, ...]:
    found = tuple([index(v, count, what) for v in listed(value, what)])
    if increasing and list(found) != sorted(set(found)):
        raise Malformed(what)
    return found


def integers(value: Any, what: str) -> tuple[int, ...]:
    found = listed(value, what)
    if len(found) > 32 or any(type(n) is not int for n in found):
        raise Malformed(what)
    return tuple(found)


def boolean(value: Any, what: str) -> bool:
    if type(value) is not bool:
        raise Malformed(what)
    return value


def duration(value: Any, what: str) -> Duration:
    try:
        return Duration(value)
    except ValueError:
        raise Malformed(what) from None


def names(value: Any, what: str, length: int | None = None) -> tuple[str, ...]:
    found = listed(value, what, length)
    if not all(map(is_name, found)):
        raise Malformed(what)
    return tuple(found)


def scope(value: Any) -> Scope:
    """The symbols of a signature, from the text of their bounds."""
    if not isinstance(value, str) or len(value) > _NAME_LIMIT:
        raise Malformed("bounds")
    try:
        return Scope([value] if value else [])
    except (errors.DimensionError, RecursionError, MemoryError):
        raise Malformed("bounds") from None


def size(value: Any, symbols: Scope) -> Dim:
    """The size of an open dimension, from its text."""
    if not is_name(value):
        raise Malformed("a dimension")
    try:
        found = symbols.shape(value)
    except (errors.DimensionError, ArithmeticError, RecursionError, MemoryError):
        raise Malformed("a dimension") from None
    if len(found) != 1 or not is_open(found[0]):
        raise Malformed("a dimension")
    return found[0]


def aval(value: Any, symbols: Scope | None = None) -> ShapedArray:
    """An aval; with symbols, its dimensions may be open."""
    name, shape, weak = listed(value, "the aval of an array", 3)
    if not isinstance(name, str) or name not in _DTYPES or type(weak) is not bool:
        raise Malformed("the aval of an array")
    if not isinstance(shape, list) or len(shape) > 32:
        raise Malformed("the shape of an array")
    if symbols is not None:
        shape = [size(n, symbols) if isinstance(n, str) else n for n in shape]
    known = [n for n in shape if not is_open(n)]
    if not all(type(n) is int and n >= 0 for n in known):
        raise Malformed("the shape of an array")
    if math.prod(max(n, 1) for n in known) * _DTYPES[name].itemsize > BYTES_LIMIT:
        raise Malformed("the shape of an array")
    return ShapedArray.of(tuple(shape), _DTYPES[name], weak)


def avals(value: Any, symbols: Scope | None = None) -> tuple[ShapedArray, ...]:
    return tuple([aval(v, symbols) for v in listed(value, "avals")])
