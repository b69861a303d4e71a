"""The discrete Fourier transform of complex numbers along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, open_error
from stagec.core.libraries import has_scipy
from stagec.core.primitive import Primitive, SinglePrimitive
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import linear, moveaxis_to_front
from stagec.primitives.checks import check_dtype
from stagec.primitives.complex import complex, imag, real
from stagec.primitives.fft_plan import Parts, transform
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.rules import cotangents


def _fft_shape(x: ShapedArray, *, inverse: bool) -> ShapedArray:
    check_dtype("fft", x.dtype, dtypes.COMPLEX)
    if is_open(x.shape[-1]):
        # The steps of the transform are those of its length.
        raise open_error("fft", x.long())
    return x.strip_weak_type()


# From this many elements on, SciPy's transforms of complex64 take at most half the time of NumPy's.
_SCIPY = 1 << 13


def _fft_eval(x: Any, *, inverse: bool) -> Any:
    if x.dtype == dtypes.complex64 and x.size >= _SCIPY and has_scipy():
        from scipy import fft  # takes long to import

        return (fft.ifft if inverse else fft.fft)(x)
    return (np.fft.ifft if inverse else np.fft.fft)(x).astype(x.dtype, copy=False)


def _fft_lower(cx: Any, x: Any, *, inverse: bool) -> Any:
    def compute(x: Any) -> Operand:
        n = aval_of(x).shape[-1]
        parts = Parts(real(x), imag(x))
        if not inverse:
            return complex(*transform(parts, n))
        # The inverse is the transform with real and imaginary parts swapped.
        swapped = transform(Parts(parts.imag, parts.real), n)
        scale = literal(1 / n, aval_of(parts.real).dtype)
        return complex(ar.mul(swapped.imag, scale), ar.mul(swapped.real, scale))

    return cx.apply(compute, x)


def _fft_transposed(ct: Any, x: Any, *, inverse: bool) -> Operand:
    # The matrix is symmetric.
    return fft_p(ct, inverse=inverse)


def _fft_batch(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[int | None], size: int, params: dict[str, Any]
) -> tuple[Any, int]:
    return primitive(moveaxis_to_front(args[0], dims[0]), **params), 0


fft_p = SinglePrimitive(
    "fft",
    shape=_fft_shape,
    eval=_fft_eval,
    lower=_fft_lower,
    jvp=linear(),
    transpose=cotangents(_fft_transposed),
    batch=_fft_batch,
    numpy_ns=1,
)


def fft_last(x: Any, inverse: bool = False) -> Operand:
    """The transform along the last axis of a complex array; the inverse is scaled by 1/n."""
    return fft_p(x, inverse=inverse)
