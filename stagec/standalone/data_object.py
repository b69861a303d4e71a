"""Object files that hold constants: ELF, written here since LLVM would read every byte as text."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MACHINES = {"x86_64": 62, "aarch64": 183}
_ALIGNMENT = 64
_CODE, _SYMBOLS, _STRINGS = 1, 2, 3  # types of sections
_GLOBAL_OBJECT = 0x11
_RELOCATABLE, _CURRENT = 1, 1


def object_of(constants: Mapping[str, bytes], machine: str) -> bytes:
    """An object file with constants, by their names."""
    data, symbols, names = bytearray(), bytearray(_SYMBOL.size), bytearray(b"\0")
    for name, content in constants.items():
        data += bytes(-len(data) % _ALIGNMENT)
        symbols += _SYMBOL.pack(len(names), _GLOBAL_OBJECT, 0, 1, len(data), len(content))
        data += content
        names += name.encode() + b"\0"
    # Of each section: name, type, flags, content, the section and the number that it refers to, alignment, entry size.
    rows: list[tuple[str, int, int, bytes | bytearray, int, int, int, int]] = [
        ("", 0, 0, b"", 0, 0, 0, 0),
        (".rodata", _CODE, 2, data, 0, 0, _ALIGNMENT, 0),
        (".note.GNU-stack", _CODE, 0, b"", 0, 0, 1, 0),  # without it, the program's stack would be executable
        (".symtab", _SYMBOLS, 0, symbols, 4, 1, 8, _SYMBOL.size),
        (".strtab", _STRINGS, 0, names, 0, 0, 1, 0),
    ]
    starts = {}
    for name, *_ in rows:
        starts[name] = len(names)
        names += name.encode() + b"\0"
    parts, heads, at = [], [], _ALIGNMENT
    for name, kind, flags, held, link, info, alignment, entry in rows:
        heads.append(_SECTION.pack(starts[name], kind, flags, 0, at, len(held), link, info, alignment, entry))
        parts += [held, bytes(-len(held) % _ALIGNMENT)]
        at += len(held) + -len(held) % _ALIGNMENT
    identity = b"\x7fELF" + bytes([2, 1, _CURRENT])
    header = _HEADER.pack(
        *(identity, _RELOCATABLE, _MACHINES[machine], _CURRENT, 0, 0, at, 0, _HEADER.size, 0, 0, _SECTION.size),
        *(len(rows), len(rows) - 1),
    )
    return b"".join([header, *parts, *heads])
