"""`numpy.fft` and `scipy.fft`."""

from __future__ import annotations

import functools

import numpy as np
import scipy.fft as scipy_fft

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row

NORMS = (None, "backward", "ortho", "forward")


def _one(s: Draw, kinds: str, inverse: bool = False) -> Call:
    x = s.array(s.shape(1, 3, False, 4), s.kind(kinds), -2, 2)
    axis = s.axis(x.ndim, none=False)
    length = s.one_of(None, s.whole(2 if inverse else 1, 7))
    return call(x, 4 if inverse and length is None else length, axis, s.one_of(*NORMS))


def _several(s: Draw, kinds: str, last: int | None = None, two: bool = False) -> Call:
    x = s.array(s.shape(2, 3, False, 4), s.kind(kinds), -2, 2)
    axes = tuple(s.rng.permutation(x.ndim)[: 2 if two else s.whole(1, 2)].tolist())
    sizes = None if s.chance(0.5) and last is None else tuple(s.whole(2, 4) for _ in axes)
    return call(x, sizes, axes, norm=s.one_of(*NORMS))


def _cosine(s: Draw) -> Call:
    x = s.array(s.shape(1, 3, False, 4), s.kind("f"), -2, 2)
    return call(x, 2, axis=s.axis(x.ndim, none=False), norm=s.one_of(None, "ortho"))


def _cosines(s: Draw) -> Call:
    return call(s.array(s.shape(1, 3, False, 4), s.kind("f"), -2, 2), 2, norm=s.one_of(None, "ortho"))


def _shift(s: Draw) -> Call:
    x = s.array(s.shape(1, 3), s.kind())
    return call(x, s.axis(x.ndim, True))


def _frequencies(s: Draw) -> Call:
    return call(s.whole(1, 7), s.one_of(1.0, 0.5))


def rows(module: str, library) -> list[Row]:
    draws = {
        "fft": functools.partial(_one, kinds="ifc"),
        "ifft": functools.partial(_one, kinds="ifc"),
        "rfft": functools.partial(_one, kinds="if"),
        "ihfft": functools.partial(_one, kinds="if"),
        "irfft": functools.partial(_one, kinds="fc", inverse=True),
        "hfft": functools.partial(_one, kinds="fc", inverse=True),
        "fft2": functools.partial(_several, kinds="fc", two=True),
        "ifft2": functools.partial(_several, kinds="fc", two=True),
        "fftn": functools.partial(_several, kinds="fc"),
        "ifftn": functools.partial(_several, kinds="fc"),
        "rfft2": functools.partial(_several, kinds="f", two=True),
        "rfftn": functools.partial(_several, kinds="f"),
        "irfft2": functools.partial(_several, kinds="c", last=4, two=True),
        "irfftn": functools.partial(_several, kinds="c", last=4),
        "fftshift": _shift,
        "ifftshift": _shift,
        "fftfreq": _frequencies,
        "rfftfreq": _frequencies,
    }
    return [
        Row(f"{module}.{name}", draw, getattr(library, name), scaled=True, loose=4, static="freq" in name)
        for name, draw in draws.items()
    ]


ROWS = rows("numpy.fft", np.fft)
if scipy_fft is not None:
    ROWS += rows("scipy.fft", scipy_fft)
    ROWS += [Row(f"scipy.fft.{n}", _cosine, getattr(scipy_fft, n), scaled=True, loose=8) for n in ("dct", "idct")]
    ROWS += [Row(f"scipy.fft.{n}", _cosines, getattr(scipy_fft, n), scaled=True, loose=8) for n in ("dctn", "idctn")]
    ROWS += [
        Row(
            "scipy.fft.next_fast_len",
            lambda s: call(s.whole(1, 300), s.chance(0.5)),
            scipy_fft.next_fast_len,
            static=True,
        )
    ]
