"""Slices with traced bounds: their elements stay in place, and move where they are combined with others."""

import numpy as np
import pytest
from test_python_flow import agree, compiled

import stagec
from stagec.core.graph import all_equations

X, Y = np.arange(12.0) ** 1.5, np.arange(20.0)[::-1] * 0.7
M = np.sin(np.arange(63.0)).reshape(7, 9)


def test_slices_from_one_position_and_from_several():
    def f(x, y):
        out = np.zeros(12)
        for i in range(1, 11):
            same = x[i:] * x[i:]
            several = x[i:] - y[: 12 - i]
            longer = y[i : i + 3] + x[i - 1 : i + 2]
            out[i] = same.sum() + several.max() + longer[1] + (x[i:] * 2 + 1)[0]
        return out

    agree(f, X, Y)


def test_assignments_move_what_they_assign():
    def f(x, y):
        for i in range(1, 10):
            x[i:] = y[: 12 - i]
            y[:i] = x[12 - i :] * 2
            x[i:] -= x[i:] * 0.5
            y[2 : 2 + i] = x[:i]
            x[:i] = 3.0
        return x

    agree(f, X, Y)


def test_a_block_that_begins_anywhere_in_a_matrix():
    def f(a):
        for k in range(6):
            a[k + 1 :, k] /= 3.0
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
            a[k, k:] += a[k:, k].sum() + a[k:, k:].max()
        return a

    agree(f, M)


def test_products_of_slices_of_different_lengths_and_positions():
    def f(a, x):
        out = np.zeros((3, 7))
        for i in range(7):
            out[0, i] = a[i, i:] @ a[i, i:]
            out[1, i] = a[i, 1 : 9 - i] @ x[: 8 - i]
            out[2] += a[:, i:] @ x[: 9 - i]
        return out

    agree(f, M, X)


def test_a_static_and_a_traced_end():
    def f(x, y):
        for i in range(3, 12):
            x[2:i] += y[2:i]
            y[1 : i - 1] = x[2:i] * y[2:i]
            x[i - 3 : 9] *= 0.5
        return x

    agree(f, X, Y)


def test_positions_that_a_slice_or_a_mask_selects():
    def f(starts, columns, x):
        out = np.zeros(5)
        rows = np.zeros((5, 9))
        for i in range(5):
            own = columns[starts[i] : starts[i + 1]]
            out[i] = x[own].sum() + x[columns[columns < i]].sum()
        return out, rows

    agree(f, np.array([0, 2, 2, 5, 9, 10]), np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3]), X)


def test_rows_at_positions_of_traced_number():
    def f(starts, columns, a):
        out = np.zeros((4, 9))
        for i in range(4):
            out[i] = a[columns[starts[i] : starts[i + 1]]].sum(axis=0)
        return out

    agree(f, np.array([0, 2, 2, 5, 6]), np.array([3, 1, 4, 1, 5, 6]), M)


def test_positions_that_are_no_integers_are_an_error():
    def f(x, n):
        return x[x[:n]]

    with pytest.raises(stagec.errors.ConcretizationError, match="traced length"):
        compiled(f)(X, 3)


def test_an_assigned_shape_is_an_error_with_a_fix():
    def f(x):
        x.shape = (3, 4)
        return x

    with pytest.raises(stagec.errors.UnsupportedError, match=r"(?s)x\.shape = \(3, 4\).*Fix: x = x\.reshape\(shape\)"):
        compiled(f)(X)


def test_nested_short_loops_are_loops_of_the_program():
    def f(x):
        total = 0.0
        for i in range(4):
            for j in range(4):
                for k in range(4):
                    for m in range(4):
                        total += x[i] * x[j + k] / (m + 1)
        return total

    def small(x):
        total = 0.0
        for i in range(3):
            for j in range(3):
                total += x[i] * x[j]
        return total

    agree(f, X)
    counts = {g: [e.primitive.name for e in all_equations(compiled(g).trace(X).graph.jaxpr)] for g in (f, small)}
    assert "scan" in counts[f]
    assert len(counts[f]) < 1000
    assert "scan" not in counts[small]


def test_short_loops_over_what_the_program_cannot_index_stay_straight():
    def f(x):
        parts = [x[:4], x[4:], x[:2]]
        total = 0.0
        for a in parts:
            for b in parts:
                for i in range(2):
                    for j in range(2):
                        for k in range(2):
                            total += a[i] * b[j] + k
        return total

    agree(f, X)
