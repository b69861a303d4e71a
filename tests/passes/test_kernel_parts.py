"""What is put together of parts, in straight-line kernels: in vectors, however short one of the parts is."""

import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp

# The sizes of parts along the last axis: shorter than any vector, than some, and longer.
PARTS = [(1, 70), (70, 1), (1, 37, 2), (3, 5), (5, 16, 7, 1), (2000, 1, 300)]


def rolled(x):
    return x + snp.roll(x, 1, -1) + snp.roll(x, -2, 0)


@pytest.mark.parametrize("shape", [(90, 40), (3, 5, 33), (50_000,), (400_003,)])
def test_a_short_part_leaves_the_others_in_vectors(shape):
    text = stagec.jit(rolled, target="cpu:x86-64-v3").lower(snp.ones(shape)).as_text("kernels")
    assert "vector.load" in text and "vector<8xf32>" in text
    x = np.random.default_rng(0).random(shape, np.float32)
    expected = x + np.roll(x, 1, -1) + np.roll(x, -2, 0)
    np.testing.assert_array_equal(np.asarray(stagec.jit(rolled)(x)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "complex64"])
def test_parts_of_any_length_are_put_together(dtype):
    rng = np.random.default_rng(0)
    cases = [
        [(rng.integers(-9, 9, (*rows, n)) % 5).astype(dtype) for n in sizes]
        for sizes in PARTS
        for rows in ((), (3,), (60,))
    ]

    def joined(xp, parts):
        whole = xp.concatenate(parts, -1)
        return whole, whole[..., ::-1] == whole, xp.pad(whole, 1)

    found = stagec.jit(lambda cases: [joined(snp, parts) for parts in cases])(cases)
    for parts, results in zip(cases, found):
        for actual, expected in zip(results, joined(np, parts)):
            np.testing.assert_array_equal(np.asarray(actual), expected)


def test_no_memory_is_read_or_written_outside_of_a_part():
    x = np.random.default_rng(0).random((9, 37), np.float32)
    expected = x + np.roll(x, 1, -1) + np.roll(x, -2, 0)
    np.testing.assert_array_equal(np.asarray(stagec.jit(rolled)(guarded(x))), expected)
