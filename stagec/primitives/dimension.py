"""The size of an open dimension as an array without axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from stagec.core import dims, dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim
from stagec.core.dims_terms import Size
from stagec.core.primitive import NO_OPERANDS, SinglePrimitive


def _eval(*, size: Any, dtype: np.dtype[Any], weak_type: bool) -> Any:
    return np.asarray(size).astype(dtype)


def _lower(cx: Any, *, size: Dim, dtype: np.dtype[Any], weak_type: bool) -> Any:
    if dtypes.is_integer(dtype) and not dtypes.is_unsigned(dtype):
        return cx.constant(size, ShapedArray.of((), dtype))
    wide = ShapedArray.of((), np.dtype(np.int64))
    return cx.emit("stablehlo.convert", [cx.constant(size, wide)])


dimension_size_p = SinglePrimitive(
    "dimension_size",
    shape=lambda *, size, dtype, weak_type: ShapedArray.of((), dtype, weak_type),
    eval=_eval,
    lower=_lower,
    jvp=NO_OPERANDS,
    transpose=NO_OPERANDS,
    batch=NO_OPERANDS,
)


def dimension_size(size: Size, dtype: np.dtype[Any] | None = None, weak_type: bool = True) -> Any:
    """A size as an array without axes, of the default integer dtype unless another is given."""
    return dimension_size_p(size=size, dtype=dtypes.default_int() if dtype is None else dtype, weak_type=weak_type)


dims.set_converter(dimension_size)
