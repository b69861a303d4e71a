"""Windows that the compiler refused, counted wrong or ended the process at: some elements left out, others between."""

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


@pytest.mark.parametrize("target", ["cpu", "cpu without kernels", "vulkan"])
@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_windows_over_elements_apart_and_windows_with_holes_are_compiled(request, target, kind):
    if target == "vulkan":
        request.getfixturevalue("vulkan")
    x = (X * (1 + 0.5j)).astype(kind) if kind == "complex64" else X

    def f(x):
        zero, two = (x.dtype.type(n) for n in (0, 2))
        return [
            lax.reduce_window(x, zero, lax.add, (2, 2), (5, 1), [(0, 0), (0, 0)], (1, 2)),
            lax.reduce_window(x, zero, lax.add, (5, 2), (2, 3), [(1, 0), (1, 1)], (3, 1)),
            lax.reduce_window(x, zero, lax.add, (2, 3), (1, 2), [(1, 1), (0, 2)], None, (2, 1)),
            lax.reduce_window(x, two, lax.mul, (3, 1), (2, 2), [(2, -1), (-1, 1)], (2, 2), (1, 2)),
        ]

    with stagec.disable_jit():
        expected = f(stagec.numpy.asarray(x))
    with stagec.config.override(cpu_kernels=target == "cpu"):
        compiled = stagec.jit(f, device=target.partition(" ")[0])(x)
    for found, value in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-5)
