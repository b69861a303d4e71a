"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes.numeric.elementwise import complex_of
from stagec.core import dtypes
from stagec.core.array import Array
from stagec.core.dtypes import COMPLEX
from stagec.primitives.broadcast import linear, zeros
from stagec.primitives.operand import as_operand, aval_of, promote_weak_scalars
from stagec.primitives.rules import cotangents, neg_p
from stagec.primitives.table import elementwise
from stagec.typing import ArrayLike

__all__ = ["complex", "complex_p", "conj", "conj_p", "imag", "imag_p", "real", "real_p"]

_PARTS = frozenset({dtypes.float32, dtypes.float64})


complex_p = elementwise(
    "complex",
    accepts=_PARTS,
    eval=complex_of,
    lower="stablehlo.complex",
    result=lambda dtype: dtypes.complex64 if dtype == dtypes.float32 else dtypes.complex128,
    jvp=linear(),
    transpose=cotangents(lambda ct, x, y: real(ct), lambda ct, x, y: neg_p(imag(ct))),
)
real_p = elementwise(
    "real",
    accepts=COMPLEX,
    eval=np.real,
    lower="stablehlo.real",
    result=dtypes.real_dtype,
    jvp=linear(),
    transpose=cotangents(lambda ct, z: complex(ct, zeros(aval_of(ct)))),
)
imag_p = elementwise(
    "imag",
    accepts=COMPLEX,
    eval=np.imag,
    lower="stablehlo.imag",
    result=dtypes.real_dtype,
    jvp=linear(),
    transpose=cotangents(lambda ct, z: complex(zeros(aval_of(ct)), neg_p(ct))),
)


def _conj_lower(cx: Any, x: Any) -> Any:
    (aval,) = cx.in_avals
    part = aval.update(dtype=dtypes.real_dtype(aval.dtype))
    real = cx.emit("stablehlo.real", [x], avals=[part])
    imag = cx.emit("stablehlo.imag", [x], avals=[part])
    return cx.emit("stablehlo.complex", [real, cx.emit("stablehlo.negate", [imag], avals=[part])])


conj_p = elementwise(
    "conj", accepts=COMPLEX, eval=np.conj, lower=_conj_lower, jvp=linear(), transpose=cotangents(lambda ct, z: conj(ct))
)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + i y` for each element of two float32 or float64 operands."""
    return complex_p(*promote_weak_scalars(x, y))


def real(x: ArrayLike) -> Array:
    """The real part of each complex element."""
    return real_p(as_operand(x))


def imag(x: ArrayLike) -> Array:
    """The imaginary part of each complex element."""
    return imag_p(as_operand(x))


def conj(x: ArrayLike) -> Array:
    """The complex conjugate of each element; complex for real ones, too."""
    operand = as_operand(x)
    return conj_p(operand) if dtypes.is_complex(aval_of(operand).dtype) else complex(operand, zeros(aval_of(operand)))
