"""Discrete Fourier transforms, by the names of `numpy.fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import Placement, array_argument, from_numpy, on_device, requested_dtype
from stagec.numpy.arithmetic import true_divide
from stagec.numpy.fft_arguments import (
    as_array,
    axis_last,
    axis_restored,
    complex_argument,
    length,
    real_argument,
    resized,
    transform_axes,
)
from stagec.numpy.manipulation import roll
from stagec.primitives.axes import canonical_axes, canonical_axis
from stagec.primitives.complex import conj
from stagec.primitives.convert import convert_element_type
from stagec.primitives.fft import fft_along, irfft_last, rfft_last
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike, DTypeLike

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

# By the name of the norm, the power of 1/n that scales the forward and the inverse transform.
_NORMS = {None: (0, 1), "backward": (0, 1), "ortho": (0.5, 0.5), "forward": (1, 0)}


def _scale(name: str, norm: Any, n: int, inverse: bool) -> float:
    """Return the factor that scales the unscaled transform."""
    if norm not in _NORMS:
        raise location.error(
            ValueError, f"{name}: there is no norm {norm!r}", fix="use 'backward', 'ortho' or 'forward'"
        )
    return float(n ** -_NORMS[norm][inverse])


def _scaled(x: Array, scale: float) -> Array:
    return x if scale == 1 else x * scale


def _transform(name: str, a: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Array:
    x = complex_argument(name, a)
    position = canonical_axis(axis, x.ndim, name)
    points = length(name, n, x.shape[position])
    # `fft_along` scales the inverse by 1/n.
    scale = _scale(name, norm, points, inverse) * (points if inverse else 1)
    return _scaled(fft_along(resized(x, points, position), inverse, position - x.ndim), scale)


def fft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along an axis, of any length.

    Args:
      n: how many points; the axis is cut or filled with zeros.
      norm: which direction is scaled by 1/n: `"backward"` or `"forward"`; `"ortho"` scales each by 1/sqrt(n).

    >>> fft([1.0, 2.0, 3.0, 4.0])
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _transform("fft", as_array(a), n, axis, norm, False)


def ifft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`.

    >>> ifft(fft([1.0, 2.0])).real
    Array([1., 2.], dtype=float32)
    """
    return _transform("ifft", as_array(a), n, axis, norm, True)


def rfft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The first half of the transform of real numbers; the other half is its mirrored conjugate.

    >>> rfft([1.0, 2.0, 3.0, 4.0])
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    x, position = axis_last("rfft", real_argument("rfft", as_array(a)), axis)
    points = length("rfft", n, x.shape[-1])
    half = rfft_last(resized(x, points))
    return axis_restored(_scaled(half, _scale("rfft", norm, points, False)), position)


def irfft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`: real numbers from the first half of their transform.

    Args:
      n: how many real numbers; 2 (m - 1) for an input of m by default, so that an odd number must be given.

    >>> irfft(rfft([1.0, 2.0, 3.0]), n=3).round(5)
    Array([1., 2., 3.], dtype=float32)
    """
    x, position = axis_last("irfft", complex_argument("irfft", as_array(a)), axis)
    points = length("irfft", n, 2 * (x.shape[-1] - 1))
    found = irfft_last(resized(x, points // 2 + 1), points)
    return axis_restored(_scaled(found, _scale("irfft", norm, points, True) * points), position)


def hfft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The real transform of numbers that are the mirrored conjugates of each other, from their first half.

    >>> hfft([1.0, 2.0, 3.0])
    Array([ 8., -2.,  0., -2.], dtype=float32)
    """
    x = complex_argument("hfft", as_array(a))
    points = length("hfft", n, 2 * (x.shape[canonical_axis(axis, x.ndim, "hfft")] - 1))
    return irfft(conj(x), points, axis, _opposite("hfft", norm))


def ihfft(a: ArrayLike | Sequence[Any], n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`.

    >>> ihfft([8.0, -2.0, 0.0, -2.0]).real
    Array([1., 2., 3.], dtype=float32)
    """
    return conj(rfft(as_array(a), n, axis, _opposite("ihfft", norm)))


def _opposite(name: str, norm: Any) -> str:
    _scale(name, norm, 1, False)
    return {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}[norm]


def fftn(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`fft` along several axes, all by default.

    Args:
      s: how many points each axis has; without `axes`, the last ones.

    >>> fftn([[1.0, 2.0], [3.0, 4.0]]).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _several("fftn", fft, a, s, axes, norm)


def ifftn(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `fftn`.

    >>> ifftn(fftn([[1.0, 2.0], [3.0, 4.0]])).real
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _several("ifftn", ifft, a, s, axes, norm)


def _several(name: str, one: Any, a: Any, s: Any, axes: Any, norm: Any) -> Array:
    x = complex_argument(name, as_array(a))
    for position, points in reversed([*zip(*transform_axes(name, x, s, axes))]):
        x = one(x, points, position, norm)
    return x


def rfftn(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`rfft` along the last of several axes, and `fft` along the others.

    >>> rfftn([[1.0, 2.0], [3.0, 4.0]]).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    x = real_argument("rfftn", as_array(a))
    positions, sizes = transform_axes("rfftn", x, s, axes)
    if not positions:
        raise location.error(ValueError, "rfftn: at least 1 axis must be transformed", fix="name one in axes")
    x = rfft(x, sizes[-1], positions[-1], norm)
    return fftn(x, sizes[:-1], positions[:-1], norm) if positions[:-1] else x


def irfftn(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `rfftn`.

    >>> irfftn(rfftn([[1.0, 2.0], [3.0, 4.0]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    x = complex_argument("irfftn", as_array(a))
    positions, sizes = transform_axes("irfftn", x, s, axes)
    if not positions:
        raise location.error(ValueError, "irfftn: at least 1 axis must be transformed", fix="name one in axes")
    last = None if s is None or s[-1] == -1 else sizes[-1]
    x = ifftn(x, sizes[:-1], positions[:-1], norm) if positions[:-1] else x
    return irfft(x, last, positions[-1], norm)


def fft2(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`fftn` along two axes.

    >>> fft2([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    """
    return fftn(a, s, axes, norm)


def ifft2(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """The inverse of `fft2`.

    >>> ifft2([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    """
    return ifftn(a, s, axes, norm)


def rfft2(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`rfftn` along two axes.

    >>> rfft2([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]).shape
    (2, 2)
    """
    return rfftn(a, s, axes, norm)


def irfft2(
    a: ArrayLike | Sequence[Any],
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """The inverse of `rfft2`.

    >>> irfft2([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]).shape
    (2, 4)
    """
    return irfftn(a, s, axes, norm)


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Placement = None) -> Array:
    """The frequencies of the elements of a transform of `n` points at a distance of `d`.

    >>> fftfreq(4, 0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    return _frequencies("fftfreq", np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Placement = None) -> Array:
    """The frequencies of the elements of `rfft`.

    >>> rfftfreq(4, 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _frequencies("rfftfreq", np.fft.rfftfreq, n, d, dtype, device)


def _frequencies(name: str, of_numpy: Any, n: Any, d: ArrayLike, dtype: Any, device: Any) -> Array:
    wanted = dtypes.default_float() if dtype is None else requested_dtype(dtype, name)
    found = true_divide(from_numpy(of_numpy(length(name, n, 0)), dtypes.to_inexact(wanted)), d)
    return on_device(found if dtype is None else convert_element_type(found, wanted), device)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the frequency 0 from the start to the middle of each axis.

    >>> fftshift(fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`.

    >>> ifftshift(fftshift(fftfreq(3)))
    Array([ 0.        ,  0.33333334, -0.33333334], dtype=float32)
    """
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


def _shifted(name: str, x: Any, axes: Any, by: Any) -> Array:
    values = array_argument(as_array(x), name)
    positions = canonical_axes(range(values.ndim) if axes is None else axes, values.ndim, name)
    return roll(values, [by(values.shape[p]) for p in positions], positions)


_cover(globals())
_publish(globals())
