"""Sorts by a kernel are stable, of every dtype, and in NumPy's order."""

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

DTYPES = [
    "bool int8 int16 int32 int64 float32".split(),
    "uint8 uint16 uint32 uint64 float64".split(),
    "float16 bfloat16 complex64".split(),
]


def sample(shape, dtype, seed=0):
    """Numbers with repetitions, both zeros, NaN, and the extremes of the dtype."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        x = np.where(rng.uniform(size=shape) < 0.4, x // 2**5 % 7, x).astype(dtype)
        x.flat[:2] = info.min, info.max
        return x
    x = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).round(2)
    if dtype.kind == "c":
        x = x.round(0) + 1j * rng.normal(size=shape).round(1)
    x = np.where(rng.uniform(size=shape) < 0.1, -0.0, np.where(rng.uniform(size=shape) < 0.1, 0.0, x))
    x = x.astype(dtype)
    if dtype.kind not in "bc":
        x.flat[[3, 5, 7, 11]] = np.inf, -np.inf, np.nan, -np.nan
    return x


def keys(x):
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def compiled(function, *args):
    with stagec.enable_x64():
        return stagec.tree.map(np.asarray, stagec.jit(function)(*args))


def bits(x):
    return np.ascontiguousarray(x).view(f"V{x.dtype.itemsize}")


@pytest.mark.parametrize("dtypes", DTYPES, ids=" ".join)
def test_values_and_positions_are_sorted_stably(dtypes):
    xs = [sample((3, 130), dtype) for dtype in dtypes]
    results = compiled(lambda xs: [(snp.sort(x), snp.argsort(x)) for x in xs], xs)
    for x, (values, places) in zip(xs, results):
        expected = np.argsort(keys(x), -1, kind="stable")
        np.testing.assert_array_equal(places, expected, str(x.dtype))
        assert (bits(values) == bits(np.take_along_axis(x, expected, -1))).all(), x.dtype


@pytest.mark.parametrize(
    "shape, axis", [((49,), 0), ((2047,), 0), ((2048,), 0), ((40_000,), 0), ((700, 3), 0), ((5, 60, 7), 1)]
)
def test_axes_of_any_length_and_place(shape, axis):
    x = sample(shape, "float32")
    places = compiled(lambda x: snp.argsort(x, axis=axis), x)
    np.testing.assert_array_equal(places, np.argsort(x, axis, kind="stable"))


def test_columns_are_shared_by_workgroups_and_threads():
    x = sample((300, 2000), "int32")
    values = compiled(lambda x: snp.sort(x, axis=0), x)
    np.testing.assert_array_equal(values, np.sort(x, 0))


@pytest.mark.parametrize("x", [np.zeros(100), np.arange(100.0), np.arange(100.0)[::-1], np.repeat([2.0, 1.0], 5000)])
def test_digits_that_are_alike_are_passed_over(x):
    x = x.astype(np.float32)
    np.testing.assert_array_equal(compiled(snp.argsort, x), np.argsort(x, kind="stable"))


def test_several_keys_and_operands_that_move_along():
    first, second = sample(3000, "uint8") % 4, sample(3000, "int64")
    third = sample(3000, "float32")

    def program(a, b, c):
        return snp.lexsort((b, a)), lax.sort((a, b, c), num_keys=2), lax.sort((a, c), num_keys=1)

    order, by_two, by_one = compiled(program, first, second, third)
    expected = np.lexsort((second, first))
    np.testing.assert_array_equal(order, expected)
    for found, x in zip(by_two, (first, second, third)):
        np.testing.assert_array_equal(found, x[expected])
    np.testing.assert_array_equal(by_one[1], third[np.argsort(first, kind="stable")])


def test_descending_orders_and_the_largest():
    x = sample(500, "int16")
    places, (values, largest) = compiled(lambda x: (snp.argsort(x, descending=True), lax.top_k(x, 60)), x)
    expected = np.argsort(-x.astype(int), kind="stable")
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(largest, expected[:60])
    np.testing.assert_array_equal(values, x[expected[:60]])


def test_a_sort_in_a_loop_and_one_of_an_argument_that_is_returned():
    x = sample(200, "float32")
    x[np.isnan(x)] = 1
    given = snp.asarray(x)

    def program(x):
        return lax.fori_loop(0, 3, lambda i, v: snp.sort(v * -1.0), x), snp.sort(x), x

    looped, values, same = compiled(program, given)
    np.testing.assert_array_equal(looped, -np.sort(x)[::-1])
    np.testing.assert_array_equal(values, np.sort(x))
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(np.asarray(given), x)


def test_a_sort_orders_by_the_result_of_another():
    x = sample((60, 70), "int32")

    def program(x):
        return snp.argsort(snp.sort(x, axis=0), axis=1), lax.sort((snp.sort(x, axis=1), x), 0, num_keys=2)[1]

    places, moved = compiled(program, x)
    np.testing.assert_array_equal(places, np.argsort(np.sort(x, 0), 1, kind="stable"))
    np.testing.assert_array_equal(moved, np.take_along_axis(x, np.lexsort((x, np.sort(x, 1)), 0), 0))


def test_rows_of_independent_rounds_are_sorted_at_once():
    x = sample((5, 200), "float32")
    spec = stagec.ShapeDtypeStruct(x.shape, x.dtype)
    text = stagec.jit(lambda x: lax.map(snp.argsort, x)).lower(spec).as_text("kernels")
    assert text.count("flow.dispatch @sort") == 1 and "stablehlo.while" not in text
    places = compiled(lambda x: lax.map(snp.argsort, x), x)
    np.testing.assert_array_equal(places, np.argsort(x, 1, kind="stable"))


def test_derivatives_follow_the_elements():
    x = np.random.default_rng(0).normal(size=100).astype(np.float32)
    weights = np.arange(100, dtype=np.float32)
    slope = np.asarray(stagec.jit(stagec.grad(lambda x: (snp.sort(x) * weights).sum()))(x))
    np.testing.assert_array_equal(slope, weights[np.argsort(np.argsort(x))])


def test_a_sort_of_a_long_axis_is_one_kernel():
    spec = stagec.ShapeDtypeStruct((1000,), "float32")
    text = stagec.jit(snp.argsort).lower(spec).as_text("kernels")
    assert text.count("flow.dispatch @sort") == 1 and "stablehlo.while" not in text
    # A position is no second key.
    assert "(tensor<1000xi32>) -> " in text


def test_without_kernels_the_order_is_the_same():
    x = sample((2, 100), "float32")
    expected = compiled(snp.argsort, x)
    with stagec.config.override(cpu_kernels=False):
        spec = stagec.ShapeDtypeStruct(x.shape, x.dtype)
        assert "stablehlo.while" in stagec.jit(snp.argsort).lower(spec).as_text("kernels")
        np.testing.assert_array_equal(compiled(snp.argsort, x), expected)
