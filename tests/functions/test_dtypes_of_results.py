"""Dtypes of results where 64 bits are enabled: narrow arguments stay narrow, and integers widen as in JAX."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import random
from stagec.scipy import linalg, signal, stats

CALLS = {
    "expm": (lambda x: linalg.expm(snp.eye(2, dtype=x)), "float32", "float32"),
    "expm_frechet": (lambda x: linalg.expm_frechet(snp.eye(2, dtype=x), snp.eye(2, dtype=x))[1], "float32", "float32"),
    "stft, frequencies": (lambda x: signal.stft(snp.ones(16, x), nperseg=4)[0], "float32", "float32"),
    "stft, times": (lambda x: signal.stft(snp.ones(16, x), nperseg=4)[1], "float32", "float32"),
    "stft": (lambda x: signal.stft(snp.ones(16, x), nperseg=4)[2], "float32", "complex64"),
    "istft": (lambda x: signal.istft(snp.ones((3, 4), x))[1], "complex64", "float32"),
    "welch, frequencies": (lambda x: signal.welch(snp.ones(16, x), nperseg=4)[0], "float32", "float32"),
    "welch": (lambda x: signal.welch(snp.ones(16, x), nperseg=4)[1], "float32", "float32"),
    "csd": (lambda x: signal.csd(snp.ones(16, x), snp.ones(16, x), nperseg=4)[1], "float32", "complex64"),
    "rint": (lambda x: snp.rint(snp.ones(2, x)), "int16", "float64"),
    "rint of bool": (lambda x: snp.rint(snp.ones(2, x)), "bool", "float64"),
    "angle": (lambda x: snp.angle(snp.ones(2, x)), "uint8", "float64"),
    "fft": (lambda x: snp.fft.fft(snp.ones(3, x)), "int16", "complex64"),
    "fft of int64": (lambda x: snp.fft.fft(snp.ones(3, x)), "int64", "complex128"),
    "rfft": (lambda x: snp.fft.rfft(snp.ones(3, x)), "bool", "complex64"),
    "polyint": (lambda x: snp.polyint(snp.ones(3, x)), "complex64", "complex64"),
    "normal vectors": (
        lambda x: random.multivariate_normal(random.key(0), snp.zeros(2, x), snp.eye(2, dtype=x)),
        "float32",
        "float32",
    ),
    "multinomial": (lambda x: random.multinomial(random.key(0), 3, snp.ones(2, x) / 2), "float32", "float64"),
    "tri": (lambda x: snp.tri(2), "bool", "float32"),
    "histogram": (lambda x: snp.histogram(snp.ones(3, x), np.array([0.0, 1.0], np.float32))[0], "int64", "float64"),
    "edges": (lambda x: snp.histogram(snp.ones(3, x), np.array([0.0, 1.0]))[1], "float32", "float32"),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_dtypes_of_jax(name):
    function, argument, expected = CALLS[name]
    with stagec.enable_x64():
        assert function(argument).dtype == expected


def test_vectors_of_mixed_integers_have_no_weak_product():
    assert not snp.cross(snp.ones(3, "uint32"), snp.ones(3, "int8")).weak_type
    with stagec.enable_x64():
        assert not snp.cross(snp.ones(3, "uint64"), snp.ones(3, "int8")).weak_type


def test_quantiles_of_arrays_are_not_weak():
    assert not stats.bernoulli.ppf(np.float32([0.2, 0.9]), np.float32(0.5)).weak_type


def test_degrees_of_freedom_of_integers_do_not_widen_small_floats():
    assert stats.chi2.cdf(snp.ones(2, "float16"), snp.array([2, 3])).dtype == "float16"
