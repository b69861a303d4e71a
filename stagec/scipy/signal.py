"""Signals: convolution, trends and spectra, by the names of `scipy.signal`."""

from __future__ import annotations

from stagec.core.boundary import publish as _publish
from stagec.runtime.plans import cover as _cover
from stagec.scipy.convolutions import (
    convolve as convolve,
    convolve2d as convolve2d,
    correlate as correlate,
    correlate2d as correlate2d,
    fftconvolve as fftconvolve,
)
from stagec.scipy.spectra import csd as csd, detrend as detrend, istft as istft, stft as stft, welch as welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_cover(globals())
_publish(globals())
