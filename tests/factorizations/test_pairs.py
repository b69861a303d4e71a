"""Programs of complex arrays on pairs of real ones: each rule against the complex operation."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.factorizations.pairs import in_pairs

RNG = np.random.default_rng(4)
Z = (RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))).astype("complex128")
W = (RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))).astype("complex128")
X = RNG.normal(size=(3, 3))


def repeated(z, w):
    """Loops that carry complex and real state, with complex numbers from outside."""

    def step(i, state):
        total, count = state
        return total * w + 1j, count + abs(total).max() + i

    total, count = lax.fori_loop(0, 3, step, (z, 0.0))
    limit = abs(count)
    return lax.while_loop(lambda s: s[1] < 3 * limit, lambda s: (s[0] - w, s[1] + limit), (total, count))


FUNCTIONS = {
    "sums": lambda z, w, x: [z + w, z - w, -z, z.sum(0), z + x, x + 1j * w],
    "products": lambda z, w, x: [z * w, z @ w, z * x, x @ z, z @ (x + 0j), (x + 0j) @ (x + 0j), (x + 0j) * z],
    "quotients": lambda z, w, x: [z / w, z / x, x / z, z / (1j * x), (x + 0j) / x],
    "parts": lambda z, w, x: [z.real, z.imag, z.conj(), abs(z), (x + 0j).imag, (x + 0j).conj(), lax.complex(x, -x)],
    "roots": lambda z, w, x: [snp.sqrt(z), snp.sqrt(-abs(z) + 0j), snp.sqrt(0 * z), snp.sqrt(z.conj())],
    "comparisons": lambda z, w, x: [z == w, z == z, z != snp.where(x > 0, z, w), snp.where(x > 0, z, w)],
    "shapes": lambda z, w, x: [
        z.T, z[:, 1], z.reshape(9), z[::-1], snp.concatenate([z, w]), snp.pad(z, 1), z[snp.array([2, 0])],
        lax.dynamic_slice(z, (x.argmax() % 2, 1), (2, 2)), lax.dynamic_update_slice(z, w[:1], (x.argmax() % 3, 0)),
    ],
    "conversions": lambda z, w, x: [z.astype("complex64"), x.astype("complex64"), (z * 1).astype("complex128")],
    "loops": lambda z, w, x: list(repeated(z, w)),
    "what has no rule": lambda z, w, x: [z.prod(0), snp.exp(z), lax.linalg.cholesky(z @ z.conj().T + 9 * snp.eye(3))],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs_compute_what_complex_numbers_do(name):
    with stagec.enable_x64():
        function = FUNCTIONS[name]
        expected = function(*map(snp.asarray, (Z, W, X)))
        found = stagec.jit(lambda *xs: in_pairs(lambda *ys: list(function(*ys)), xs))(Z, W, X)
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6 if x.dtype == "complex64" else 1e-12)


def test_quotients_and_roots_of_numbers_of_any_size():
    with stagec.enable_x64():
        z = np.array([1e200 + 1e200j, 1e-200j, -1e200j, 1e-300, -1e300 + 1j, -1.0, -1 - 1e-300j])
        made = stagec.jit(lambda z: in_pairs(lambda z: [z / z, snp.sqrt(z), abs(z)], [z]))(z)
        for x, y in zip(made, (np.ones(7), np.sqrt(z), abs(z)), strict=True):
            np.testing.assert_allclose(np.asarray(x), y, rtol=1e-14)


def test_programs_of_complex_matrices_have_kernels():
    a = stagec.ShapeDtypeStruct((4, 4), "complex64")
    for function in (snp.linalg.cholesky, snp.linalg.solve, snp.linalg.qr, snp.linalg.eigvalsh):
        args = (a, a) if function is snp.linalg.solve else (a,)
        with stagec.config.override(host_libraries="never"):
            text = stagec.jit(function).lower(*args).as_text("kernels")
        assert "a kernel of" in text and "stablehlo.while" not in text


def test_large_complex_matrices_are_factorized_in_panels():
    rng = np.random.default_rng(0)
    a = (rng.normal(size=(140, 140)) + 1j * rng.normal(size=(140, 140))).astype("complex64")
    x = np.asarray(stagec.jit(snp.linalg.solve)(a, a[:, :2]))
    assert abs(x - np.eye(140, 2)).max() < 1e-3
