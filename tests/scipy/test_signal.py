"""`stagec.scipy.signal` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec
from stagec import errors
from stagec.scipy import signal as ours

signal = pytest.importorskip("scipy.signal")
RNG = np.random.default_rng(0)


def close(actual: Any, expected: Any, loose: float = 1e-9) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        np.asarray(actual), expected, loose, loose * max(1.0, float(abs(expected).max(initial=0)))
    )


SHAPES = [((7,), (3,)), ((3,), (7,)), ((6, 5), (3, 2)), ((1,), (1,)), ((4, 3, 5), (2, 3, 2))]


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_of_arrays_are_those_of_scipy(name: str, mode: str, shapes: Any, dtype: str) -> None:
    a, b = (RNG.normal(size=s).astype(dtype) for s in shapes)
    if dtype == "complex128":
        a, b = a + 1j * RNG.normal(size=a.shape), b + 1j * RNG.normal(size=b.shape)
    with stagec.enable_x64():
        close(getattr(ours, name)(a, b, mode), getattr(signal, name)(a, b, mode))
        if name != "fftconvolve":
            close(getattr(ours, name)(a, b, mode, "fft"), getattr(signal, name)(a, b, mode))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_products_of_matrices_are_those_of_scipy(mode: str) -> None:
    a, b = RNG.normal(size=(6, 5)).astype(np.float32), RNG.normal(size=(3, 2)).astype(np.float32)
    close(ours.convolve2d(a, b, mode), signal.convolve2d(a, b, mode), 1e-5)
    close(ours.correlate2d(a, b, mode), signal.correlate2d(a, b, mode), 1e-5)


def test_integers_become_floats_as_in_jax() -> None:
    for found in (
        ours.convolve(np.array([1, 2, 3]), np.array([0, 1])),
        ours.correlate(np.arange(1, 4), np.array([1, 0])),
    ):
        assert found.dtype == "float32"
        assert found.tolist() == [0, 1, 2, 3]


def test_convolution_along_one_axis_broadcasts_the_others() -> None:
    a, b = RNG.normal(size=(2, 9)).astype(np.float32), RNG.normal(size=(1, 4)).astype(np.float32)
    close(ours.fftconvolve(a, b, "same", axes=1), signal.fftconvolve(a, b, "same", axes=1), 1e-5)


def test_convolution_has_gradients_compiles_and_maps() -> None:
    a, b = RNG.normal(size=(3, 8)).astype(np.float32), RNG.normal(size=3).astype(np.float32)
    run = stagec.jit(stagec.vmap(lambda x: ours.convolve(x, b, "same")))
    close(run(a), np.stack([signal.convolve(x, b, "same") for x in a]), 1e-5)
    slope = stagec.grad(lambda k: (ours.correlate(a[0], k, "valid") ** 2).sum())(b)
    residual = signal.correlate(a[0], b, "valid")
    close(slope, 2 * signal.correlate(a[0], residual, "valid"), 1e-4)


@pytest.mark.parametrize("kind", ["linear", "constant"])
@pytest.mark.parametrize("axis", [0, -1])
def test_trends_are_those_of_scipy(kind: str, axis: int) -> None:
    x = RNG.normal(size=(9, 8)) + np.arange(8.0)
    with stagec.enable_x64():
        close(ours.detrend(x, axis, kind), signal.detrend(x, axis, kind))
        close(ours.detrend(x, axis, "linear", [2, 5]), signal.detrend(x, axis, "linear", [2, 5]))


X = RNG.normal(size=(2, 200)) + np.sin(np.arange(200.0))
OPTIONS: list[dict[str, Any]] = [
    {"nperseg": 32},
    {"nperseg": 25, "noverlap": 20, "nfft": 40, "window": "hamming", "fs": 10.0},
    {"nperseg": 32, "detrend": "linear", "window": "blackman", "return_onesided": False},
    {"nperseg": 30, "axis": 0, "window": "boxcar"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_spectra_of_segments_are_those_of_scipy(options: Any) -> None:
    x = X.T if options.get("axis") == 0 else X
    with stagec.enable_x64():
        for more in ({}, {"boundary": None, "padded": False}, {"boundary": "even"}, {"boundary": "odd"}):
            for found, expected in zip(ours.stft(x, **options, **more), signal.stft(x, **options, **more)):
                close(found, expected)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("more", [{}, {"scaling": "spectrum"}, {"average": "median"}], ids=str)
def test_power_spectra_are_those_of_scipy(options: Any, more: Any) -> None:
    x = X.T if options.get("axis") == 0 else X
    y = np.roll(x, 3) + x
    with stagec.enable_x64():
        for found, expected in zip(ours.welch(x, **options, **more), signal.welch(x, **options, **more)):
            close(found, expected)
        for found, expected in zip(ours.csd(x, y, **options, **more), signal.csd(x, y, **options, **more)):
            close(found, expected)


def test_complex_signals_have_both_sides() -> None:
    z = X[0] + 1j * X[1]
    with stagec.enable_x64():
        for found, expected in zip(ours.welch(z, nperseg=32), signal.welch(z, nperseg=32, return_onesided=False)):
            close(found, expected)


@pytest.mark.parametrize("options", [{"nperseg": 32}, {"nperseg": 32, "noverlap": 24, "window": "hamming"}], ids=str)
def test_signals_come_back_from_their_spectra(options: Any) -> None:
    with stagec.enable_x64():
        spectra = ours.stft(X, **options)[2]
        times, back = ours.istft(spectra, **options)
        close(back[..., : X.shape[-1]], X)
        close(back, signal.istft(np.asarray(spectra), **options)[1])
        close(times, np.arange(back.shape[-1], dtype=float))


def test_spectra_compile_and_have_gradients() -> None:
    x = X.astype(np.float32)
    run = stagec.jit(lambda x: ours.welch(x, nperseg=32)[1])
    close(run(x), signal.welch(x, nperseg=32)[1], 1e-4)
    with stagec.enable_x64():
        power = lambda x: ours.welch(x, nperseg=32)[1].sum()  # noqa: E731
        direction = RNG.normal(size=200)
        slope = float((stagec.grad(power)(X[0]) * direction).sum())
        expected = (power(X[0] + 1e-5 * direction) - power(X[0] - 1e-5 * direction)) / 2e-5
        np.testing.assert_allclose(slope, float(expected), 1e-6)


def test_what_makes_no_sense_is_refused() -> None:
    for wrong, text in (
        (lambda: ours.convolve(X, X, "half"), "'full'"),
        (lambda: ours.convolve(X, X, method="slow"), "'direct'"),
        (lambda: ours.convolve(X, X[0]), "as many axes"),
        (lambda: ours.convolve(np.ones((3, 2)), np.ones((2, 3)), "valid"), "as large as"),
        (lambda: ours.convolve2d(X[0], X[0]), "two axes"),
        (lambda: ours.convolve2d(X, X, boundary="wrap"), "pad"),
        (lambda: ours.stft(X, window="gauss", nperseg=8), "'hann'"),
        (lambda: ours.stft(X, window=np.ones(4), nperseg=8), "length of a segment"),
        (lambda: ours.stft(X, nperseg=8, noverlap=8), "longer than their overlap"),
        (lambda: ours.stft(X, nperseg=8, boundary="far"), "'zeros'"),
        (lambda: ours.csd(X, X, scaling="big"), "'density'"),
        (lambda: ours.welch(X, average="mode"), "'median'"),
        (lambda: ours.detrend(X, type="cubic"), "'linear'"),
        (lambda: ours.detrend(X, bp=500), "along the axis"),
    ):
        with pytest.raises(errors.StagecError, match=text):
            wrong()
