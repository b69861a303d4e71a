"""Names of `jax.lax` that are not rows of the table."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(("start", "stop"), [(0, 2), (1, 3), (1, None), (0, None), (-2, None), (0, -1), (1, 2)])
def test_collapse_makes_one_axis_of_several(start, stop):
    axes = list(range(3))[start:stop]
    expected = X.reshape(*X.shape[: axes[0]], -1, *X.shape[axes[-1] + 1 :])
    for run in (lax.collapse, stagec.jit(lax.collapse, static_argnums=(1, 2))):
        np.testing.assert_array_equal(run(X, start, stop), expected)
    assert lax.collapse(np.zeros((0, 3), np.float32), 0).shape == (0,)


def test_collapse_of_no_axes_is_refused():
    with pytest.raises(errors.ShapeError, match="there are no axes from 2 to 1") as caught:
        lax.collapse(X, 2, 1)
    assert "test_lax_names.py" in str(caught.value) and "float32[2,3,4]" in str(caught.value)


def test_broadcast_shapes_is_numpys():
    assert (
        lax.broadcast_shapes((3, 1), (1, 4), (5, 1, 1)) == (5, 3, 4) == np.broadcast_shapes((3, 1), (1, 4), (5, 1, 1))
    )
    with pytest.raises(ValueError, match="do not broadcast"):
        lax.broadcast_shapes((3,), (4,))


@pytest.mark.parametrize("dimension", [0, -1])
def test_sort_key_val_moves_values_with_keys(dimension):
    keys = np.array([[3, 1, 2], [1, 1, 0]], np.int32)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    order = np.argsort(keys, dimension, kind="stable")
    for run in (lax.sort_key_val, stagec.jit(lax.sort_key_val, static_argnums=2)):
        k, v = run(keys, values, dimension)
        np.testing.assert_array_equal(k, np.take_along_axis(keys, order, dimension))
        np.testing.assert_array_equal(v, np.take_along_axis(values, order, dimension))


def test_optimization_barrier_keeps_a_pytree_and_what_is_behind_it():
    def f(tree):
        held = lax.optimization_barrier(tree)
        # An update in place behind the barrier must not show in front of it.
        return held["a"].at[0].set(7), tree["a"], held["b"][0] + tree["a"]

    tree = {"a": np.arange(4, dtype=np.float32) + 1, "b": [np.float32(2)]}
    for run in (f, stagec.jit(f)):
        changed, kept, total = run(tree)
        np.testing.assert_array_equal(changed, [7, 2, 3, 4])
        np.testing.assert_array_equal(kept, [1, 2, 3, 4])
        np.testing.assert_array_equal(total, [3, 4, 5, 6])
    text = stagec.jit(f).lower(tree).as_text()
    assert text.count("stablehlo.optimization_barrier") == 2


def test_a_value_computed_before_a_barrier_is_updated_safely_behind_it():
    def f(x):
        y = x * 2
        held = lax.optimization_barrier(y)
        return held.at[1].add(100), y, snp.sort(-held)

    x = np.arange(4, dtype=np.float32)
    for found, expected in zip(stagec.jit(f)(x), ([0, 102, 4, 6], [0, 2, 4, 6], [-6, -4, -2, 0])):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("precision", [*lax.Precision, (lax.Precision.HIGH, lax.Precision.HIGH), None, "highest"])
def test_precision_is_accepted_where_products_take_it(precision):
    a, b = X[0], X[0].T
    for found in (
        lax.dot(a, b, precision=precision),
        snp.matmul(a, b, precision=precision),
        snp.einsum("ij,jk", a, b, precision=precision),
        stagec.jit(lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), precision=precision))(a, b),
    ):
        np.testing.assert_allclose(found, a @ b, rtol=1e-6)
    image, kernel = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    assert lax.conv(image, kernel, (1, 1), "SAME", precision=precision).shape == (1, 1, 4, 4)


def test_an_unknown_precision_names_the_line():
    with pytest.raises(ValueError, match="unknown precision 'best'") as caught:
        lax.dot(X[0], X[0].T, precision="best")
    assert "test_lax_names.py" in str(caught.value)
