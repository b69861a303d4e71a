"""Random programs on Vulkan: NumPy's results, of finite numbers.

Drivers take `x + 0` for `x` and `x * 0` for 0, whatever the sign of the zero and whether `x` is finite.
"""

import numpy as np
import pytest
import test_random_programs as random_programs
from hypothesis import given, settings
from platforms import first_device

import stagec

FINITE = [0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 4.0]
SETTINGS = {**random_programs.SETTINGS, "max_examples": 6 * random_programs.TIMES}


@pytest.fixture(scope="module")
def device():
    return first_device("vulkan")


def check(steps, expected, actual, text):
    for (op, _), want, got in zip(steps, expected, actual, strict=True):
        got = np.asarray(got)
        assert (got.shape, got.dtype.kind) == (want.shape, want.dtype.kind), f"{op.name}\n{text}"
        if op.exact:
            np.testing.assert_array_equal(got, want, err_msg=f"{op.name}\n{text}")
        else:
            finite = np.isfinite(want)  # x / 0 depends on the sign of the zero
            np.testing.assert_allclose(got[finite], want[finite], rtol=2e-5, atol=1e-6, err_msg=f"{op.name}\n{text}")


@given(random_programs.programs(floats=FINITE))
@settings(**SETTINGS)
def test_programs_mean_the_same_on_vulkan(device, program):
    inputs, steps, values = program
    text = f"{[(op.name, numbers) for op, numbers in steps]}\n{inputs}"
    run = stagec.jit(random_programs.function_of(steps), device=device)
    check(steps, values[len(inputs) :], run(*inputs), text)
