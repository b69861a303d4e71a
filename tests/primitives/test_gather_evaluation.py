"""`gather` outside of jit, where NumPy evaluates it."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_large_unsigned_indices_are_past_the_end(mode):
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    with stagec.enable_x64():
        x = snp.arange(4)
        indices = np.array([[2**63 + 5], [2], [2**64 - 1]], np.uint64)

        def read(i):
            return lax.gather(x, i, numbers, (1,), mode=mode, fill_value=7)

        expected = [3, 2, 3] if mode == "clip" else [7, 2, 7]
        np.testing.assert_array_equal(read(indices), expected)
        np.testing.assert_array_equal(stagec.jit(read)(indices), expected)
