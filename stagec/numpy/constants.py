"""Numbers, limits of dtypes, and dtypes that can be called."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stagec.core import dtypes
from stagec.core.dtype_info import finfo as finfo, iinfo as iinfo, isdtype as isdtype, issubdtype as issubdtype
from stagec.core.dtypes import promote_types as promote_types, result_type as result_type
from stagec.numpy.values import array

if TYPE_CHECKING:
    from stagec.core.array import Array
else:
    from stagec.runtime.array import Array

__all__ = [
    "ComplexWarning", "bfloat16", "bool", "bool_", "cdouble", "character", "complex64", "complex128", "complex_",
    "complexfloating", "csingle", "double", "dtype", "e", "euler_gamma", "finfo", "flexible", "float4_e2m1fn",
    "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32", "float64",
    "float_", "floating", "generic", "iinfo", "inexact", "inf", "int2", "int4", "int8", "int16", "int32", "int64",
    "int_", "integer", "isdtype", "issubdtype", "nan", "ndarray", "newaxis", "number", "object_", "pi",
    "promote_types", "result_type", "signedinteger", "single", "uint", "uint2", "uint4", "uint8", "uint16",
    "uint32", "uint64", "unsignedinteger",
]  # fmt: skip

pi = math.pi
e = math.e
euler_gamma = 0.57721566490153286060651209008240243
inf = math.inf
nan = math.nan
newaxis = None

dtype = np.dtype
ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning
generic, number, integer, inexact = np.generic, np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating, character, flexible, object_ = (
    np.floating,
    np.complexfloating,
    np.character,
    np.flexible,
    np.object_,
)


class ScalarType(type):
    """A dtype that makes an array when it is called.

    `np.dtype` accepts it, and it equals the NumPy scalar type of its name.
    """

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Array:
        return array(x, dtype=cls.dtype)

    def __eq__(cls, other: Any) -> builtins.bool:
        return cls is other or (isinstance(other, (type, str, np.dtype)) and _same(cls.dtype, other))

    def __ne__(cls, other: Any) -> builtins.bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, value: Any) -> builtins.bool:
        return isinstance(value, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<dtype {cls.dtype.name} of stagec.numpy>"


def _same(ours: np.dtype[Any], other: Any) -> builtins.bool:
    if isinstance(other, np.dtype):
        return ours == other
    return other is ours.type if isinstance(other, type) else other == ours.name


def _scalar_type(kind: np.dtype[Any], name: str = "") -> ScalarType:
    return ScalarType(name or kind.name, (), {"dtype": kind, "__doc__": f"Makes a {kind.name} array: `x -> array`."})


bool_ = _scalar_type(dtypes.bool_, "bool_")
int8, int16, int32, int64 = (_scalar_type(np.dtype(f"int{n}")) for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_scalar_type(np.dtype(f"uint{n}")) for n in (8, 16, 32, 64))
bfloat16 = _scalar_type(dtypes.bfloat16)
float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz = (
    _scalar_type(dtypes.parse(f"float8_{kind}"))
    for kind in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")
)
float8_e8m0fnu, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn = (
    _scalar_type(dtypes.parse(kind)) for kind in ("float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
)
int2, int4, uint2, uint4 = map(_scalar_type, (dtypes.int2, dtypes.int4, dtypes.uint2, dtypes.uint4))
float16, float32, float64 = (_scalar_type(np.dtype(f"float{n}")) for n in (16, 32, 64))
complex64, complex128 = _scalar_type(dtypes.complex64), _scalar_type(dtypes.complex128)
bool = bool_
int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128
