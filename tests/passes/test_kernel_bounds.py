"""Loops over terms that a mask sets to the identity end where the mask does; what is computed stays the same."""

import re

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

LOWS, HIGHS = [0, 3, 0, 5, 9, -4, 2, 31, 40, 7], [0, 9, 50, 5, 4, 6, -1, 37, 99, 30]


@pytest.fixture(autouse=True)
def wide():
    with stagec.enable_x64(), np.errstate(all="ignore"):
        yield


def within(size, low, high):
    positions = snp.arange(size)
    return snp.logical_and(positions < high, positions >= low)


def each(function, *operands):
    """A loop that stores the result of a function of each pair of bounds, and of arrays that change their sign."""
    lows, highs = np.array(LOWS), np.array(HIGHS)

    def program(lows, highs, *operands):
        shape = stagec.eval_shape(function, 0, 0, *operands)
        out = snp.zeros((len(LOWS), *shape.shape), shape.dtype)

        def body(i, state):
            out, *operands = state
            return (out.at[i].set(function(lows[i], highs[i], *operands)), *[-x for x in operands])

        return lax.fori_loop(0, len(LOWS), body, (out, *operands))[0]

    text = stagec.jit(program).lower(lows, highs, *operands).as_text("kernels")
    found = np.asarray(stagec.jit(program)(lows, highs, *operands))
    with stagec.disable_jit():
        expected = np.asarray(program(lows, highs, *operands))
    return found, expected, len(re.findall(r"scf\.for %\w+ = %\w+ to %(?!c\d+ )", text))


def numbers(size, dtype):
    return np.random.default_rng(size).integers(-4, 5, size).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex128"])
@pytest.mark.parametrize("size", [3, 8, 37, 64])
def test_a_product_of_masked_rows(size, dtype):
    def function(low, high, x, y):
        mask = within(size, low, high)
        return snp.where(mask, x, 0) @ snp.where(mask, y, 0)

    x, y = numbers(size, dtype), numbers(size + 1, dtype)[:-1]
    found, expected, bounded = each(function, x, y)
    np.testing.assert_array_equal(found, expected)
    assert bounded or size == 3 or dtype == "complex128"


@pytest.mark.parametrize(
    ("reduce", "fill"), [(snp.sum, 0), (snp.max, -np.inf), (snp.min, np.inf), (snp.prod, 1), (snp.sum, 2), (snp.max, 0)]
)
def test_a_reduction_of_masked_terms(reduce, fill):
    found, expected, bounded = each(
        lambda low, high, x: reduce(snp.where(within(37, low, high), x, fill)), numbers(37, "float64")
    )
    np.testing.assert_array_equal(found, expected)
    assert bool(bounded) == ((reduce, fill) not in ((snp.sum, 2), (snp.max, 0)))


def test_masks_of_other_terms_bound_nothing():
    def function(low, high, x, y):
        return snp.where(within(37, low, 37), x, 0) @ snp.where(within(37, 0, high), y, 0)

    found, expected, bounded = each(function, numbers(37, "float64"), numbers(38, "float64")[1:])
    np.testing.assert_array_equal(found, expected)
    assert not bounded


def test_what_a_mask_leaves_out_may_be_no_number():
    def function(low, high, x):
        masked = snp.where(within(37, low, high), x, 0)
        return masked @ masked

    x = numbers(37, "float64")
    x[20:] = np.nan
    found, expected, _ = each(function, x)
    np.testing.assert_array_equal(found, expected)


def test_the_rows_and_the_columns_of_a_matrix():
    def function(low, high, a):
        masked = snp.where(within(12, low, high)[:, None], a, 0)
        return snp.concatenate([masked.sum(0), snp.where(within(20, low, high), a, 0).sum(1)])

    found, expected, bounded = each(function, numbers(240, "float64").reshape(12, 20))
    np.testing.assert_array_equal(found, expected)
    assert bounded >= 2


def test_positions_that_wrap_around_bound_nothing():
    def function(low, high, x):
        wrapped = lax.iota("int8", 200)
        return snp.where(wrapped < snp.asarray(high).astype("int8"), x, 0).sum()

    found, expected, bounded = each(function, numbers(200, "float64"))
    np.testing.assert_array_equal(found, expected)
    assert not bounded
