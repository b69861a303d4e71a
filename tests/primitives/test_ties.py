"""Derivatives where there is more than one, or none: equal elements, repeated indices, places out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stagec.lax as lax
import stagec.numpy as snp
from stagec import grad, jvp, vjp
from stagec.core import errors

X = np.array([1, 3, 3, 2, 3, 0], np.float32)
W = np.arange(1, 8).astype(np.float32)
PLACES = np.array([0, 0, 2, 9, -1])
NEW = np.array([3, 1, 4, 1, 5], np.float32)


def slope(f: Callable[..., Any], x: Any) -> list[float]:
    """The gradient of the sum of a function's results, each weighed by its place."""
    return np.asarray(grad(lambda v: snp.sum(f(v) * W[: f(x).size]))(snp.array(x))).tolist()


def test_equal_elements_share_the_gradient_of_their_extreme() -> None:
    assert np.asarray(grad(snp.max)(X)).tolist() == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3, 0])
    assert np.asarray(grad(lambda x: snp.max(snp.maximum(x, 3.0)))(X)).tolist() == pytest.approx(
        [0, 1 / 12, 1 / 12, 0, 1 / 12, 0]
    )


def test_clip_gives_nothing_to_elements_at_its_bounds() -> None:
    assert slope(lambda x: lax.clamp(1.0, x, 3.0), X) == [0, 0, 0, 4, 0, 0]


def test_a_stable_sort_gives_equal_elements_their_own_gradients() -> None:
    assert slope(snp.sort, X) == [2, 4, 5, 3, 6, 1]


def test_the_largest_are_the_first_of_equal_ones() -> None:
    assert slope(lambda x: lax.top_k(x, 2)[0], X) == [0, 1, 2, 0, 0, 0]


@pytest.mark.parametrize(("function", "start"), [(lax.max, -np.inf), (lax.min, np.inf)])
def test_a_window_gives_its_gradient_to_the_first_extreme(function: Any, start: float) -> None:
    square = np.array([[5, 5], [5, 5]], np.float32)
    found = grad(lambda x: snp.sum(lax.reduce_window(x, start, function, (2, 2), (1, 1))))(square)
    assert np.asarray(found).tolist() == [[1, 0], [0, 0]]


def test_of_repeated_writes_the_last_has_the_gradient() -> None:
    assert slope(lambda u: snp.array(X).at[PLACES].set(u), NEW) == [0, 1, 3, 0, 6]
    assert slope(lambda x: snp.array(x).at[PLACES].set(NEW), X) == [0, 2, 0, 4, 5, 0]


def test_repeated_additions_have_a_gradient_each() -> None:
    assert slope(lambda u: snp.array(X).at[PLACES].add(u), NEW) == [1, 1, 3, 0, 6]


def test_equal_updates_share_the_gradient_of_an_extreme() -> None:
    # Place 2 holds 3 and gets 4; place 0 holds 1 and gets 3 and 1.
    assert slope(lambda u: snp.array(X).at[PLACES].max(u), NEW) == [1, 0, 3, 0, 6]
    assert slope(lambda u: snp.array(X).at[PLACES].min(u), NEW) == [0, 0.5, 0, 0, 0]


def test_products_at_repeated_places_have_no_gradient_by_the_factors() -> None:
    with pytest.raises(errors.UnsupportedError, match="unique_indices=True"):
        slope(lambda u: snp.array(X).at[PLACES].multiply(u), NEW)
    unique = snp.array([3, 1, 2, 9, 0])
    assert slope(lambda u: snp.array(X).at[unique].multiply(u, unique_indices=True), NEW) == [8, 6, 9, 0, 1]


def test_what_is_read_out_of_range_has_no_gradient() -> None:
    assert slope(lambda x: snp.nan_to_num(snp.take(x, PLACES)), X) == [3, 0, 3, 0, 0, 5]


def test_running_products_have_gradients_through_zeros() -> None:
    x = np.array([2, 0, 3, 4], np.float32)
    found = [[0.0] * 4 for _ in range(4)]
    for i in range(4):
        for k in range(4):
            found[i][k] = float(np.prod(np.delete(x[: i + 1], k))) if k <= i else 0.0
    expected = sum(w * np.array(row) for w, row in zip(W, found))
    assert slope(lax.cumprod, x) == expected.tolist()


def test_running_extremes_give_equal_pairs_half_each() -> None:
    assert slope(lax.cummax, np.array([1, 3, 3, 2], np.float32)) == [1, 5.5, 3.5, 0]


def test_running_extremes_share_gradients_of_many_equal_elements_as_jax_does() -> None:
    x = np.array([1, 3, 3, 3, 2, 3, 3], np.float32)
    # JAX halves a derivative where it combines two equal partial results, which are those of a binary tree.
    assert slope(lax.cummax, x) == [1, 10.375, 4.9375, 3.4375, 0, 4.75, 3.5]
    assert slope(lambda v: lax.cummin(-v, reverse=True), x) == [0, -0.75, -2.25, -3.5, 0, -7.25, -14.25]


@pytest.mark.parametrize(("function", "name"), [("cummax", "maximum"), ("cummin", "minimum")])
@pytest.mark.parametrize(("reverse", "axis"), [(False, 1), (True, 1), (False, 0), (True, 2)])
def test_running_extremes_have_the_derivatives_of_a_scan(function: str, name: str, reverse: bool, axis: int) -> None:
    rng = np.random.default_rng(0)
    x, t = rng.integers(0, 3, (3, 9, 2)).astype(np.float32), rng.normal(size=(3, 9, 2)).astype(np.float32)
    x[0, 2, 0], x[:, 5, 1] = np.nan, np.inf
    run = lambda v: getattr(lax, function)(v, axis, reverse)  # noqa: E731
    scan = lambda v: lax.associative_scan(getattr(snp, name), v, reverse, axis)  # noqa: E731
    for found, expected in zip(jvp(run, (x,), (t,)), jvp(scan, (x,), (t,))):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(vjp(run, x)[1](snp.array(t))[0], vjp(scan, x)[1](snp.array(t))[0])


def test_running_reductions_pass_a_first_infinite_element_on() -> None:
    for function, x in ((lax.cumprod, [np.inf, 2.0]), (lax.cumlogsumexp, [-np.inf, 2.0])):
        _, tangent = jvp(function, (np.array(x, np.float32),), (np.array([3, 0], np.float32),))
        assert float(tangent[0]) == 3


def test_running_sums_of_exponentials_have_gradients_where_all_are_zero() -> None:
    x = np.array([-np.inf, -np.inf, 0, 0], np.float32)
    assert slope(lax.cumlogsumexp, x)[2:] == pytest.approx([3 + 2, 2])


def test_the_absolute_value_rises_at_zero() -> None:
    assert float(grad(snp.abs)(0.0)) == 1.0


def test_an_empty_extreme_has_a_gradient_without_elements() -> None:
    found = grad(lambda x: snp.sum(lax.reduce_max(x, (0,))))(snp.zeros((0, 3)))
    assert found.shape == (0, 3)
