"""Arithmetic that drivers of Vulkan simplify as if there were no NaN, and indices: on the device as by NumPy."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

VALUES = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
FUNCTIONS = {
    "product with 0": lambda x: x * 0.0,
    "product with -0": lambda x: -0.0 * x,
    "quotient by 0": lambda x: x / 0.0,
    "quotient by -0": lambda x: x / -0.0,
    "quotient of 0": lambda x: 0.0 / x,
    "quotient by zeros": lambda x: x / snp.zeros(x.shape, x.dtype),
    "chosen": lambda x: snp.where(x > 0, x * 0.0, x / 0.0),
    "difference from itself": lambda x: x - x,
    "of a root": lambda x: snp.sqrt(x) * 0.0,
    "of a sine": lambda x: snp.sin(x) * 0.0,
    "sines": lambda x: snp.stack([snp.sin(x), snp.cos(x), snp.tan(x)]) * 0.0,
    "in a loop": lambda x: lax.fori_loop(0, 2, lambda i, y: y * 0.0 + x / 0.0, x),
    "in a choice": lambda x: lax.cond(x[0] == 0, lambda: x / 0.0, lambda: x * 0.0),
    "of a sum": lambda x: x.sum() / 0.0,
    "covariance of one observation": lambda x: snp.cov(x.astype(np.float32)[:, None]),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arithmetic_with_zeros_makes_the_nan_that_numpy_makes(vulkan, name, dtype):
    x = np.asarray(VALUES, dtype)
    found = np.asarray(stagec.jit(FUNCTIONS[name], device=vulkan)(x))
    with stagec.disable_jit(), np.errstate(all="ignore"):
        expected = np.asarray(FUNCTIONS[name](snp.asarray(x)))
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def rounds_of(number):
    def f(x):
        total = y = snp.arange(x.size, dtype=snp.uint32)
        for i in range(number):
            y = (y << (i % 13 + 1)) ^ total
            total = total + y
        return x + total.astype(x.dtype)

    return f


@pytest.mark.parametrize(("number", "stored"), [(3, 0), (20, 1)])
def test_long_expressions_of_indices_read_them_from_memory(number, stored):
    lowered = stagec.jit(rounds_of(number), target="vulkan").lower(np.ones(5, np.float32))
    text = lowered.as_text("optimized")
    assert text.count("stablehlo.iota") == 1
    assert text.count("stablehlo.optimization_barrier") == stored


@pytest.mark.parametrize("size", [1, 5, 100])
def test_random_numbers_of_a_known_key_are_compiled(vulkan, size):
    # Without the barrier, the compiler does not end.
    def f(x):
        return x + stagec.random.uniform(stagec.random.key(3), x.shape)

    x = np.ones(size, np.float32)
    np.testing.assert_array_equal(stagec.jit(f, device=vulkan)(x), stagec.jit(f, device="cpu")(x))
