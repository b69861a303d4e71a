"""The Fourier transform as the compiler's operation has it."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy import fft as transforms
from stagec.numpy.arguments import array_argument
from stagec.primitives.axes import as_shape
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike

__all__ = ["FftType", "fft"]


class FftType(enum.IntEnum):
    """The kinds of transform: complex, its inverse, of real numbers, to real numbers."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str | int, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform along the last axes, as many as there are lengths.

    Args:
      x: complex numbers; for `RFFT` real ones.
      fft_type: a `FftType`, its number, or its name.
      fft_lengths: how many points each axis has, which are those of `x`; for `IRFFT`, the last one is the
        result's.

    >>> import numpy as np
    >>> fft(np.ones(4, np.float32), "RFFT", (4,))
    Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    try:
        kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    except (KeyError, ValueError):
        names = ", ".join(FftType.__members__)
        raise location.error(ValueError, f"fft: fft_type={fft_type!r}", fix=f"use one of {names}") from None
    operand = array_argument(x, "fft")
    lengths = as_shape(fft_lengths, "fft")
    aval = aval_of(operand)
    if not lengths or len(lengths) > aval.ndim:
        raise location.error(
            errors.ShapeError,
            f"fft: {len(lengths)} lengths for {aval.long()}",
            fix="give one for each of the last axes",
        )
    wanted = dtypes.is_complex(aval.dtype) != (kind == FftType.RFFT)
    if not wanted or not dtypes.is_inexact(aval.dtype):
        numbers = "real" if kind == FftType.RFFT else "complex"
        raise location.error(
            errors.DtypeError, f"fft: {kind.name} takes {numbers} numbers, got {aval.long()}", fix="convert with astype"
        )
    last = lengths[-1] // 2 + 1 if kind == FftType.IRFFT else lengths[-1]
    if aval.shape[aval.ndim - len(lengths) :] != (*lengths[:-1], last):
        raise location.error(
            errors.ShapeError,
            f"fft: {aval.long()} does not have the lengths {lengths}",
            fix="stagec.numpy.fft cuts and fills to a length",
        )
    function = (transforms.fftn, transforms.ifftn, transforms.rfftn, transforms.irfftn)[kind]
    return function(operand, lengths, tuple(range(-len(lengths), 0)))
