"""Conversions between MLIR's element types and NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from passes import bindings

_DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
    "i2": np.dtype(ml_dtypes.int2),
    "i4": np.dtype(ml_dtypes.int4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "ui4": np.dtype(ml_dtypes.uint4),
    "index": np.dtype(np.int64),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items() if name != "index"}


_FLOATS = {"F16Type": "f16", "F32Type": "f32", "F64Type": "f64", "BF16Type": "bf16"}
_SIGNS = {(True, False): "i", (False, True): "si", (False, False): "ui"}


def spelled(element_type: Any) -> str:
    """An element type as MLIR prints it, without the several microseconds that printing takes.

    >>> with bindings.new_context():
    ...     spelled(bindings.ir.IntegerType.get_unsigned(8)), spelled(bindings.ir.F32Type.get())
    ('ui8', 'f32')
    """
    name = type(element_type).__name__
    if name in _FLOATS:
        return _FLOATS[name]
    if name == "IntegerType":
        return f"{_SIGNS[element_type.is_signless, element_type.is_signed]}{element_type.width}"
    return str(element_type)


def numpy_dtype(element_type: Any) -> np.dtype[Any]:
    """The NumPy dtype of an MLIR element type; `TypeError` for one that has none."""
    text = spelled(element_type)
    try:
        return _DTYPES[text]
    except KeyError:
        raise TypeError(f"the element type {text} has no NumPy dtype") from None


def element_type(dtype: Any) -> Any:
    """The MLIR element type of a NumPy dtype, in the current context."""
    dtype = np.dtype(dtype)
    ir = bindings.ir
    kind, bits = dtype.kind, dtype.itemsize * 8
    if kind == "b":
        return ir.IntegerType.get_signless(1)
    if kind == "i":
        return ir.IntegerType.get_signless(bits)
    if kind == "u":
        return ir.IntegerType.get_unsigned(bits)
    if dtype == np.float32:
        return ir.F32Type.get()
    if dtype == np.float64:
        return ir.F64Type.get()
    name = _NAMES.get(dtype)
    if name is None:
        raise TypeError(f"dtype {dtype} has no MLIR element type")
    return ir.Type.parse(name)


def tensor_type(shape: Any, element: Any) -> Any:
    """A ranked tensor type; `element` is an MLIR type or anything `np.dtype` accepts.

    >>> with bindings.new_context():
    ...     print(tensor_type((2, 3), "uint8"))
    tensor<2x3xui8>
    """
    ir = bindings.ir
    if not isinstance(element, ir.Type):
        element = element_type(element)
    return ir.RankedTensorType.get([int(size) for size in shape], element, loc=ir.Location.unknown(element.context))


_FLOAT_BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


def is_lossless(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether every value of `source` is a value of `target`.

    >>> is_lossless(np.dtype("int8"), np.dtype("float16")), is_lossless(np.dtype("int32"), np.dtype("float32"))
    (True, False)
    """
    if source == target:
        return True
    if source.kind == "c" or target.kind == "c":
        return False
    if source.kind == "b":
        return (target.kind in "iu" and target.isbuiltin == 1) or target.name in _FLOAT_BITS
    if source.name in _FLOAT_BITS:
        if target.name not in _FLOAT_BITS:
            return False
        return all(a <= b for a, b in zip(_FLOAT_BITS[source.name], _FLOAT_BITS[target.name]))
    if source.kind in "iu" and source.isbuiltin == 1:
        if target.kind in "iu" and target.isbuiltin == 1:
            low, high = np.iinfo(source), np.iinfo(target)
            return int(high.min) <= int(low.min) and int(low.max) <= int(high.max)
        if target.name in _FLOAT_BITS:
            exponent, mantissa = _FLOAT_BITS[target.name]
            magnitude = source.itemsize * 8 - (source.kind == "i")
            return magnitude <= mantissa + 1 and magnitude < 2 ** (exponent - 1)
    return False
