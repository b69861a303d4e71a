"""The fast path of a jitted call returns what the slow path returns, for every kind of argument."""

import collections

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.api.signature import Unusual, builder, describe
from stagec.core import pytree

Pair = collections.namedtuple("Pair", "left right")


def key_of(value):
    leaves = []
    return describe(value, leaves), leaves


def twice(function, *args, **kwargs):
    """The results of the first call, which takes the slow path, and of the second."""
    return function(*args, **kwargs), function(*args, **kwargs)


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        -0.0,
        0.0,
        7,
        True,
        1j,
        float("inf"),
        1e300,
        np.float32(3),
        np.float64(3),
        np.int64(3),
        np.arange(6.0).reshape(2, 3),
        np.arange(6.0).reshape(2, 3).T,
        np.arange(5, dtype=">f4"),
        np.ones(3, bool),
        np.ones(100_000, np.float32),
        {"b": 1.0, "a": np.ones(2)},
        [(1, 2.0), None],
        Pair(1.0, np.ones(2)),
        collections.OrderedDict(z=1, a=2),
    ],
    ids=repr,
)
def test_the_second_call_gives_what_the_first_gave(value):
    f = stagec.jit(lambda tree: stagec.tree.map(lambda x: x * 2, tree))
    first, second = (stagec.tree.flatten(out) for out in twice(f, value))
    assert first[1] == second[1]
    for a, b in zip(first[0], second[0], strict=True):
        assert a.aval is b.aval
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("value", [2, 2.5, np.int8(3), np.arange(3.0, dtype=np.float32), [1, 2]])
def test_arguments_of_a_function_that_closes_over_an_array_keep_their_types(value):
    weights = snp.ones((10, 10))
    function = stagec.jit(lambda x, v: (x @ weights, v * 2 if not isinstance(v, list) else v))
    first, again = twice(function, snp.ones(10), value)
    assert pytree.structure(first) == pytree.structure(again)
    for a, b in zip(pytree.leaves(first), pytree.leaves(again)):
        assert a.aval == b.aval
        np.testing.assert_array_equal(a, b)


def test_zeros_keep_their_signs():
    f = stagec.jit(lambda x, y: x / y)
    one = snp.ones(1)
    assert [float(f(one, y)[0]) for y in (0.0, -0.0, 0.0, -0.0)] == [np.inf, -np.inf, np.inf, -np.inf]


def test_complex_numbers_keep_the_signs_of_their_zeros():
    of_one, of_another = stagec.jit(snp.angle), stagec.jit(lambda z: snp.angle(z) + 0)
    below, above = complex(-2, -0.0), complex(-2, 0.0)
    assert [float(of_one(z)) > 0 for z in (above, above, below, above)] == [True, True, False, True]
    assert [float(of_another(z)) > 0 for z in (below, below, above)] == [False, False, True]


def test_equal_numbers_of_other_types_are_told_apart():
    f = stagec.jit(lambda x: x + 1)
    assert [f(x).dtype.name for x in (1, 1.0, 1, 1.0)] == ["int32", "float32", "int32", "float32"]
    assert [f(x).dtype.name for x in (True, 1, True)] == ["int32", "int32", "int32"]


def test_static_arguments_choose_their_program():
    f = stagec.jit(lambda x, n, flag=False: x * n if flag else x + n, static_argnums=1, static_argnames="flag")
    x = snp.ones(2)
    for _ in range(2):
        assert f(x, 3)[0] == 4
        assert f(x, 5)[0] == 6
        assert f(x, 5, flag=True)[0] == 5
        assert f(x, 2.5).dtype == np.float32


def test_keywords_are_not_mistaken_for_positions():
    f = stagec.jit(lambda x, y=1.0, z=10.0: x + 2 * y + 3 * z)
    for _ in range(2):
        assert float(f(1.0, 2.0)) == 35
        assert float(f(1.0, z=2.0)) == 9
        assert float(f(1.0, y=2.0)) == 35
        assert float(f(x=1.0)) == 33


def test_the_order_of_a_dicts_keys_does_not_matter():
    f = stagec.jit(lambda p: p["a"] - p["b"])
    for _ in range(2):
        assert float(f({"a": 3.0, "b": 1.0})) == 2
        assert float(f({"b": 1.0, "a": 3.0})) == 2
    assert f._cache_size() == 1


def test_a_numpy_argument_may_change_between_calls():
    f = stagec.jit(lambda x: x + 1)
    for n in (3, 100_000):
        x = np.zeros(n, np.float32)
        y = [f(x) for _ in range(2)]
        x[:] = 5
        assert float(f(x)[0]) == 6
        assert [float(v[0]) for v in y] == [1, 1]


def test_integers_out_of_range_are_refused_at_every_call():
    f = stagec.jit(lambda x: x + 1)
    assert int(f(1)) == int(f(1)) == 2
    for _ in range(2):
        with pytest.raises(OverflowError, match="does not fit int32"):
            f(1 << 40)


def test_options_make_other_signatures():
    f = stagec.jit(lambda x: x * 1)
    assert [f(2.0).dtype.name for _ in range(2)] == ["float32"] * 2
    with stagec.enable_x64():
        assert [f(2.0).dtype.name for _ in range(2)] == ["float64"] * 2
    stagec.config.update("enable_x64", True)
    try:
        assert [f(0.1).dtype.name for _ in range(2)] == ["float64"] * 2
        assert [f(np.ones(2)).dtype.name for _ in range(2)] == ["float64"] * 2
        assert [int(f(1 << 40)) for _ in range(2)] == [1 << 40] * 2
    finally:
        stagec.config.update("enable_x64", False)
    assert [f(np.ones(2)).dtype.name for _ in range(2)] == ["float32"] * 2


def test_results_given_back_as_they_came_are_not_shared_with_numpy():
    f = stagec.jit(lambda tree: (tree["x"], tree["x"] + 1))
    for n in (3, 100_000):
        x = np.zeros(n, np.float32)
        same = [f({"x": x})[0] for _ in range(2)]
        x[:] = 7
        assert [float(v[0]) for v in same] == [0, 0]


def test_donated_leaves_are_taken_at_every_call():
    f = stagec.jit(lambda state, x: {"n": state["n"] + x}, donate_argnums=0)
    state = {"n": snp.zeros(4)}
    for i in range(3):
        before = state
        state = f(state, 1.0)
        assert before["n"].is_deleted()
        assert float(state["n"][0]) == i + 1


def test_descriptions_tell_structures_apart():
    x = snp.ones(2)
    different = [x, (x,), [x], {"a": x}, {"b": x}, (x, None), (x, x), ((x, x),), Pair(x, x), 1.0, (1.0,), None, ()]
    keys = [key_of(v)[0] for v in different]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("value", ["text", object(), {1: 2, "a": 3}, 1 << 40, float("nan")])
def test_what_is_unusual_takes_the_long_way(value):
    with pytest.raises(Unusual):
        describe(value, [])


@pytest.mark.parametrize(
    "tree",
    [
        1,
        (1,),
        (),
        [],
        [1, [2]],
        {"b": 1, "a": (2, 3)},
        {(1, 2): 1, (0, 1): None},
        Pair(1, (2,)),
        (Pair(1, 2), {"x": 3}),
    ],
    ids=repr,
)
def test_builders_put_trees_together(tree):
    leaves, structure = pytree.flatten(tree)
    made = builder(structure)(leaves)
    assert made == tree
    assert type(made) is type(tree)


def test_an_update_inside_of_an_override_keeps_the_width_of_numbers_outside():
    with stagec.enable_x64():
        stagec.config.update("debug_nans", False)
    scaled = stagec.jit(lambda n: snp.ones(2) * n)
    # The second call takes the number from the table of placed ones.
    assert [scaled(1.5).tolist(), scaled(1.5).tolist()] == [[1.5, 1.5]] * 2
