"""`lax.scan`, `lax.map` and `lax.associative_scan`: eager, jitted, nested, and their errors."""

import numpy as np
import pytest
from test_cond import both

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler.build import all_equations


def reference(step, carry, rows, reverse):
    ys = [None] * len(rows)
    for i in range(len(rows))[:: -1 if reverse else 1]:
        carry, ys[i] = step(carry, rows[i])
    return carry, np.array(ys)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 3, 7, True])
def test_scan_is_a_python_loop_over_rows(reverse, unroll):
    def step(carry, row):
        return carry * 0.5 + row, carry - row

    xs = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    carry, ys = both(lambda c, xs: lax.scan(step, c, xs, reverse=reverse, unroll=unroll), snp.ones(4), snp.asarray(xs))
    expected_carry, expected_ys = reference(step, np.ones(4, np.float32), xs, reverse)
    np.testing.assert_allclose(carry, expected_carry, rtol=1e-6)
    np.testing.assert_allclose(ys, expected_ys, rtol=1e-6)


def test_scan_takes_trees_and_closes_over_tracers():
    def run(w, xs):
        def step(carry, x):
            h = snp.tanh(x["a"] @ w + carry["h"])
            return {"h": h, "n": carry["n"] + x["b"]}, (h.sum(), None)

        return lax.scan(step, {"h": snp.zeros(40), "n": 0}, xs)

    rng = np.random.default_rng(1)
    w = rng.normal(size=(3, 40)).astype(np.float32)
    a, b = rng.normal(size=(5, 3)).astype(np.float32), np.arange(5, dtype=np.int32)
    carry, (sums, nothing) = both(run, w, {"a": a, "b": b})
    h = np.zeros(40, np.float32)
    expected = []
    for row in a:
        h = np.tanh(row @ w + h)
        expected.append(h.sum())
    np.testing.assert_allclose(carry["h"], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-4)
    assert int(carry["n"]) == 10 and nothing is None


def test_scan_without_inputs_takes_a_length():
    carry, ys = both(lambda c: lax.scan(lambda c, _: (c * 2, c), c, length=5), snp.int32(1))
    assert int(carry) == 32
    np.testing.assert_array_equal(ys, [1, 2, 4, 8, 16])


def test_scan_over_no_rows_returns_init_and_empty_results():
    carry, ys = both(lambda c, xs: lax.scan(lambda c, x: (c + x, x > c), c, xs), snp.float32(3), snp.zeros((0,)))
    assert float(carry) == 3.0
    assert ys.shape == (0,) and ys.dtype == bool
    carry, ys = both(lambda c: lax.scan(lambda c, _: (c + 1, None), c, length=0), snp.arange(3))
    np.testing.assert_array_equal(carry, np.arange(3))


def test_empty_arrays_inside_a_step_do_not_reach_the_compiler():
    def step(c, x):
        return c + snp.concatenate([x[:0], x]).sum(), None

    carry, _ = both(lambda xs: lax.scan(step, 0.0, xs), snp.ones((3, 2)))
    assert float(carry) == 6.0


def test_the_program_does_not_grow_with_the_number_of_steps():
    def run(xs):
        return lax.scan(lambda c, x: (snp.sin(c) + x, c), snp.float32(0), xs)

    def size(n):
        lowered = stagec.jit(run).lower(stagec.ShapeDtypeStruct((n,), "float32"))
        graph = stagec.jit(run).trace(stagec.ShapeDtypeStruct((n,), "float32")).graph
        return len(list(all_equations(graph.graph))), len(lowered.as_text("stablehlo").splitlines())

    assert size(1000) == size(10)


def test_a_step_is_traced_once():
    traced = []

    def step(c, x):
        traced.append(1)
        return c + x, c

    run = stagec.jit(lambda xs: lax.scan(step, snp.float32(0), xs, unroll=2))
    run(snp.ones(9))
    run(snp.zeros(9))
    assert len(traced) == 1


def test_scans_nest_and_hold_choices():
    def run(table):
        def row(total, r):
            def cell(c, x):
                return lax.cond(x > 0, lambda: c + x, lambda: c - 2 * x), c

            end, seen = lax.scan(cell, total, r)
            return end, seen.max()

        return lax.scan(row, snp.float32(0), table)

    table = np.array([[1, -1, 2], [-3, 0, 1]], np.float32)
    total, expected = np.float32(0), []
    for r in table:
        seen = []
        for x in r:
            seen.append(total)
            total = total + x if x > 0 else total - 2 * x
        expected.append(max(seen))
    end, best = both(run, snp.asarray(table))
    assert float(end) == total
    np.testing.assert_array_equal(best, expected)


def test_arguments_keep_their_values_when_a_scan_writes_its_carry():
    x = snp.zeros(6)
    run = stagec.jit(lambda c, xs: lax.scan(lambda c, i: (c.at[i].set(1.0), c.sum()), c, xs))
    first, _ = run(x, snp.arange(6))
    again, sums = run(x, snp.arange(6))
    np.testing.assert_array_equal(x, np.zeros(6))
    np.testing.assert_array_equal(first, np.ones(6))
    np.testing.assert_array_equal(again, np.ones(6))
    np.testing.assert_array_equal(sums, np.arange(6))


def test_with_disable_jit_a_scan_runs_in_python():
    seen = []
    with stagec.disable_jit():
        carry, ys = lax.scan(
            lambda c, x: (seen.append(float(x["v"])) or c + x["v"], (c, None)),
            0.0,
            {"v": snp.arange(3.0)},
            reverse=True,
        )
    assert seen == [2.0, 1.0, 0.0]
    assert float(carry) == 3.0
    np.testing.assert_array_equal(ys[0], [3.0, 2.0, 0.0])


@pytest.mark.parametrize("batch_size", [None, 2])
def test_map_stacks_the_results_of_rows(batch_size):
    xs = np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)
    result = both(lambda xs: lax.map(lambda r: {"max": r.max(), "row": r * 2}, xs, batch_size=batch_size), xs)
    np.testing.assert_array_equal(result["max"], xs.max(axis=1))
    np.testing.assert_array_equal(result["row"], xs * 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 13])
def test_associative_scan_gives_all_partial_results(n):
    x = snp.asarray(np.random.default_rng(n).integers(-9, 9, (2, n)))
    np.testing.assert_array_equal(lax.associative_scan(snp.add, x, axis=1), np.cumsum(x, axis=1, dtype=np.int32))
    np.testing.assert_array_equal(
        lax.associative_scan(snp.maximum, x, reverse=True, axis=1),
        np.maximum.accumulate(np.asarray(x)[:, ::-1], axis=1)[:, ::-1],
    )


def test_an_axis_of_associative_scan_is_counted_in_the_first_leaf():
    def add(a, b):
        return [x + y for x, y in zip(a, b)]

    ones = [snp.ones((3, 2, 2)), snp.ones((3, 2))]
    for found, x in zip(lax.associative_scan(add, ones, axis=-2), ones):
        np.testing.assert_array_equal(found, np.cumsum(x, axis=1))
    with pytest.raises(stagec.errors.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        lax.associative_scan(add, ones, axis=-1)


def test_associative_scan_of_trees_solves_a_linear_recurrence():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 9)).astype(np.float32)

    def after(first, second):
        return second[0] * first[0], second[0] * first[1] + second[1]

    _, h = both(lambda a, b: lax.associative_scan(after, (a, b)), a, b)
    expected, state = [], 0.0
    for x, y in zip(a, b):
        state = x * state + y
        expected.append(state)
    np.testing.assert_allclose(h, expected, rtol=1e-4, atol=1e-5)


def test_a_carry_that_changes_its_shape_is_refused_with_its_path():
    with pytest.raises(stagec.errors.CarryError) as caught:
        lax.scan(lambda c, x: ([c[0], c[1] + x], x), [1.0, snp.float32(0)], snp.ones((3, 2)))
    text = str(caught.value)
    assert "carry[1]  taken as float32[]  returned as float32[2]" in text
    assert "test_scan.py" in text and "Fix: begin with carry[1] of shape (2,)" in text


def test_a_step_that_returns_no_pair_is_refused():
    with pytest.raises(stagec.errors.PytreeError, match="must return a pair"):
        lax.scan(lambda c, x: c + x, 0.0, snp.ones(3))


def test_inputs_that_do_not_say_the_length_are_refused():
    def step(c, x):
        return c, None

    with pytest.raises(stagec.errors.ShapeError, match="nothing says how many steps"):
        lax.scan(step, 0, None)
    with pytest.raises(stagec.errors.ShapeError, match="leading sizes of xs differ"):
        lax.scan(step, 0, {"a": snp.ones(3), "b": snp.ones(4)})
    with pytest.raises(stagec.errors.ShapeError, match="leaf without axes"):
        lax.scan(step, 0, snp.ones(()))
    with pytest.raises(stagec.errors.ShapeError, match="length=2 does not fit"):
        lax.scan(step, 0, snp.ones(3), length=2)
    with pytest.raises(stagec.errors.ShapeError, match="unroll=0"):
        lax.scan(step, 0, snp.ones(3), unroll=0)


def test_a_python_choice_in_a_step_names_the_line_and_no_static_argument():
    def step(carry, x):
        if x > 0:
            carry = carry + x
        return carry, None

    with pytest.raises(stagec.errors.TracerBoolConversionError) as caught:
        stagec.jit(lambda xs: lax.scan(step, 0.0, xs))(snp.ones(3))
    text = str(caught.value)
    assert "test_scan.py" in text and "if x > 0:" in text and "depends on argument x of step" in text
    assert "lax.cond" in text and "static_argnames" not in text


def test_a_step_writes_its_row_and_copies_nothing():
    f = stagec.jit(lambda c, xs: lax.scan(lambda c, x: (c + x, (c * x, c)), c, xs))
    stream = f.lower(np.zeros(8, np.float32), np.zeros((1000, 8), np.float32)).as_text("stream")
    assert "stream.cmd.dispatch" in stream
    assert "copy" not in stream
