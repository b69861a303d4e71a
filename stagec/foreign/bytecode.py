"""Replaces attributes of unknown dialects in MLIR bytecode.

Bytecode keeps an attribute in its dialect's own encoding, which only that dialect can read: JAX puts sharding rules of
the dialect `sdy` on calls of LAPACK, for instance. Such attributes do not affect what is computed, and are
replaced by `unit`, in the encoding as text that any dialect may have. The format is described at
https://mlir.llvm.org/docs/BytecodeFormat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stagec.foreign.damaged import Damaged

_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS = 0, 1, 2, 3
_UNIT = b"unit\0"


class _Bytes:
    """Reads from bytes, and never past their end."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if count < 0 or len(found) < count:
            raise Damaged("bytecode ends early")
        self.at += count
        return found

    def number(self) -> int:
        """A number, whose first byte has as many zeros at its low end as bytes follow."""
        first = self.take(1)[0]
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        follow = (first & -first).bit_length() - 1
        return int.from_bytes(bytes([first]) + self.take(follow), "little") >> (follow + 1)

    def text(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise Damaged("bytecode ends early")
        return self.take(end + 1 - self.at)

    @property
    def ended(self) -> bool:
        return self.at >= len(self.data)


def _number(value: int) -> bytes:
    """A number as `_Bytes.number` reads it."""
    for follow in range(8):
        if value < 1 << (7 * (follow + 1)):
            return (value << (follow + 1) | 1 << follow).to_bytes(follow + 1, "little")
    return b"\0" + value.to_bytes(8, "little")


def without_unknown(data: bytes, is_known: Callable[[str], bool]) -> bytes:
    """Bytecode whose attributes of unknown dialects are `unit`.

    Args:
      data: the bytecode of a module.
      is_known: whether a dialect can read its own encoding.

    Raises:
      Damaged: the sections do not fit one another.
    """
    read = _Bytes(data)
    read.take(4)
    read.number()
    read.text()
    head = data[: read.at]
    sections = list(_sections(read))
    bodies = {kind: body for kind, _, body in sections}
    if not {_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS} <= bodies.keys():
        raise Damaged("bytecode lacks a section")
    names = _dialects(bodies[_DIALECTS], _strings(bodies[_STRINGS]))
    if all(map(is_known, names)):
        return data
    bodies[_ATTRIBUTES], bodies[_OFFSETS] = _replaced(
        bodies[_ATTRIBUTES], bodies[_OFFSETS], [is_known(name) for name in names]
    )
    found = bytearray(head)
    for kind, alignment, _ in sections:
        body = bodies[kind]
        found += bytes([kind | (0x80 if alignment else 0)]) + _number(len(body))
        if alignment:
            found += _number(alignment)
            found += b"\xcb" * (-len(found) % alignment)
        found += body
    return bytes(found)


def _sections(read: _Bytes) -> Iterator[tuple[int, int, bytes]]:
    """Kind, alignment (0 for none) and content of each section."""
    while not read.ended:
        first = read.take(1)[0]
        length = read.number()
        alignment = 0
        if first & 0x80:
            alignment = read.number()
            if not 0 < alignment <= 1 << 16:
                raise Damaged("a section has an invalid alignment")
            read.take(-read.at % alignment)
        yield first & 0x7F, alignment, read.take(length)


def _strings(body: bytes) -> list[str]:
    read = _Bytes(body)
    lengths = [read.number() for _ in range(read.number())]
    # The lengths are in reverse order.
    return [read.take(length)[:-1].decode("utf-8", "replace") for length in reversed(lengths)]


def _dialects(body: bytes, strings: list[str]) -> list[str]:
    read = _Bytes(body)
    names = []
    for _ in range(read.number()):
        number = read.number()
        if number >> 1 >= len(strings):
            raise Damaged("a dialect has no name")
        names.append(strings[number >> 1])
        if number & 1:
            # Its version, a section.
            read.take(1)
            read.take(read.number())
    return names


def _replaced(attributes: bytes, offsets: bytes, known: list[bool]) -> tuple[bytes, bytes]:
    """Both sections, in which attributes of unknown dialects are `unit`."""
    content, table = _Bytes(attributes), _Bytes(offsets)
    counts = [table.number(), table.number()]
    new_content, new_table = bytearray(), bytearray(b"".join(map(_number, counts)))
    for is_type, count in enumerate(counts):
        while count > 0:
            dialect, length = table.number(), table.number()
            if dialect >= len(known) or not 0 < length <= count:
                raise Damaged("an attribute belongs to an unknown dialect")
            count -= length
            new_table += _number(dialect) + _number(length)
            for _ in range(length):
                entry = table.number()
                body = content.take(entry >> 1)
                if not is_type and not known[dialect]:
                    body, entry = _UNIT, len(_UNIT) << 1
                new_content += body
                new_table += _number(entry)
    return bytes(new_content), bytes(new_table)
