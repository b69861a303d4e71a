"""Operations of `lax` that are composed of others."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "int64", "uint64"])
def test_upper_halves_of_products_are_exact(dtype):
    info = np.iinfo(dtype)
    ends = [info.min, info.max, 0, 1, info.max // 2]
    x = np.array([a for a in ends for _ in ends] + RNG.integers(info.min, info.max, 50, dtype).tolist(), dtype)
    y = np.array([b for _ in ends for b in ends] + RNG.integers(info.min, info.max, 50, dtype).tolist(), dtype)
    expected = np.array([(int(a) * int(b)) >> info.bits for a, b in zip(x, y)], dtype)
    with stagec.enable_x64():
        np.testing.assert_array_equal(np.asarray(lax.mulhi(x, y)), expected)
        if dtype in ("int32", "uint64"):
            np.testing.assert_array_equal(np.asarray(stagec.jit(lax.mulhi)(x, y)), expected)


def test_upper_halves_need_integers_of_one_dtype():
    with pytest.raises(errors.DtypeError):
        lax.mulhi(np.float32([1.0]), np.float32([1.0]))
    with pytest.raises(errors.DtypeError):
        lax.mulhi(np.int32([1]), np.uint32([1]))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("axis", [-1, 0])
def test_extremes_are_exact(dtype, axis):
    x = RNG.permutation(24).reshape(4, 6).astype(dtype)
    if dtype == "int32":
        x[1, 2] = np.iinfo(dtype).min
    order = np.argsort(x, axis)
    lowest, places = lax.approx_min_k(x, 3, axis)
    np.testing.assert_array_equal(np.asarray(places), np.take(order, range(3), axis))
    np.testing.assert_array_equal(np.asarray(lowest), np.take_along_axis(x, np.asarray(places), axis))
    highest, places = lax.approx_max_k(x, 3, axis, recall_target=0.5)
    np.testing.assert_array_equal(np.asarray(places), np.flip(np.take(order, range(-3, 0), axis), axis))
    np.testing.assert_array_equal(np.asarray(highest), np.take_along_axis(x, np.asarray(places), axis))


def test_shapes_are_those_of_jax():
    x = snp.arange(6).reshape(2, 3)
    assert lax.tile(x, (2, 1)).tolist() == np.tile(x, (2, 1)).tolist()
    assert lax.stack([x, x], -1).shape == (2, 3, 2)
    assert [part.tolist() for part in lax.unstack(x, 1)] == [[0, 3], [1, 4], [2, 5]]
    assert lax.broadcast_to_rank(x, 4).shape == (1, 1, 2, 3)
    assert lax.broadcast_like(snp.ones(3), x).shape == (2, 3)
    assert lax.empty((2, 0), "int8").dtype == "int8"
    assert (lax.dtype(1), lax.dtype(x > 1), lax.dtype(np.float64(1))) == (np.int32, np.bool_, np.float32)
    with pytest.raises(errors.ShapeError, match=r"stagec\.numpy\.tile|snp\.tile"):
        lax.tile(x, (2,))
    with pytest.raises(errors.DtypeError):
        lax.stack([x, x.astype("float32")])


@pytest.mark.parametrize("rows", [0, 1, 6, 7])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_rows_are_mapped_in_batches(rows, batch_size):
    x = RNG.normal(size=(rows, 4)).astype(np.float32)
    y = np.arange(rows)
    found = lax.map(lambda r: {"sum": r[0].sum() * r[1], "row": r[0] * 2}, (x, y), batch_size=batch_size)
    np.testing.assert_allclose(np.asarray(found["sum"]), x.sum(1) * y, 1e-5)
    np.testing.assert_array_equal(np.asarray(found["row"]), x * 2)


def test_a_batch_is_one_round_of_a_loop_that_does_not_grow_with_it():
    def count(batch_size):
        x = np.ones((60, 4), np.float32)
        graph = stagec.make_graph(lambda x: lax.map(lambda r: snp.sin(r).sum(), x, batch_size=batch_size))(x)
        return str(graph).count("sin")

    assert count(10) == count(30) == 1
    assert count(7) == 2  # and the rows that remain


def test_mapped_batches_have_gradients_and_compile():
    x = RNG.normal(size=(7, 4)).astype(np.float32)
    f = stagec.jit(lambda x: lax.map(lambda r: snp.sin(r).sum(), x, batch_size=3).sum())
    np.testing.assert_allclose(np.asarray(stagec.grad(f)(x)), np.cos(x), 1e-5)
    # What does not depend on the row is repeated.
    assert lax.map(lambda r: 3, x, batch_size=2).tolist() == [3] * 7
    with pytest.raises(errors.ShapeError):
        lax.map(lambda r: r[0], (x, x[:3]), batch_size=2)


def test_functions_without_work_to_do_return_arrays_too():
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"):
        found = getattr(lax, name)(3)
        assert isinstance(found, stagec.Array) and found == 3
    assert all(isinstance(part, stagec.Array) for part in snp.average(snp.ones(2), returned=True))


def test_broadcast_dimensions_may_be_in_any_order():
    x = np.arange(3).reshape(3, 1)
    np.testing.assert_array_equal(
        lax.broadcast_in_dim(x, (2, 3, 4), (1, 0)), np.broadcast_to(x.T[..., None], (2, 3, 4))
    )
    square = np.arange(4).reshape(2, 2)
    found = stagec.jit(lambda v: lax.broadcast_in_dim(v, (2, 3, 2), (2, 0)))(square)
    np.testing.assert_array_equal(found, np.broadcast_to(square.T[:, None], (2, 3, 2)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.convert_element_type(-1, np.uint8),
        lambda: lax.convert_element_type(2**40, np.float32),
        lambda: lax.convert_element_type(np.ones(2, np.float32), np.float32),
        lambda: lax.reduce_sum(1.0),
        lambda: lax.reduce_max(np.ones(2, np.float32), ()),
        lambda: lax.psum(np.ones(2, np.float32), ()),
        lambda: lax.pmax(1.0, ()),
        lambda: snp.piecewise(True, [], [2.0]),
    ],
)
def test_what_needs_no_computation_is_an_array_all_the_same(call):
    result = call()
    assert isinstance(result, stagec.Array)
    compiled = stagec.jit(call)()
    assert (result.dtype, result.shape) == (compiled.dtype, compiled.shape)
    np.testing.assert_array_equal(result, compiled)


def test_integers_wrap_around_and_floats_saturate_where_they_are_converted():
    cases = {-1: 255, 300: 44, -1.5: 0, 1e10: 255, True: 1}
    assert {k: int(lax.convert_element_type(k, np.uint8)) for k in cases} == cases


def test_convert_element_type_returns_an_array_where_nothing_changes():
    for given in (1.0, np.ones(3, np.float32)):
        converted = lax.convert_element_type(given, np.float32)
        assert isinstance(converted, stagec.Array)
        assert not converted.weak_type


def test_integer_exponents_and_products_of_two_dtypes():
    x, n = np.array([2.0, 3.0], np.float32), np.array([3, 2], np.int32)
    for run in (lambda f: f, stagec.jit):
        assert run(lax.pow)(x, n).tolist() == [8.0, 9.0]
        assert run(lax.dot)(x, n).tolist() == run(lax.dot)(n, x).tolist() == 12.0
        product = run(lax.dot)(snp.asarray(x, "bfloat16"), x)
        assert (product.dtype, product.tolist()) == (np.float32, 13.0)
