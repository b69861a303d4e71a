"""Windows as features, kernels for each place, and shapes of convolutions."""

import numpy as np
import pytest

import stagec
from stagec import lax
from stagec.errors import ShapeError

LAYOUTS = [None, ("NHWC", "HWIO", "NHWC"), ("NHWC", "OIHW", "NCHW"), ("HWNC", "IOHW", "CNHW")]
WINDOWS = [
    ((1, 1), "VALID", None, None),
    ((2, 1), "SAME", None, (1, 2)),
    ((1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2)),
]


def sample(letters, **sizes):
    shape = [sizes[c] for c in letters]
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("window", WINDOWS)
def test_patches_times_a_kernel_are_its_convolution(layout, window):
    lhs, rhs, out = layout or ("NCHW", "OIHW", "NCHW")
    x, kernel = sample(lhs, N=2, C=3, H=7, W=8), sample(rhs, O=5, I=3, H=2, W=3)
    patches = lax.conv_general_dilated_patches(x, (2, 3), *window, layout)
    flat = np.transpose(kernel, [rhs.index(c) for c in "OIHW"]).reshape(5, 18)
    found = np.moveaxis(np.tensordot(flat, np.moveaxis(np.asarray(patches), out.index("C"), 0), 1), 0, out.index("C"))
    expected = lax.conv_general_dilated(x, kernel, *window, layout)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("window", WINDOWS)
def test_equal_kernels_at_all_places_are_a_convolution(layout, window):
    lhs, rhs, out = layout or ("NCHW", "OIHW", "NCHW")
    x, kernel = sample(lhs, N=2, C=3, H=7, W=8), sample(rhs, O=5, I=3, H=2, W=3)
    expected = lax.conv_general_dilated(x, kernel, *window, layout)
    flat = np.transpose(kernel, [rhs.index(c) for c in "OIHW"]).reshape(5, 18, 1, 1)
    places = [expected.shape[out.index(c)] for c in "HW"]
    everywhere = np.transpose(np.broadcast_to(flat, (5, 18, *places)), ["OIHW".index(c) for c in rhs])
    found = lax.conv_general_dilated_local(x, everywhere, window[0], window[1], (2, 3), *window[2:], layout)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_each_place_has_its_own_kernel():
    x = np.arange(4.0, dtype=np.float32).reshape(1, 1, 4)
    kernels = np.arange(6.0, dtype=np.float32).reshape(1, 2, 3)
    found = stagec.jit(lambda x, k: lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,)))(x, kernels)
    assert found.tolist() == [[[3.0, 1 * 1 + 2 * 4, 2 * 2 + 3 * 5]]]
    with pytest.raises(ShapeError, match="no kernel of 2 numbers for each of"):
        lax.conv_general_dilated_local(x, kernels[..., :2], (1,), "VALID", (2,))
    with pytest.raises(ShapeError, match="filter_shape"):
        lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID")


def test_patches_are_differentiated():
    x = np.arange(5.0, dtype=np.float32).reshape(1, 1, 5)
    gradient = stagec.grad(lambda x: lax.conv_general_dilated_patches(x, (2,), (1,), "VALID").sum())(x)
    assert gradient.tolist() == [[[1, 2, 2, 2, 1]]]


def test_shapes_are_those_of_the_operations():
    numbers = ("NHWC", "HWIO", "NHWC")
    assert lax.conv_general_permutations(("NHWC", "HWIO", "NCHW")) == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    assert lax.conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), ((0, 0), (1, 2))) == (2, 4, 6, 5)
    assert lax.conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 3), (1, 2), "SAME", batch_group_count=2) == (1, 4, 8, 5)
    assert lax.conv_general_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), "VALID", numbers) == (2, 6, 4, 4)
    assert lax.conv_transpose_shape_tuple((2, 8, 9, 3), (3, 3, 3, 4), (1, 2), "VALID", numbers) == (2, 10, 19, 4)
    assert lax.reduce_window_shape_tuple((-1, 8, 9), (1, 3, 3), (1, 2, 2), "VALID") == (0, 3, 4)
    assert lax.conv_general_shape_tuple((-1, 8, 9, 3), (3, 3, 3, 4), (1, 2), "VALID", numbers) == (-1, 6, 4, 4)
    assert lax.reduce_window_shape_tuple((8, 9), (3, 3), (2, 1), ((1, 1), (0, 0)), (1, 2), (2, 1)) == (3, 15)
    with pytest.raises(ShapeError):
        lax.conv_shape_tuple((2, 3, 8, 9), (4, 2, 3, 3), (1, 2), "SAME")
