"""Kernels of reductions work in whole vectors, and give what NumPy gives."""

import re

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compiler.flags import CompileOptions
from stagec.compiler.stages import stage_text
from stagec.compiler.targets import Target

TARGET = Target.parse("cpu:x86-64-v4")  # vectors of 64 bytes


@pytest.fixture(autouse=True)
def kernels_of_the_compiler():
    with stagec.config.override(straight_kernels=False):
        yield


def laid_out(function, *shapes, flag_set=None, target=TARGET, dtype="float32"):
    specs = [stagec.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    module = stagec.jit(function, target=str(target)).lower(*specs).as_text("optimized")
    return stage_text(module, target, "executable-configurations", CompileOptions(straight=False, flag_set=flag_set))


def tiles(text, level):
    return [[int(n) for n in found.split(",")] for found in re.findall(rf"{level} = \[([-\d, ]+)\]", text)]


def row_sums(x):
    return x.sum(axis=1)


def test_rows_that_are_no_multiple_of_a_vector_have_a_rest():
    text = laid_out(row_sums, (1000, 1000))
    assert "enable_loop_peeling" in text
    assert tiles(text, "vector_reduction") == [[0, 64]]
    (rows, _), (inner, _) = *tiles(text, "distribution"), tiles(text, "vector_common_parallel")[-1]
    assert 1000 % rows == 0 and rows % inner == 0


@pytest.mark.parametrize("rows", [7, 97, 1001])
def test_any_number_of_rows_is_taken_without_a_rest(rows):
    text = laid_out(row_sums, (rows, 100))
    (group, _), (inner, _) = *tiles(text, "distribution"), tiles(text, "vector_common_parallel")[-1]
    assert group == 0 or group % max(inner, 1) == 0


def test_rows_of_whole_vectors_have_none():
    text = laid_out(row_sums, (1000, 1024))
    assert "enable_loop_peeling" not in text and tiles(text, "vector_reduction") == [[0, 64]]


def test_short_rows_are_taken_one_vector_at_a_time():
    assert tiles(laid_out(row_sums, (1000, 100)), "vector_reduction") == [[0, 16]]


def test_columns_are_taken_several_vectors_at_a_time():
    text = laid_out(lambda x: x.sum(axis=0), (1000, 1024))
    assert tiles(text, "distribution") == [[64, 0]] and [64, 0] in tiles(text, "vector_common_parallel")


@pytest.mark.parametrize(("columns", "taken"), [(1023, 64), (100, 64), (37, 32), (17, 16)])
def test_the_last_columns_are_taken_with_masks(columns, taken):
    text = laid_out(lambda x: x.sum(axis=0), (1000, columns))
    assert [taken, 0] in tiles(text, "vector_common_parallel")
    assert all(group % taken == 0 for group, _ in tiles(text, "distribution"))
    assert "enable_loop_peeling" not in text


@pytest.mark.parametrize(
    ("target", "dtype", "taken"), [("x86-64-v3", "float32", 32), ("x86-64-v3", "int8", 32), ("x86-64-v2", "float32", 4)]
)
def test_columns_are_taken_as_the_target_has_masks(target, dtype, taken):
    text = laid_out(lambda x: x.max(axis=0), (1000, 1023), target=Target.parse(f"cpu:{target}"), dtype=dtype)
    assert [taken, 0] in tiles(text, "vector_common_parallel")


def test_products_are_hidden_from_their_sum():
    hidden = r"(%\d+) = arith.mulf .*\n.*(%cst\w*) = .* 0.0.*\n.*(%\d+) = arith.addf \1, \2 .*\n.*addf %out, \3"
    assert re.search(hidden, laid_out(lambda x: (x * x).sum(axis=1), (64, 64)))
    assert re.search(hidden, laid_out(lambda x, y: (x * y).sum(axis=0), (64, 64), (64, 64)))
    assert not re.search(hidden, laid_out(lambda x, y: x @ y, (64, 64), (64, 64)))
    assert not re.search(hidden, laid_out(lambda x, v: x @ v, (64, 64), (64,)))
    assert re.search(hidden, laid_out(lambda x, v: ((x - v) ** 2).sum(axis=0), (64, 64), (64,)))


def test_the_last_flag_set_leaves_kernels_as_they_are():
    assert "enable_loop_peeling" not in laid_out(row_sums, (1000, 1000), flag_set="careful")


def reductions(x):
    found = [x.sum(-1), x.max(-1), x.min(-1), x.argmax(-1), (x == x[0]).any(-1), (x * x).sum(-1), (x * x[0]).sum(0)]
    return [*found, (x * x).sum(), x - x.max(-1, keepdims=True), x + x.sum(-1, keepdims=True).astype(x.dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "int64"])
def test_reductions_of_uneven_rows_are_right(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    random = np.random.default_rng(0)
    xs = [
        (3 * random.normal(size=shape)).astype(kind) for shape in [(25, 1023), (8, 130), (3, 257), (1, 4099), (9, 512)]
    ]
    with stagec.enable_x64():
        found = stagec.jit(lambda xs: [reductions(x) for x in xs])(xs)
        expected = [reductions(snp.asarray(x)) for x in xs]
    for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
        want, got = np.asarray(want), np.asarray(got)
        assert want.dtype == got.dtype
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            eps = float(ml_dtypes.finfo(want.dtype).eps)
            wide = want.astype(np.float64)
            bound = 64 * eps * max(1.0, np.abs(wide).max())
            np.testing.assert_allclose(got.astype(np.float64), wide, rtol=64 * eps, atol=bound)


@pytest.mark.parametrize("size", [130, 1023])
def test_nan_and_infinities_pass_through(size):
    x = np.ones((4, size), np.float32)
    x[0, -1], x[1, 0], x[2, size // 2] = np.nan, np.inf, -np.inf
    found = stagec.jit(lambda x: (x.sum(1), x.max(1), x.min(1), (x * x).sum(1)))(x)
    for got, want in zip(found, (x.sum(1), x.max(1), x.min(1), (x * x).sum(1))):
        np.testing.assert_array_equal(np.asarray(got), want)


def test_arrays_read_across_are_taken_in_squares():
    assert tiles(laid_out(lambda x: x.T + x, (1024, 1024)), "vector_common_parallel") == [[16, 16]]
    assert tiles(laid_out(lambda x: x.T + x, (1000, 1000)), "vector_common_parallel") == [[8, 8]]
    assert tiles(laid_out(lambda x: x.T + x, (999, 999)), "vector_common_parallel") == [[16, 16]]
    inner = laid_out(lambda x, y: x.transpose(0, 2, 1) + y, (10, 64, 96), (10, 96, 64))
    assert tiles(inner, "vector_common_parallel") == [[1, 16, 16]]
    outer = laid_out(lambda x, y: x.transpose(1, 0, 2) + y, (64, 10, 96), (10, 64, 96))
    assert tiles(outer, "vector_common_parallel")[0][-1] == 16 and sum(tiles(outer, "vector_common_parallel")[0]) == 18


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool"])
@pytest.mark.parametrize("shape", [(64, 96), (33, 50)])
def test_squares_hold_what_numpy_gives(shape, dtype):
    x, y = ((np.random.default_rng(i).normal(size=shape) * 9).astype(dtype) for i in range(2))
    with stagec.enable_x64():
        plain, batch, row = stagec.jit(
            lambda x, y: (
                x.T + y.reshape(shape[::-1]),
                snp.stack([x, y]).transpose(0, 2, 1) * y.T,
                x.T + x.ravel()[: shape[0]],
            )
        )(x, y)
    np.testing.assert_array_equal(plain, x.T + y.reshape(shape[::-1]))
    np.testing.assert_array_equal(batch, np.stack([x, y]).transpose(0, 2, 1) * y.T)
    np.testing.assert_array_equal(row, x.T + x.ravel()[: shape[0]])
