"""Indexing: NumPy decides values and shapes, eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import ds, errors

CUBE = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
ROWS = np.array([1, 0, 1])
COLUMNS = np.array([[0], [2]])
MASK = np.array([True, False, True])

BASIC = [
    0,
    -1,
    (1, 2, 3),
    (-2, -3, -4),
    slice(None),
    slice(1, None),
    (slice(None), slice(None, None, -1)),
    (slice(None), slice(None, None, -2), slice(3, 0, -2)),
    (..., 1),
    (..., slice(1, 3)),
    (0, ..., -1),
    None,
    (None, 0, None, ..., None),
    (slice(None), None, 1),
    (slice(5, 9), 0),
    (slice(2, 1),),
    (slice(-1, None), slice(-2, -1)),
    (),
    ...,
]
ARRAYS = [
    ROWS,
    (ROWS, ROWS),
    (slice(None), ROWS),
    (slice(None), ROWS, slice(1, 3)),
    (ROWS, slice(None), np.array([3, 0, 1])),
    (0, slice(None), ROWS),
    (slice(None), 0, ROWS),
    (ROWS, 0),
    (ROWS[:, None], COLUMNS[:, 0][None]),
    (slice(None, None, -1), np.array([[0, 2], [1, 1]])),
    (None, ROWS, None, 0),
    (ROWS, None, 0),
    (..., ROWS),
    (ROWS, slice(None, None, -2)),
    np.array([-1, -2]),
    (np.array([], int),),
    (slice(None), MASK),
    (slice(None), MASK, 0),
    (slice(None), MASK, np.array([0, 1])),
    CUBE > 5,
    (CUBE[:, :, 0] > 3, 1),
    (0, MASK),
    True,
    False,
    (True, 0),
    (np.array(1, np.uint8), np.array([2, 0], np.uint8)),
    (slice(None), [0, 2]),
    ([0, 1], [1, 1]),
    ([1, 0],),
    ((0, 1), (2, 1), 0),
    (slice(None), [[0, -1], [2, 0]]),
    ([0, 1], slice(None), (3, -1)),
    (ROWS, [0, 2, 1], None),
    (slice(None), []),
    (..., [True, False, True, True]),
    ([[True, False, True], [False, True, True]],),
    (slice(None), [np.int8(1), np.array(2)]),
]


@pytest.mark.parametrize("index", BASIC + ARRAYS, ids=str)
def test_indexing_matches_numpy(index: Any) -> None:
    np.testing.assert_array_equal(snp.asarray(CUBE)[index].numpy(), CUBE[index])


def test_compiled_indexing_matches_numpy() -> None:
    indices = [i for i in BASIC + ARRAYS if CUBE[i].size]
    out = stagec.jit(lambda x: [x[i] for i in indices])(CUBE)
    for index, found in zip(indices, out):
        np.testing.assert_array_equal(found.numpy(), CUBE[index], err_msg=str(index))


def test_compiled_indexing_with_traced_indices_matches_numpy() -> None:
    @stagec.jit
    def run(x: Any, i: Any, rows: Any, small: Any) -> Any:
        return [
            x[i],
            x[i, :, i],
            x[rows],
            x[:, rows, 1],
            x[rows, :, rows],
            x[::-1, i],
            x[0, rows[:, None], rows],
            x[small],
        ]

    def expected(i: int) -> list[Any]:
        x, rows = CUBE, ROWS
        small = np.array([1, 0])
        return [
            x[i],
            x[i, :, i],
            x[rows],
            x[:, rows, 1],
            x[rows, :, rows],
            x[::-1, i],
            x[0, rows[:, None], rows],
            x[small],
        ]

    for i in (0, -1):
        for a, b in zip(run(CUBE, i, ROWS, np.array([1, 0], np.uint8)), expected(i)):
            np.testing.assert_array_equal(a.numpy(), b)


def test_integers_out_of_range_move_to_the_nearest_end() -> None:
    x = np.arange(5, dtype=np.int32)
    places = np.array([7, -9, 2])

    def read(x: Any, i: Any, places: Any) -> Any:
        return x[7], x[-9], x[i], x[-i], x[places]

    for f in (read, stagec.jit(read)):
        out = [v.tolist() for v in f(snp.asarray(x), snp.asarray(7), snp.asarray(places))]
        assert out == [4, 0, 4, 0, [4, 0, 2]]


def test_indices_as_wide_as_unsigned_integers_do_not_turn_negative() -> None:
    x = np.arange(5, dtype=np.int32)
    big = np.array([2**32 - 1, 1], np.uint32)
    assert snp.asarray(x)[big].tolist() == [4, 1]
    assert stagec.jit(lambda x, i: x[i])(x, big).tolist() == [4, 1]


def test_static_basic_indexing_needs_no_gather() -> None:
    graph = str(stagec.make_graph(lambda x: x[1, ::-2, None, 1:3])(CUBE))
    assert "gather" not in graph and "slice" in graph


def test_iteration_gives_rows() -> None:
    assert [int(v) for v in snp.arange(3)] == [0, 1, 2]
    first, second = snp.asarray(CUBE)
    np.testing.assert_array_equal(first.numpy(), CUBE[0])
    np.testing.assert_array_equal(second.numpy(), CUBE[1])
    assert stagec.jit(lambda x: sum(x))(np.arange(4)).item() == 6


def test_lists_inside_of_an_index_may_hold_traced_values() -> None:
    read = stagec.jit(lambda x, i: (x[:, [i, 0]], x[[i, 1 - i], 0, [3, i]], x[ds(i, 1), [2, i]]))
    expected = CUBE[:, [1, 0]], CUBE[[1, 0], 0, [3, 1]], CUBE[1:2, [2, 1]]
    for found, wanted in zip(read(CUBE, 1), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_iteration_over_rank_zero_is_an_error() -> None:
    with pytest.raises(TypeError, match="rank 0"):
        iter(snp.asarray(1))


@pytest.mark.parametrize(
    ("index", "kind", "text"),
    [
        ([0, 1], TypeError, "non-tuple sequence"),
        ((0, [0.5]), TypeError, "got indexer with type float"),
        ((0, ["a"]), TypeError, "neither a number nor an array"),
        ((0, [[0, 1], [2]]), TypeError, "rows differ in length"),
        (1.0, TypeError, "integer or boolean"),
        (np.array([1.0]), TypeError, "got indexer with type float64"),
        ("a", TypeError, "integer or boolean"),
        ((0, 0, 0, 0), IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
        ((..., ...), IndexError, "single ellipsis"),
        (np.array([True, False, True]), IndexError, "boolean index did not match"),
        (slice(0, 1, 0), ValueError, "step cannot be zero"),
        (slice(0.5, 1), TypeError, "Slice entries"),
    ],
    ids=str,
)
def test_wrong_indices_say_what_is_wrong(index: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        snp.asarray(CUBE)[index]
    assert "Fix:" in str(caught.value) and "test_indexing.py" in str(caught.value)


def test_a_traced_mask_is_an_error_that_names_the_way_out() -> None:
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"must be concrete; got bool\[4\]") as caught:
        stagec.jit(lambda x: x[x > 1])(np.arange(4))
    assert "snp.where" in str(caught.value)


def test_a_traced_slice_bound_is_an_error_that_names_the_way_out() -> None:
    with pytest.raises(IndexError, match="static integers") as caught:
        stagec.jit(lambda x, n: x[n:])(np.arange(4), 1)
    assert "dynamic_slice" in str(caught.value)


def test_reading_an_axis_of_size_zero_is_an_error() -> None:
    with pytest.raises(IndexError, match="size 0"):
        snp.zeros((0, 3))[0]
    with pytest.raises(IndexError, match="size 0"):
        snp.zeros((0, 3))[np.array([0])]
    assert snp.zeros((0, 3))[np.array([], int)].shape == (0, 3)


def test_taking_along_an_axis_by_comparison_gives_zeros_out_of_range() -> None:
    found = snp.take_along_axis(snp.array([[1.0, 2.0]]), snp.array([[1, -1, 5]]), 1, mode="one_hot")
    assert np.asarray(found).tolist() == [[2.0, 2.0, 0.0]]
