"""`stagec.scipy.fft` and `lax.fft`, against SciPy and `stagec.numpy.fft`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

import stagec
import stagec.numpy as snp
import stagec.scipy.fft as fft
from stagec import errors, lax

X = np.random.default_rng(3).normal(size=(3, 4, 9))


@pytest.mark.parametrize("norm", [None, "backward", "ortho"])
@pytest.mark.parametrize("type", [2, 3])
def test_cosine_transforms_are_those_of_scipy(type, norm):
    with stagec.enable_x64():
        for name in ("dct", "idct"):
            for n, axis in ((None, -1), (1, 0), (7, 2), (12, 2), (4, 1)):
                expected = getattr(scipy.fft, name)(X, type, n, axis, norm)
                np.testing.assert_allclose(
                    np.asarray(getattr(fft, name)(X, type, n, axis, norm)), expected, 1e-12, 1e-12
                )
        for name in ("dctn", "idctn"):
            expected = getattr(scipy.fft, name)(X, type, (3, 5), (0, 2), norm)
            np.testing.assert_allclose(
                np.asarray(getattr(fft, name)(X, type, (3, 5), (0, 2), norm)), expected, 1e-12, 1e-12
            )


def test_cosine_transforms_compile_and_have_derivatives():
    x = X[0].astype(np.float32)
    np.testing.assert_allclose(np.asarray(stagec.jit(fft.dct)(x)), scipy.fft.dct(x), 1e-5, 1e-5)
    gradient = stagec.grad(lambda x: (fft.dct(x, norm="ortho") ** 2).sum() / 2)(x)
    np.testing.assert_allclose(np.asarray(gradient), x, 1e-5, 1e-5)


def test_fast_lengths_are_those_of_scipy():
    for real in (False, True):
        assert [fft.next_fast_len(n, real) for n in range(1, 300)] == [
            scipy.fft.next_fast_len(n, real) for n in range(1, 300)
        ]


def test_other_types_and_norms_are_refused():
    with pytest.raises(NotImplementedError, match="type 1"):
        fft.dct(X, 1)
    with pytest.raises(ValueError, match="no norm 'forward'"):
        fft.dct(X, norm="forward")


def test_lax_transforms_take_a_kind_and_lengths():
    z = (X + 1j * X[::-1]).astype(np.complex64)
    for kind, name in (("FFT", "fftn"), (lax.FftType.IFFT, "ifftn")):
        expected = getattr(np.fft, name)(z, axes=(1, 2))
        np.testing.assert_allclose(np.asarray(lax.fft(z, kind, (4, 9))), expected, 1e-4, 1e-5)
    real = X.astype(np.float32)
    half = lax.fft(real, "rfft", (9,))
    np.testing.assert_allclose(np.asarray(half), np.fft.rfft(X), 1e-4, 1e-5)
    np.testing.assert_allclose(np.asarray(lax.fft(half, 3, (9,))), X, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((snp.ones(4), "FFT", (4,)), errors.DtypeError, "FFT takes complex numbers"),
        ((snp.ones(4) * 1j, "RFFT", (4,)), errors.DtypeError, "RFFT takes real numbers"),
        ((snp.ones(4) * 1j, "FFT", (5,)), errors.ShapeError, "does not have the lengths"),
        ((snp.ones(4) * 1j, "FFT", (4, 4)), errors.ShapeError, "2 lengths"),
    ],
)
def test_lax_transforms_check_their_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        lax.fft(*arguments)
