"""Fourier and cosine transforms, by the names of `scipy.fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.core import location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.fft import *
from stagec.numpy.fft_arguments import (
    as_array,
    axis_last,
    axis_restored,
    length,
    real_argument,
    resized,
    transform_axes,
)
from stagec.primitives.broadcast import zeros
from stagec.primitives.complex import complex, real
from stagec.primitives.fft import fft_along
from stagec.primitives.fft_plan import roots_of_unity
from stagec.primitives.joining import concatenate
from stagec.primitives.operand import Operand, aval_of
from stagec.primitives.shape import rev
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike

__all__ = [
    "dct", "dctn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idctn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "next_fast_len", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def dct(
    x: ArrayLike | Sequence[Any], type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The discrete cosine transform of real numbers.

    Args:
      type: 2, or 3, its inverse but for a scale.
      n: how many points; the axis is cut or filled with zeros.
      norm: `None` or `"backward"` for no scale, or `"ortho"` for an orthogonal matrix.

    >>> dct([1.0, 2.0, 3.0]).round(4)
    Array([12.    , -3.4641,  0.    ], dtype=float32)
    """
    _check("dct", type, norm)
    values, position = axis_last("dct", real_argument("dct", as_array(x)), axis)
    points = length("dct", n, values.shape[-1])
    values = resized(values, points)
    found = _second(values, norm == "ortho") if type == 2 else _third(values, norm == "ortho")
    return axis_restored(found, position)


def idct(
    x: ArrayLike | Sequence[Any], type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The inverse of `dct`.

    >>> idct(dct([1.0, 2.0, 3.0])).round(4)
    Array([1., 2., 3.], dtype=float32)
    """
    _check("idct", type, norm)
    values, position = axis_last("idct", real_argument("idct", as_array(x)), axis)
    points = length("idct", n, values.shape[-1])
    values = resized(values, points)
    ortho = norm == "ortho"
    found = _third(values, ortho) if type == 2 else _second(values, ortho)
    return axis_restored(found if ortho else found / (2 * points), position)


def _check(name: str, type: Any, norm: Any) -> None:
    if type not in (2, 3):
        raise location.error(NotImplementedError, f"{name}: type {type!r} does not exist", fix="use type 2 or 3")
    if norm not in (None, "backward", "ortho"):
        raise location.error(ValueError, f"{name}: there is no norm {norm!r}", fix="use 'backward' or 'ortho'")


def _quarter_roots(n: int, dtype: Any) -> Any:
    """exp(-pi i k / 2n)."""
    return roots_of_unity(np.arange(n), 4 * n, dtype)


def _weights(n: int, dtype: Any) -> Any:
    """What makes the matrix of type 2 orthogonal."""
    weights = np.full(n, np.sqrt(0.5 / n))
    weights[0] = np.sqrt(0.25 / n)
    return weights.astype(dtype)


def _second(x: Array, ortho: bool) -> Operand:
    """sum over j of 2 x_j cos(pi k (2j + 1) / 2n).

    Source: Makhoul, "A fast cosine transform in one and two dimensions" (1980).
    """
    last, n = x.ndim - 1, x.shape[-1]
    folded = concatenate([x[..., ::2], rev(x[..., 1::2], (last,))], last)
    spectrum = fft_along(complex(folded, zeros(aval_of(folded))))
    cosines, sines = _quarter_roots(n, x.dtype)
    found = 2 * (spectrum.real * cosines - spectrum.imag * sines)
    return found * _weights(n, x.dtype) if ortho else found


def _third(x: Array, ortho: bool) -> Array:
    """x_0 + sum over j > 0 of 2 x_j cos(pi j (2k + 1) / 2n): the transpose of `_second`, whose first row is halved."""
    last, n = x.ndim - 1, x.shape[-1]
    if ortho:
        x = x / (2 * n * _weights(n, x.dtype))
    cosines, sines = _quarter_roots(n, x.dtype)
    mirrored = concatenate([zeros(aval_of(x[..., :1])), rev(x[..., 1:], (last,))], last)
    rotated = complex(x, -mirrored) * complex(cosines + zeros(aval_of(x)), -sines + zeros(aval_of(x)))
    folded = real(fft_along(rotated, True)) * n
    order = np.empty(n, np.int32)
    order[::2], order[1::2] = np.arange((n + 1) // 2), n - 1 - np.arange(n // 2)
    return folded[..., order]


def dctn(
    x: ArrayLike | Sequence[Any],
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`dct` along several axes, all by default.

    >>> dctn([[1.0, 2.0], [3.0, 4.0]])[0, 0]
    Array(40., dtype=float32)
    """
    return _several("dctn", dct, x, type, s, axes, norm)


def idctn(
    x: ArrayLike | Sequence[Any],
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `dctn`.

    >>> idctn(dctn([[1.0, 2.0], [3.0, 4.0]])).round(4)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _several("idctn", idct, x, type, s, axes, norm)


def _several(name: str, one: Any, x: Any, type: int, s: Any, axes: Any, norm: Any) -> Array:
    values = real_argument(name, as_array(x))
    for position, points in zip(*transform_axes(name, values, s, axes)):
        values = one(values, type, points, position, norm)
    return values


def next_fast_len(target: int, real: bool = False) -> int:
    """The least length from `target` on whose transform takes few steps.

    Its prime factors are at most 11; for transforms of real numbers at most 5.

    >>> next_fast_len(1009)
    1024
    """
    found = max(int(target), 1)
    while True:
        remaining = found
        for factor in (2, 3, 5) if real else (2, 3, 5, 7, 11):
            while remaining % factor == 0:
                remaining //= factor
        if remaining == 1:
            return found
        found += 1


_cover(globals())
_publish(globals())
