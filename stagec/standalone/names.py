"""Identifiers and element types of C and JavaScript."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from stagec.core.dtypes import KEY


class Scalar(NamedTuple):
    """A number of an array in other languages.

    Attributes:
      type: in C.
      array: the class of arrays in JavaScript.
      parts: numbers for each element.
      note: what the number means, if its type does not say it.
    """

    type: str
    array: str
    parts: int = 1
    note: str = ""


_PAIRS = "real and imaginary parts in turns"
_SCALARS = {
    "bool": Scalar("uint8_t", "Uint8Array", note="0 or 1"),
    "float16": Scalar("uint16_t", "Uint16Array", note="the bits of float16"),
    "bfloat16": Scalar("uint16_t", "Uint16Array", note="the bits of bfloat16"),
    "float32": Scalar("float", "Float32Array"),
    "float64": Scalar("double", "Float64Array"),
    "complex64": Scalar("float", "Float32Array", 2, _PAIRS),
    "complex128": Scalar("double", "Float64Array", 2, _PAIRS),
    **{f"int{n}": Scalar(f"int{n}_t", f"Int{n}Array") for n in (8, 16, 32)},
    **{f"uint{n}": Scalar(f"uint{n}_t", f"Uint{n}Array") for n in (8, 16, 32)},
    "int64": Scalar("int64_t", "BigInt64Array"),
    "uint64": Scalar("uint64_t", "BigUint64Array"),
    KEY.name: Scalar("uint32_t", "Uint32Array", KEY.words, "the two words of a key in turns"),
}


def scalar_of(dtype: np.dtype) -> Scalar | None:
    """The elements of a dtype; None if they have no form.

    >>> scalar_of(np.dtype("float32")).type
    'float'
    """
    found = _SCALARS.get(dtype.name)
    if found is None and dtype.name.startswith("float8_"):
        return Scalar("uint8_t", "Uint8Array", note=f"the bits of {dtype.name}")
    return found


# Words of C, C++ and JavaScript, and what the code that is written calls its own.
WORDS = frozenset(
    """
    alignas alignof and and_eq arguments asm async atomic await auto bitand bitor bool boolean break byte case catch
    char char8_t char16_t char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue debugger decltype default delete do double dynamic_cast else enum eval explicit export extends
    extern false finally float for friend function goto if implements import in inline instanceof int interface let
    linux long mutable namespace new noexcept not not_eq null nullptr of operator or or_eq package private protected
    public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct super switch template this thread_local throw true try typedef typeid typename typeof undefined union unix
    unsigned using var virtual void volatile wchar_t while with xor xor_eq yield
    abort exit free main malloc memcpy memset printf
    group kernel launch place repeat run threads work workspace
    """.split()
)


def identifier(text: str, taken: set[str]) -> str:
    """A text as a name that is not taken; it is from now on.

    >>> taken = {"double"}
    >>> [identifier(text, taken) for text in ("params['w'][0]", "double", "params.w[0]", "2x")]
    ['params_w_0', 'double_', 'params_w_0_', 'x2x']
    """
    name = re.sub(r"[\W_]+", "_", text, flags=re.ASCII).strip("_")
    if not name or name[0].isdigit() or re.fullmatch(r"[np]\d+", name):
        name = f"x{name}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def constant(function: str, number: int) -> str:
    """The name of a constant of a function."""
    return f"{function}_constant{number}"
