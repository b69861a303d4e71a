"""Object files that hold constants: ELF, written here since LLVM would read every byte as text."""

from __future__ import annotations

import struct
from collections.abc import Mapping

# Sizes and addresses of objects of 64 and of 32 bits.
_WORDS = {2: "Q", 1: "I"}
# Of each machine: the number of its bits, its own number, and flags, by which linkers compare how floats are passed.
_MACHINES = {"x86_64": (2, 62, 0), "aarch64": (2, 183, 0), "riscv64": (2, 243, 5), "armv7": (1, 40, 0x5000400)}
_ALIGNMENT = 64
_CODE, _SYMBOLS, _STRINGS = 1, 2, 3  # types of sections
_GLOBAL_OBJECT = 0x11
_RELOCATABLE, _CURRENT = 1, 1


def object_of(constants: Mapping[str, bytes], machine: str) -> bytes:
    """An object file with constants, by their names."""
    bits, number, flags = _MACHINES[machine]
    word = _WORDS[bits]
    header, section = struct.Struct(f"<16sHHI3{word}IHHHHHH"), struct.Struct(f"<II4{word}II2{word}")
    symbol = struct.Struct("<IBBHQQ" if bits == 2 else "<IIIBBH")
    data, symbols, names = bytearray(), bytearray(symbol.size), bytearray(b"\0")
    for name, content in constants.items():
        data += bytes(-len(data) % _ALIGNMENT)
        size, kind = (len(data), len(content)), (_GLOBAL_OBJECT, 0, 1)
        symbols += symbol.pack(len(names), *(kind + size if bits == 2 else size + kind))
        data += content
        names += name.encode() + b"\0"
    # Of each section: name, type, flags, content, the section and the number that it refers to, alignment, entry size.
    rows: list[tuple[str, int, int, bytes | bytearray, int, int, int, int]] = [
        ("", 0, 0, b"", 0, 0, 0, 0),
        (".rodata", _CODE, 2, data, 0, 0, _ALIGNMENT, 0),
        (".note.GNU-stack", _CODE, 0, b"", 0, 0, 1, 0),  # without it, the program's stack would be executable
        (".symtab", _SYMBOLS, 0, symbols, 4, 1, 8, symbol.size),
        (".strtab", _STRINGS, 0, names, 0, 0, 1, 0),
    ]
    starts = {}
    for name, *_ in rows:
        starts[name] = len(names)
        names += name.encode() + b"\0"
    parts, heads, at = [], [], _ALIGNMENT
    for name, type_, given, held, link, info, alignment, entry in rows:
        heads.append(section.pack(starts[name], type_, given, 0, at, len(held), link, info, alignment, entry))
        parts += [held, bytes(-len(held) % _ALIGNMENT)]
        at += len(held) + -len(held) % _ALIGNMENT
    identity = b"\x7fELF" + bytes([bits, 1, _CURRENT])
    head = header.pack(
        *(identity, _RELOCATABLE, number, _CURRENT, 0, 0, at, flags, header.size, 0, 0, section.size),
        *(len(rows), len(rows) - 1),
    )
    head += bytes(_ALIGNMENT - len(head))
    return b"".join([head, *parts, *heads])
