"""Reductions and running totals: values and shapes against NumPy, dtypes against JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from stagec import lax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
N = RNG.integers(-9, 9, (3, 4, 5)).astype(np.int32)
M = RNG.random((3, 4, 5)) < 0.6
HOLES = np.where(RNG.random((3, 4, 5)) < 0.3, np.float32(np.nan), X)
HOLES[0, 0] = np.nan
C = (RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))).astype(np.complex64)


def test_reductions_agree_with_numpy_along_every_kind_of_axis() -> None:
    expressions = []
    for axis in (None, 0, -1, (0, 2), ()):
        for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all"):
            expressions.append(lambda np, x, n, m, name=name, axis=axis: getattr(np, name)(x, axis=axis))
        expressions.append(lambda np, x, n, m, axis=axis: np.sum(n, axis=axis, keepdims=True))
        expressions.append(lambda np, x, n, m, axis=axis: np.any(m, axis=axis, keepdims=True))
        expressions.append(lambda np, x, n, m, axis=axis: np.count_nonzero(m, axis=axis))
    check(expressions, [X, N, M])


def test_reductions_take_where_initial_and_ddof() -> None:
    check(
        [
            lambda np, x, n, m: np.sum(x, axis=1, where=m),
            lambda np, x, n, m: np.sum(n, initial=7),
            lambda np, x, n, m: np.prod(n, axis=0, where=m, initial=2),
            lambda np, x, n, m: np.max(x, axis=1, where=m, initial=-5.0),
            lambda np, x, n, m: np.min(n, axis=(0, 1), where=m, initial=3, keepdims=True),
            lambda np, x, n, m: np.mean(x, axis=0, where=m, keepdims=True),
            lambda np, x, n, m: np.var(x, axis=2, where=m),
            lambda np, x, n, m: np.var(x, axis=1, ddof=1),
            lambda np, x, n, m: np.std(x, axis=(0, 1), ddof=2, keepdims=True),
            lambda np, x, n, m: np.all(m, axis=1, where=m),
            lambda np, x, n, m: np.any(m, axis=1, where=~m),
            lambda np, x, n, m: np.sum(m),
            lambda np, x, n, m: np.mean(n),
            lambda np, x, n, m: np.ptp(x, axis=1, keepdims=True),
            lambda np, x, n, m: np.average(x, axis=1),
            lambda np, x, n, m: np.average(x, axis=1, weights=np.abs(n[0, :, 0]) + 1),
            lambda np, x, n, m: np.average(x, weights=x + 9, returned=True),
        ],
        [X, N, M],
    )


def test_positions_agree_with_numpy() -> None:
    check(
        [
            lambda np, x, n, h: np.argmax(x),
            lambda np, x, n, h: np.argmin(n, axis=1),
            lambda np, x, n, h: np.argmax(n, axis=-1, keepdims=True),
            lambda np, x, n, h: np.argmax(h, axis=2),
            lambda np, x, n, h: np.argmin(h),
            lambda np, x, n, h: np.nanargmax(h),
            lambda np, x, n, h: np.nanargmin(h),
            lambda np, x, n, h: np.nanargmax(n, axis=1),
        ],
        [X, N, HOLES],
    )


def test_positions_of_numbers_among_nothing_but_nan_are_minus_one() -> None:
    x = np.array([[np.nan, np.nan], [np.nan, 1]], np.float32)
    assert snp.nanargmax(x, axis=1).tolist() == snp.nanargmin(x, axis=1).tolist() == [-1, 1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_reductions_agree_with_numpy() -> None:
    names = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")
    expressions = [
        lambda np, h, n, name=name, axis=axis: getattr(np, name)(h, axis=axis, keepdims=axis == 1)
        for name in names
        for axis in (None, 1, (0, 2), 2)
    ]
    expressions += [lambda np, h, n, name=name: getattr(np, name)(n, axis=0) for name in names]
    expressions.append(lambda np, h, n: np.nanvar(h, axis=2, ddof=3))
    check(expressions, [HOLES, N])


def test_running_totals_and_differences_agree_with_numpy() -> None:
    check(
        [
            lambda np, x, n, h: np.cumsum(x),
            lambda np, x, n, h: np.cumsum(n, axis=1),
            lambda np, x, n, h: np.cumprod(x, axis=-1),
            lambda np, x, n, h: np.nancumsum(h, axis=0),
            lambda np, x, n, h: np.nancumprod(h, axis=1),
            lambda np, x, n, h: np.cumsum(n > 0, axis=2),
            lambda np, x, n, h: np.cumulative_sum(n, axis=1, include_initial=True),
            lambda np, x, n, h: np.cumulative_prod(x[0, 0], include_initial=True),
            lambda np, x, n, h: np.diff(x),
            lambda np, x, n, h: np.diff(n, n=2, axis=0),
            lambda np, x, n, h: np.diff(n > 0, axis=1),
            lambda np, x, n, h: np.diff(x, axis=1, prepend=0, append=x[:, :1]),
            lambda np, x, n, h: np.ediff1d(n, to_begin=-1, to_end=n[0, 0, :2]),
            lambda np, x, n, h: np.trapezoid(x, dx=0.5),
            lambda np, x, n, h: np.trapezoid(x, np.cumsum(x[0, :, 0]), axis=1),
            lambda np, x, n, h: np.gradient(x),
            lambda np, x, n, h: np.gradient(x, 2.0, axis=1),
            lambda np, x, n, h: np.gradient(x[0, 0], np.cumsum(np.abs(x[0, 0]) + 1)),
        ],
        [X, N, HOLES],
        tolerance=1e-4,
    )


def test_complex_numbers_are_reduced_by_parts() -> None:
    check(
        [
            lambda np, c: np.sum(c, axis=0),
            lambda np, c: np.prod(c, axis=1),
            lambda np, c: np.mean(c),
            lambda np, c: np.var(c, axis=1),
            lambda np, c: np.cumsum(c, axis=1),
            lambda np, c: np.any(c),
        ],
        [C],
    )


def test_dtypes_are_those_of_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    wrong = []
    kinds = ["bool", "int8", "int32", "uint8", "bfloat16", "float32", "complex64"]
    names = ["sum", "prod", "mean", "var", "cumsum", "any", "max", "argmax", "nansum", "nanmean", "median"]
    for kind in kinds:
        for name in names:
            if kind == "complex64" and name in ("max", "argmax", "median"):
                continue
            expected = getattr(jnp, name)(jnp.ones((4,), kind))
            actual = getattr(snp, name)(snp.ones((4,), kind))
            if (expected.dtype, expected.weak_type) != (actual.dtype, actual.weak_type):
                wrong.append(f"{name}({kind}): {actual.dtype}, JAX has {expected.dtype}")
    assert wrong == []


def test_half_precision_means_do_not_overflow() -> None:
    x = np.full(100, 1000, np.float16)
    assert float(snp.mean(x)) == 1000
    assert float(stagec.jit(snp.mean)(x)) == 1000


def test_reductions_without_elements_have_identities() -> None:
    empty = np.zeros((0, 2), np.float32)
    assert snp.sum(empty, axis=0).tolist() == [0, 0]
    assert snp.prod(empty, axis=0).tolist() == [1, 1]
    assert bool(snp.all(empty)) and not bool(snp.any(empty))
    assert float(snp.max(empty, initial=3)) == 3
    assert stagec.jit(lambda x: snp.sum(x, axis=0))(empty).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extremes_of_nothing_are_an_error_with_a_fix(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: .*(zero-size|empty)") as caught:
        getattr(snp, name)(np.zeros((0,), np.float32))
    assert "Fix:" in str(caught.value)


def test_a_mask_without_initial_is_an_error_for_max() -> None:
    with pytest.raises(ValueError, match="initial"):
        snp.max(X, where=M)


def test_an_axis_out_of_range_is_named() -> None:
    with pytest.raises(stagec.errors.AxisError, match="sum: axis 3 is out of bounds"):
        snp.sum(X, axis=3)


def test_lists_and_out_are_refused() -> None:
    with pytest.raises(TypeError, match=r"snp\.array"):
        snp.sum([1, 2])
    with pytest.raises(NotImplementedError, match="out="):
        snp.sum(X, out=np.zeros(()))


def test_a_general_reduction_needs_scalars_of_the_operands_dtype() -> None:
    with pytest.raises(stagec.errors.ShapeError, match="computation returns"):
        lax.reduce(X, 0.0, lambda a, b: lax.gt(a, b), (0,))


def test_a_general_reduction_combines_several_arrays() -> None:
    def best(x: Any, y: Any) -> Any:
        better = lax.gt(x[0], y[0])
        return lax.select(better, x[0], y[0]), lax.select(better, x[1], y[1])

    place = np.broadcast_to(np.arange(5, dtype=np.int32), X.shape)

    def run(x: Any) -> Any:
        return lax.reduce((x, place), (-np.inf, 0), best, (2,))

    for values, places in (run(X), stagec.jit(run)(X)):
        assert np.array_equal(values, X.max(2))
        assert np.array_equal(places, X.argmax(2))


def test_a_named_computation_becomes_its_own_row() -> None:
    text = str(stagec.make_graph(lambda x: lax.reduce(x, 0.0, lax.add, (0,)))(X))
    assert "reduce_sum" in text


COMPLEX_EXTREMES = ["max", "min", "amax", "ptp", "argmax", "argmin", "nanmax", "nanmin", "nanargmax", "nanargmin"]
NAN = float("nan")


@pytest.mark.parametrize("name", COMPLEX_EXTREMES)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_complex_numbers_are_ordered_by_real_part_first(name, axis):
    x = np.array([[1 + 2j, 1 - 2j, 1 + 2j], [-1 + 3j, -1 - 3j, 0]], "complex64")
    with_nan = np.array([[1 + 2j, complex(NAN, 1), complex(2, NAN)], [5j, 1, -1]], "complex64")
    for value in (x, with_nan):
        expected = np.asarray(getattr(np, name)(value, axis=axis))
        for f in (getattr(snp, name), stagec.jit(getattr(snp, name), static_argnames="axis")):
            found = np.asarray(f(snp.array(value), axis=axis))
            np.testing.assert_array_equal(found, expected)
            assert found.shape == expected.shape


def test_extremes_of_complex_numbers_take_initial_where_and_several_axes():
    x = np.array([[1 + 2j, 4], [3j, 4 - 1j]], "complex64")
    y, mask = snp.array(x), np.array([[True, False], [True, True]])
    assert complex(y.max(axis=(0, 1))) == x.max() and y.min(axis=(0, 1), keepdims=True).shape == (1, 1)
    assert complex(y.max(initial=9)) == 9 and complex(snp.zeros(0, "complex64").min(initial=2j)) == 2j
    assert complex(y.max(where=mask, initial=0)) == x.max(where=mask, initial=0)
    slope = stagec.grad(lambda v: snp.max(v).real)(y)
    assert slope.tolist() == [[0, 1], [0, 0]]


def test_the_integral_of_no_samples_is_zero():
    for f in (snp.trapezoid, stagec.jit(snp.trapezoid)):
        assert float(f(snp.zeros(0))) == np.trapezoid(np.zeros(0)) == 0
        assert f(snp.zeros((2, 0))).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod", "cumsum", "cumprod", "trace"])
def test_sums_as_bools_say_whether_there_is_anything(name):
    x = np.array([[0.5, 0, 2], [0, 0, 0.25], [1, 0, 1]], np.float32)
    expected = getattr(np, name)(x, dtype=bool)
    for run in (lambda f: f, stagec.jit):
        found = np.asarray(run(lambda v: getattr(snp, name)(v, dtype=bool))(x))
        assert found.dtype == bool and found.tolist() == expected.tolist()
