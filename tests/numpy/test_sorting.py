"""Sorting, searching and sets, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from differential import check

import stagec
import stagec.numpy as snp
from passes.legalize import sort_network
from stagec import lax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 7)).astype(np.float32)
X[1, 2], X[2, :3] = np.nan, [np.inf, -np.inf, np.nan]
N = RNG.integers(0, 6, (4, 7)).astype(np.int32)
C = (RNG.integers(0, 3, 9) + 1j * RNG.integers(-2, 2, 9)).astype(np.complex64)


def test_sorts_agree_with_numpy() -> None:
    check(
        [
            lambda np, x, n, c: np.sort(x),
            lambda np, x, n, c: np.sort(x, axis=0),
            lambda np, x, n, c: np.sort(n, axis=None),
            lambda np, x, n, c: np.sort(c),
            lambda np, x, n, c: np.sort(n > 2, axis=1),
            lambda np, x, n, c: np.sort_complex(n[0]),
            lambda np, x, n, c: np.argsort(n, stable=True),
            lambda np, x, n, c: np.argsort(x, axis=0, stable=True),
            lambda np, x, n, c: np.argsort(n, axis=None, stable=True),
            lambda np, x, n, c: np.argsort(c, stable=True),
            lambda np, x, n, c: np.lexsort((x, n), axis=1),
            lambda np, x, n, c: np.lexsort((n[0], n[1], n[2])),
            lambda np, x, n, c: np.partition(n, 3)[:, 3],
            lambda np, x, n, c: np.partition(n, 2, axis=0)[2],
        ],
        [X, N, C],
    )


def test_sorts_of_many_arrays_agree_with_numpy() -> None:
    x = RNG.integers(0, 2, (70, 3, 9)).astype(np.int8)
    check(
        [
            lambda np, x: np.lexsort(x, axis=0),
            lambda np, x: np.lexsort(x[:24, 0]),
            lambda np, x: np.unique(x[:, 0].T, axis=0, **({"size": 9} if np is snp else {})),
        ],
        [x],
    )
    found = stagec.jit(lambda x: lax.sort([*x], dimension=1, num_keys=40))(x)
    for one, wanted in zip(found, lax.sort([*snp.asarray(x)], dimension=1, num_keys=40)):
        np.testing.assert_array_equal(one, wanted)


def test_long_axes_are_sorted_by_the_network_with_the_same_result() -> None:
    n = sort_network.LONG + 1
    x = RNG.integers(0, 50, (3, n)).astype(np.uint8)
    y = RNG.normal(size=n).astype(np.float32)
    check(
        [
            lambda np, x, y: np.argsort(x, axis=1, stable=True),
            lambda np, x, y: np.sort(y),
            lambda np, x, y: np.lexsort((y, x[0])),
        ],
        [x, y],
    )


def test_sorting_leaves_its_argument_alone() -> None:
    x = snp.array([3.0, 1.0, 2.0])
    ordered, same = stagec.jit(lambda v: (snp.sort(v), v))(x)
    assert ordered.tolist() == [1, 2, 3]
    assert same.tolist() == x.tolist() == [3, 1, 2]


def test_descending_sorts_are_stable_and_put_nan_first() -> None:
    x = np.array([1, np.nan, 3, 1, 3], np.float32)
    for run in (snp.argsort, stagec.jit(snp.argsort, static_argnames="descending")):
        assert run(x, descending=True).tolist() == [1, 2, 4, 0, 3]
    assert snp.sort(x, descending=True).tolist()[1:] == [3, 3, 1, 1]


def test_the_largest_elements_come_with_their_places() -> None:
    x = np.array([[3, 1, 3, 2]], np.int32)
    for run in (lax.top_k, stagec.jit(lax.top_k, static_argnums=1)):
        values, places = run(x, 3)
        assert values.tolist() == [[3, 3, 2]]
        assert places.tolist() == [[0, 2, 3]]


@pytest.mark.parametrize("size", [7, 5000])
def test_searches_agree_with_numpy_below_and_above_the_gathering_size(size: int) -> None:
    table = np.sort(RNG.integers(0, 50, size)).astype(np.int32)
    values = RNG.integers(-3, 55, (4, 10)).astype(np.int32)
    check(
        [
            lambda np, t, v: np.searchsorted(t, v),
            lambda np, t, v: np.searchsorted(t, v, side="right"),
            lambda np, t, v: np.searchsorted(t[::-1], v, sorter=np.argsort(t[::-1], stable=True)),
        ],
        [table, values],
    )


def test_searches_put_nan_last() -> None:
    table = np.array([1, 2, np.nan], np.float32)
    values = np.array([np.nan, 5, 0], np.float32)
    check([lambda np, t, v, s=s: np.searchsorted(t, v, side=s) for s in ("left", "right")], [table, values])


def test_bins_are_found_in_rising_and_falling_edges() -> None:
    x = np.array([0.2, 6.4, 3.0, 1.6, 10.0], np.float32)
    edges = np.array([0.0, 1.0, 2.5, 4.0, 10.0], np.float32)
    check([lambda np, x, e, r=r: np.digitize(x, e, right=r) for r in (False, True)], [x, edges])
    check([lambda np, x, e, r=r: np.digitize(x, e, right=r) for r in (False, True)], [x, edges[::-1].copy()])
    falling = np.array([np.nan, np.nan, np.inf, 3.0, -1.0], np.float32)  # NaN is above all others
    check([lambda np, x, e, r=r: np.digitize(x, e, right=r) for r in (False, True)], [x, falling])


def test_distinct_elements_agree_with_numpy() -> None:
    for x in (N, np.array([np.nan, 1, np.nan, 0, 1], np.float32)):
        expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        size = len(expected[0])
        results = [
            snp.unique(x, True, True, True),
            snp.unique(x, True, True, True, size=size),
            stagec.jit(lambda v, size=size: snp.unique(v, True, True, True, size=size))(x),
        ]
        for found in results:
            for e, f in zip(expected, found, strict=True):
                assert np.array_equal(e, f, equal_nan=e.dtype.kind == "f")


def test_distinct_elements_are_padded_or_cut_to_size() -> None:
    x = np.array([3, 1, 3, 2], np.int32)
    assert snp.unique(x, size=5).tolist() == [1, 2, 3, 1, 1]
    assert snp.unique(x, size=5, fill_value=9).tolist() == [1, 2, 3, 9, 9]
    assert snp.unique(x, size=2).tolist() == [1, 2]
    assert snp.unique(x, return_counts=True, size=4)[1].tolist() == [1, 1, 2, 0]


def test_distinct_elements_of_a_traced_array_need_a_size() -> None:
    with pytest.raises(stagec.errors.ConcretizationError, match="size=") as caught:
        stagec.jit(snp.unique)(N)
    assert "unique" in str(caught.value)


def test_set_operations_agree_with_numpy() -> None:
    x, y = np.array([1, 3, 4, 3], np.int32), np.array([3, 1, 2, 1], np.int32)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        assert np.array_equal(getattr(np, name)(x, y), getattr(snp, name)(x, y)), name


def test_kind_and_a_bad_kth_are_refused() -> None:
    with pytest.raises(TypeError, match="stable"):
        snp.sort(N, kind="quicksort")
    with pytest.raises(stagec.errors.AxisError, match="kth=7"):
        snp.partition(N, 7)


def test_functions_of_numpy_sort_arrays_with_a_kind() -> None:
    assert np.argsort(snp.array([3, 1, 2]), kind="mergesort").tolist() == [1, 2, 0]


def test_complex_numbers_are_searched_in_the_order_of_sorting() -> None:
    nan = np.nan
    values = np.array([complex(a, b) for a in (1, -1, 0, nan, np.inf) for b in (2, 0, nan, -1)], np.complex64)
    table, plain = snp.sort(values), values[~np.isnan(values)]
    assert snp.searchsorted(table, table).tolist() == list(range(values.size))
    assert stagec.jit(lambda t: snp.searchsorted(t, t, "right"))(table).tolist() == list(range(1, values.size + 1))
    ordered = np.sort(plain)
    assert snp.searchsorted(ordered, plain).tolist() == np.searchsorted(ordered, plain).tolist()
    many = np.tile(values, 3)[:50]
    assert snp.isin(values, many).tolist() == np.isin(values, many).tolist()
