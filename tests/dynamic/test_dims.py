"""Sizes of open dimensions as expressions."""

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest

import stagec
from stagec.core import dims, dims_values, errors
from stagec.core.aval import ShapedArray
from stagec.core.dims_text import Scope, limits

b, n = dims.symbol("b"), dims.symbol("n", 8)
VALUES = [dict(zip(dims_values.symbols([b, n]), pair)) for pair in itertools.product((1, 2, 3, 7, 12), (8, 9, 15))]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (2 * b + 1, "2*b + 1"),
        (1 - b, "-b + 1"),
        ((4 * b) // 2, "2*b"),
        (b * b - b * (b - 1), "b"),
        (b * n // n, "b"),
        ((b + 1) // 2, "(b + 1)//2"),
        (b % 4, "b % 4"),
        (3 * b * n**2 + b, "3*b*n**2 + b"),
        (dims.minimum(b, 5), "min(5, b)"),
        (dims.divided(b, 4), "b/4"),
    ],
)
def test_expressions_are_simplified_and_printed(size, text):
    assert str(size) == text


@pytest.mark.parametrize(("size", "number"), [((4 * b + 2) % 4, 2), (b - b, 0), ((2 * b + 1) - 2 * b, 1), (b * 0, 0)])
def test_constants_are_numbers(size, number):
    assert type(size) is int
    assert size == number


EXPRESSIONS = {
    "b + n": lambda b, n: b + n,
    "3*b*n - n": lambda b, n: 3 * b * n - n,
    "(b*n + n)//n": lambda b, n: (b * n + n) // n,
    "(5*b + 3)//2": lambda b, n: (5 * b + 3) // 2,
    "2*((b + 1)//2) - 1": lambda b, n: 2 * ((b + 1) // 2) - 1,
    "(2*((b + 1)//2) - 1 + 1)//2": lambda b, n: (2 * ((b + 1) // 2) - 1 + 1) // 2,
    "(n - b)%3": lambda b, n: (n - b) % 3,
    "(-b)//2": lambda b, n: (-b) // 2,
    "(7 - 3*b)%5": lambda b, n: (7 - 3 * b) % 5,
    "b**3": lambda b, n: b**3,
    "n%b": lambda b, n: n % b,
    "(b*b + b)//b": lambda b, n: (b * b + b) // b,
    "b - (b + 1)%3": lambda b, n: b - (b + 1) % 3,
    "(b//2 + 1)//3 + n%2": lambda b, n: (b // 2 + 1) // 3 + n % 2,
    "min(b, 4)//3 + b": lambda b, n: dims.minimum(b, 4) // 3 + b,
}


@pytest.mark.parametrize("function", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_has_the_value_that_python_computes(function):
    size = function(b, n)
    for values in VALUES:
        assert dims_values.evaluate(size, values) == function(*values.values())


@pytest.mark.parametrize("function", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_bounds_hold(function):
    size = function(b, n)
    low, high = dims.bounds(size)
    assert all(low <= dims_values.evaluate(size, values) <= high for values in VALUES)


def test_bounds_decide_comparisons():
    assert b >= 1 and b > 0 and n >= 8 and n > 7 and not n < 8 and b * n >= b and 2 * b - 1 >= b
    assert dims.maximum(b, 1) is b and dims.minimum(n, 3) == 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda: b >= 2,
        lambda: b == 3,
        lambda: b != 3,
        lambda: bool(b - 1),
        lambda: b < n,
        lambda: (b, 4) == (3, 4),
        lambda: b % 2 == 0,
        lambda: max(b, 7),
    ],
)
def test_a_question_that_sizes_answer_differently_is_an_error(ask):
    with pytest.raises(errors.DimensionError, match="depends on the size at the call"):
        ask()


@pytest.mark.parametrize("use", [int, range, float, lambda b: [0][b], lambda b: [0] * b])
def test_a_use_as_a_number_is_an_error(use):
    with pytest.raises(errors.DimensionError, match="the open dimension b was used as"):
        use(b)


@pytest.mark.parametrize(
    "use",
    [
        lambda b: {1: 10.0}.get(b, 1.0),
        lambda b: b in {1, 2},
        lambda b: len({b, 4}),
        lambda b: {(1, 4): 0}.get((b, 4)),
        lambda b: dict.fromkeys([b]),
        functools.cache(lambda b: b + 1),
    ],
)
def test_a_search_by_hash_that_would_miss_a_number_is_an_error(use):
    with pytest.raises(errors.DimensionError, match=r"the open dimension b was hashed[^\n]*\n *test_dims.py"):
        use(b)


def test_equal_expressions_are_one_object():
    assert b * 2 + 1 is 1 + b + b
    assert pickle.loads(pickle.dumps(2 * n + b)) is 2 * n + b
    assert copy.deepcopy(b) is b
    assert dims.symbol("b", 4) is not b


def test_expressions_that_write_quotients_differently_are_equal():
    rest = (n + 1) % 2
    first, second = (rest + n + 1) // 2 - rest - 1, (n + 1) // 2 - 1
    assert first == second and first - second == 0
    assert b // 2 + (b + 1) // 2 == b and b % 2 + (b + 1) % 2 == 1
    vectors = [ShapedArray((size,), "float32") for size in (first, second, b // 2, b // 3)]
    assert vectors[0] is vectors[1] and len(set(vectors)) == 3


def test_remainders_of_symbols_decide_comparisons():
    assert b + b % 2 >= 2 and not b + b % 2 + 1 < 3 and n - (n + 1) % 3 >= 7
    assert dims.bounds(b - (b + 1) % 3) == (-1, float("inf"))
    assert dims.bounds((n + b % 2) % 4) == (0, 3)


def test_specifications_state_bounds():
    b, c, d = Scope().shape("b >= 8, 2*b, 3 <= d")
    assert (dims.bounds(b), c, dims.bounds(d)[0]) == ((8, float("inf")), 2 * b, 3)
    assert Scope().shape("b <= 5, _, 7")[1:] == (None, 7)
    assert dims.bounds(Scope().shape("4*b, 2 <= b < 9")[0]) == (8, 32)


@pytest.mark.parametrize("text", ["b +", "b != c", "f(b)", "b*c == 2*b", "0 > b", "'x'", "b/n", "-3"])
def test_a_specification_that_is_not_understood_is_an_error(text):
    with pytest.raises(errors.DimensionError, match="are not understood"):
        Scope().shape(text)


def test_a_text_is_read_as_the_size_that_it_was_written_of():
    for function in (
        *EXPRESSIONS.values(),
        lambda b, n: 9 - b // 2,
        lambda b, n: -(b % 3) + 5,
        lambda b, n: n - n // 2,
    ):
        size = function(b, n)
        assert Scope(["n >= 8"]).shape(str(size))[0] is size


def test_sizes_are_read_in_the_spelling_of_jax():
    found = Scope(["n >= 8"]).shape("floordiv(b^2, 3) + mod(n, 5), max(b, n), 2*b^2 + 1")
    assert found == (b**2 // 3 + n % 5, dims.maximum(b, n), 2 * b**2 + 1)


CONDITIONS = {
    "n >= b + 2": lambda b, n, m: n >= b + 2,
    "m > n, n > b": lambda b, n, m: m > n > b,
    "b + n <= m, m <= 6": lambda b, n, m: b + n <= m <= 6,
    "n % 4 == 0, b >= 2": lambda b, n, m: n % 4 == 0 and b >= 2,
    "2*b <= n < m": lambda b, n, m: 2 * b <= n < m,
    "b*n <= m": lambda b, n, m: b * n <= m,
    "n == 2*b, m == n + 1": lambda b, n, m: n == 2 * b and m == n + 1,
    "b//2 >= n, n >= 3": lambda b, n, m: b // 2 >= n >= 3,
}
RELATED = {
    "n - b": lambda b, n, m: n - b,
    "m*(n - b)": lambda b, n, m: m * (n - b),
    "m - 2*b": lambda b, n, m: m - 2 * b,
    "n": lambda b, n, m: n,
    "n%4 + b": lambda b, n, m: n % 4 + b,
    "n//4*4 - n": lambda b, n, m: n // 4 * 4 - n,
    "m - b*n": lambda b, n, m: m - b * n,
    "b - n": lambda b, n, m: b - n,
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_bounds_hold_under_conditions_on_several_sizes(text):
    sizes = Scope([text]).shape("b, n, m")
    triples = [v for v in itertools.product(range(1, 13), repeat=3) if CONDITIONS[text](*v)]
    assert triples
    for function in RELATED.values():
        low, high = dims.bounds(function(*sizes))
        assert low <= min(function(*v) for v in triples) and max(function(*v) for v in triples) <= high


def test_conditions_on_several_sizes_decide_comparisons():
    b, n, m = Scope(["n >= b + 2, m > n", "b >= 8"]).shape("b, n, m")
    assert n > b and m > b and m - b >= 3 and n >= 10 and b * n > b * b and m != b and not b > m
    assert dims.minimum(b, n) is b
    (n,) = Scope(["mod(n, 4) == 0"]).shape("n")
    assert n % 4 == 0 and n // 4 * 4 is n
    b, n, m = Scope(["n == 2*b", "m == n + 1", "b >= 3"]).shape("b, n, m")
    assert n is 2 * b and m is 2 * b + 1 and m >= 7
    with pytest.raises(errors.DimensionError, match="whether b > n depends"):
        bool(dims.symbol("b") > dims.symbol("n"))


def test_conditions_are_written_with_sizes_and_read_again():
    shape = Scope(["n >= b + 2, m > n", "b >= 8", "n % 2 == 0"]).shape("b, n, m")
    assert Scope([limits(shape)]).shape("b, n, m") == shape
    assert all(again is size for again, size in zip(pickle.loads(pickle.dumps(shape)), shape))


@pytest.mark.parametrize("text", ["b == b + 1", "b + 1 <= 1", "b >= 3, b <= 2", "2*b >= n, n >= 9, b <= 4", "3 > 4"])
def test_conditions_that_cannot_hold_or_be_used_are_errors(text):
    with pytest.raises(errors.DimensionError, match="are not understood"):
        Scope([text])


def test_a_call_for_which_a_condition_does_not_hold_is_refused():
    f = stagec.jit(lambda x, y: x + y[: x.shape[0]], dynamic={"x": "b", "y": "n >= b"})
    assert f(np.ones(2), np.arange(5.0)).tolist() == [1, 2]
    with pytest.raises(errors.DimensionError, match=r"-b \+ n >= 0 does not hold for b = 3"):
        f(np.ones(3), np.arange(2.0))
    exported = stagec.export(lambda x, y: x + y[: x.shape[0]])("f32[b]", "f32[n >= b]")
    loaded = stagec.load(exported.serialize())
    assert loaded(np.ones(2), np.arange(5.0)).tolist() == [1, 2]
    with pytest.raises(errors.DimensionError, match="does not hold"):
        loaded(np.ones(3), np.arange(2.0))
    with pytest.raises(errors.UnsupportedError, match="a library checks each size by itself"):
        exported.to_c("library")
