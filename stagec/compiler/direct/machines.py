"""What object files and shared libraries of an architecture are like: numbers of ELF, relocations, and a few stubs."""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable

from stagec.compiler.direct.program import NotDirectError

Relocation = tuple[int, int, int]  # the offset, the type, and what is added to the address


@dataclasses.dataclass(frozen=True)
class Machine:
    """An architecture.

    Attributes:
      name: with which triples begin.
      format: IREE's name for shared libraries.
      number: that of ELF, in object files.
      page: the largest page of its systems.
      absolute: the type of relocation of an address, which the loader finds again as `base`.
      distance_after: the type of relocation whose distance counts from the end of its instruction; 0 if there is none.
      apply: how other relocations are applied, by their types: writes an address into a part of a library, at another
        address.
      query: the loader's function: returns a table, or null for another version than 6; and what needs the address of
        the table.
      stub: passes a table as a fourth argument to a function, which it jumps to; and what needs the addresses of both.
      pause: the instruction of LLVM IR with which a core waits for another one.
    """

    name: str
    format: str
    number: int
    page: int
    absolute: int
    base: int
    distance_after: int
    apply: dict[int, Callable[[bytearray, int, int], None]]
    query: tuple[bytes, tuple[Relocation, ...]]
    stub: tuple[bytes, tuple[Relocation, ...], Relocation]
    pause: str


def of(triple: str) -> Machine:
    """The architecture of a triple."""
    return next(machine for machine in MACHINES if triple.startswith(machine.name))


def _packed(form: str) -> Callable[[bytearray, int, int], None]:
    """Writes the distance to a target."""

    def apply(image: bytearray, at: int, target: int) -> None:
        struct.pack_into(form, image, at, target - at)

    return apply


def _inserted(image: bytearray, at: int, bits: int, mask: int) -> None:
    """Replace bits of an instruction."""
    (word,) = struct.unpack_from("<I", image, at)
    struct.pack_into("<I", image, at, word & ~mask | bits & mask)


def _branch(image: bytearray, at: int, target: int) -> None:
    if not -(1 << 27) <= target - at < 1 << 27:
        raise NotDirectError("kernels call functions that are more than 128 MiB away")
    _inserted(image, at, (target - at) >> 2, 0x3FFFFFF)


def _page(image: bytearray, at: int, target: int) -> None:
    pages = (target >> 12) - (at >> 12)
    _inserted(image, at, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5, 0x60FFFFE0)


def _low(image: bytearray, at: int, target: int, scale: int) -> None:
    """The place in a page, which loads and stores count in units of what they move."""
    if target % (1 << scale):
        raise NotDirectError("kernels load what is not aligned")
    _inserted(image, at, (target & 0xFFF) >> scale << 10, 0x3FFC00)


# xor ecx, ecx; lea rax, [rip + table]; cmp edi, 6; cmovne rax, rcx; ret
_X86_QUERY = bytes.fromhex("31C9 488D0500000000 83FF06 480F45C1 C3"), ((5, 2, -4),)
# lea rcx, [rip + table]; jmp function
_X86_STUB = bytes.fromhex("488D0D00000000 E900000000"), ((3, 2, -4),), (8, 4, -4)
# adrp x8, table; add x8, x8, :lo12:table; cmp w0, #6; csel x0, x8, xzr, eq; ret
_ARM_QUERY = struct.pack("<5I", 0x90000008, 0x91000108, 0x7100181F, 0x9A9F0100, 0xD65F03C0), ((0, 275, 0), (4, 277, 0))
# adrp x3, table; add x3, x3, :lo12:table; b function
_ARM_STUB = struct.pack("<3I", 0x90000003, 0x91000063, 0x14000000), ((0, 275, 0), (4, 277, 0)), (8, 282, 0)

# Relocations have other numbers on each of these.
MACHINES = (
    Machine(
        name="x86_64",
        format="embedded-elf-x86_64",
        number=62,
        page=1 << 12,
        absolute=1,
        base=8,
        distance_after=2,
        apply={2: _packed("<i"), 4: _packed("<i"), 24: _packed("<q")},
        query=_X86_QUERY,
        stub=_X86_STUB,
        pause="call void @llvm.x86.sse2.pause()",
    ),
    Machine(
        name="aarch64",
        format="embedded-elf-arm_64",
        number=183,
        page=1 << 16,
        absolute=257,
        base=1027,
        distance_after=0,
        apply={
            **{260: _packed("<q"), 261: _packed("<i"), 275: _page, 282: _branch, 283: _branch},
            # An addition, and loads and stores of 1, 2, 4, 8 and 16 bytes.
            **{277: functools.partial(_low, scale=0), 278: functools.partial(_low, scale=0)},
            **{284 + n: functools.partial(_low, scale=1 + n) for n in range(3)},
            299: functools.partial(_low, scale=4),
        },
        query=_ARM_QUERY,
        stub=_ARM_STUB,
        pause="call void @llvm.aarch64.hint(i32 1)",
    ),
)
