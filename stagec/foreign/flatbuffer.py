"""Reading FlatBuffers, as far as a file of `jax.export` needs: tables, strings, and vectors.

The format is described at https://flatbuffers.dev/internals. Every offset is checked before it is followed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
