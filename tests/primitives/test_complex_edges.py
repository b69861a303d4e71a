"""Complex functions of zeros, infinities, NaN and numbers whose squares are out of range: compiled as outside `jit`."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

FUNCTIONS = """abs sqrt log log2 exp exp2 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh
reciprocal sign angle""".split()


def grid(dtype, parts):
    z = np.empty((len(parts), len(parts)), dtype)
    z.real, z.imag = np.meshgrid(parts, parts)
    return z.ravel()


def edges(dtype):
    large = 1e30 if dtype == np.complex64 else 1e300
    return [0.0, -0.0, 1.0, -2.0, 0.5, np.inf, -np.inf, np.nan, large, -large, 1 / large]


def assert_parts_agree(expected, actual, what):
    """Each part agrees, or is too small to have full precision."""
    info = np.finfo(expected.dtype)
    for part in ("real", "imag"):
        a, b = getattr(expected, part), getattr(actual, part)
        with np.errstate(all="ignore"):
            close = (a == b) | (np.abs(a - b) <= 2**8 * info.eps * np.abs(a))
            close |= (np.abs(a) < info.tiny * 4) & (np.abs(b) < info.tiny * 4)
        close |= np.isnan(a) & np.isnan(b)
        for i in np.flatnonzero(~close)[:5]:
            print(*(operand[i] for operand in what[1:]), "expected", expected[i], "got", actual[i])
        assert close.all(), what[0]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_functions_of_complex_edges_are_those_of_numpy(dtype):
    with stagec.enable_x64(dtype == np.complex128):
        z = grid(dtype, edges(dtype))
        compiled = stagec.jit(lambda z: {name: getattr(snp, name)(z) for name in FUNCTIONS})(z)
        for name in FUNCTIONS:
            assert_parts_agree(np.asarray(getattr(snp, name)(z)), np.asarray(compiled[name]), (name, z))


def quotients(dtype):
    """Operands whose quotient in NumPy does not overflow on the way."""
    z = grid(dtype, edges(dtype))
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    small, large = np.sort([np.abs(y.real), np.abs(y.imag)], axis=0)
    # Not where the ratio of the divisor's parts vanishes in float32 alone, or is lost but for a fused operation.
    usable = ~((small > 0) & (small < large * 1e-20) & (large < np.inf))
    return x[usable], y[usable]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_quotients_of_complex_edges_are_those_of_numpy(dtype):
    with stagec.enable_x64(dtype == np.complex128):
        x, y = quotients(dtype)
        expected = np.asarray(snp.divide(x, y))
        assert_parts_agree(expected, np.asarray(stagec.jit(snp.divide)(x, y)), ("/", x, y))


def test_quotients_on_vulkan_neither_overflow_nor_vanish(vulkan):
    x, y = quotients(np.complex64)

    def divide(x, y):
        return x / y, snp.reciprocal(y)

    expected = [np.asarray(out) for out in divide(snp.asarray(x), y)]
    for name, a, b in zip(("/", "reciprocal"), expected, stagec.jit(divide, device=vulkan)(x, y)):
        assert_parts_agree(a, np.asarray(b), (name, x, y))


@pytest.mark.parametrize("exponent", [-3, -2, -1])
def test_negative_powers_and_slopes_of_large_complex_numbers_are_finite(exponent):
    z = np.array([1e10 - 1e10j, 1e-10 + 2e-10j, 3 + 4j], np.complex64)
    actual = stagec.jit(lambda z: z**exponent)(z)
    np.testing.assert_allclose(actual, z.astype(np.complex128) ** exponent, 1e-5)
    _, slope = stagec.jit(lambda x, y: stagec.jvp(lambda x: x / y, (x,), (y,)))(z, z * np.complex64(1e15))
    np.testing.assert_allclose(slope, np.ones(3), 1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_complex_edges_are_those_of_numpy_where_it_has_a_value(dtype):
    with stagec.enable_x64(dtype == np.complex128):
        z = grid(dtype, edges(dtype))
        powers = stagec.jit(lambda z, w: z**w)
        for exponent in (0, 1):
            w = np.full_like(z, exponent)
            assert_parts_agree(z**w, np.asarray(powers(z, w)), (f"**{exponent}", z))
        zero = np.zeros_like(z)
        w = grid(dtype, [0.0, 0.5, 3.0, -1.0, -0.0, 2.0, 1.0, -2.0, 4.0, -3.0, 7.0])
        with np.errstate(all="ignore"):
            assert_parts_agree(zero**w, np.asarray(powers(zero, w)), ("0**", w))
