"""Links functions into the shared library that IREE's loader accepts: ELF.

The loader maps a file's segments, applies relative relocations, and looks up one function. So there are five program
headers, one exported symbol, and a single empty section, which the loader requires.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from stagec.compiler.direct.machines import Machine
from stagec.compiler.direct.object_file import EXECUTE, WRITE, Code, Section
from stagec.compiler.direct.program import NotDirectError

EXPORT = "iree_hal_executable_library_query"

_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_DYNAMIC = struct.Struct("<QQ")

_LOAD, _DYNAMIC_TABLE, _HEADERS = 1, 2, 6  # types of segments

# The loader's tables (`iree/hal/local/executable_library.h`): their version, the name of the library, the size of the
# table that the others hang on, and of each kernel: flags, pages of local memory, constants, buffers, and the size of a
# workgroup, then what is reserved.
_VERSION, _NAME, _TABLE_SIZE = 6, "kernels", 128
_TRAITS = struct.Struct("<qhBBiihh40x")


class _Image:
    """The sections of a library; relocations count them from 0."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.sections: list[Section] = []
        # Where the functions begin, by their names.
        self.functions: dict[str, tuple[int, int]] = {}
        self._constants: dict[Section, int] = {}

    def add(self, section: Section) -> int:
        """The number of a section; of equal constants, there is one."""
        is_constant = not section.flags & (WRITE | EXECUTE) and not section.relocations
        number = self._constants.get(section) if is_constant else None
        if number is None:
            number = len(self.sections)
            self.sections.append(section)
            if is_constant:
                self._constants[section] = number
        return number

    def function(self, name: str, code: Code) -> tuple[int, int]:
        """A function's section, and where it begins there. Functions that it calls by their names come before."""
        numbers = [self.add(section) for section in code.sections]
        for number, section in zip(numbers, code.sections):
            moved = []
            for at, kind, i, add in section.relocations:
                target, start = self.functions[i] if isinstance(i, str) else (numbers[i], 0)
                moved.append((at, kind, target, add + start))
            self.sections[number] = section._replace(relocations=tuple(moved))
        self.functions[name] = numbers[0], code.start
        return self.functions[name]

    def table(self, data: bytes, addresses: Mapping[int, tuple[int, int]] | None = None) -> int:
        """Data with addresses: of sections, and what is added to them, by their offsets."""
        needed = tuple([(at, self.machine.absolute, number, add) for at, (number, add) in (addresses or {}).items()])
        return self.add(Section(WRITE if needed else 0, 16, data, needed))


def linked(code: Code, machine: Machine) -> bytes:
    """A shared library that exports a function as `iree_hal_executable_library_query`.

    Raises:
      NotDirectError: the function has a relocation that is not known here.
    """
    image = _Image(machine)
    return _laid_out(image, *image.function(EXPORT, code))


def library(
    kernels: Mapping[str, tuple[Code, int]], machine: Machine, others: Mapping[str, Code] = MappingProxyType({})
) -> bytes:
    """A shared library of kernels, and the tables that tell the loader of them.

    Args:
      kernels: the function by its symbol, and how many buffers it takes.
      others: further functions, by the names by which kernels call them.

    Raises:
      NotDirectError: as for `linked`.
    """
    image = _Image(machine)
    for name, code in others.items():
        image.function(name, code)
    places = [image.function(name, code) for name, (code, _) in kernels.items()]
    texts = [name.encode() + b"\0" for name in (_NAME, *kernels)]
    starts = list(itertools.accumulate(map(len, texts), initial=0))
    strings = image.table(b"".join(texts))
    header = image.table(struct.pack("<iiQii", _VERSION, 0, 0, 0, 0), {8: (strings, 0)})
    count = len(kernels)
    functions = image.table(bytes(8 * count), {8 * i: place for i, place in enumerate(places)})
    names = image.table(bytes(8 * count), {8 * i: (strings, starts[i + 1]) for i in range(count)})
    traits = image.table(b"".join(_TRAITS.pack(0, 0, 0, buffers, 1, 1, 1, 0) for _, buffers in kernels.values()))
    table = bytearray(_TABLE_SIZE)
    struct.pack_into("<I", table, 24, count)
    at = image.table(bytes(table), {0: (header, 0), 32: (functions, 0), 40: (traits, 0), 64: (names, 0)})
    query, needed = machine.query
    return _laid_out(image, image.add(Section(EXECUTE, 16, query, tuple([(o, k, at, add) for o, k, add in needed]))), 0)


def _laid_out(parts: _Image, exported: int, start: int) -> bytes:
    """The library, whose function begins at an offset of a section."""
    machine, sections = parts.machine, parts.sections
    code = [i for i, s in enumerate(sections) if s.flags & EXECUTE]
    mutable = [i for i, s in enumerate(sections) if s.flags & WRITE and not s.flags & EXECUTE]
    constant = [i for i, s in enumerate(sections) if not s.flags & (WRITE | EXECUTE)]

    names = b"\0" + EXPORT.encode() + b"\0"
    symbols_at = _HEADER.size + 5 * _SEGMENT.size
    hash_at = symbols_at + 2 * _SYMBOL.size
    names_at = hash_at + 5 * 4
    relocations_at = _aligned(names_at + len(names), 8)
    bases = sum(kind == machine.absolute for s in sections for _, kind, _, _ in s.relocations)
    addresses = [0] * len(sections)

    def placed(numbers: Iterable[int], at: int) -> int:
        for i in numbers:
            addresses[i] = at = _aligned(at, sections[i].alignment)
            at += len(sections[i].data)
        return at

    constant_end = placed(constant, relocations_at + bases * _RELOCATION.size)
    code_at = _aligned(constant_end, machine.page)
    code_end = placed(code, code_at)
    mutable_at = _aligned(code_end, machine.page)
    dynamic_at = _aligned(placed(mutable, mutable_at), 16)
    dynamic = [
        (5, names_at), (10, len(names)), (6, symbols_at), (11, _SYMBOL.size), (4, hash_at),
        (7, relocations_at), (8, bases * _RELOCATION.size), (9, _RELOCATION.size), (0, 0),
    ]  # fmt: skip
    end = dynamic_at + len(dynamic) * _DYNAMIC.size

    image = bytearray(end)
    for at, section in zip(addresses, sections):
        image[at : at + len(section.data)] = section.data
    for i, (at, target) in enumerate(_relocated(parts, addresses, image)):
        _RELOCATION.pack_into(image, relocations_at + i * _RELOCATION.size, at, machine.base, target)
    _SYMBOL.pack_into(image, symbols_at + _SYMBOL.size, 1, 0x12, 0, 1, addresses[exported] + start, 0)
    struct.pack_into("<5I", image, hash_at, 1, 2, 1, 0, 0)
    image[names_at : names_at + len(names)] = names
    for i, (tag, value) in enumerate(dynamic):
        _DYNAMIC.pack_into(image, dynamic_at + i * _DYNAMIC.size, tag, value)
    # In memory, each kind of section begins a page; in the file, they follow one another.
    code_gap = code_at - _aligned(constant_end, 64)
    mutable_gap = mutable_at - _aligned(code_end - code_gap, 64)
    segments = [
        (_HEADERS, 4, _HEADER.size, 0, 5 * _SEGMENT.size, 8),
        (_LOAD, 4, 0, 0, constant_end, machine.page),
        (_LOAD, 5, code_at, code_gap, code_end - code_at, machine.page),
        (_LOAD, 6, mutable_at, mutable_gap, end - mutable_at, machine.page),
        (_DYNAMIC_TABLE, 6, dynamic_at, mutable_gap, end - dynamic_at, 8),
    ]
    for i, (type_, flags, at, gap, size, alignment) in enumerate(segments):
        row = (type_, flags, at - gap, at, at, size, size, alignment)
        _SEGMENT.pack_into(image, _HEADER.size + i * _SEGMENT.size, *row)
    identity = b"\x7fELF\x02\x01\x01"
    sizes = (_HEADER.size, _SEGMENT.size, len(segments), 64, 1, 0)
    _HEADER.pack_into(image, 0, identity, 3, machine.number, 1, 0, _HEADER.size, end - mutable_gap, 0, *sizes)
    file = bytearray(end - mutable_gap)
    file[:constant_end] = image[:constant_end]
    file[code_at - code_gap : code_end - code_gap] = image[code_at:code_end]
    file[mutable_at - mutable_gap :] = image[mutable_at:]
    return bytes(file) + bytes(64)


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment


def _relocated(parts: _Image, addresses: list[int], image: bytearray) -> list[tuple[int, int]]:
    """Apply the relocations to the image.

    Returns:
      (address, target) of each absolute address, which the loader relocates.
    """
    machine, bases = parts.machine, []
    for start, section in zip(addresses, parts.sections):
        for offset, kind, number, add in section.relocations:
            assert isinstance(number, int), "names are resolved"
            at, target = start + offset, addresses[number] + add
            if kind == machine.absolute:
                struct.pack_into("<q", image, at, target)
                bases.append((at, target))
            elif kind in machine.apply:
                machine.apply[kind](image, at, target)
            else:
                raise NotDirectError(f"kernels have relocations of type {kind}")
    return bases
