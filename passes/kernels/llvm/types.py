"""Types and constants of MLIR as those of LLVM IR."""

from __future__ import annotations

import functools
import math
import struct

_SCALARS = {"index": "i64", "f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "!llvm.ptr": "ptr"}
_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
# How `struct` writes a number of a type.
_FORMATS = {"half": ">e", "float": ">f", "double": ">d"}


@functools.lru_cache(maxsize=1024)
def type_of(text: str) -> str:
    """A type.

    >>> type_of("vector<2x8xf32>"), type_of("index")
    ('<16 x float>', 'i64')
    """
    if text.startswith("vector<"):
        *sizes, element = text[7:-1].split("x")
        return f"<{math.prod(map(int, sizes))} x {type_of(element)}>"
    return _SCALARS.get(text, text)


@functools.lru_cache(maxsize=4096)
def element_of(text: str) -> str:
    """The element type of a buffer or vector.

    >>> element_of("memref<520xf32>"), element_of("vector<4xi1>")
    ('float', 'i1')
    """
    return type_of(text[:-1].rpartition("x")[2])


@functools.lru_cache(maxsize=1024)
def lanes_of(type_: str) -> int:
    """The number of lanes of a vector of LLVM's, or 0.

    >>> lanes_of("<16 x float>"), lanes_of("float")
    (16, 0)
    """
    return int(type_[1:].partition(" ")[0]) if type_[0] == "<" else 0


def scalar_of(type_: str) -> str:
    """The type of a lane of a type of LLVM's.

    >>> scalar_of("<16 x float>"), scalar_of("i32")
    ('float', 'i32')
    """
    return type_[1:-1].partition(" x ")[2] if type_[0] == "<" else type_


@functools.lru_cache(maxsize=1024)
def like(type_: str, scalar: str) -> str:
    """A type with as many lanes.

    >>> like("<16 x float>", "i1"), like("float", "i32")
    ('<16 x i1>', 'i32')
    """
    lanes = lanes_of(type_)
    return f"<{lanes} x {scalar}>" if lanes else scalar


def size_of(type_: str) -> int:
    """The bytes of an element in memory."""
    return _SIZES[type_]


def full(number: float | int | bool, type_: str) -> str:
    """A number as a constant of a type, in all lanes of a vector. Not cached: 0.0 and -0.0 are equal keys.

    >>> full(1.0, "float"), full(-1, "<4 x i32>"), full(True, "i1"), full(-0.0, "double")
    ('0x3FF0000000000000', 'splat (i32 -1)', 'true', '0x8000000000000000')
    """
    scalar = scalar_of(type_)
    if scalar in _FORMATS:
        text = _float(struct.pack(_FORMATS[scalar], number), scalar)
    elif scalar == "i1":
        text = "true" if number else "false"
    else:
        text = str(int(number))
    return text if scalar == type_ else f"splat ({scalar} {text})"


def _float(data: bytes, scalar: str) -> str:
    """A constant by its bits: LLVM writes those of float64, for float32 too."""
    if scalar == "half":
        return f"0xH{data.hex().upper()}"
    if scalar == "float":
        data = struct.pack(">d", struct.unpack(">f", data)[0])
    return f"0x{data.hex().upper()}"


@functools.lru_cache(maxsize=4096)
def constant(text: str, type_: str) -> str:
    """A number as MLIR writes it, or vectors as `dense<...>`.

    >>> constant("dense<0x7F800000>", "<2 x float>"), constant("dense<[0, -1]>", "<2 x i8>"), constant("7", "i64")
    ('splat (float 0x7FF0000000000000)', '<i8 0, i8 -1>', '7')
    """
    scalar = scalar_of(type_)
    if not text.startswith("dense<"):
        return _spelled(text, scalar)
    text = text[6:-1]
    if text.startswith("["):
        return "<" + ", ".join(f"{scalar} {_spelled(part.strip(), scalar)}" for part in text[1:-1].split(",")) + ">"
    return f"splat ({scalar} {_spelled(text, scalar)})"


def _spelled(text: str, scalar: str) -> str:
    if scalar not in _FORMATS:
        return text
    if text.startswith("0x"):
        return _float(bytes.fromhex(text[2:]), scalar)
    return full(float(text), scalar)
