"""`lax.while_loop` and `lax.fori_loop`: eager, jitted, nested, and their errors."""

import numpy as np
import pytest
from test_cond import both

import stagec
import stagec.numpy as snp
from stagec import lax


def test_while_loop_repeats_until_its_condition_fails():
    def double(limit, x):
        return lax.while_loop(lambda c: c[1].sum() < limit, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    count, x = both(double, 100.0, snp.ones(4))
    assert int(count) == 5
    np.testing.assert_array_equal(x, np.full(4, 32.0))


def test_while_loop_may_run_not_once():
    x = snp.arange(3)
    result = both(lambda x: lax.while_loop(lambda c: c[0] > 100, lambda c: c * 2, x), x)
    np.testing.assert_array_equal(result, np.arange(3))


def test_while_loop_closes_over_tracers_and_carries_pytrees():
    def collatz(n, step):
        tripled = step * 3

        def body(c):
            odd = c["n"] % 2 == 1
            return {"n": snp.where(odd, tripled * c["n"] + step, c["n"] // 2), "steps": (c["steps"][0] + step,)}

        return lax.while_loop(lambda c: c["n"] != step, body, {"n": n, "steps": (0,)})

    result = both(collatz, snp.int32(27), snp.int32(1))
    assert int(result["steps"][0]) == 111


@pytest.mark.parametrize(
    "program",
    [
        lambda x: lax.while_loop(lambda c: c[0].sum() < 50, lambda c: (c[0] * 2, c[0] + 1), (x, x)),
        lambda x: lax.while_loop(lambda c: c[1] < 50, lambda c: (c[0] * 2, c[0].sum()), (x, snp.float32(0))),
        lambda x: lax.while_loop(lambda c: c[0].sum() < 50, lambda c: (c[0] + 1, c[2], c[1]), (x, x, x + 1)),
        lambda x: lax.while_loop(lambda c: c[0].sum() < 50, lambda c: (c[0] + 1, c[1], 3), (x, x, 1)),
        lambda x: lax.while_loop(lambda c: c[0].sum() < 50, lambda c: (c[0] + 1, c[1] * 0), (x, x))[0],
        lambda x: (lax.fori_loop(0, 5, lambda i, c: (c[1], c[0] + i), (x, x)), x + x, x),
    ],
    ids=["never-read", "read-by-condition", "swapped", "constant", "unused-result", "initial-value-read-elsewhere"],
)
def test_state_that_a_loop_uses_in_unusual_ways_compiles(program):
    x = snp.arange(1.0, 5.0)
    kept = np.array(x)
    both(program, x)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint32", "float16", "bfloat16", "complex64"])
def test_state_of_every_kind_goes_round(dtype):
    x = snp.asarray(np.array([3, 0, 1, 2])).astype(dtype)

    def rotate(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, snp.flip(c[1]), c[1]), (0, x, x))

    _, flipped, before = both(rotate, snp.int32(3), x)
    np.testing.assert_array_equal(np.asarray(flipped), np.asarray(x)[::-1])
    np.testing.assert_array_equal(np.asarray(before), np.asarray(x))


def test_fori_loop_is_a_for_loop():
    expected = np.zeros(4, np.float32)
    for i in range(2, 9):
        expected = expected * 0.5 + i

    def body(i, c):
        return c * 0.5 + i

    known = both(lambda x: lax.fori_loop(2, 9, body, x), snp.zeros(4))
    traced = both(lambda low, high, x: lax.fori_loop(low, high, body, x), 2, snp.int32(9), snp.zeros(4))
    np.testing.assert_array_equal(known, expected)
    np.testing.assert_array_equal(traced, expected)
    unrolled = both(lambda x: lax.fori_loop(2, 9, body, x, unroll=3), snp.zeros(4))
    np.testing.assert_array_equal(unrolled, expected)
    np.testing.assert_array_equal(both(lambda x: lax.fori_loop(5, 2, body, x), snp.ones(4)), np.ones(4))


def test_loops_and_choices_nest():
    def program(x):
        def outer(c):
            def inner(i, y):
                return lax.cond(y[i] > 4, lambda: y.at[i].set(0.0), lambda: y + 1)

            return c[0] + 1, lax.fori_loop(0, 3, inner, c[1])

        return lax.while_loop(lambda c: c[0] < 4, outer, (0, x))[1]

    expected = np.arange(3, dtype=np.float32)
    for _ in range(4):
        for i in range(3):
            if expected[i] > 4:
                expected[i] = 0
            else:
                expected = expected + 1
    np.testing.assert_array_equal(both(program, snp.arange(3.0)), expected)
    np.testing.assert_array_equal(stagec.jit(stagec.jit(program))(snp.arange(3.0)), expected)


def test_functions_are_traced_once_and_again_only_for_a_promoted_number():
    traced = []

    def body(c):
        traced.append(c.dtype.name)
        return c * 2.0

    run = stagec.jit(lambda n: lax.while_loop(lambda c: c < 100, body, n))
    run(np.float32(3))
    run(np.float32(4))
    assert traced == ["float32"]
    traced.clear()
    result = lax.while_loop(lambda c: c < 100, body, 3)
    assert traced == ["int32", "float32"]
    assert float(result) == 192.0 and result.dtype == np.float32


def test_dtypes_and_weak_types_are_those_of_jax():
    jax = pytest.importorskip("jax")

    def program(lax):
        return [
            lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1)),
            lax.fori_loop(0, 3, lambda i, c: c + i, 0),
            lax.fori_loop(0, 3, lambda i, c: c + i, 0.0),
            lax.cond(True, lambda: 1.0, lambda: np.float32(2)),
            lax.scan(lambda c, x: (c + x, c), 0, np.arange(3, dtype=np.int32)),
        ]

    ours, theirs = stagec.tree.leaves(program(lax)), jax.tree.leaves(program(jax.lax))
    assert [(v.dtype, v.weak_type) for v in ours] == [(v.dtype, v.weak_type) for v in theirs]
    for a, b in zip(ours, theirs):
        np.testing.assert_array_equal(a, b)


def test_with_disable_jit_loops_run_in_python():
    seen = []
    with stagec.disable_jit():
        result = lax.fori_loop(1, 4, lambda i, c: seen.append(int(i)) or c + i, snp.float32(0))
        lax.while_loop(lambda c: bool(c < 2), lambda c: seen.append(int(c)) or c + 1, 0)
    assert seen == [1, 2, 3, 0, 1]
    assert float(result) == 6.0


def test_a_carry_that_changes_its_dtype_is_refused_with_its_path():
    with pytest.raises(stagec.errors.CarryError) as caught:
        lax.while_loop(lambda c: True, lambda c: {"n": (c["n"][0] / 2,)}, {"n": (snp.int32(1),)})
    text = str(caught.value)
    assert "carry['n'][0]  taken as int32[]  returned as float32[]" in text
    assert "test_loops.py" in text and "Fix: begin with carry['n'][0] of float32" in text


def test_a_carry_that_changes_its_structure_is_refused():
    with pytest.raises(stagec.errors.CarryError, match="another structure"):
        lax.fori_loop(0, 3, lambda i, c: (c, c), 1.0)


def test_a_condition_that_is_no_boolean_is_refused():
    with pytest.raises(stagec.errors.DtypeError, match=r"must return a boolean, got int32\[\]"):
        lax.while_loop(lambda c: c, lambda c: c, 1)
    with pytest.raises(stagec.errors.ShapeError, match=r"rank 0, got bool\[2\]"):
        lax.while_loop(lambda c: c > 0, lambda c: c, snp.ones(2))
    with pytest.raises(stagec.errors.PytreeError, match="must return one boolean"):
        lax.while_loop(lambda c: (c > 0, c), lambda c: c, 1)


def test_bounds_that_are_no_integers_of_one_dtype_are_refused():
    with pytest.raises(stagec.errors.DtypeError, match="bounds must be integers"):
        lax.fori_loop(0, 3.0, lambda i, c: c, 1)
    with pytest.raises(stagec.errors.DtypeError, match="bounds have different dtypes"):
        lax.fori_loop(np.int8(0), np.int32(3), lambda i, c: c, 1)
