"""Sizes of open dimensions as expressions."""

import copy
import functools
import itertools
import pickle

import pytest

from stagec.core import dims, dims_values, errors
from stagec.core.aval import ShapedArray
from stagec.core.dims_text import Scope

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


@pytest.mark.parametrize("text", ["b +", "b >= c", "f(b)", "b == 3", "0 > b", "'x'", "b/n", "-3"])
def test_a_specification_that_is_not_understood_is_an_error(text):
    with pytest.raises(errors.DimensionError, match="are not understood"):
        Scope().shape(text)
