"""Fourier transforms: NumPy decides values and shapes; derivatives, batches, lengths of every kind."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.primitives import fft as primitive

RNG = np.random.default_rng(7)
REAL = RNG.normal(size=(3, 4, 10)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=REAL.shape)).astype(np.complex64)


@pytest.fixture(autouse=True, params=["never", "always"], ids=["algorithms", "libraries"])
def host_libraries(request):
    """Compiled transforms are stagec's own in one run, and NumPy's in the other."""
    with stagec.config.override(host_libraries=request.param):
        yield


NORMS = (None, "backward", "ortho", "forward")
CALLS = [
    *[lambda xp, norm=norm: xp.fft.fft(xp.asarray(COMPLEX), norm=norm) for norm in NORMS],
    *[lambda xp, norm=norm: xp.fft.ifft(xp.asarray(COMPLEX), axis=1, norm=norm) for norm in NORMS],
    *[lambda xp, norm=norm: xp.fft.rfft(xp.asarray(REAL), norm=norm) for norm in NORMS],
    *[lambda xp, norm=norm: xp.fft.irfft(xp.asarray(COMPLEX), norm=norm) for norm in NORMS],
    *[lambda xp, norm=norm: xp.fft.hfft(xp.asarray(COMPLEX), norm=norm) for norm in NORMS],
    *[lambda xp, norm=norm: xp.fft.ihfft(xp.asarray(REAL), norm=norm) for norm in NORMS],
    lambda xp: xp.fft.fft(xp.asarray(REAL), 4),
    lambda xp: xp.fft.fft(xp.asarray(REAL), 13, axis=0),
    lambda xp: xp.fft.fft(xp.asarray([1, 2, 3, 4])),
    lambda xp: xp.fft.rfft(xp.asarray(REAL), 7),
    lambda xp: xp.fft.rfft(xp.asarray(REAL), 1),
    lambda xp: xp.fft.rfft(xp.asarray(REAL), 12, axis=1),
    lambda xp: xp.fft.irfft(xp.asarray(COMPLEX), 9),
    lambda xp: xp.fft.irfft(xp.asarray(COMPLEX), 1),
    lambda xp: xp.fft.irfft(xp.asarray(COMPLEX), 30, axis=0),
    lambda xp: xp.fft.hfft(xp.asarray(COMPLEX), 5, axis=1),
    lambda xp: xp.fft.fftn(xp.asarray(COMPLEX)),
    lambda xp: xp.fft.fftn(xp.asarray(COMPLEX), axes=(0, 0)),
    lambda xp: xp.fft.ifftn(xp.asarray(COMPLEX), (2, 5), axes=(0, 2), norm="ortho"),
    lambda xp: xp.fft.fft2(xp.asarray(REAL)),
    lambda xp: xp.fft.ifft2(xp.asarray(COMPLEX)),
    lambda xp: xp.fft.rfft2(xp.asarray(REAL)),
    lambda xp: xp.fft.irfft2(xp.asarray(COMPLEX), (4, 7), axes=(-2, -1)),
    lambda xp: xp.fft.rfftn(xp.asarray(REAL), norm="forward"),
    lambda xp: xp.fft.irfftn(xp.asarray(COMPLEX), axes=(1, 0)),
    lambda xp: xp.fft.fftshift(xp.asarray(REAL)),
    lambda xp: xp.fft.ifftshift(xp.asarray(REAL), axes=2),
    lambda xp: xp.fft.fftshift(xp.asarray(REAL), axes=(0, 1)),
    lambda xp: xp.fft.fftfreq(9, 0.1),
    lambda xp: xp.fft.rfftfreq(8),
]


def agree(expected, actual, tolerance=3e-6):
    actual = np.asarray(actual)
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(actual, expected, tolerance, tolerance * max(1.0, abs(expected).max()))


def test_evaluated_transforms_are_those_of_numpy():
    for call in CALLS:
        agree(call(np), call(snp))


def test_compiled_transforms_are_those_of_numpy():
    for expected, actual in zip([call(np) for call in CALLS], stagec.jit(lambda: [call(snp) for call in CALLS])()):
        agree(expected, actual)


# Small matrices, factors, primes with a matrix and with a convolution, and a prime factor among others.
LENGTHS = (1, 2, 3, 8, 31, 32, 33, 36, 97, 131, 256, 2 * 131, 1000, 1009)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_every_kind_of_length(dtype):
    with stagec.enable_x64(dtype == "complex128"):
        # One length of each kind is enough for the wider numbers, whose programs are the same.
        lengths = LENGTHS if dtype == "complex64" else (8, 31, 36, 97, 131, 2 * 131)
        arrays = [(RNG.normal(size=(2, n)) + 1j * RNG.normal(size=(2, n))).astype(dtype) for n in lengths]
        program = stagec.jit(lambda arrays: [(snp.fft.fft(x), snp.fft.ifft(x)) for x in arrays])
        step = 4e-7 if dtype == "complex64" else 1e-15
        for x, (forward, inverse) in zip(arrays, program(arrays)):
            for actual, expected in (forward, np.fft.fft(x.astype(complex))), (inverse, np.fft.ifft(x.astype(complex))):
                assert actual.dtype == dtype
                error = np.linalg.norm(np.asarray(actual) - expected) / np.linalg.norm(expected)
                assert error < step, (x.shape, error)


def test_half_transforms_of_real_numbers_are_exact_to_the_dtype():
    with stagec.enable_x64():
        for n in (2, 10, 15, 64, 262):
            x = RNG.normal(size=n)
            np.testing.assert_allclose(np.asarray(snp.fft.rfft(x)), np.fft.rfft(x), 1e-13, 1e-13)
            np.testing.assert_allclose(np.asarray(snp.fft.irfft(snp.fft.rfft(x), n)), x, 1e-13, 1e-13)


def test_a_large_transform():
    x = RNG.normal(size=1 << 15).astype(np.float32)
    agree(np.fft.rfft(x), stagec.jit(snp.fft.rfft)(x), 1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: snp.fft.fft(x),
        lambda x: snp.fft.rfft(x.real),
        lambda x: snp.fft.irfft(x),
        lambda x: snp.fft.hfft(x, 7),
        lambda x: snp.fft.ifftn(x),
    ],
)
def test_derivatives_are_those_of_a_linear_function(function):
    with stagec.enable_x64():
        x, t = (RNG.normal(size=(2, 6)) + 1j * RNG.normal(size=(2, 6)) for _ in range(2))
        out, dot = stagec.jvp(function, (x,), (t,))
        np.testing.assert_allclose(np.asarray(dot), np.asarray(function(t)), 1e-12, 1e-12)
        # <ct, F t> = <F^T ct, t>, both as real numbers.
        ct = (RNG.normal(size=out.shape) + (1j * RNG.normal(size=out.shape) if out.dtype.kind == "c" else 0)).astype(
            out.dtype
        )
        (back,) = stagec.vjp(function, x)[1](ct)
        left = np.real(np.sum(ct * np.asarray(dot)))
        assert abs(left - np.real(np.sum(np.asarray(back) * t))) < 1e-10


def test_transforms_under_vmap():
    agree(np.fft.fft(COMPLEX, axis=0).transpose(1, 2, 0), stagec.vmap(stagec.vmap(snp.fft.fft, 1), 1)(COMPLEX))


def test_vulkan_transforms(vulkan):
    agree(np.fft.fft(COMPLEX), stagec.jit(snp.fft.fft, device=vulkan)(COMPLEX))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: snp.fft.fft(snp.ones(3), norm="unitary"), "'ortho'"),
        (lambda: snp.fft.fft(snp.ones(3), 0), "invalid number of data points (0)"),
        (lambda: snp.fft.rfft(COMPLEX), "expected real numbers"),
        (lambda: snp.fft.fftn(snp.ones((2, 2)), (2,), axes=(0, 1)), "1 sizes for 2 axes"),
        (lambda: snp.fft.fft(snp.float32(1)), "axis"),
    ],
)
def test_errors_name_the_fault(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)


def test_long_transforms_are_the_same_with_scipy_and_without(monkeypatch):
    z = (RNG.normal(size=(3, 1 << 12)) + 1j).astype(np.complex64)
    expected = np.fft.fft(z.astype(np.complex128))
    for installed in (True, False):
        monkeypatch.setattr(primitive, "has_scipy", lambda installed=installed: installed)
        for found in (snp.fft.fft(z), stagec.jit(snp.fft.fft)(z)):
            assert found.dtype == np.complex64
            assert abs(np.asarray(found) - expected).max() < 1e-5 * abs(expected).max()
            assert abs(np.asarray(snp.fft.ifft(found)) - z).max() < 1e-5


def test_frequencies_have_the_dtype_that_was_asked_for():
    found = snp.fft.fftfreq(4, 0.25, dtype="int32")
    assert (found.dtype, found.tolist()) == (np.int32, [0, 1, -2, -1])
