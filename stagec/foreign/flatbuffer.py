"""Reading and writing FlatBuffers, as far as a file of `jax.export` needs: tables, strings, and vectors.

The format is described at https://flatbuffers.dev/internals. Every offset is checked before it is followed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from stagec.foreign.damaged import Damaged


class Table:
    """A table: fields by their numbers, each absent or present.

    Args:
      data: all of the buffer.
      at: where the table begins.
    """

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - _read(data, at, "<i")
        self._size = _read(data, self._fields, "<H")

    @classmethod
    def root(cls, data: bytes) -> Table:
        return cls(data, _read(data, 0, "<I"))

    def _position(self, field: int) -> int:
        """The position of a field; 0 if it is absent."""
        slot = 4 + 2 * field
        offset = _read(self._data, self._fields + slot, "<H") if slot < self._size else 0
        return self._at + offset if offset else 0

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """A number of a kind that `struct` knows."""
        position = self._position(field)
        return _read(self._data, position, "<" + kind) if position else default

    def _target(self, field: int) -> int:
        position = self._position(field)
        return position + _read(self._data, position, "<I") if position else 0

    def bytes(self, field: int) -> bytes:
        """A string or a vector of bytes."""
        return _vector(self._data, self._target(field), 1)

    def numbers(self, field: int, kind: str) -> list[int]:
        """A vector of numbers."""
        body = _vector(self._data, self._target(field), struct.calcsize("<" + kind))
        return [value for (value,) in struct.iter_unpack("<" + kind, body)]

    def table(self, field: int) -> Table | None:
        target = self._target(field)
        return Table(self._data, target) if target else None

    def tables(self, field: int) -> Iterator[Table]:
        """A vector of tables."""
        for position in self._positions(field):
            yield Table(self._data, position)

    def strings(self, field: int) -> list[str]:
        """A vector of strings."""
        return [_vector(self._data, position, 1).decode() for position in self._positions(field)]

    def _positions(self, field: int) -> Iterator[int]:
        start = self._target(field)
        if start:
            for i in range(len(_vector(self._data, start, 4)) // 4):
                position = start + 4 + 4 * i
                yield position + _read(self._data, position, "<I")


def _read(data: bytes, at: int, kind: str) -> int:
    if not 0 <= at <= len(data) - struct.calcsize(kind):
        raise Damaged("an offset leads out of the data")
    found: int = struct.unpack_from(kind, data, at)[0]
    return found


def _vector(data: bytes, at: int, width: int) -> bytes:
    if not at:
        return b""
    length = _read(data, at, "<I") * width
    if length > len(data) - at - 4:
        raise Damaged("a vector is longer than the data")
    return data[at + 4 : at + 4 + length]


# What a table holds, by the numbers of the fields: `(kind, number)`, a text, bytes, `Numbers`, another table, or a
# list of texts or tables.
Fields: TypeAlias = dict[int, Any]


class Numbers(NamedTuple):
    """A vector of numbers of a kind that `struct` knows."""

    kind: str
    values: Sequence[int]


def written(root: Fields) -> bytes:
    """A buffer whose root is a table.

    >>> table = Table.root(written({0: ("H", 7), 2: "name", 3: [{1: b"body"}]}))
    >>> table.number(0, "H"), table.number(1, "H", 9), table.bytes(2), [part.bytes(1) for part in table.tables(3)]
    (7, 9, b'name', [b'body'])
    """
    data = bytearray(4)
    _point(data, 0, _append(data, root))
    return bytes(data)


def _append(data: bytearray, value: Any) -> int:
    """Append a value that others refer to; returns its position."""
    if isinstance(value, dict):
        return _append_table(data, value)
    _align(data, 4)
    at = len(data)
    if isinstance(value, (str, bytes)):
        body = value.encode() + b"\0" if isinstance(value, str) else value
        data += struct.pack("<I", len(body) - isinstance(value, str)) + body
    elif isinstance(value, Numbers):
        data += struct.pack(f"<I{len(value.values)}{value.kind}", len(value.values), *value.values)
    else:
        data += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for i, part in enumerate(value):
            _point(data, at + 4 + 4 * i, _append(data, part))
    return at


def _append_table(data: bytearray, fields: Fields) -> int:
    """A table of field offsets, and the table with the fields, each at a multiple of its size."""
    offsets = [0] * (max(fields, default=-1) + 1)
    body = bytearray(4)
    for number, value in fields.items():
        packed = struct.pack("<" + value[0], value[1]) if type(value) is tuple else bytes(4)
        _align(body, len(packed))
        offsets[number] = len(body)
        body += packed
    _align(data, 2)
    start = len(data)
    data += struct.pack(f"<HH{len(offsets)}H", 4 + 2 * len(offsets), len(body), *offsets)
    _align(data, 8)
    at = len(data)
    data += struct.pack("<i", at - start) + body[4:]
    for number, value in fields.items():
        if type(value) is not tuple:
            _point(data, at + offsets[number], _append(data, value))
    return at


def _align(data: bytearray, size: int) -> None:
    data += bytes(-len(data) % size)


def _point(data: bytearray, at: int, target: int) -> None:
    struct.pack_into("<I", data, at, target - at)
