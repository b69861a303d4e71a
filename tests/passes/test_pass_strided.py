"""Views with regular steps are found, and taken by slices, transposes and reversals."""

import numpy as np
import pytest

from passes.analysis.strided import View, boxes, fitted, row_strides


def random_view(rng):
    """The shape of an array, and the positions of the elements of what is left after a few moves."""
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    positions = np.arange(np.prod(shape)).reshape(shape)
    for _ in range(rng.integers(1, 5)):
        move = rng.integers(4)
        if move == 0:
            positions = positions.transpose(rng.permutation(positions.ndim))
        elif move == 1:
            cuts = [slice(int(rng.integers(n)), None, int(rng.integers(1, 4))) for n in positions.shape]
            positions = positions[tuple(cuts)]
        elif move == 2:
            positions = np.flip(positions, rng.integers(positions.ndim))
        else:
            divisors = [d for d in range(1, positions.size + 1) if positions.size % d == 0]
            positions = positions.reshape(int(rng.choice(divisors)), -1)
    return shape, positions


def taken(shape, view, box):
    """The positions that a box takes, by the same steps as the operations that are built for it."""
    value = np.arange(np.prod(shape)).reshape(box.form)
    value = value[tuple(slice(*cut) for cut in zip(box.starts, box.limits, box.steps))]
    value = np.flip(value.reshape([view.shape[d] for d in box.dims]), box.reverse)
    value = value.transpose(np.argsort(box.dims))
    return np.broadcast_to(value.reshape([n if step else 1 for n, step in zip(view.shape, view.steps)]), view.shape)


@pytest.mark.parametrize("seed", range(20))
def test_every_box_takes_the_view(seed):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(40):
        shape, positions = random_view(rng)
        view = fitted(positions)
        for box in boxes(shape, view) if view is not None else ():
            found += 1
            np.testing.assert_array_equal(positions, taken(shape, view, box), err_msg=f"{shape} {view} {box}")
    assert found > 20


def test_irregular_steps_are_no_view():
    assert fitted(np.array([0, 1, 3])) is None


def test_a_view_that_reaches_into_the_next_row_is_not_taken_from_rows():
    view = View(4, (1,), (3,))
    assert {box.form for box in boxes((2, 6), view)} == {(12,)}
    assert row_strides((2, 6)) == (6, 1)


def test_every_second_element_is_a_dense_column_of_another_form():
    dense = [box.form for box in boxes((6,), View(1, (2,), (3,))) if box.is_dense]
    assert set(dense) == {(3, 2)}
