"""Spectra of signals by Fourier transforms of overlapping segments, as in `scipy.signal`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.axes import canonical_axis
from stagec.typing import ArrayLike

__all__ = ["csd", "detrend", "istft", "stft", "welch"]

# Sums of cosines: Harris, "On the use of windows for harmonic analysis" (1978).
_WINDOWS = {"boxcar": (1.0,), "hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08)}


def _window(window: Any, length: int, like: Any) -> Any:
    """Return the weights of a segment, in the dtype of a signal; names mean periodic windows."""
    dtype = like.real.dtype
    if not isinstance(window, str):
        found = snp.asarray(window, dtype)
        if found.shape != (length,):
            raise location.error(
                errors.ShapeError,
                f"a window of shape {found.shape} for segments of {length}",
                fix="give a window of the length of a segment",
            )
        return found
    if window not in _WINDOWS:
        raise location.error(
            errors.UnsupportedError,
            f"there is no window {window!r}",
            fix=f"use one of {', '.join(map(repr, _WINDOWS))}, or give its weights",
        )
    angle = 2 * math.pi * np.arange(length) / length
    return sum((-1) ** k * c * np.cos(k * angle) for k, c in enumerate(_WINDOWS[window])).astype(dtype)


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> Array:
    """The data without its trend along an axis.

    Args:
      type: `"linear"` subtracts the line of least squares, `"constant"` the mean.
      bp: where lines begin again; for `"linear"`.
      overwrite_data: not supported, arrays are immutable.

    >>> import stagec.numpy as snp
    >>> detrend(snp.array([1.0, 2.0, 4.0]), type="constant").round(3)
    Array([-1.333, -0.333,  1.667], dtype=float32)
    """
    if overwrite_data is not None:
        raise location.error(errors.UnsupportedError, "detrend: overwrite_data is not supported", fix="use the result")
    if type not in ("linear", "constant"):
        raise location.error(
            errors.UnsupportedError, f"detrend: unknown type {type!r}", fix="use 'linear' or 'constant'"
        )
    (operand,) = promote_inexact(data)
    x = to_array(operand)
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    axis = canonical_axis(axis, x.ndim, "detrend")
    lines = snp.moveaxis(x, axis, -1)
    size = lines.shape[-1]
    ends = sorted({0, size, *np.atleast_1d(np.asarray(bp)).tolist()})
    if ends[0] < 0 or ends[-1] > size:
        raise location.error(
            errors.ShapeError, f"detrend: bp={bp} on an axis of size {size}", fix="give positions along the axis"
        )
    parts = [_without_line(lines[..., low:high]) for low, high in itertools.pairwise(ends)]
    return snp.moveaxis(snp.concatenate(parts, -1) if parts else lines, -1, axis)


def _without_line(x: Array) -> Array:
    size, dtype = x.shape[-1], x.real.dtype
    t = snp.arange(size, dtype=dtype) - snp.asarray(size - 1, dtype) / 2
    flat = x - x.mean(-1, keepdims=True)
    slope = (flat * t).sum(-1, keepdims=True) / snp.maximum((t * t).sum(), 0.5)  # which is 0 for one number
    return flat - slope * t


def _lengths(name: str, nperseg: Any, noverlap: Any, nfft: Any, size: int) -> tuple[int, int, int]:
    """Return the lengths of segments, of their overlap, and of transforms."""
    segment = min(256 if nperseg is None else int(nperseg), size)
    overlap = segment // 2 if noverlap is None else int(noverlap)
    points = segment if nfft is None else int(nfft)
    if segment < 1 or not 0 <= overlap < segment or points < segment:
        raise location.error(
            errors.ShapeError,
            f"{name}: segments of {segment} that overlap by {overlap}, transforms of {points}",
            fix="let segments be longer than their overlap, and not longer than transforms",
        )
    return segment, overlap, points


def _segments(x: Array, length: int, step: int) -> Array:
    """Split the last axis into overlapping segments, along a new axis before it."""
    count = (x.shape[-1] - length) // step + 1
    return x[..., np.arange(count)[:, None] * step + np.arange(length)]


def _transforms(x: Array, window: Any, points: int, step: int, trend: Any, onesided: bool) -> Array:
    parts = _segments(x, window.shape[-1], step)
    if trend:
        parts = detrend(parts, -1, trend)
    parts = parts * window
    return snp.fft.rfft(parts, points) if onesided else snp.fft.fft(parts, points)


def _frequencies(points: int, fs: Any, onesided: bool, like: Any) -> Array:
    found = np.fft.rfftfreq(points) if onesided else np.fft.fftfreq(points)
    return snp.multiply(snp.asarray(found, like.real.dtype), fs)


_BOUNDARIES = {"zeros": {"mode": "constant"}, "constant": {"mode": "edge"}, "even": {"mode": "reflect"}}


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: spectra of overlapping segments.

    Args:
      fs: samples a second.
      window: `"hann"`, `"hamming"`, `"blackman"`, `"boxcar"`, or the weights of a segment.
      nperseg, noverlap, nfft: lengths of segments, of their overlap (half of it), and of transforms (as segments).
      detrend: False, or the `type` of `detrend` for each segment.
      return_onesided: of real signals, leave out negative frequencies.
      boundary: how to go on beyond the ends by half a segment: `"zeros"`, `"constant"`, `"even"`, `"odd"`, or None.
      padded: add zeros at the end until segments cover the signal.

    Returns:
      Frequencies, times, and the spectra: frequencies where `axis` was, and times last.

    >>> import stagec.numpy as snp
    >>> f, t, z = stft(snp.sin(snp.arange(64.0)), nperseg=16)
    >>> f.shape, t.shape, z.shape
    ((9,), (9,), (9, 9))
    """
    (operand,) = promote_inexact(x)
    signal = to_array(operand)
    axis = canonical_axis(axis, signal.ndim, "stft")
    signal = snp.moveaxis(signal, axis, -1)
    segment, overlap, points = _lengths("stft", nperseg, noverlap, nfft, signal.shape[-1])
    step, half = segment - overlap, segment // 2
    if boundary is not None:
        edges = [(0, 0)] * (signal.ndim - 1) + [(half, half)]
        if boundary == "odd":
            signal = snp.pad(signal, edges, "reflect", reflect_type="odd")
        elif boundary in _BOUNDARIES:
            signal = snp.pad(signal, edges, **_BOUNDARIES[boundary])
        else:
            raise location.error(
                errors.UnsupportedError,
                f"stft: unknown boundary {boundary!r}",
                fix="use 'zeros', 'constant', 'even', 'odd' or None",
            )
    if padded:
        missing = -(signal.shape[-1] - segment) % step
        signal = snp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
    weights = _window(window, segment, signal)
    onesided = return_onesided and not dtypes.is_complex(signal.dtype)
    found = _transforms(signal, weights, points, step, detrend, onesided) / weights.sum()
    times = np.arange(found.shape[-2]) * step + (0 if boundary is not None else segment / 2)
    spectra = snp.moveaxis(snp.swapaxes(found, -1, -2), -2, axis)
    return _frequencies(points, fs, onesided, signal), snp.asarray(times, signal.real.dtype) / fs, spectra


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal of a short-time Fourier transform: times and samples; the inverse of `stft`.

    Args: those of `stft`; `boundary` says whether the signal was continued beyond its ends.

    >>> import stagec.numpy as snp
    >>> x = snp.sin(snp.arange(64.0))
    >>> bool(snp.allclose(istft(stft(x, nperseg=16)[2])[1], x, atol=1e-5))
    True
    """
    (operand,) = promote_inexact(Zxx)
    spectra = to_array(operand)
    spectra = snp.moveaxis(spectra, (freq_axis, time_axis), (-1, -2))
    default = 2 * (spectra.shape[-1] - 1) if input_onesided else spectra.shape[-1]
    segment = default if nperseg is None else int(nperseg)
    points = nfft or (default + 1 if input_onesided and segment == default + 1 else default)
    segment, overlap, points = _lengths("istft", segment, noverlap, points, segment)
    step, count = segment - overlap, spectra.shape[-2]
    parts = snp.fft.irfft(spectra, points) if input_onesided else snp.fft.ifft(spectra, points)
    weights = _window(window, segment, parts)
    parts = parts[..., :segment] * weights * weights.sum()
    length = (count - 1) * step + segment
    positions = np.arange(count)[:, None] * step + np.arange(segment)
    total = snp.zeros((*parts.shape[:-2], length), parts.dtype).at[..., positions].add(parts)
    cover = snp.zeros(length, parts.real.dtype).at[positions].add(snp.broadcast_to(weights**2, positions.shape))
    if boundary:
        total, cover = total[..., segment // 2 : length - segment // 2], cover[segment // 2 : length - segment // 2]
    result = total / snp.where(cover > 1e-10, cover, 1)
    return snp.arange(result.shape[-1], dtype=result.real.dtype) / fs, result


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Welch's estimate of the cross power spectral density of two signals: frequencies and densities.

    Args:
      y: None for `x` itself.
      scaling: `"density"`, or `"spectrum"` for powers.
      average: of the segments' spectra: `"mean"` or `"median"`.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: those of `stft`.

    Source: P. Welch, "The use of the fast Fourier transform for the estimation of power spectra" (1967).

    >>> import stagec.numpy as snp
    >>> x = snp.sin(snp.arange(64.0))
    >>> csd(x, 2 * x, nperseg=16)[1].shape
    (9,)
    """
    if scaling not in ("density", "spectrum"):
        raise location.error(
            errors.UnsupportedError, f"csd: unknown scaling {scaling!r}", fix="use 'density' or 'spectrum'"
        )
    if average not in ("mean", "median"):
        raise location.error(errors.UnsupportedError, f"csd: unknown average {average!r}", fix="use 'mean' or 'median'")
    first, second = (to_array(o) for o in promote_inexact(x, x if y is None else y))
    first, second = (snp.moveaxis(s, canonical_axis(axis, s.ndim, "csd"), -1) for s in (first, second))
    size = max(first.shape[-1], second.shape[-1])
    first, second = (snp.pad(s, [(0, 0)] * (s.ndim - 1) + [(0, size - s.shape[-1])]) for s in (first, second))
    segment, overlap, points = _lengths("csd", nperseg, noverlap, nfft, size)
    weights = _window(window, segment, first)
    onesided = return_onesided and not dtypes.is_complex(first.dtype)
    step = segment - overlap
    one = _transforms(first, weights, points, step, detrend, onesided)
    two = one if y is None else _transforms(second, weights, points, step, detrend, onesided)
    power = snp.conj(one) * two
    power = power / ((weights * weights).sum() * fs if scaling == "density" else weights.sum() ** 2)
    if onesided:
        # Negative frequencies are added to the positive ones, except for 0 and the highest one.
        double = np.full(power.shape[-1], 2.0)
        double[0] = 1
        if points % 2 == 0:
            double[-1] = 1
        power = power * snp.asarray(double, power.real.dtype)
    count = power.shape[-2]
    if average == "median":
        odd = np.arange(1, (count - 1) // 2 + 1) * 2
        bias = 1 + float(np.sum(1 / (odd + 1) - 1 / odd))
        power = (snp.median(power.real, -2) + 1j * snp.median(power.imag, -2)) / bias
    else:
        power = power.mean(-2)
    return _frequencies(points, fs, onesided, first), snp.moveaxis(power, -1, axis)


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[..., Any] = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Welch's estimate of the power spectral density of a signal; the arguments are those of `csd`.

    >>> import stagec.numpy as snp
    >>> frequencies, power = welch(snp.sin(snp.arange(256.0)), nperseg=64)
    >>> bool(abs(frequencies[power.argmax()] - 1 / (2 * snp.pi)) < 1 / 64)
    True
    """
    found = csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)
    return found[0], snp.real(found[1])
