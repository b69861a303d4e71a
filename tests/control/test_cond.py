"""`lax.cond` and `lax.switch`: eager, jitted, nested, and their errors."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax


def both(function, *args):
    """The result of a function, the same eagerly and jitted."""
    eager = function(*args)
    jitted = stagec.jit(function)(*args)
    assert stagec.tree.structure(eager) == stagec.tree.structure(jitted)
    for a, b in zip(stagec.tree.leaves(eager), stagec.tree.leaves(jitted)):
        assert a.aval == b.aval
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return eager


@pytest.mark.parametrize("pred", [True, False, 3, 0, 0.5, np.bool_(True), np.float32(0)])
def test_cond_takes_the_branch_that_pred_says(pred):
    def choose(p, x):
        return lax.cond(p, lambda y: y * 2, lambda y: y - 1, x)

    expected = np.arange(3.0) * 2 if pred else np.arange(3.0) - 1
    np.testing.assert_array_equal(both(choose, pred, snp.arange(3.0)), expected)


def test_switch_takes_the_branch_of_its_index_and_clamps():
    def choose(i, x):
        return lax.switch(i, [lambda y: y, lambda y: y + 10, lambda y: y + 20], x)

    x = snp.arange(40.0)
    run = stagec.jit(choose)
    for index in (-7, 0, 1, 2, 5):
        expected = np.arange(40.0) + 10 * min(max(index, 0), 2)
        np.testing.assert_array_equal(choose(index, x), expected)
        np.testing.assert_array_equal(run(index, x), expected)
    np.testing.assert_array_equal(run(np.uint8(255), x), np.arange(40.0) + 20)


def test_branches_take_and_return_pytrees_and_close_over_tracers():
    scale = snp.full((40,), 3.0)

    def choose(p, params):
        shift = params["b"] + 1
        return lax.cond(
            p > 0,
            lambda q: {"w": (q["w"] * scale, shift), "n": None},
            lambda q: {"w": (q["w"] + shift, 2 * shift), "n": None},
            params,
        )

    params = {"w": snp.ones(40), "b": snp.full((40,), 5.0)}
    up = both(choose, 1, params)
    np.testing.assert_array_equal(up["w"][0], np.full(40, 3.0))
    down = both(choose, -1, params)
    np.testing.assert_array_equal(down["w"][1], np.full(40, 12.0))


def test_cond_nests_in_itself_and_in_jit():
    @stagec.jit
    def inner(x):
        return lax.cond(x.sum() > 4, lambda y: y / 2, lambda y: y, x)

    def outer(x):
        return lax.cond(x[0] > 0, inner, lambda y: lax.cond(y[1] > 0, lambda z: z + 1, lambda z: z - 1, y), x)

    for values in ([4.0, 2.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]):
        x = np.array(values, np.float32)
        expected = (x / 2 if x.sum() > 4 else x) if x[0] > 0 else (x + 1 if x[1] > 0 else x - 1)
        np.testing.assert_array_equal(both(outer, snp.asarray(x)), expected)


def test_both_branches_are_traced_once_and_one_program_serves_both_ways(compiles):
    traced = []

    def up(x):
        traced.append("up")
        return x + 1.25

    def down(x):
        traced.append("down")
        return x - 1.25

    run = stagec.jit(lambda p, x: lax.cond(p, up, down, x))
    with compiles() as made:
        assert float(run(True, 1.0)) == 2.25
        assert float(run(False, 1.0)) == -0.25
    assert sorted(traced) == ["down", "up"]
    assert len(made) == 1


def test_a_branch_may_return_its_operand_and_nothing_is_overwritten():
    x = snp.arange(8.0)
    kept = np.array(x)
    run = stagec.jit(lambda p, x: lax.cond(p, lambda y: y.at[0].set(9.0), lambda y: y, x))
    changed, same = run(True, x), run(False, x)
    assert float(changed[0]) == 9.0
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(same, kept)
    x.delete()
    np.testing.assert_array_equal(same, kept)


def test_results_are_weak_only_if_all_branches_are():
    assert both(lambda p: lax.cond(p, lambda: 1.0, lambda: 2.0), True).weak_type
    assert not both(lambda p: lax.cond(p, lambda: 1.0, lambda: snp.float32(2)), True).weak_type


def test_unsigned_and_boolean_results_leave_a_branch():
    x = snp.asarray(np.array([3, 1, 2], np.uint32))
    result = both(lambda p, x: lax.cond(p, lambda: (snp.flip(x), x > 1), lambda: (x, x < 1)), True, x)
    np.testing.assert_array_equal(result[0], np.array([2, 1, 3], np.uint32))
    np.testing.assert_array_equal(result[1], [True, False, True])


def test_with_disable_jit_only_the_chosen_branch_runs():
    ran = []
    with stagec.disable_jit():
        result = lax.cond(True, lambda x: ran.append("true") or x, lambda x: ran.append("false") or x, snp.ones(2))
        assert lax.switch(9, [lambda: 1, lambda: 2]) == 2
    assert ran == ["true"]
    np.testing.assert_array_equal(result, np.ones(2))


def test_branches_of_different_dtypes_are_refused():
    with pytest.raises(stagec.errors.DtypeError) as caught:
        lax.cond(True, lambda x: {"a": x}, lambda x: {"a": x.astype("int32")}, snp.ones(2))
    text = str(caught.value)
    assert "cond: the branches return float32[2] and int32[2]" in text
    assert "result['a']" in text and "test_cond.py" in text and "Fix: convert one of them" in text


def test_branches_of_different_shapes_are_refused():
    with pytest.raises(stagec.errors.ShapeError, match=r"return float32\[2\] and float32\[\]"):
        stagec.jit(lambda x: lax.switch(0, [lambda: x, lambda: x.sum()]))(snp.ones(2))


def test_branches_of_different_structures_are_refused():
    with pytest.raises(stagec.errors.PytreeError, match="must have the same pytree structure"):
        lax.cond(True, lambda: (1, 2), lambda: [1, 2])


def test_wrong_predicates_and_indices_are_refused():
    with pytest.raises(stagec.errors.ShapeError, match=r"pred must have rank 0, got float32\[1\]"):
        lax.cond(snp.ones(1), lambda: 1, lambda: 2)
    with pytest.raises(stagec.errors.DtypeError, match="index must be an integer"):
        lax.switch(1.0, [lambda: 1, lambda: 2])
    with pytest.raises(stagec.errors.ShapeError, match="there are no branches"):
        lax.switch(1, [])
    with pytest.raises(TypeError, match="cond takes functions, got int"):
        lax.cond(True, 1, lambda: 2)
    with pytest.raises(stagec.errors.OutputTypeError, match="not an array or a number"):
        lax.cond(True, lambda: "text", lambda: 2)
