"""Convolution and correlation of arrays of any number of axes, by the names of `scipy.signal`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import canonical_axes
from stagec.primitives.conv import conv_general_dilated
from stagec.primitives.operand import aval_of
from stagec.primitives.precision import PrecisionLike
from stagec.scipy.fft import next_fast_len
from stagec.typing import ArrayLike

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]


def _checked_mode(name: str, mode: str) -> None:
    if mode not in ("full", "same", "valid"):
        raise location.error(
            errors.UnsupportedError, f"{name}: unknown mode {mode!r}", fix="use 'full', 'same' or 'valid'"
        )


def _operands(name: str, promote: Any, in1: Any, in2: Any) -> list[Array]:
    a, b = (to_array(o) for o in promote(in1, in2))
    if a.ndim != b.ndim:
        raise location.error(
            errors.ShapeError,
            f"{name}: {aval_of(a).long()} and {aval_of(b).long()} have different numbers of axes",
            fix="give both as many axes",
        )
    return [a, b]


def _cut(name: str, full: Array, first: Sequence[int], second: Sequence[int], mode: str, axes: Sequence[int]) -> Array:
    """Return the part of a full convolution that a mode selects."""
    if mode == "full":
        return full
    larger = [first[i] >= second[i] for i in axes]
    if mode == "valid" and not (all(larger) or not any(first[i] > second[i] for i in axes)):
        raise location.error(
            errors.ShapeError,
            f"{name}: shapes {tuple(first)} and {tuple(second)} for mode='valid'",
            fix="one must be as large as the other along each axis",
        )
    for i in axes:
        m, n = first[i], second[i]
        start, count = ((n - 1) // 2, m) if mode == "same" else (min(m, n) - 1, abs(m - n) + 1)
        full = full[(slice(None),) * i + (slice(start, start + count),)]
    return full


def _direct(a: Array, b: Array, precision: Any) -> Array:
    """Compute the full convolution by sums of products."""
    if not a.size or not b.size:
        return snp.zeros([max(m + n - 1, 0) if m and n else 0 for m, n in zip(a.shape, b.shape)], a.dtype)
    if dtypes.is_complex(a.dtype):
        rows = [[_direct(p, q, precision) for q in (b.real, b.imag)] for p in (a.real, a.imag)]
        return (rows[0][0] - rows[1][1]) + 1j * (rows[0][1] + rows[1][0])
    padding = [(n - 1, n - 1) for n in b.shape]
    strides = (1,) * a.ndim
    return conv_general_dilated(a[None, None], snp.flip(b)[None, None], strides, padding, precision=precision)[0, 0]


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None) -> Array:
    """The convolution of two arrays, by Fourier transforms.

    Args:
      mode: `"full"`; `"same"`, the part in the middle of the size of `in1`; or `"valid"`, where the arrays overlap
        whole.
      axes: to convolve along; by default all. Others broadcast.

    >>> import stagec.numpy as snp
    >>> fftconvolve(snp.array([1.0, 2.0]), snp.array([1.0, 1.0])).round(3)
    Array([1., 3., 2.], dtype=float32)
    """
    _checked_mode("fftconvolve", mode)
    a, b = _operands("fftconvolve", promote_inexact, in1, in2)
    along = sorted(canonical_axes(axes, a.ndim, "fftconvolve"))
    if not a.size or not b.size:
        return snp.zeros(0, a.dtype)
    sizes = [a.shape[i] + b.shape[i] - 1 for i in along]
    fast = [next_fast_len(n, not dtypes.is_complex(a.dtype)) for n in sizes]
    if dtypes.is_complex(a.dtype):
        full = snp.fft.ifftn(snp.fft.fftn(a, fast, along) * snp.fft.fftn(b, fast, along), fast, along)
    else:
        full = snp.fft.irfftn(snp.fft.rfftn(a, fast, along) * snp.fft.rfftn(b, fast, along), fast, along)
    for i, n in zip(along, sizes):
        full = full[(slice(None),) * i + (slice(n),)]
    return _cut("fftconvolve", full, a.shape, b.shape, mode, along).astype(a.dtype)


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The convolution of two arrays of as many axes.

    Args:
      mode: as in `fftconvolve`.
      method: `"direct"`, which `"auto"` means, or `"fft"`.
      precision: of the products.

    >>> import stagec.numpy as snp
    >>> convolve(snp.array([1.0, 2.0, 3.0]), snp.array([1.0, 1.0]), mode="valid")
    Array([3., 5.], dtype=float32)
    """
    _checked_mode("convolve", mode)
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("auto", "direct"):
        raise location.error(
            errors.UnsupportedError, f"convolve: unknown method {method!r}", fix="use 'auto', 'direct' or 'fft'"
        )
    a, b = _operands("convolve", promote_inexact, in1, in2)
    if not a.ndim:
        return a * b
    return _cut("convolve", _direct(a, b, precision), a.shape, b.shape, mode, range(a.ndim))


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
) -> Array:
    """The correlation of two arrays: the convolution with the second one reversed, and conjugate.

    Args: as for `convolve`.

    >>> import stagec.numpy as snp
    >>> correlate(snp.array([1.0, 2.0, 3.0]), snp.array([0.0, 1.0]), mode="same")
    Array([1., 2., 3.], dtype=float32)
    """
    _checked_mode("correlate", mode)
    a, b = _operands("correlate", promote_inexact, in1, in2)
    return convolve(a, snp.conj(snp.flip(b)), mode, method, precision)


def _plane(name: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> None:
    if snp.ndim(in1) != 2 or snp.ndim(in2) != 2:
        raise location.error(
            errors.ShapeError, f"{name}: {snp.ndim(in1)} and {snp.ndim(in2)} axes", fix="give both two axes"
        )
    if boundary != "fill" or fillvalue != 0:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: boundary={boundary!r}, fillvalue={fillvalue!r} is not supported",
            fix="pad the first array with stagec.numpy.pad, and use mode='valid'",
        )


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two matrices, which are surrounded by zeros; `mode` is that of `fftconvolve`.

    >>> import stagec.numpy as snp
    >>> convolve2d(snp.ones((2, 2)), snp.ones((2, 2))).tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    _plane("convolve2d", in1, in2, boundary, fillvalue)
    return convolve(in1, in2, mode, "direct", precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two matrices, which are surrounded by zeros; `mode` is that of `fftconvolve`.

    >>> import stagec.numpy as snp
    >>> correlate2d(snp.eye(2), snp.eye(2), mode="valid").tolist()
    [[2.0]]
    """
    _plane("correlate2d", in1, in2, boundary, fillvalue)
    if mode != "same":
        return correlate(in1, in2, mode, "direct", precision)
    full = correlate(in1, in2, "full", "direct", precision)
    # An even size has two middles; SciPy takes the other one here than in `correlate`.
    rows, columns = (n // 2 for n in snp.shape(in2))
    return full[rows : rows + snp.shape(in1)[0], columns : columns + snp.shape(in1)[1]]
