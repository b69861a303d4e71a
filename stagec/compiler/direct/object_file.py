"""Reads the functions of an object file: ELF for x86-64 and aarch64."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from stagec.compiler.direct.machines import MACHINES
from stagec.compiler.direct.program import NotDirectError

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8  # types of sections
_UNDEFINED, _RESERVED = 0, 0xFF00  # numbers of sections
WRITE, EXECUTE = 1, 4  # flags of sections
_LARGEST = 64  # bytes of a vector


class Section(NamedTuple):
    """A part of a program that stays in one piece.

    Attributes:
      relocations: where it needs the address of another section: the offset, the type, which section, and what is
        added to that address. Instead of a section, it may be the name of another function.
    """

    flags: int
    alignment: int
    data: bytes
    relocations: tuple[tuple[int, int, int | str, int], ...] = ()


class Code(NamedTuple):
    """A function, with all sections that it needs.

    Attributes:
      sections: the function's first. Their relocations count them from 0.
      start: where the function begins in its section.
    """

    sections: tuple[Section, ...]
    start: int = 0

    def stored(self) -> tuple[dict[str, Any], bytes]:
        """The function as numbers that JSON can hold, and bytes."""
        rows = [[s.flags, s.alignment, len(s.data), s.relocations] for s in self.sections]
        return {"start": self.start, "sections": rows}, b"".join([s.data for s in self.sections])

    @classmethod
    def of_stored(cls, numbers: dict[str, Any], data: bytes) -> Code:
        """The function that `stored` returned."""
        sections, at = [], 0
        for flags, alignment, size, relocations in numbers["sections"]:
            sections.append(Section(flags, alignment, data[at : at + size], tuple(map(tuple, relocations))))
            at += size
        return cls(tuple(sections), numbers["start"])


class MixedError(Exception):
    """The constants of several functions cannot be told apart."""


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


def function(data: bytes, name: str) -> Code:
    """A function of an object file, with all sections that it needs.

    Raises:
      NotDirectError: it is not there, or needs a symbol of another library.
    """
    return _File(data).code(name)


def functions(data: bytes, names: Sequence[str]) -> dict[str, Code]:
    """Functions of an object file, each with its own part of the constants.

    Args:
      names: in the order of the file. Of the constants that several functions use, each gets its own.

    Raises:
      NotDirectError: one is not there, or needs a symbol of another library.
      MixedError: it is not known which constants a function uses.
    """
    file = _File(data)
    # Where the constants end that belong to the functions so far, by their section.
    ends: dict[int, int] = {}
    return {name: file.code(name, ends) for name in names}


class _File:
    """The sections and symbols of an object file.

    Attributes:
      machine: the architecture.
      rows: the heads of the sections, and `contents` their bytes.
      relocations: of each section: offset, type, symbol, and addend.
    """

    def __init__(self, data: bytes) -> None:
        kind, machine = struct.unpack_from("<HH", data, 16)
        machines = {known.number: known for known in MACHINES}
        if data[:6] != b"\x7fELF\x02\x01" or kind != 1 or machine not in machines:
            raise NotDirectError("the compiler made no object file for x86-64 or aarch64")
        self.machine = machines[machine]
        (start,), (count,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<H", data, 60)
        self.rows = [_SECTION.unpack_from(data, start + _SECTION.size * i) for i in range(count)]
        self.contents = [bytes(row[5]) if row[1] == _NO_BITS else data[row[4] : row[4] + row[5]] for row in self.rows]
        self.symbols: list[_Symbol] = []
        self.relocations: dict[int, list[tuple[int, int, int, int]]] = {}
        for row, content in zip(self.rows, self.contents):
            if row[1] == _SYMBOLS:
                strings = self.contents[row[6]]
                self.symbols = [
                    _Symbol(strings[name : strings.index(b"\0", name)].decode(), section, value)
                    for name, _, _, section, value, _ in _SYMBOL.iter_unpack(content)
                ]
            elif row[1] == _RELOCATIONS:
                found = [(at, info & 0xFFFFFFFF, info >> 32, add) for at, info, add in _RELOCATION.iter_unpack(content)]
                self.relocations.setdefault(row[7], []).extend(found)

    def code(self, name: str, ends: dict[int, int] | None = None) -> Code:
        """A function's code; with its own part of the constants only, if it is told where those before end."""
        function = next((s for s in self.symbols if s.name == name and s.section != _UNDEFINED), None)
        if function is None:
            raise NotDirectError(f"the compiler made no function {name}")
        # The sections in the order in which they are found, and their places in it.
        order = {function.section: 0}
        sections: list[Section] = []
        needed: list[tuple[int, int, int | str, int]]
        while len(sections) < len(order):
            number, needed = list(order)[len(sections)], []
            for offset, kind, index, add in self.relocations.get(number, ()):
                symbol = self.symbols[index]
                if not _UNDEFINED < symbol.section < _RESERVED:
                    raise NotDirectError(f"kernels need {symbol.name or 'a symbol'} of another library")
                needed.append((offset, kind, order.setdefault(symbol.section, len(order)), symbol.value + add))
            sections.append(
                Section(self.rows[number][2], max(1, self.rows[number][8]), self.contents[number], tuple(needed))
            )
        if ends is not None:
            for number, place in order.items():
                ends[number] = self._divide(sections, place, number, ends.get(number, 0))
        return Code(tuple(sections), function.value)

    def _divide(self, sections: list[Section], place: int, number: int, start: int) -> int:
        """Reduce a section of constants to those of one function, and return where they end.

        The first and the last one that it uses bound them; LLVM may leave others unused.
        """
        content, (*_, alignment, size) = self.contents[number], self.rows[number]
        used = [
            _constant_after(add, size or alignment) if kind == self.machine.distance_after else add
            for section in sections
            for _, kind, i, add in section.relocations
            if i == place
        ]
        # The largest constants have a section without a size of its elements, in which there may be others.
        if not size and alignment == _LARGEST and not any(at % _LARGEST for at in (*used, len(content))):
            size = alignment
        if place == 0 or number in self.relocations or not size:  # code, tables for jumps, and other tables
            if start:
                raise MixedError
            return len(content)
        used = [at // size * size for at in used]
        first, end = min(used), max(used) + size
        if first < start or end > len(content):
            raise MixedError
        sections[place] = sections[place]._replace(data=content[first:end])
        for k, section in enumerate(sections):
            moved = [(at, kind, i, add - first if i == place else add) for at, kind, i, add in section.relocations]
            sections[k] = section._replace(relocations=tuple(moved))
        return end


def _constant_after(add: int, size: int) -> int:
    """Where the constant is whose distance counts from the end of the instruction that refers to it.

    That is four bytes on, or more if a number of one or four bytes follows.
    """
    return next((add + after for after in (4, 5, 8) if (add + after) % size == 0), add + 5)
