"""Matrices, and what factorizations of them have to satisfy, shared by the tests of this folder."""

from __future__ import annotations

import numpy as np

EPS = {"float32": 1.2e-7, "float64": 2.3e-16, "complex64": 1.2e-7, "complex128": 2.3e-16}


def random(*shape, dtype="float32", seed=0):
    """Numbers from the normal distribution."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def positive(*shape, dtype="float32", seed=0):
    """Positive definite matrices of moderate condition."""
    a = random(*shape, dtype=dtype, seed=seed)
    return (a @ a.conj().swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def well(*shape, dtype="float32", seed=0):
    """Matrices that are far from singular, whose pivots are not on the diagonal."""
    n = shape[-1]
    a = random(*shape, dtype=dtype, seed=seed)
    return (a + 2 * n * np.roll(np.eye(n), 1, 0)).astype(dtype)


def wide(x):
    """In double precision, for checks."""
    x = np.asarray(x)
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


def near(actual, expected, factor=10.0):
    """Equal up to a multiple of the rounding of the result's dtype, of the largest element and the size."""
    actual = np.asarray(actual)
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    bound = factor * EPS[actual.dtype.name] * max(actual.shape[-2:], default=1) * scale
    np.testing.assert_allclose(wide(actual), wide(expected), rtol=0, atol=bound)


def adjoint(x):
    return np.asarray(x).conj().swapaxes(-1, -2)
