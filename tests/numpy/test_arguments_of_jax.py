"""Arguments that JAX's functions have beyond NumPy's, and what works under `jit`: sizes, traced positions, modes."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors

A, B = np.array([5, 3, 3, 7, 9]), np.array([7, 3, 4])
NAN = np.nan


def listed(value):
    return [v.tolist() for v in value] if isinstance(value, tuple) else value.tolist()


def both_ways(f, *arrays):
    """The result eagerly and compiled, which has to be one."""
    eager, compiled = listed(f(*arrays)), listed(stagec.jit(f)(*arrays))
    np.testing.assert_equal(compiled, eager)
    return eager


@pytest.mark.parametrize(
    "name, padded, filled, short",
    [
        ("setdiff1d", [5, 9, 0, 0, 0], [5, 9, -1, -1, -1], [5]),
        ("setxor1d", [4, 5, 9, 4, 4], [4, 5, 9, -1, -1], [4]),
        ("intersect1d", [3, 7, 3, 3, 3], [3, 7, -1, -1, -1], [3]),
        ("union1d", [3, 4, 5, 7, 9], [3, 4, 5, 7, 9], [3]),
    ],
)
def test_sets_of_a_known_size(name, padded, filled, short):
    f = getattr(snp, name)
    cases = ({"size": 5}, {"size": 5, "fill_value": -1}, {"size": 1})
    assert both_ways(lambda a, b: tuple(f(a, b, **case) for case in cases), A, B) == [padded, filled, short]
    if name != "union1d":
        none = snp.array([], int)
        assert f(none, none, size=2, fill_value=8).tolist() == [8, 8]
        expected = {"intersect1d": [8, 8, 8], "setxor1d": [3, 4, 7], "setdiff1d": [7, 3, 4]}
        assert f(B, none, True, size=3, fill_value=8).tolist() == expected[name]
        with pytest.raises(errors.ConcretizationError, match="give the size of the result, size="):
            stagec.jit(f)(A, B)


def test_where_the_common_elements_are():
    f = lambda a, b, n: snp.intersect1d(a, b, return_indices=True, size=n)  # noqa: E731
    assert both_ways(lambda a, b: f(a, b, 4), A, B) == [[3, 7, 3, 3], [1, 3, 5, 5], [1, 0, 3, 3]]
    assert listed(f(A, B + 100, 2)) == [[0, 0], [5, 5], [3, 3]]


def test_sets_with_nan_are_those_of_numpy():
    x, y = np.array([1.0, NAN, NAN, 2.0]), np.array([NAN, 2.0])
    names = ("setdiff1d", "setxor1d", "intersect1d")
    all_found = both_ways(lambda a, b: tuple(getattr(snp, n)(a, b, size=6, fill_value=-1) for n in names), x, y)
    for name, found in zip(names, all_found):
        expected = getattr(np, name)(x, y).tolist()
        np.testing.assert_equal(found[: len(expected)], expected)
        assert found[len(expected) :] == [-1] * (6 - len(expected)), name


M = np.array([[1, 2], [0, 1], [1, 2], [0, 0]])


@pytest.mark.parametrize("axis", [0, 1])
def test_distinct_slices_of_a_known_size(axis):
    expected = [v.tolist() for v in np.unique(M, True, True, True, axis)]
    size = len(expected[1])
    found = both_ways(
        lambda m: (
            *snp.unique(m, True, True, True, axis, size=size),
            *snp.unique(m, False, False, True, axis, size=size + 1, fill_value=9),
            snp.unique(m, axis=axis, size=1),
        ),
        M,
    )
    assert found[:4] == expected
    assert np.array(found[4]).take(size, axis).tolist() == [9] * M.shape[1 - axis] and found[5][-1] == 0
    assert found[6] == np.unique(M, axis=axis).take([0], axis).tolist()


def test_distinct_elements_of_nothing_need_a_value():
    assert snp.unique(np.zeros((3, 0)), size=2, fill_value=7).tolist() == [7, 7]
    assert snp.unique(np.zeros(0), size=0).tolist() == []
    with pytest.raises(errors.ShapeError, match="or pass fill_value="):
        snp.unique(np.zeros(0), size=2)
    with pytest.raises(errors.ShapeError, match="which has no elements"):
        snp.unique(np.zeros((0, 2)), axis=0, size=2, fill_value=1)


def test_distinct_elements_come_with_names():
    found = snp.unique_all(A)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert snp.unique_counts(A)._fields == ("values", "counts")
    assert stagec.jit(lambda x: snp.unique_inverse(x, size=4))(A)._fields == ("values", "inverse_indices")
    for _ in range(3):  # by a plan, too
        assert snp.unique_counts(snp.array(A), size=4).counts.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("skip", [False, True])
def test_quantiles_with_weights(skip):
    rng = np.random.default_rng(0)
    x = rng.permutation(24).reshape(4, 6).astype(np.float32)
    x = np.where(x == 5, np.nan, x) if skip else x
    w, q = rng.integers(0, 4, x.shape).astype(np.float32) + (np.arange(6) == 2), np.array([0, 0.21, 0.5, 0.77, 1])
    name = "nanquantile" if skip else "quantile"

    def f(np, x, q, w, axis):
        return getattr(np, name)(x, q, axis=axis, method="inverted_cdf", weights=w)

    cases = [(None, w), (0, w), (1, w)]
    if not skip:  # NumPy's nanquantile fails
        cases += [(1, w[0]), (0, w[:, 2])]
    expected = [f(np, x, q, weights, axis).tolist() for axis, weights in cases]
    found = both_ways(lambda x, q: tuple(f(snp, x, q, weights, axis) for axis, weights in cases), x, q)
    assert found == expected
    plain = f(np, x, q, None, 1).tolist()
    assert both_ways(lambda x, q_: (f(snp, x, q, None, 1), f(snp, x, q_, None, 1)), x, q) == [plain, plain]


def test_weights_have_to_fit():
    with pytest.raises(errors.UnsupportedError, match="method 'linear' does not take weights"):
        snp.quantile(A, 0.5, weights=A)
    with pytest.raises(errors.ShapeError, match="give a weight for each element"):
        snp.quantile(A, 0.5, weights=B, method="inverted_cdf")
    assert np.isnan(snp.quantile(np.array([NAN, 1.0]), 0.5, weights=np.ones(2), method="inverted_cdf"))


def test_elements_are_inserted_at_and_deleted_from_traced_positions():
    x, places, new = np.arange(6), np.array([1, -1]), np.array([7, 8])
    m = np.ones((2, 3))

    @stagec.jit
    def run(places, one, minus):
        inserted = [snp.insert(x, p, new) for p in (places, one, snp.stack([one, one]))]
        return *inserted, snp.insert(m, minus, 5, axis=1), snp.delete(x, places, assume_unique_indices=True)

    expected = [np.insert(x, p, new) for p in (places, 2, [2, 2])]
    expected += [np.insert(m, -1, 5, axis=1), np.delete(x, places)]
    assert listed(run(places, 2, -1)) == [e.tolist() for e in expected]
    with pytest.raises(errors.ConcretizationError, match="pass assume_unique_indices=True"):
        stagec.jit(snp.delete)(x, places)


def test_zeros_are_trimmed_along_axes():
    x = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]])
    for options in ({}, {"axis": 1}, {"axis": (0,)}, {"trim": "f"}, {"trim": "b", "axis": 1}):
        assert snp.trim_zeros(x, **options).tolist() == np.trim_zeros(x, **options).tolist()
    assert snp.trim_zeros(x * 0).shape == np.trim_zeros(x * 0).shape


def test_indices_out_of_range():
    x, far = np.arange(4.0), np.array([-1, 9])
    np.testing.assert_equal(both_ways(lambda x, i: snp.take_along_axis(x, i, 0), x, far), [3, NAN])
    f = lambda x, i: snp.take_along_axis(x, i, 0, wrap_negative_indices=False)  # noqa: E731
    np.testing.assert_equal(both_ways(f, x, far), [NAN, NAN])
    assert both_ways(lambda x, i: snp.put_along_axis(x, i, 8, 0, inplace=False), x, far) == [0, 1, 2, 8]
    assert both_ways(lambda x, i: snp.put_along_axis(x, i, 8, 0, False, mode="clip"), x, far - 8) == [8, 8, 2, 3]
    assert snp.ravel_multi_index((np.array([1]), np.array([2])), (3, 4), dtype="int8").dtype == np.int8
