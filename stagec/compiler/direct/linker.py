"""Links an object file into the shared library that IREE's loader accepts: ELF for x86-64.

The loader maps a file's segments, applies relative relocations, and looks up one function. So there are five program
headers, one exported symbol, and a single empty section, which the loader requires.
"""

from __future__ import annotations

import dataclasses
import itertools
import struct
from collections.abc import Iterable, Mapping

from stagec.compiler.direct.program import NotDirectError

EXPORT = "iree_hal_executable_library_query"

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_DYNAMIC = struct.Struct("<QQ")

_MACHINE = 62
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8  # types of sections
_WRITE, _EXECUTE = 1, 4  # flags of sections
_UNDEFINED, _RESERVED = 0, 0xFF00  # numbers of sections
_ABSOLUTE_64, _RELATIVE_32, _CALL_32, _RELATIVE_64, _BASE_64 = 1, 2, 4, 24, 8  # types of relocations
_LOAD, _DYNAMIC_TABLE, _HEADERS = 1, 2, 6  # types of segments
_PAGE = 4096

# The loader's tables (`iree/hal/local/executable_library.h`): their version, the name of the library, the size of the
# table that the others hang on, and of each kernel: flags, pages of local memory, constants, buffers, and the size of a
# workgroup, then what is reserved.
_VERSION, _NAME, _TABLE_SIZE = 6, "kernels", 128
_TRAITS = struct.Struct("<qhBBiihh40x")
# Returns the table, or null for another version:
# xor ecx, ecx; lea rax, [rip + table]; cmp edi, 6; cmovne rax, rcx; ret
_QUERY, _QUERY_TABLE = bytes.fromhex("31C9488D050000000083FF06480F45C1C3"), 5


@dataclasses.dataclass
class _Section:
    type: int
    flags: int
    data: bytes
    size: int
    alignment: int
    # Offset in the section, type, symbol, and addend.
    relocations: list[tuple[int, int, int, int]] = dataclasses.field(default_factory=list)
    address: int = 0


@dataclasses.dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    value: int


class _Object:
    """The sections and symbols of an object file."""

    def __init__(self, data: bytes) -> None:
        kind, machine = struct.unpack_from("<HH", data, 16)
        if data[:6] != b"\x7fELF\x02\x01" or (kind, machine) != (1, _MACHINE):
            raise NotDirectError("the compiler made no object file for x86-64")
        (start,), (count,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<H", data, 60)
        rows = [_SECTION.unpack_from(data, start + _SECTION.size * i) for i in range(count)]
        self.sections = []
        self.symbols: list[_Symbol] = []
        for _, type_, flags, _, offset, size, _, _, alignment, _ in rows:
            content = b"" if type_ == _NO_BITS else data[offset : offset + size]
            self.sections.append(_Section(type_, flags, content, size, max(1, alignment)))
        for section, row in zip(self.sections, rows):
            if section.type == _SYMBOLS:
                self._read_symbols(section.data, self.sections[row[6]].data)
        for section, row in zip(self.sections, rows):
            if section.type == _RELOCATIONS:
                found = _RELOCATION.iter_unpack(section.data)
                self.sections[row[7]].relocations += [(at, i & 0xFFFFFFFF, i >> 32, add) for at, i, add in found]

    def _read_symbols(self, data: bytes, names: bytes) -> None:
        for name, _, _, section, value, _ in _SYMBOL.iter_unpack(data):
            self.symbols.append(_Symbol(names[name : names.index(b"\0", name)].decode(), section, value))

    def function(self, name: str) -> _Symbol:
        """The symbol of that name."""
        found = next((s for s in self.symbols if s.name == name and s.section != _UNDEFINED), None)
        if found is None:
            raise NotDirectError(f"the compiler made no function {name}")
        return found

    def add(
        self,
        data: bytes,
        addresses: Mapping[int, tuple[_Symbol, int]] | None = None,
        distances: Mapping[int, tuple[_Symbol, int]] | None = None,
    ) -> _Symbol:
        """Add a section; returns a symbol for its start.

        Args:
          addresses: symbols, and what is added to their addresses, by their offsets in a section of data.
          distances: the same for distances from the offsets, in a section of code.
        """
        flags = _EXECUTE if distances else _WRITE if addresses else 0
        section = _Section(1, flags, data, len(data), 16)
        for kind, rows in ((_ABSOLUTE_64, addresses), (_RELATIVE_32, distances)):
            for offset, (symbol, add) in (rows or {}).items():
                section.relocations.append((offset, kind, self.symbols.index(symbol), add))
        self.sections.append(section)
        self.symbols.append(_Symbol("", len(self.sections) - 1, 0))
        return self.symbols[-1]

    def reached(self, root: _Symbol) -> list[_Section]:
        """The sections that a symbol reaches, in the order of the file."""
        found: set[int] = set()
        left = [root]
        while left:
            symbol = left.pop()
            if not _UNDEFINED < symbol.section < _RESERVED:
                raise NotDirectError(f"kernels need {symbol.name or 'a symbol'} of another library")
            if symbol.section not in found:
                found.add(symbol.section)
                left += [self.symbols[i] for _, _, i, _ in self.sections[symbol.section].relocations]
        return [self.sections[i] for i in sorted(found)]

    def address(self, symbol: _Symbol) -> int:
        return self.sections[symbol.section].address + symbol.value


def linked(data: bytes, function: str) -> bytes:
    """A shared library that exports one function of an object file as `iree_hal_executable_library_query`.

    Raises:
      NotDirectError: the file needs a full linker: a symbol of another library, or an unknown relocation.
    """
    found = _Object(data)
    return _laid_out(found, found.function(function))


def library(data: bytes, kernels: Mapping[str, int]) -> bytes:
    """A shared library with functions of an object file, and the tables that tell the loader of them.

    Args:
      kernels: how many buffers each function takes, by its symbol.

    Raises:
      NotDirectError: as for `linked`.
    """
    found = _Object(data)
    return _laid_out(found, _query(found, kernels))


def _query(file: _Object, kernels: Mapping[str, int]) -> _Symbol:
    """Add the tables of the kernels, and the function that returns them for the version of tables that it knows."""
    count = len(kernels)
    texts = [name.encode() + b"\0" for name in (_NAME, *kernels)]
    starts = list(itertools.accumulate(map(len, texts), initial=0))
    strings = file.add(b"".join(texts))
    header = file.add(struct.pack("<iiQii", _VERSION, 0, 0, 0, 0), {8: (strings, 0)})
    functions = file.add(bytes(8 * count), {8 * i: (file.function(name), 0) for i, name in enumerate(kernels)})
    names = file.add(bytes(8 * count), {8 * i: (strings, starts[i + 1]) for i in range(count)})
    traits = file.add(b"".join(_TRAITS.pack(0, 0, 0, buffers, 1, 1, 1, 0) for buffers in kernels.values()))
    table = bytearray(_TABLE_SIZE)
    struct.pack_into("<I", table, 24, count)
    at = {0: (header, 0), 32: (functions, 0), 40: (traits, 0), 64: (names, 0)}
    return file.add(_QUERY, {}, {_QUERY_TABLE: (file.add(bytes(table), at), -4)})


def _laid_out(found: _Object, root: _Symbol) -> bytes:
    """The library, with what the exported function needs."""
    sections = found.reached(root)
    code = [s for s in sections if s.flags & _EXECUTE]
    mutable = [s for s in sections if s.flags & _WRITE and not s.flags & _EXECUTE]
    constant = [s for s in sections if not s.flags & (_WRITE | _EXECUTE)]

    names = b"\0" + EXPORT.encode() + b"\0"
    symbols_at = _HEADER.size + 5 * _SEGMENT.size
    hash_at = symbols_at + 2 * _SYMBOL.size
    names_at = hash_at + 5 * 4
    relocations_at = _aligned(names_at + len(names), 8)
    bases = sum(kind == _ABSOLUTE_64 for s in sections for _, kind, _, _ in s.relocations)
    constant_end = _placed(constant, relocations_at + bases * _RELOCATION.size)
    code_at = _aligned(constant_end, _PAGE)
    code_end = _placed(code, code_at)
    mutable_at = _aligned(code_end, _PAGE)
    dynamic_at = _aligned(_placed(mutable, mutable_at), 16)
    dynamic = [
        (5, names_at), (10, len(names)), (6, symbols_at), (11, _SYMBOL.size), (4, hash_at),
        (7, relocations_at), (8, bases * _RELOCATION.size), (9, _RELOCATION.size), (0, 0),
    ]  # fmt: skip
    end = dynamic_at + len(dynamic) * _DYNAMIC.size

    image = bytearray(end)
    for section in sections:
        image[section.address : section.address + len(section.data)] = section.data
    for i, (at, target) in enumerate(_relocated(found, sections, image)):
        _RELOCATION.pack_into(image, relocations_at + i * _RELOCATION.size, at, _BASE_64, target)
    _SYMBOL.pack_into(image, symbols_at + _SYMBOL.size, 1, 0x12, 0, 1, found.address(root), 0)
    struct.pack_into("<5I", image, hash_at, 1, 2, 1, 0, 0)
    image[names_at : names_at + len(names)] = names
    for i, (tag, value) in enumerate(dynamic):
        _DYNAMIC.pack_into(image, dynamic_at + i * _DYNAMIC.size, tag, value)
    # In memory, each kind of section begins a page; in the file, they follow one another.
    code_gap = code_at - _aligned(constant_end, 64)
    mutable_gap = mutable_at - _aligned(code_end - code_gap, 64)
    segments = [
        (_HEADERS, 4, _HEADER.size, 0, 5 * _SEGMENT.size, 8),
        (_LOAD, 4, 0, 0, constant_end, _PAGE),
        (_LOAD, 5, code_at, code_gap, code_end - code_at, _PAGE),
        (_LOAD, 6, mutable_at, mutable_gap, end - mutable_at, _PAGE),
        (_DYNAMIC_TABLE, 6, dynamic_at, mutable_gap, end - dynamic_at, 8),
    ]
    for i, (type_, flags, at, gap, size, alignment) in enumerate(segments):
        row = (type_, flags, at - gap, at, at, size, size, alignment)
        _SEGMENT.pack_into(image, _HEADER.size + i * _SEGMENT.size, *row)
    identity = b"\x7fELF\x02\x01\x01"
    sizes = (_HEADER.size, _SEGMENT.size, len(segments), 64, 1, 0)
    _HEADER.pack_into(image, 0, identity, 3, _MACHINE, 1, 0, _HEADER.size, end - mutable_gap, 0, *sizes)
    file = bytearray(end - mutable_gap)
    file[:constant_end] = image[:constant_end]
    file[code_at - code_gap : code_end - code_gap] = image[code_at:code_end]
    file[mutable_at - mutable_gap :] = image[mutable_at:]
    return bytes(file) + bytes(64)


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment


def _placed(sections: Iterable[_Section], at: int) -> int:
    """Give sections addresses from `at` on; returns where the last ends."""
    for section in sections:
        section.address = at = _aligned(at, section.alignment)
        at += section.size
    return at


def _relocated(file: _Object, sections: Iterable[_Section], image: bytearray) -> list[tuple[int, int]]:
    """Apply the relocations to the image.

    Returns:
      (address, target) of each absolute address, which the loader relocates.
    """
    bases = []
    for section in sections:
        for offset, kind, number, add in section.relocations:
            at, target = section.address + offset, file.address(file.symbols[number]) + add
            if kind == _ABSOLUTE_64:
                struct.pack_into("<q", image, at, target)
                bases.append((at, target))
            elif kind in (_RELATIVE_32, _CALL_32):
                struct.pack_into("<i", image, at, target - at)
            elif kind == _RELATIVE_64:
                struct.pack_into("<q", image, at, target - at)
            else:
                raise NotDirectError(f"kernels have relocations of type {kind}")
    return bases
