"""Windows that leave elements at the end of an axis out, which the compiler refused."""

import numpy as np
import pytest

import stagec
from stagec import lax

X = np.arange(1, 43, dtype=np.float32).reshape(6, 7)


@pytest.mark.parametrize("target", ["cpu", "vulkan"])
@pytest.mark.parametrize(
    ("size", "strides", "padding", "dilation"),
    [
        ((2, 2), (2, 2), "VALID", (1, 1)),
        ((2, 3), (4, 3), [(0, 0), (1, 0)], (1, 1)),
        ((2, 2), (3, 5), [(0, 2), (0, 3)], (1, 1)),
        ((2, 2), (3, 3), [(1, 0), (0, -1)], (2, 1)),
    ],
    ids=["valid", "padded before", "padded behind", "dilated and cut"],
)
def test_windows_that_leave_elements_out_are_compiled(request, target, size, strides, padding, dilation):
    if target == "vulkan":
        request.getfixturevalue("vulkan")

    def f(x):
        sums = lax.reduce_window(x, 0.0, lax.add, size, strides, padding, None, dilation)
        return sums, lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "SAME")

    with stagec.disable_jit():
        expected = f(stagec.numpy.asarray(X))
    for found, value in zip(stagec.jit(f, device=target)(X), expected):
        np.testing.assert_array_equal(found, value)
