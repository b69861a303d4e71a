"""Products of rows in groups, parts of arrays by several indices, and how exact things are asked to be."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.errors import DtypeError, ShapeError, UnsupportedError
from stagec.primitives.precision import canonical_precision

SIZES = np.array([2, 0, 3], np.int32)
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(6, 4)).astype(np.float32)
MATRICES = RANDOM.normal(size=(3, 4, 5)).astype(np.float32)


def grouped(rows, matrices, sizes):
    out, start = np.zeros((len(rows), matrices.shape[2]), np.float32), 0
    for matrix, size in zip(matrices, sizes):
        out[start : start + size] = rows[start : start + size] @ matrix
        start += size
    return out


@pytest.mark.parametrize("run", [lambda f: f, stagec.jit])
def test_each_group_has_its_matrix(run):
    found = run(lax.ragged_dot)(ROWS, MATRICES, SIZES)
    np.testing.assert_allclose(found, grouped(ROWS, MATRICES, SIZES), rtol=1e-5, atol=1e-6)


def test_what_is_not_finite_stays_in_its_group():
    rows = ROWS.copy()
    rows[0, 0] = np.nan
    found = np.asarray(lax.ragged_dot(rows, MATRICES, SIZES))
    assert np.isnan(found[0]).all() and np.isfinite(found[1:]).all()


def test_sizes_may_be_mapped():
    sizes = snp.array([[2, 0, 3], [1, 1, 4]])
    found = stagec.vmap(lambda s: lax.ragged_dot(ROWS, MATRICES, s))(sizes)
    for one, size in zip(found, np.asarray(sizes)):
        np.testing.assert_allclose(one, grouped(ROWS, MATRICES, size), rtol=1e-5, atol=1e-6)


def test_a_contracted_axis_in_groups_gives_a_product_for_each():
    other = RANDOM.normal(size=(6, 3)).astype(np.float32)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    found = lax.ragged_dot_general(ROWS, other, SIZES, numbers)
    expected = np.stack([ROWS[a:b].T @ other[a:b] for a, b in ((0, 2), (2, 2), (2, 5))])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_batch_axes():
    rows, matrices = np.stack([ROWS, 2 * ROWS]), np.stack([MATRICES, MATRICES[::-1]], 1)
    numbers = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (1,))), [1], [0])
    found = lax.ragged_dot_general(rows, matrices, SIZES, numbers)
    for i in range(2):
        np.testing.assert_allclose(found[i], grouped(rows[i], matrices[:, i], SIZES), rtol=1e-5, atol=1e-6)
    contracted = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), [1], [])
    found = lax.ragged_dot_general(rows, rows, SIZES, contracted)
    assert found.shape == (3, 2, 4, 4)
    np.testing.assert_allclose(found[2, 1], 4 * ROWS[2:5].T @ ROWS[2:5], rtol=1e-5, atol=1e-5)
    batch = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [0], [])
    np.testing.assert_allclose(
        lax.ragged_dot_general(rows, rows, SIZES, batch), rows @ rows.swapaxes(1, 2), rtol=1e-5, atol=1e-5
    )


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="2 group sizes, and 3 groups"):
        lax.ragged_dot(ROWS, MATRICES, SIZES[:2])
    with pytest.raises(DtypeError, match="group_sizes must be integers"):
        lax.ragged_dot(ROWS, MATRICES, SIZES.astype("float32"))
    with pytest.raises(UnsupportedError, match=r"group_sizes is int32\[1,3\]"):
        lax.ragged_dot(ROWS, MATRICES, SIZES[None])
    with pytest.raises(UnsupportedError, match="group_offset is given"):
        lax.ragged_dot(ROWS, MATRICES, SIZES, group_offset=SIZES)
    with pytest.raises(ShapeError, match="name one ragged axis"):
        numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [])
        lax.ragged_dot_general(ROWS, MATRICES, SIZES, numbers)


def test_elements_by_several_indices():
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    assert lax.index_take(x, (np.array([0, 1]), np.array([2, 0])), (0, 2)).tolist() == [[2, 6, 10], [12, 16, 20]]
    assert lax.index_take(x, (np.array([1, 1, 2]),), (-2,)).shape == (3, 2, 4)
    with pytest.raises(ShapeError, match="1 index arrays for 2 axes"):
        lax.index_take(x, (np.array([0]),), (0, 1))


@pytest.mark.parametrize(("shape", "values"), [((), []), ((2,), [2]), ((2, 3), [2, 3])])
def test_a_shape_as_an_array(shape, values):
    found = lax.shape_as_value(shape)
    assert (found.dtype, found.tolist()) == ("int32", values)


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (lax.DotAlgorithmPreset.DEFAULT, None),
        (lax.DotAlgorithmPreset.BF16_BF16_F32, None),
        (lax.DotAlgorithmPreset.TF32_TF32_F32, "high"),
        ("BF16_BF16_F32_X3", "high"),
        ("F32_F32_F32", "highest"),
        (lax.DotAlgorithmPreset.F64_F64_F64, "highest"),
        (lax.DotAlgorithm("float32", "float32", "float32"), "highest"),
        (lax.DotAlgorithm("bfloat16", "bfloat16", "float32", num_primitive_operations=3), "high"),
        (lax.DotAlgorithm("float16", "float16", "float32"), None),
        ((lax.Precision.HIGHEST, lax.Precision.HIGHEST), "highest"),
    ],
)
def test_algorithms_are_the_least_that_is_asked(precision, expected):
    assert canonical_precision(precision) == expected
    assert lax.dot(ROWS[0], ROWS[0], precision=precision).shape == ()


@pytest.mark.parametrize("function", "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh".split())
def test_an_accuracy_may_be_asked(function):
    f = getattr(lax, function)
    for accuracy in (None, lax.AccuracyMode.HIGHEST, lax.Tolerance(atol=1e-3)):
        assert float(f(0.5, accuracy=accuracy)) == float(f(0.5))
    with pytest.raises(ValueError, match=rf"{function}: accuracy=3"):
        f(0.5, accuracy=3)
