"""DLPack for bfloat16, which NumPy neither exports nor imports: it gets the bits as uint16.

The layout of the structures is that of the DLPack specification,
https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from stagec.core import dtypes

# DLDataTypeCode
_UNSIGNED, _BFLOAT = 1, 4
# Where DLDataType (code, bits, lanes) begins in DLManagedTensor and in DLManagedTensorVersioned: after the data
# pointer, the device and the rank, and in the second after version, context, deleter and flags.
_DTYPE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}

_is_named = ctypes.pythonapi.PyCapsule_IsValid
_is_named.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def _relabel(capsule: Any, old: int, new: int) -> bool:
    """Change the type code of a capsule's 16-bit elements that have the old one; whether it had."""
    name = next((name for name in _DTYPE_AT if _is_named(capsule, name)), None)
    if name is None:
        return False
    code_and_bits = (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + _DTYPE_AT[name])
    if tuple(code_and_bits) != (old, 16):
        return False
    code_and_bits[0] = new
    return True


def export_array(value: np.ndarray[Any, Any], **options: Any) -> Any:
    """`value.__dlpack__(**options)`, for bfloat16 too."""
    if value.dtype != dtypes.bfloat16:
        return value.__dlpack__(**options)
    capsule = value.view(np.uint16).__dlpack__(**options)
    _relabel(capsule, _UNSIGNED, _BFLOAT)
    return capsule


class _Readable:
    """A tensor whose bfloat16 elements NumPy reads as uint16."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.is_bfloat16 = False

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.tensor.__dlpack__(**options)
        self.is_bfloat16 = _relabel(capsule, _BFLOAT, _UNSIGNED)
        return capsule


def import_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The memory of a tensor of another library as a NumPy array, without a copy; like `np.from_dlpack`.

    Raises:
      BufferError, RuntimeError, TypeError, ValueError: what the library or
        NumPy says against it, such as a device that is no CPU.
    """
    readable = _Readable(tensor)
    found = np.from_dlpack(readable)
    return found.view(dtypes.bfloat16) if readable.is_bfloat16 else found
