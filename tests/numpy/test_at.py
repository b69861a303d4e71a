"""`x.at[index]` does what NumPy's assignments do, eagerly and compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax

MATRIX = np.arange(1, 21, dtype=np.float32).reshape(4, 5)
ROWS = np.array([3, 0, 1])
INDICES: list[Any] = [
    0,
    (1, 2),
    (-1, -1),
    slice(1, 3),
    (slice(None), slice(None, None, -1)),
    (slice(None), slice(None, None, 2)),
    (slice(3, 0, -2), slice(1, 4)),
    (..., None, 1),
    (None, 0),
    (),
    ...,
    ROWS,
    (slice(None), ROWS),
    (slice(1, 3), ROWS),
    (slice(None, None, -2), ROWS),
    (ROWS, ROWS),
    (ROWS, slice(1, 4)),
    (ROWS[:, None], ROWS),
    (ROWS, 0),
    (0, ROWS),
    (0, slice(0, 4, 2)),
    np.array([-1, -2]),
    (slice(None), [0, 2]),
    ([3, 0, -1], (1, 2, 4)),
    ([1, 2],),
    (..., [True, False, True, False, True]),
    (slice(2, 1),),
    np.array([], int),
    MATRIX > 7,
    np.array([True, False, True, False]),
    (slice(None), np.array([True, False, True, False, True])),
    True,
    False,
]
KINDS = ["set", "add", "subtract", "multiply", "min", "max", "divide", "power"]


def assigned(kind: str, x: Any, index: Any, values: Any) -> Any:
    x = x.copy()
    ufunc = {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "divide": np.divide,
        "power": np.power,
    }.get(kind)
    x[index] = values if ufunc is None else ufunc(x[index], values)
    return x


def values_for(index: Any, scalar: bool) -> Any:
    shape = () if scalar else MATRIX[index].shape
    return np.random.default_rng(0).integers(1, 4, shape).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_updates_match_numpys_assignments(kind: str, index: Any) -> None:
    for scalar in (True, False):
        values = values_for(index, scalar)
        found = getattr(snp.asarray(MATRIX).at[index], kind)(values)
        np.testing.assert_allclose(found.numpy(), assigned(kind, MATRIX, index, values), rtol=1e-6)


@pytest.mark.parametrize("kind", ["set", "add", "max"])
def test_compiled_updates_match_numpys_assignments(kind: str) -> None:
    indices = [i for i in INDICES if MATRIX[i].size]
    values = [values_for(i, False) for i in indices]

    @stagec.jit
    def run(x: Any, values: Any) -> Any:
        return [getattr(x.at[i], kind)(v) for i, v in zip(indices, values)]

    for index, v, found in zip(indices, values, run(MATRIX, values)):
        np.testing.assert_array_equal(found.numpy(), assigned(kind, MATRIX, index, v), err_msg=str(index))


def test_compiled_updates_at_traced_places_match_numpys_assignments() -> None:
    @stagec.jit
    def run(x: Any, i: Any, rows: Any) -> Any:
        return [
            x.at[i].set(7),
            x.at[i, 1:3].add(1),
            x.at[rows].multiply(2),
            x.at[:, rows].min(3),
            x.at[rows, i].set(0),
            x.at[rows, ::2].max(9),
            x.at[i, i].apply(lambda v: v * 10),
        ]

    for i in (1, -1):
        x, rows = MATRIX, ROWS
        expected = [
            assigned("set", x, i, 7),
            assigned("add", x, (i, slice(1, 3)), 1),
            assigned("multiply", x, rows, 2),
            assigned("min", x, (slice(None), rows), 3),
            assigned("set", x, (rows, i), 0),
            assigned("max", x, (rows, slice(None, None, 2)), 9),
            assigned("multiply", x, (i, i), 10),
        ]
        for a, b in zip(run(MATRIX, i, ROWS), expected):
            np.testing.assert_array_equal(a.numpy(), b)


def test_repeated_indices_add_up() -> None:
    places = np.array([0, 0, 2, 0])

    def run(x: Any, places: Any) -> Any:
        return x.at[places].add(1), x.at[places].multiply(2), x.at[places].subtract(1)

    for f in (run, stagec.jit(run)):
        added, multiplied, subtracted = f(snp.ones(3, int), snp.asarray(places))
        assert added.tolist() == [4, 1, 2]
        assert multiplied.tolist() == [8, 1, 2]
        assert subtracted.tolist() == [-2, 1, 0]


def test_updates_out_of_range_are_dropped_or_clamped() -> None:
    places = np.array([1, 9, -7])

    def run(x: Any, places: Any, i: Any) -> Any:
        return [
            x.at[places].set(7),
            x.at[places].set(7, mode="clip"),
            x.at[places].add(7),
            x.at[9].set(7),
            x.at[-9].set(7),
            x.at[9].set(7, mode="clip"),
            x.at[i].set(7),
            x.at[i].set(7, mode="clip"),
        ]

    expected = [
        [0, 7, 0],
        [7, 7, 7],
        [0, 7, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 7],
        [0, 0, 0],
        [0, 0, 7],
    ]
    for f in (run, stagec.jit(run)):
        assert [v.tolist() for v in f(snp.zeros(3, int), snp.asarray(places), snp.asarray(9))] == expected


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_what_is_dropped_leaves_the_sign_of_zeros(dtype: str) -> None:
    x = np.array([-0.0, 1, -0.0]).astype(dtype)
    with stagec.enable_x64():
        found = stagec.jit(lambda x, i: x.at[i].add(1, mode="drop"))(x, np.array([7, 1, -9]))
    assert np.signbit(np.asarray(found).real).tolist() == [True, False, True]


def test_of_windows_that_meet_the_later_one_is_written_wherever_the_updates_have_the_axis_of_indices() -> None:
    numbers = lax.ScatterDimensionNumbers((0,), (), (0,))
    x, indices, updates = np.zeros(9), np.array([[4], [0], [2], [8]]), np.arange(20).reshape(5, 4).astype(float)

    def update(x: Any, indices: Any, updates: Any) -> Any:
        return lax.scatter(x, indices, updates, numbers, mode="drop")

    expected = [1, 5, 2, 6, 10, 14, 18, 12, 16]
    assert np.asarray(update(x, indices, updates)).tolist() == expected
    assert np.asarray(stagec.jit(update)(x, indices, updates)).tolist() == expected


def test_get_reads_with_a_choice_of_what_lies_out_of_range() -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    places = np.array([2, 9, -1])

    def run(x: Any, places: Any) -> Any:
        return [
            x.at[places].get(),
            x.at[places].get(mode="fill"),
            x.at[places].get(fill_value=-5.0),
            x.at[9].get(mode="fill"),
            x.at[places].get(mode="clip"),
        ]

    expected = [[3, 3, 3], [3, np.nan, 3], [3, -5, 3], np.nan, [3, 3, 3]]
    for f in (run, stagec.jit(run)):
        for a, b in zip(f(snp.asarray(x), snp.asarray(places)), expected):
            np.testing.assert_array_equal(a.numpy(), np.float32(b))


def test_a_traced_mask_updates_where_it_is_true() -> None:
    @stagec.jit
    def run(x: Any, mask: Any, rows: Any) -> Any:
        return x.at[mask].set(0), x.at[mask].add(10), x.at[rows].set(np.arange(5, dtype=np.float32))

    mask, rows = MATRIX > 7, np.array([True, False, True, False])
    a, b, c = run(MATRIX, mask, rows)
    np.testing.assert_array_equal(a.numpy(), assigned("set", MATRIX, mask, 0))
    np.testing.assert_array_equal(b.numpy(), assigned("add", MATRIX, mask, 10))
    np.testing.assert_array_equal(c.numpy(), assigned("set", MATRIX, rows, np.arange(5)))
    with pytest.raises(errors.NonConcreteBooleanIndexError):
        stagec.jit(lambda x, m: x.at[m].set(np.arange(3.0)))(np.zeros(4, np.float32), np.ones(4, bool))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint32", "bfloat16", "float16", "complex64"])
def test_set_keeps_every_dtype(dtype: str) -> None:
    kind = snp.zeros(1, dtype).dtype
    x, new = np.zeros(4, kind), np.ones(2, kind)

    def run(x: Any, places: Any, new: Any) -> Any:
        return x.at[places].set(new)

    for f in (run, stagec.jit(run)):
        out = f(snp.asarray(x), snp.asarray(np.array([3, 1])), snp.asarray(new))
        assert out.dtype == kind
        assert out.astype(int).tolist() == [0, 1, 0, 1]


def test_the_array_itself_is_never_written() -> None:
    x = np.arange(4)
    mine = snp.asarray(x)
    stagec.jit(lambda x, i: x.at[i].set(9))(mine, 2)
    mine.at[1].set(7)
    assert mine.tolist() == [0, 1, 2, 3] and x.tolist() == [0, 1, 2, 3]


def test_python_scalars_take_the_arrays_dtype() -> None:
    assert snp.zeros(2, "int8").at[0].set(3).dtype == np.int8
    assert snp.zeros(2, "float16").at[0].add(1.5).dtype == np.float16


def test_values_that_do_not_fit_the_dtype_warn() -> None:
    with pytest.warns(FutureWarning, match="float32 to dtype=int32"):
        out = snp.zeros(2, int).at[0].set(1.5)
    assert out.tolist() == [1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snp.zeros(2).at[0].set(1)


def test_values_of_a_wrong_shape_are_an_error() -> None:
    with pytest.raises(ValueError, match="do not broadcast"):
        snp.zeros((3, 4)).at[0].set(np.zeros(3))
    with pytest.raises(ValueError, match="do not broadcast"):
        snp.zeros((3, 4)).at[0].set(np.zeros((2, 4)))


def test_assignment_says_how_to_update() -> None:
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        snp.zeros(3)[0] = 1


@pytest.mark.parametrize(
    "index",
    [
        np.array([0, 0, 1, 0]),
        np.array([[3, -1], [1, 1]]),
        (np.array([0, 0, 1]), np.array([2, 2, 2])),
        (slice(None), np.array([4, 4])),
        (np.array([1, 1, 1]), slice(1, 3)),
        slice(1, 3),
        MATRIX > 7,
        np.array([], int),
        2,
    ],
    ids=str,
)
def test_apply_counts_each_occurrence_of_an_index(index: Any) -> None:
    expected = MATRIX.copy()
    flat = np.arange(MATRIX.size).reshape(MATRIX.shape)[index].ravel()
    for place in flat:
        expected.ravel()[place] = expected.ravel()[place] * 2 + 1
    update = stagec.jit(lambda x: x.at[index].apply(lambda v: v * 2 + 1))
    for found in (snp.array(MATRIX).at[index].apply(lambda v: v * 2 + 1), update(MATRIX)):
        np.testing.assert_array_equal(found, expected)


def test_apply_counts_each_occurrence_of_a_traced_index() -> None:
    update = stagec.jit(lambda x, i: (x.at[i].apply(lambda v: v * 2), x))
    x = np.arange(1, 5, dtype=np.int32)
    for i in ([0, 0, 3], [1, 2, 3], [0, 9, 9], [-1, 3, 3]):
        expected = x.copy()
        for place in i:
            if place < 4:
                expected[place] *= 2
        found, same = update(x, np.array(i))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(same, x)


def test_apply_runs_once_where_indices_are_said_to_be_unique() -> None:
    graph = stagec.make_graph(lambda x, i: x.at[i].apply(lambda v: v * 2, unique_indices=True))(MATRIX, ROWS)
    assert "while" not in str(graph)
    assert "while" in str(stagec.make_graph(lambda x, i: x.at[i].apply(lambda v: v * 2))(MATRIX, ROWS))
    assert "while" not in str(stagec.make_graph(lambda x: x.at[ROWS].apply(lambda v: v * 2))(MATRIX))


MODES = [(None, "set"), ("drop", "add"), ("clip", "set"), ("clip", "add")]


@pytest.mark.parametrize("index", [-1, np.array([-1, 0, 7]), np.array([-1, 2], np.int8), (slice(1, 3), -1)], ids=str)
@pytest.mark.parametrize(("mode", "kind"), MODES, ids=str)
def test_negative_indices_are_out_of_range_where_they_do_not_wrap(index: Any, mode: Any, kind: str) -> None:
    numbers = index[1] if isinstance(index, tuple) else index
    lead = index[:1] if isinstance(index, tuple) else ()
    x, size = np.arange(12.0, dtype=np.float32).reshape(3, 4), 4 if lead else 3
    expected = x.copy()
    for n in np.ravel(numbers):
        place = min(max(n, 0), size - 1) if mode == "clip" else n
        if 0 <= place < size:
            expected[(*lead, place)] = 9 + (expected[(*lead, place)] if kind == "add" else 0)
    update = lambda x, i: getattr(x.at[(*lead, i)], kind)(9.0, mode=mode, wrap_negative_indices=False)  # noqa: E731
    for found in (update(snp.array(x), numbers), stagec.jit(update)(x, np.asarray(numbers))):
        np.testing.assert_array_equal(found, expected)
    read = snp.array(x).at[index].get(mode="fill", wrap_negative_indices=False)
    assert np.isnan(np.asarray(read)).any()


def test_apply_counts_indices_that_are_clipped_to_one() -> None:
    found = snp.array([1.0, 2.0]).at[np.array([1, 5])].apply(lambda v: v * 10, mode="clip")
    assert np.asarray(found).tolist() == [1.0, 200.0]
    found = snp.array([3.0, 2.0]).at[np.array([-1])].apply(lambda v: v * 10, mode="clip", wrap_negative_indices=False)
    assert np.asarray(found).tolist() == [30.0, 2.0]


def test_complex_numbers_are_updated_and_accumulated() -> None:
    """Their kernels are written, or refused: the fixture of all tests finds one that the compiler does not take."""
    x = (np.arange(24.0) + 1j).astype("complex64").reshape(4, 6)

    def run(x: Any) -> Any:
        return x.at[1:3, 2:4].set(2j), x.at[np.array([0, 2])].add(1j), snp.cumsum(x, 1), snp.cumprod(x[:, :2], 0)

    for found, expected in zip(stagec.jit(run)(x), run(snp.asarray(x))):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), 1e-4, 1e-4)


def test_complex_products_at_repeated_indices_are_compiled():
    x = np.array([1 + 2j, 3 - 1j, 2j, 1], np.complex64)
    i, v = np.array([0, 2, 0, 7, 2, 0, -1]), np.array([1j, 2, 3 + 1j, 4, 5, 1 - 1j, 2j], np.complex64)
    expected = x.copy()
    np.multiply.at(expected, i[[0, 1, 2, 4, 5, 6]], v[[0, 1, 2, 4, 5, 6]])
    for how in (lambda f: f, stagec.jit):
        np.testing.assert_allclose(how(lambda x, v: x.at[i].multiply(v))(snp.asarray(x), v), expected, rtol=1e-6)
    batch = stagec.jit(stagec.vmap(lambda x: lax.fori_loop(0, 2, lambda _, c: c.at[i].multiply(v), x)))(x[None])
    twice = expected.copy()
    np.multiply.at(twice, i[[0, 1, 2, 4, 5, 6]], v[[0, 1, 2, 4, 5, 6]])
    np.testing.assert_allclose(batch[0], twice, rtol=1e-5)
