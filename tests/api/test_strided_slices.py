"""Slices with a step of computed values: the compiler once fused the step away."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

CASES = {
    "widened": lambda x: x.astype(np.float32)[::2] + 1,
    "widened and scaled": lambda x: (x.astype(np.float32) * 2)[::2] + 1,
    "third of widened": lambda x: x.astype(np.float32)[::3] + 1,
    "odd ones": lambda x: x.astype(np.float32)[1::2] + 1,
    "chosen": lambda x: snp.where(x > 0, x.astype(np.float32), 0.5)[::2] + 1,
    "summed": lambda x: x.astype(np.float32)[::2].sum(),
    "twice": lambda x: x.astype(np.float32)[::2][::2] + 1,
    "product": lambda x: x.astype(np.float32)[::2] @ x.astype(np.float32)[1::2],
    "to int16": lambda x: x.astype(np.int16)[::2] * 2,
    "backwards": lambda x: x[::2][::-1] + 1,
    "matrix": lambda x: (x.reshape(4, 4).astype(np.float32) + 1)[::2, ::3],
    "matrix backwards": lambda x: x.reshape(4, 4)[:, ::2][:, ::-1] + 1,
}


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float16])
def test_slices_with_a_step_read_the_right_elements(dtype):
    x = np.random.default_rng(0).integers(0, 9, 16).astype(dtype)
    cases = {k: f for k, f in CASES.items() if dtype != np.bool_ or k != "backwards"}
    compiled = stagec.jit(lambda x: {k: f(x) for k, f in cases.items()})(x)
    for name, f in cases.items():
        expected = f(snp.asarray(x))
        assert np.array_equal(compiled[name], expected), name
        if dtype == np.int8:
            assert np.array_equal(stagec.jit(f)(x), expected), name
