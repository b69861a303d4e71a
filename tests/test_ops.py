"""`stagec.ops` and `stagec.flatten_util`."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, ops
from stagec.flatten_util import ravel_pytree

UFUNCS = {"segment_sum": np.add, "segment_prod": np.multiply, "segment_max": np.maximum, "segment_min": np.minimum}
IDS = np.array([2, 0, 2, 5, -1, 3, 0])


def plain(name, data, ids, count):
    start = {"segment_sum": 0, "segment_prod": 1}
    if np.issubdtype(data.dtype, np.integer):
        info = np.iinfo(data.dtype)
        start |= {"segment_max": info.min, "segment_min": info.max}
    else:
        start |= {"segment_max": -np.inf, "segment_min": np.inf}
    out = np.full((count, *data.shape[ids.ndim :]), start[name], data.dtype)
    for place in np.ndindex(*ids.shape):
        if 0 <= ids[place] < count:
            out[ids[place]] = UFUNCS[name](out[ids[place]], data[place])
    return out


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16"])
@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 0)])
def test_segments_are_combined_and_ids_outside_are_left_out(name, dtype, shape):
    data = (np.random.default_rng(0).normal(size=shape) * 4).astype(dtype)
    actual = getattr(ops, name)(data, IDS, 5)
    assert actual.dtype == dtype
    np.testing.assert_allclose(np.asarray(actual), plain(name, data, IDS, 5), 1e-2 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", UFUNCS)
def test_segments_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    data = np.random.default_rng(1).normal(size=(7, 2)).astype(np.float32)
    for options in (
        {},
        {"num_segments": 4},
        {"num_segments": 6, "bucket_size": 3},
        {"num_segments": 4, "mode": "clip"},
    ):
        ids = IDS if options else abs(IDS)
        expected = getattr(jax.ops, name)(data, ids, **options)
        np.testing.assert_allclose(np.asarray(getattr(ops, name)(data, ids, **options)), np.asarray(expected), 1e-6)


def test_segments_run_compiled_mapped_and_have_gradients():
    data = np.random.default_rng(1).normal(size=(3, 7)).astype(np.float32)
    run = stagec.jit(lambda data, ids: ops.segment_sum(data, ids, 6))
    np.testing.assert_allclose(np.asarray(run(data[0], IDS)), plain("segment_sum", data[0], IDS, 6), 1e-6)
    mapped = stagec.vmap(lambda x: ops.segment_max(x, IDS, 6))(data)
    np.testing.assert_array_equal(np.asarray(mapped), [plain("segment_max", x, IDS, 6) for x in data])
    slope = stagec.grad(lambda x: (ops.segment_sum(x, IDS, 4) * np.arange(1.0, 5.0, dtype=np.float32)).sum())(data[0])
    assert slope.tolist() == [3, 1, 3, 0, 0, 4, 1]


def test_segments_check_their_arguments():
    with pytest.raises(errors.DtypeError, match="give integers"):
        ops.segment_sum(np.ones(3), np.ones(3))
    with pytest.raises(errors.ShapeError, match="the axes of segment_ids first"):
        ops.segment_sum(np.ones(3), np.array([0, 1]))
    with pytest.raises(errors.ConcretizationError, match="num_segments"):
        stagec.jit(ops.segment_sum)(np.ones(2), np.array([0, 1]))
    with pytest.raises(ValueError, match="unknown gather/scatter mode 'clamp'"):
        ops.segment_sum(np.ones(2), np.array([0, 1]), mode="clamp")
    with pytest.raises(ValueError, match="bucket_size is 0"):
        ops.segment_sum(np.ones(2), np.array([0, 1]), bucket_size=0)
    assert ops.segment_sum(np.ones(0), np.zeros(0, int)).shape == (0,)


def test_a_pytree_becomes_a_vector_and_is_made_of_one_again():
    tree = {"a": snp.arange(6.0).reshape(2, 3), "b": (snp.float32(7), snp.zeros((0, 2))), "c": None}
    vector, unravel = ravel_pytree(tree)
    assert vector.tolist() == [0, 1, 2, 3, 4, 5, 7]
    back = unravel(vector)
    assert stagec.tree.structure(back) == stagec.tree.structure(tree)
    assert [x.shape for x in stagec.tree.leaves(back)] == [(2, 3), (), (0, 2)]
    # All of one dtype: others pass through.
    assert unravel(vector.astype("int32"))["a"].dtype == "int32"


def test_mixed_dtypes_are_promoted_and_converted_back():
    vector, unravel = ravel_pytree([snp.arange(2), snp.ones(1, "float16")])
    assert vector.dtype == "float16"
    assert [x.dtype.name for x in unravel(vector)] == ["int32", "float16"]
    with pytest.raises(errors.DtypeError, match="astype"):
        unravel(vector.astype("float32"))
    with pytest.raises(errors.ShapeError, match="3 numbers"):
        unravel(vector[:2])


def test_functions_of_equal_structures_share_a_trace():
    traced = []

    @functools.partial(stagec.jit, static_argnums=1)
    def double(vector, unravel):
        traced.append(vector)
        return unravel(2 * vector)

    trees = [{"a": snp.ones(2), "b": snp.float32(x)} for x in (3, 4)]
    assert [double(*ravel_pytree(tree))["b"].tolist() for tree in trees] == [6, 8] and len(traced) == 1


def test_vectors_of_pytrees_work_under_transformations():
    tree = {"a": snp.arange(3.0), "b": snp.float32(2)}

    def f(vector):
        parts = ravel_pytree(tree)[1](vector)
        return (parts["a"] ** 2).sum() * parts["b"]

    vector = ravel_pytree(tree)[0]
    assert stagec.jit(stagec.grad(f))(vector).tolist() == [0, 4, 8, 5]
    assert stagec.vmap(lambda x: ravel_pytree((x, x + 1))[0])(snp.zeros((2, 1))).tolist() == [[0, 1], [0, 1]]
    empty, unravel = ravel_pytree({"none": None})
    assert empty.shape == (0,)
    assert unravel(empty) == {"none": None}
