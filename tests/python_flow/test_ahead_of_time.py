"""`jit(python=True)` ahead of time: what a function writes is returned, and what raises is refused."""

import numpy as np
import pytest

import stagec
from stagec import errors


def moved(scale, state, b):
    state["a"][1:-1] = b[1:-1] * scale
    b += 1
    return state["a"].sum()


def checked(x):
    assert x.sum() > 0, "nothing there"
    return x * 2


def arrays():
    return {"a": np.ones(4, np.float32)}, np.arange(4, dtype=np.float32)


def test_new_values_of_arguments_are_returned_by_their_names(tmp_path):
    jitted = stagec.jit(moved, python=True, static_argnames="scale")
    state, b = arrays()
    expected = moved(3, state, b)
    exported = stagec.export(jitted)(3, *arrays())
    exported.save(tmp_path / "moved.stagec")
    lowered = jitted.lower(3, *arrays())
    assert lowered.out_tree == exported.out_tree
    assert lowered.out_info[1]["b"].shape == (4,)
    for function in (lowered.compile(), exported.call, stagec.load(tmp_path / "moved.stagec")):
        given = arrays()
        for _ in range(2):  # the second call is a faster one
            result, written = function(*given)
            assert float(result) == expected
            assert [*written] == ["state['a']", "b"]
            np.testing.assert_array_equal(written["state['a']"], state["a"])
            np.testing.assert_array_equal(written["b"], b)
        np.testing.assert_array_equal(given[1], arrays()[1])


def test_a_function_that_writes_nothing_returns_its_result():
    jitted = stagec.jit(lambda x: x * 2 if x.sum() > 0 else x, python=True)
    assert stagec.export(jitted)("f32[2]").out_tree == stagec.tree.structure(0)


def test_exceptions_are_refused():
    jitted = stagec.jit(checked, python=True)
    x = np.ones(3, np.float32)
    assert jitted.eval_shape(x).shape == (3,)
    compiled = jitted.lower(x).compile()  # its stages can be looked at
    for call in (lambda: compiled(x), lambda: stagec.export(jitted)(x)):
        with pytest.raises(errors.UnsupportedError) as caught:
            call()
        said = str(caught.value)
        assert "checked raises an exception where traced values decide" in said
        assert "AssertionError('nothing there')" in said and "return the condition as a result" in said


def test_an_argument_that_may_have_been_written_under_another_name_is_refused():
    def f(x, n):
        y = np.zeros(3)
        for _ in range(n):
            y = x
        y[0] = 1.0

    jitted = stagec.jit(f, python=True)
    with pytest.raises(errors.UnsupportedError, match="may have been changed under another name"):
        stagec.export(jitted)("f32[3]", "i32[]")
