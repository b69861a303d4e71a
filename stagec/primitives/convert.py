"""Changing the element type, by value and by bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.core.primitive import Primitive
from stagec.primitives.operand import Operand, as_operand, aval_of


def _convert_shape(x: ShapedArray, *, new_dtype: np.dtype[Any], weak_type: bool) -> ShapedArray:
    return ShapedArray.of(x.shape, new_dtype, weak_type)


def convert_value(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """NumPy's `astype`, except that floats out of an integer's range saturate and NaN becomes 0."""
    if dtype == dtypes.bool_:
        return x != 0
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        wide = x.astype(np.float64)
        # 2**63 and 2**64 are floats, the largest integers below them are not.
        out = np.where(wide >= float(info.max), 0, np.clip(wide, float(info.min), None))
        out = np.where(np.isnan(wide), 0, out).astype(dtype)
        return np.where(wide >= float(info.max), np.asarray(info.max, dtype), out)
    return x.astype(dtype)


def _convert_eval(x: Any, *, new_dtype: np.dtype[Any], weak_type: bool) -> Any:
    return convert_value(x, new_dtype)


def _convert_lower(cx: Any, x: Any, *, new_dtype: np.dtype[Any], weak_type: bool) -> Any:
    (aval,) = cx.in_avals
    if aval.dtype == new_dtype:
        return x
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(new_dtype) and new_dtype != dtypes.bool_:
        aval = aval.update(dtype=dtypes.real_dtype(aval.dtype))
        x = cx.emit("stablehlo.real", [x], avals=[aval])
        if aval.dtype == new_dtype:
            return x
    if new_dtype == dtypes.bool_:
        zero = cx.constant(np.zeros((), aval.dtype), aval)
        return cx.emit("stablehlo.compare", [x, zero], {"comparison_direction": "#stablehlo<comparison_direction NE>"})
    return cx.emit("stablehlo.convert", [x])


convert_element_type_p = Primitive(
    "convert_element_type", shape=_convert_shape, eval=_convert_eval, lower=_convert_lower
)


def convert_element_type(x: Any, new_dtype: Any, weak_type: bool = False) -> Operand:
    """Convert each element to `new_dtype`.

    Floats out of an integer dtype's range saturate, NaN becomes 0; complex to
    real drops the imaginary part; to bool is `x != 0`.
    """
    x = as_operand(x)
    dtype = dtypes.canonicalize(new_dtype)
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if isinstance(x, Literal):
        return Literal(np.asarray(convert_value(x.value, dtype)), ShapedArray.of(aval.shape, dtype, weak_type))
    return convert_element_type_p(x, new_dtype=dtype, weak_type=weak_type)
