"""The rest of `stagec.scipy`, and `stagec.image`."""

from __future__ import annotations

import numpy as np
import scipy.cluster.vq
import scipy.integrate
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row

MODES = ("full", "same", "valid")


def _line(s: Draw, low: int = 1, high: int = 6, kinds: str = "fc") -> np.ndarray:
    return s.array((s.whole(low, high),), s.kind(kinds), -2, 2)


def _vectors(s: Draw) -> Call:
    shape = s.shape(1, 2, False)
    kind = s.kind("fc")
    return call(s.array(tuple(n + 2 for n in shape), kind, -2, 2), s.array(shape, kind, -2, 2), mode=s.one_of(*MODES))


def _images(s: Draw) -> Call:
    kind = s.kind("f")
    shape = (s.whole(2, 4), s.whole(2, 4))
    return call(s.array((shape[0] + 1, shape[1] + 1), kind, -2, 2), s.array(shape, kind, -2, 2), mode=s.one_of(*MODES))


def _detrend(s: Draw) -> Call:
    x = s.array(tuple(n + 1 for n in s.shape(1, 3, False)), s.kind("f"), -2, 2)
    return call(x, axis=s.axis(x.ndim, none=False), type=s.one_of("linear", "constant"))


def _signal(s: Draw) -> Call:
    return call(
        s.array((*s.shape(0, 1, False), s.whole(16, 24)), s.kind("f"), -2, 2),
        fs=2.0,
        nperseg=s.one_of(4, 8),
        noverlap=s.one_of(0, 2),
    )


def _two_signals(s: Draw) -> Call:
    made = _signal(s)
    return call(made.args[0], s.array(made.args[0].shape, made.args[0].dtype, -2, 2), **made.kwargs)


def _transformed(s: Draw) -> Call:
    return call(s.array((5, s.whole(3, 5)), s.kind("c"), -2, 2), nperseg=8, noverlap=4)


def _coordinates(s: Draw) -> Call:
    x = s.array(tuple(n + 1 for n in s.shape(1, 3, False)), s.kind("f"), -2, 2)
    order = s.whole(0, 1)
    of = s.shape(0, 2)
    mode = s.one_of("constant", "nearest", "wrap", "mirror", "reflect")
    # Away from the middles between elements, where order 0 jumps.
    places = [(s.index(n + 2, of, False) - 1 + s.array(of, "float64", 0.1, 0.4)).astype(x.dtype) for n in x.shape]
    if mode == "constant":
        places = [np.clip(p, 0.1, n - 1.1).astype(x.dtype) for p, n in zip(places, x.shape)]
    return call(x, places, order, mode, 0.5)


def _mapped(x, places, order, mode, value):
    mode = {"wrap": "grid-wrap"}.get(mode, mode)
    if places[0].ndim == 0:
        return _mapped(x, [p[None] for p in places], order, mode, value)[0]
    if places[0].size == 0:
        return np.zeros(places[0].shape, x.dtype)
    return scipy.ndimage.map_coordinates(x, np.stack(places), order=order, mode=mode, cval=value, output=np.float64)


def _trapezoid(s: Draw) -> Call:
    x = s.array(s.shape(1, 3), s.kind("f"), -2, 2)
    axis = s.axis(x.ndim, none=False)
    return s.one_of(call(x, axis=axis), call(x, dx=0.5, axis=axis))


def _codes(s: Draw) -> Call:
    kind, n = s.kind("f"), s.whole(1, 3)
    return call(s.array((s.whole(1, 5), n), kind, -2, 2), s.array((s.whole(1, 4), n), kind, -2, 2))


def _positive_system(s: Draw) -> Call:
    kind, n = s.kind("f"), s.whole(1, 4)
    a = s.array((n, n), kind, -1, 1)
    # Differences are those of the iterations, derivatives those of the solution.
    options = {"tol": 1e-13} if s.smooth else {}
    return call((a @ a.T + 2 * np.eye(n)).astype(kind), s.array((n,), kind, -2, 2), **options)


def _solved(a, b, tol=None):
    return [np.linalg.solve(a, b), None]


def _resize(s: Draw) -> Call:
    x = s.array(s.shape(2, 3, False), s.kind("f"), -2, 2)
    return call(
        x,
        tuple(s.whole(1, 6) for _ in x.shape),
        s.one_of("nearest", "linear", "cubic", "lanczos3"),
        antialias=s.chance(0.5),
    )


def _scale(s: Draw) -> Call:
    x = s.array((s.whole(2, 4), s.whole(2, 4)), s.kind("f"), -2, 2)
    scale, shift = s.array((2,), x.dtype, 0.7, 2), s.array((2,), x.dtype, -0.5, 0.5)
    return call(x, (5, 6), (0, 1), scale, shift, s.one_of("linear", "cubic"), antialias=s.chance(0.5))


def _ravel(s: Draw) -> Call:
    return call([s.array(s.shape(0, 2), "float32"), (s.array(s.shape(0, 2), "float32"),)])


def _solver_row(name: str) -> Row:
    return Row(
        f"scipy.sparse.linalg.{name}",
        _positive_system,
        _solved,
        loose=300,
        scaled=True,
        like_jax=False,
        costly=True,
    )


ROWS = [
    Row("scipy.signal.convolve", _vectors, scipy.signal.convolve, scaled=True, loose=8),
    Row("scipy.signal.correlate", _vectors, scipy.signal.correlate, scaled=True, loose=8),
    Row("scipy.signal.fftconvolve", _vectors, scipy.signal.fftconvolve, scaled=True, loose=8),
    Row("scipy.signal.convolve2d", _images, scipy.signal.convolve2d, scaled=True, loose=8),
    Row("scipy.signal.correlate2d", _images, scipy.signal.correlate2d, scaled=True, loose=8),
    Row("scipy.signal.detrend", _detrend, scipy.signal.detrend, scaled=True, loose=30),
    Row("scipy.signal.stft", _signal, scipy.signal.stft, scaled=True, loose=8),
    Row("scipy.signal.welch", _signal, scipy.signal.welch, scaled=True, loose=8),
    Row("scipy.signal.csd", _two_signals, scipy.signal.csd, scaled=True, loose=8),
    Row("scipy.signal.istft", _transformed, scipy.signal.istft, scaled=True, loose=8),
    Row("scipy.ndimage.map_coordinates", _coordinates, _mapped, scaled=True, loose=8),
    Row("scipy.integrate.trapezoid", _trapezoid, scipy.integrate.trapezoid, scaled=True, loose=4),
    Row("scipy.cluster.vq.vq", _codes, scipy.cluster.vq.vq, scaled=True, loose=8),
    *map(_solver_row, ("cg", "bicgstab", "gmres")),
    Row("image.resize", _resize, None, scaled=True, loose=30),
    Row("image.scale_and_translate", _scale, None, scaled=True, loose=30),
]
