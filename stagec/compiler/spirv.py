"""Finds data races that the compiler leaves in SPIR-V kernels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

_MAGIC = 0x07230203
_HEADER_WORDS = 5
_WORKGROUP = 4  # a storage class

# Opcodes of the SPIR-V specification, section "Instructions".
_ENTRY_POINT, _FUNCTION, _VARIABLE, _LOAD, _STORE, _ACCESS_CHAIN, _IN_BOUNDS_ACCESS_CHAIN = 15, 54, 59, 61, 62, 65, 66
_CONTROL_BARRIER = 224


def racing_kernels(vmfb: bytes) -> list[str]:
    """Names of the kernels in a compiled module that read what other threads write, without a barrier between.

    The compiler passes values from one half of a kernel to the other through memory that the threads of a workgroup
    share. If the halves are distributed to the threads differently, it leaves out the barrier between them, and the
    value read depends on which thread is first.

    >>> racing_kernels(b"no SPIR-V in here")
    []
    """
    return [name for words in _modules(vmfb) for name in _racing(words)]


def _modules(vmfb: bytes) -> Iterator[np.ndarray[Any, Any]]:
    """The SPIR-V modules: vectors of words, each after its length."""
    magic = struct.pack("<I", _MAGIC)
    at = vmfb.find(magic)
    while at >= 0:
        end = at + 4
        if at >= 4:
            (count,) = struct.unpack_from("<I", vmfb, at - 4)
            if _HEADER_WORDS < count <= (len(vmfb) - at) // 4:
                yield np.frombuffer(vmfb, "<u4", count, at)
                end = at + 4 * count
        at = vmfb.find(magic, end)


def _racing(words: np.ndarray[Any, Any]) -> Iterator[str]:
    name, found = "", False
    element: dict[int, tuple[int, ...]] = {}  # pointer -> its shared variable, and the indices into it
    written: dict[int, set[tuple[int, ...]]] = {}  # variable -> elements stored since the last barrier
    for opcode, operands in _instructions(words.tolist()):
        if opcode == _ENTRY_POINT:
            name = struct.pack(f"<{len(operands) - 2}I", *operands[2:]).split(b"\0")[0].decode(errors="replace")
        elif opcode == _VARIABLE and operands[2] == _WORKGROUP:
            element[operands[1]] = (operands[1],)
        elif opcode in (_ACCESS_CHAIN, _IN_BOUNDS_ACCESS_CHAIN) and operands[2] in element:
            element[operands[1]] = (*element[operands[2]], *operands[3:])
        elif opcode in (_FUNCTION, _CONTROL_BARRIER):
            written.clear()
        elif opcode == _STORE and operands[0] in element:
            at = element[operands[0]]
            written.setdefault(at[0], set()).add(at)
        elif opcode == _LOAD and operands[2] in element:
            at = element[operands[2]]
            # A thread that reads the very element that it wrote uses the memory privately.
            found = found or at not in written.get(at[0], {at})
    if found:
        yield name


def _instructions(words: list[int]) -> Iterator[tuple[int, list[int]]]:
    at = _HEADER_WORDS
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        if count == 0:
            return
        yield opcode, words[at + 1 : at + count]
        at += count
