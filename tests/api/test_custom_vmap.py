"""`custom_vmap` and `sequential_vmap`: rules for batches that users write."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.custom_batching import custom_vmap, sequential_vmap
from stagec.errors import PytreeError, ShapeError, UnsupportedError

X, Y = snp.arange(3.0), snp.arange(1.0, 4.0)


@pytest.fixture
def f():
    """Sine times y; of a batch, cosine times y, so that the tests see which one ran."""

    @custom_vmap
    def made(x, y):
        return snp.sin(x) * y

    made.calls = []

    @made.def_vmap
    def rule(axis_size, in_batched, x, y):
        made.calls.append((axis_size, in_batched, x.shape, y.shape))
        return snp.cos(x) * snp.asarray(y), True

    return made


def test_a_batch_runs_the_rule(f):
    np.testing.assert_allclose(stagec.vmap(f)(X, Y), np.cos(X) * Y, rtol=1e-6)
    assert f.calls == [(3, [True, True], (3,), (3,))]
    np.testing.assert_allclose(stagec.vmap(f, in_axes=(0, None))(X, 2.0), np.cos(X) * 2, rtol=1e-6)
    assert f.calls[-1] == (3, [True, False], (3,), ())


def test_one_element_runs_the_function(f):
    for call in (f, stagec.jit(f), lambda x, y: f(x, y=y)):
        assert float(call(1.0, 2.0)) == pytest.approx(2 * np.sin(1.0))
    assert float(stagec.vmap(lambda x: f(1.0, 2.0))(X)[0]) == pytest.approx(2 * np.sin(1.0))
    assert f.calls == []


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: stagec.jit(stagec.vmap(f)),
        lambda f: stagec.vmap(stagec.jit(f)),
        lambda f: stagec.jit(stagec.vmap(stagec.jit(f))),
    ],
)
def test_the_rule_is_kept_by_jit(f, transform):
    np.testing.assert_allclose(transform(f)(X, Y), np.cos(X) * Y, rtol=1e-6)


def test_the_batch_axis_comes_first(f):
    x = snp.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(stagec.vmap(f, in_axes=(1, None))(x, 1.0), np.cos(x).T, rtol=1e-6)
    assert f.calls == [(3, [True, False], (3, 2), ())]


def test_batches_of_batches(f):
    both = stagec.vmap(stagec.vmap(f, in_axes=(0, None)), in_axes=(None, 0))
    np.testing.assert_allclose(both(X, Y), np.cos(X)[None] * np.asarray(Y)[:, None], rtol=1e-6)


def test_derivatives_of_a_batch_are_those_of_the_rule(f):
    batch = stagec.vmap(f)
    np.testing.assert_allclose(stagec.grad(lambda x: batch(x, Y).sum())(X), -np.sin(X) * Y, rtol=1e-6)
    np.testing.assert_allclose(stagec.jvp(lambda x: batch(x, Y), (X,), (X,))[1], -np.sin(X) * Y * X, rtol=1e-6)
    assert float(stagec.grad(f)(1.0, 2.0)) == pytest.approx(2 * np.cos(1.0))


def test_a_batch_of_pushed_tangents_is_the_rules(f):
    def pushed(x, y):
        return stagec.jvp(f, (x, y), (1.0, 0.0))

    for call in (stagec.vmap(pushed), stagec.vmap(stagec.jit(pushed))):
        value, slope = call(X, Y)
        np.testing.assert_allclose(value, np.cos(X) * Y, rtol=1e-6)
        np.testing.assert_allclose(slope, -np.sin(X) * Y, rtol=1e-6)


def test_trees_go_through():
    @custom_vmap
    def f(p):
        return {"s": p["a"] + p["b"][0], "same": p["b"][0] * 0}

    @f.def_vmap
    def rule(axis_size, in_batched, p):
        assert in_batched == [{"a": True, "b": [False]}]
        return {"s": p["a"] * p["b"][0], "same": p["b"][0] * 0}, {"s": True, "same": False}

    found = stagec.vmap(f, in_axes=({"a": 0, "b": None},))({"a": X, "b": [2.0]})
    assert found["s"].tolist() == [0, 2, 4] and found["same"].tolist() == [0, 0, 0]


def test_a_function_without_a_rule_says_how_to_give_one():
    with pytest.raises(AttributeError, match=r"custom_vmap function f has no rule\n.*\n  Fix: .*f\.def_vmap"):

        @custom_vmap
        def f(x):
            return x

        f(1.0)


def test_what_a_rule_returns_is_checked(f):
    f.def_vmap(lambda size, batched, x, y: x)
    with pytest.raises(stagec.errors.OutputTypeError, match=r"must return \(result, out_batched\)"):
        stagec.vmap(f)(X, Y)
    f.def_vmap(lambda size, batched, x, y: (x, (True,)))
    with pytest.raises(PytreeError, match="out_batched with the structure of the result"):
        stagec.vmap(f)(X, Y)
    f.def_vmap(lambda size, batched, x, y: (x[:2], True))
    with pytest.raises(ShapeError, match=r"returned float32\[2\] for a batch of 3"):
        stagec.vmap(f)(X, Y)


def test_a_batched_value_that_is_closed_over_is_refused():
    def outer(x):
        @custom_vmap
        def f(y):
            return y + x

        f.def_vmap(lambda size, batched, y: (y, batched[0]))
        return f(1.0) + stagec.jit(f)(x)

    with pytest.raises(UnsupportedError, match="closes over a value that is batched"):
        stagec.vmap(stagec.jit(outer))(X)


def test_elements_one_after_the_other():
    seen = []

    @sequential_vmap
    def f(x, y):
        stagec.debug.callback(lambda x: seen.append((float(x), x.shape)), x)
        return {"sum": x + y}

    for call in (stagec.vmap(f, in_axes=(0, None)), stagec.jit(stagec.vmap(f, in_axes=(0, None)))):
        seen.clear()
        assert call(X, 1.0)["sum"].tolist() == [1, 2, 3]
        assert seen == [(0.0, ()), (1.0, ()), (2.0, ())]
