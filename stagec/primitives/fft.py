"""The discrete Fourier transform: of complex numbers, and along the last axis of real ones, and to real ones.

The transform of real numbers is given by its first half; the rest is that half, mirrored and conjugated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.core import dtypes
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open, open_error
from stagec.core.libraries import has_scipy
from stagec.core.primitive import SinglePrimitive
from stagec.core.threads import thread_count
from stagec.primitives import arithmetic as ar
from stagec.primitives.broadcast import in_front, linear, spread_to
from stagec.primitives.checks import check_dtype
from stagec.primitives.complex import complex, conj, imag, real
from stagec.primitives.fft_plan import Parts, roots_of_unity, transform
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, aval_of, literal
from stagec.primitives.rules import cotangents
from stagec.primitives.shape import broadcast_in_dim, reshape, rev, transpose
from stagec.primitives.slicing import slice_in_dim

# From this many elements on, SciPy's transforms of single precision take at most half the time of NumPy's.
_SCIPY = 1 << 13
# From this many on, several threads compute rows.
_IN_THREADS = 1 << 18
# Nanoseconds of NumPy for a step of an element.
_NS = (0.5, 0.6)


def _checked(name: str, x: ShapedArray, accepts: frozenset[Any], axis: int = -1) -> None:
    check_dtype(name, x.dtype, accepts)
    if is_open(x.shape[axis]):
        # The steps of the transform are those of its length.
        raise open_error(name, x.long())


def _library(name: str, x: Any, points: int | None = None, axis: int = -1) -> Any:
    """The transform by NumPy or SciPy."""
    if x.dtype in (dtypes.float32, dtypes.complex64) and x.size >= _SCIPY and has_scipy():
        from scipy import fft  # takes long to import

        # Threads share rows, so the bits do not depend on their number.
        workers = thread_count() if x.size >= _IN_THREADS else 1
        return getattr(fft, name)(x, points, axis, workers=workers)
    return getattr(np.fft, name)(x, points, axis)


def _row(name: str, shape: Any, eval: Any, compute: Callable[..., Operand], transpose: Any) -> SinglePrimitive:
    return SinglePrimitive(
        name,
        shape=shape,
        eval=eval,
        lower=lambda cx, x, **params: cx.apply(lambda x: compute(x, **params), x),
        jvp=linear(),
        transpose=cotangents(transpose),
        batch=in_front(),
        numpy_ns=_NS,
    )


# Complex numbers.


def _fft_shape(x: ShapedArray, *, inverse: bool, axis: int) -> ShapedArray:
    _checked("fft", x, dtypes.COMPLEX, axis)
    return x.strip_weak_type()


def _fft(x: Operand, *, inverse: bool, axis: int) -> Operand:
    if axis != -1:
        order = list(range(aval_of(x).ndim))
        order[axis], order[-1] = order[-1], order[axis]
        return transpose(fft_along(transpose(x, order), inverse), order)
    n = aval_of(x).shape[-1]
    parts = Parts(real(x), imag(x))
    if not inverse:
        return complex(*transform(parts, n))
    # The inverse is the transform with real and imaginary parts swapped.
    swapped = transform(Parts(parts.imag, parts.real), n)
    scale = literal(1 / n, aval_of(parts.real).dtype)
    return complex(ar.mul(swapped.imag, scale), ar.mul(swapped.real, scale))


# Counted from the last one, the axis stays the same when a batch comes in front.
fft_p: SinglePrimitive = _row(
    "fft",
    _fft_shape,
    lambda x, *, inverse, axis: _library("ifft" if inverse else "fft", x, axis=axis),
    _fft,
    # The matrix is symmetric.
    lambda ct, x, **params: fft_p(ct, **params),
)


def fft_along(x: Any, inverse: bool = False, axis: int = -1) -> Operand:
    """The transform of a complex array along an axis, counted from the last one; the inverse is scaled by 1/n."""
    return fft_p(x, inverse=inverse, axis=axis)


# Real numbers. An even number of them is transformed as half as many complex ones, whose real and imaginary parts are
# the even and the odd elements.


def _rfft_shape(x: ShapedArray) -> ShapedArray:
    _checked("rfft", x, frozenset({dtypes.float32, dtypes.float64}))
    return ShapedArray((*x.shape[:-1], x.shape[-1] // 2 + 1), dtypes.complex_dtype(x.dtype))


def _rfft(x: Operand) -> Operand:
    *lead, n = aval_of(x).shape
    if n % 2:
        zero = spread_to(literal(0, aval_of(x).dtype), aval_of(x).shape)
        return slice_in_dim(fft_along(complex(x, zero)), 0, n // 2 + 1, axis=len(lead))
    even, odd = _columns(reshape(x, (*lead, n // 2, 2)))
    mixed = fft_along(complex(even, odd))
    mixed = concatenate([mixed, slice_in_dim(mixed, 0, 1, axis=len(lead))], len(lead))
    # The transforms of the even and of i times the odd elements.
    even, odd = _halves(mixed, conj(rev(mixed, (len(lead),))))
    return ar.add(even, _turned(odd, n))


def _irfft_shape(x: ShapedArray, *, n: int) -> ShapedArray:
    _checked("irfft", x, dtypes.COMPLEX)
    return ShapedArray((*x.shape[:-1], n), dtypes.real_dtype(x.dtype))


def _irfft(x: Operand, *, n: int) -> Operand:
    last = aval_of(x).ndim - 1
    if n % 2:
        mirrored = conj(rev(slice_in_dim(x, 1, n // 2 + 1, axis=last), (last,)))
        return real(fft_along(concatenate([_real_at_ends(x, n), mirrored], last), True))
    x = _real_at_ends(x, n)
    even, odd = _halves(x, conj(rev(x, (last,))))
    mixed = fft_along(slice_in_dim(ar.add(even, conj(_turned(conj(odd), n))), 0, n // 2, axis=last), True)
    pairs = [reshape(part, (*aval_of(part).shape, 1)) for part in (real(mixed), imag(mixed))]
    return reshape(concatenate(pairs, last + 1), (*aval_of(x).shape[:-1], n))


def _columns(x: Operand) -> list[Operand]:
    """The arrays along the last axis, which has two elements."""
    axis, shape = aval_of(x).ndim - 1, aval_of(x).shape[:-1]
    return [reshape(slice_in_dim(x, i, i + 1, axis=axis), shape) for i in range(2)]


def _halves(x: Operand, mirrored: Operand) -> tuple[Operand, Operand]:
    half = literal(0.5, aval_of(x).dtype)
    return ar.mul(ar.add(x, mirrored), half), ar.mul(ar.sub(x, mirrored), half)


def _turned(x: Operand, n: int) -> Operand:
    """Each element k times -i exp(-2 pi i k / n)."""
    shape, dtype = aval_of(x).shape, aval_of(real(x)).dtype
    cosines, sines = (_along_last(t, shape) for t in roots_of_unity(np.arange(shape[-1]), n, dtype))
    a, b = real(x), imag(x)
    return complex(ar.add(ar.mul(cosines, b), ar.mul(sines, a)), ar.sub(ar.mul(sines, b), ar.mul(cosines, a)))


def _along_last(x: np.ndarray, shape: tuple[int, ...]) -> Operand:
    return broadcast_in_dim(x, shape, (len(shape) - 1,))


def _weighted(x: Operand, n: int, ends: float, inner: float) -> Operand:
    """The first half of a transform times `ends` where an element has no mirror image, and `inner` elsewhere."""
    weights = np.full(n // 2 + 1, inner, aval_of(x).dtype)
    weights[0] = ends
    if n % 2 == 0:
        weights[-1] = ends
    return ar.mul(x, _along_last(weights, aval_of(x).shape))


def _real_at_ends(x: Operand, n: int) -> Operand:
    """The imaginary parts of the elements without a mirror image do not count."""
    return complex(real(x), _weighted(imag(x), n, 0, 1))


def _rfft_transposed(ct: Any, x: Any) -> Operand:
    n = x.aval.shape[-1]
    return ar.mul(irfft_last(_weighted(conj(ct), n, 1, 0.5), n), literal(n, x.aval.dtype))


def _irfft_transposed(ct: Any, x: Any, *, n: int) -> Operand:
    return ar.mul(_weighted(conj(rfft_last(ct)), n, 1, 2), literal(1 / n, x.aval.dtype))


rfft_p = _row("rfft", _rfft_shape, lambda x: _library("rfft", x), _rfft, _rfft_transposed)
irfft_p = _row("irfft", _irfft_shape, lambda x, *, n: _library("irfft", x, n), _irfft, _irfft_transposed)


def rfft_last(x: Any) -> Operand:
    """The first half of the transform of real numbers along the last axis: n // 2 + 1 elements of n."""
    return rfft_p(x)


def irfft_last(x: Any, n: int) -> Operand:
    """The `n` real numbers whose transform has `x`, of n // 2 + 1 elements along the last axis, as its first half."""
    return irfft_p(x, n=n)
