"""`jit(python=True)`: what a name and an array mean, what is carried, and what is an error."""

import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import textbook

import stagec
import stagec.numpy as snp
from stagec.core.graph import all_equations


def compiled(function, **options):
    return stagec.jit(function, python=True, **options)


def agree(function, *args, **options):
    given, changed = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args], list(args)
    changed = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    expected = function(*changed)
    with stagec.enable_x64():
        found = compiled(function, **options)(*given)
    for a, b in zip(stagec.tree.leaves((found, given)), stagec.tree.leaves((expected, changed)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


X = np.array([3.0, -1.0, 2.0, 5.0, 0.5])


def test_other_names_and_views_show_what_is_written():
    def f(x):
        y = x
        row = x[1:4]
        column = x.reshape(5, 1)
        turned = column.T
        for i in range(12):
            y[i % 5] += row[i % 3]
        row[:] = turned[0, 2:]
        column[0, 0] = 7.0
        if x.sum() > 0:
            row += 1.0
        return x.copy(), row, turned

    agree(f, X)


def test_an_operator_on_a_name_changes_the_array_but_not_a_number():
    def f(x, a):
        y, b = x, a
        for _ in range(20):
            y += 1.0
            b += 1.0
        return x, a, b

    agree(f, X, 1.0)


def test_arrays_may_be_swapped_in_a_loop():
    def f(n):
        a, b = np.zeros(3), np.ones(3)
        for i in range(n):
            b[1:] = a[:-1] + i
            a, b = b, a
        return a, b

    for n in (0, 1, 7):
        agree(f, n)


def test_which_of_two_arrays_is_written_is_not_decided_silently():
    def f(x, n):
        y = x.copy()
        z = y
        for _ in range(n):
            z = z + 1.0
        z[0] = 5.0
        return y

    with pytest.raises(stagec.errors.UnsupportedError, match=r"changed under another name.*test_python_flow\.py"):
        compiled(f)(X, 2)


def test_an_array_that_ends_as_one_of_two_in_each_round_is_not_written_silently():
    def f(n):
        a, b = np.zeros(3), np.ones(3)
        for _ in range(n):
            a[0] += 1.0
            a = b
        return a, b

    with pytest.raises(stagec.errors.UnsupportedError, match="changed under another name"):
        compiled(f)(3)


def test_slices_with_traced_bounds_are_views():
    def f(x, n):
        total = 0.0
        for i in range(n):
            part = x[: i + 1]
            x[0] = x[0] + 1.0
            total += part.sum() + part[0] + part.mean() + part.max()
            part += 1.0
            x[i:] = x[i] * 0.5
            x[1 : i + 1] = x[:i]
        return total

    for n in (0, 1, 4):
        agree(f, X, n)


def test_what_a_mask_selects_is_a_copy():
    def f(x):
        big = x > 1.0
        part = x[big]
        part += 1.0
        x[big] = part * 2.0
        x[x < 0] = 9.0
        return part.sum(), part.max(), x[big].mean()

    agree(f, X)


def test_a_name_that_one_branch_assigns_may_be_used_in_it_only():
    def f(x):
        if x > 0:
            y = x + 1
        if x > 1:
            return x
        return y

    with pytest.raises(UnboundLocalError, match=r"y may have no value here(.|\n)*return y"):
        compiled(f)(2.0)


def test_names_may_begin_with_nothing_in_loops_that_run():
    agree(textbook.largest, X)


def test_a_check_raises_after_the_call_and_others_do_not():
    def f(x, n):
        for i in range(n):
            if x[i] < 0:
                raise ValueError("negative")
            assert x[i] < 4, "large"
        return x.sum()

    g = compiled(f)
    assert float(g(np.ones(5), 5)) == 5.0
    with pytest.raises(ValueError, match="negative"):
        g(X, 3)
    with pytest.raises(AssertionError, match="large"):
        g(abs(X), 5)
    assert float(g(X, 1)) == 9.5


def test_gradients_flow_through_loops_and_writes():
    def f(x, n):
        y = np.zeros(3)
        i = 0
        while i < n:
            for j in range(3):
                if x[j] > 0.5:
                    y[j] += x[j] ** 2
                else:
                    y[j] -= x[j]
            if y[0] > 3:
                break
            i += 1
        return y.sum()

    with stagec.enable_x64():
        x = np.array([0.9, 0.2, 0.7])
        found = stagec.grad(compiled(f))(snp.asarray(x), 5)
        np.testing.assert_allclose(found, stagec.grad(lambda x: 4 * (x[0] ** 2 - x[1] + x[2] ** 2))(x), rtol=1e-12)
        h = 1e-6
        for k in range(3):
            d = np.eye(3)[k] * h
            np.testing.assert_allclose(found[k], (f(x + d, 5) - f(x - d, 5)) / (2 * h), rtol=1e-6)
        newton = stagec.grad(compiled(lambda a: root(a)))(2.0)
        np.testing.assert_allclose(newton, 0.5 / 2**0.5, rtol=1e-9)


def root(a):
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


def test_errors_and_operations_are_on_the_users_lines():
    def f(x):
        if x.sum() > 0:
            y = x + snp.ones(3)
        return y

    with pytest.raises(
        stagec.errors.ShapeError, match=r"test_python_flow\.py:\d+ in .*f:  y = x \+ snp.ones\(3\)"
    ) as caught:
        compiled(f)(X)
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "y = x + snp.ones(3)" in lines

    def g(x):
        if x > 0:
            x = np.sin(x)
        return x

    inside = {e.location for e in all_equations(compiled(g).trace(1.0).graph.jaxpr) if e.primitive.name == "sin"}
    assert {(place.line - g.__code__.co_firstlineno, place.function.split(".")[-1]) for place in inside} == {(2, "g")}


SCALE = 2.0


def test_globals_closures_defaults_and_methods_are_the_functions_own():
    global SCALE
    step = 1.0

    class Model:
        __hidden = 3.0

        def __call__(self, x, n=2, *, extra=0.5):
            for _ in range(n):
                if x > 0:
                    x = x * SCALE + step + self.__hidden
            return x + extra

        run = __call__

    model = Model()
    assert float(compiled(model.run)(1.0, n=3)) == model(1.0, n=3)
    step = 5.0
    SCALE = 3.0
    try:
        assert float(compiled(model.run)(1.0, n=3)) == model(1.0, n=3)
    finally:
        SCALE = 2.0


def test_stagecs_arrays_are_not_changed():
    def f(x):
        x[0] = 5.0
        return x.sum()

    x = snp.asarray(X, "float32")
    assert float(compiled(f)(x)) == 11.5
    assert float(x[0]) == 3.0
    frozen = X.copy()
    frozen.setflags(write=False)
    compiled(f)(frozen)
    assert frozen[0] == 3.0


def test_a_function_may_be_called_by_another_one_and_pickled():
    inner = compiled(lambda x: shift(x))

    def f(x):
        inner(x)
        if x[0] > 0:
            shift(x)
        return x

    agree(f, X)
    again = pickle.loads(pickle.dumps(COLLATZ))
    assert int(again(27)) == 111


COLLATZ = compiled(textbook.collatz)


def shift(x):
    x[1:] = x[:-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x):\n    yield x\n", r"it has yield"),
        ("def f(x):\n    global y\n    y = x\n", r"it has global y\n.*:2"),
        ("def f(x):\n    match x:\n        case _:\n            return x\n", "it has match"),
    ],
)
def test_what_cannot_be_rewritten_is_named_with_its_line(text, message, tmp_path, monkeypatch):
    (tmp_path / "refused.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "refused", raising=False)
    with pytest.raises(stagec.errors.UnsupportedError, match=message):
        compiled(__import__("refused").f)


def test_windows_at_the_ends_of_an_array_are_as_short_as_in_numpy():
    def f(x, n):
        y = np.zeros(12)
        for i in range(12):
            y[i] = x[i : i + 3].sum() + x[i - 1 : i + 2].sum() + x[12 - i : 14 - i].sum() + x[2 * i : 2 * i + 2].sum()
        for i in range(1, 11):
            near = x[i - 1 : i + 2]
            y[i] += near.max() * len(near)
            near[1] = 0.5
            x[11 - i : 13 - i] += 1.0
        for i in range(n):
            y[i : i + 2] = x[i]
        return y

    agree(f, np.linspace(-1.0, 2.0, 12), 11)


def test_what_the_test_of_a_loop_binds_is_its_last_value():
    def f(x):
        n, total = 0, 0.0
        while (v := x[n]) < 5:
            n += 1
            total += v
        else:
            total *= 2
        return n, v, total

    agree(f, X)


def test_rows_are_chosen_by_lists_and_swapped():
    def f(x):
        x[[0, 1]] = x[[1, 0]]
        x[[2, 3]] *= 2.0
        for i in range(4):
            x[i], x[i + 1] = x[i + 1], x[i]

    agree(f, X)


def test_shapes_are_those_of_the_result_alone():
    def f(x):
        x[0] = 1.0
        return x.sum()

    assert compiled(f).eval_shape(X).shape == ()


def test_threads_trace_independently():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: int(compiled(lambda x: textbook.collatz(x))(n)), [27, 97, 871, 6171]))
    assert found == [111, 118, 178, 261]


@pytest.mark.parametrize("limit", [-2.0, 2.5, 10.0])
def test_the_else_of_a_loop_returns_after_a_loop_that_returns(limit):
    def first_above(x, limit):
        for i, v in enumerate(x):
            if v > limit:
                return i
        else:
            return -1

    agree(first_above, np.concatenate([X] * 3), limit)


def test_numbers_and_none_are_not_returned_from_one_call():
    def f(x):
        if x[0] > 0:
            return 1.0

    with pytest.raises((stagec.errors.StagecError, UnboundLocalError)):
        compiled(f)(X)


@pytest.mark.parametrize("x", [-1.0, 1.0])
def test_zeros_of_the_other_sign_and_bools_are_other_numbers(x):
    def zero(x):
        if x > 0:
            y, one = 0.0, 1
        else:
            y, one = -0.0, 1.0
        return y, one

    found = [np.asarray(v) for v in compiled(zero)(x)]
    assert [np.signbit(v) for v in found] == [np.signbit(v) for v in zero(x)]


def test_a_loop_may_change_the_sign_of_zero():
    def last(n):
        y = 0.0
        for _ in range(n):
            y = -0.0
        return y

    assert np.signbit(np.asarray(compiled(last)(3)))


def test_an_endless_loop_ends_with_a_return():
    def f(x):
        n = 0
        while True:
            x = x * 2
            n += 1
            if x.sum() > 100:
                return x, n
            elif n > 3:
                return x * 0, n

    compiled = stagec.jit(f, python=True)
    for first in (1, 9, 60):
        x = np.full(3, first, np.float32)
        for found, wanted in zip(compiled(x), f(x)):
            np.testing.assert_array_equal(found, wanted)
