"""Loops whose rounds workgroups share: each round has rows of its own."""

import re

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import cost
from stagec import lax


@pytest.fixture(autouse=True)
def any_work(monkeypatch):
    """Loops are shared, however little there is to do."""
    monkeypatch.setattr(cost, "_SHARED", 0)
    with stagec.config.override(enable_cache=False):
        yield


def settled(x):
    return lax.fori_loop(0, 20, lambda _, x: x - 0.1 * snp.sin(x) + 0.01 * x.sum(), x)


def groups(lowered):
    """How many workgroups run each kernel that is a loop."""
    text = lowered.as_text("kernels")
    found = re.findall(r"public @loop\w* workgroups\(\)[^}]*?arith.constant (\d+) : index", text)
    return [int(n) for n in found if n != "1"]


def check(function, *args, expected, rtol=1e-5):
    compiled = stagec.jit(function).lower(*args)
    with stagec.disable_jit():
        wanted = function(*args)
    for one, other in zip(stagec.tree.leaves(compiled.compile()(*args)), stagec.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-6)
    assert groups(compiled) == expected


def numbers(*shape):
    return snp.asarray(np.random.default_rng(0).standard_normal(shape, np.float32))


@pytest.mark.parametrize(("count", "workgroups"), [(2, 2), (7, 7), (32, 32), (33, 17), (100, 25)])
def test_workgroups_share_the_rounds_of_a_map(count, workgroups):
    check(lambda x: lax.map(settled, x), numbers(count, 24), expected=[workgroups])


def test_each_workgroup_has_large_scratch_of_its_own():
    def f(x):
        return lax.fori_loop(0, 3, lambda _, x: snp.sin(x[::-1] + x.sum() * 1e-3), x)

    check(lambda x: lax.map(f, x), numbers(6, 5000), expected=[6], rtol=1e-3)


def test_several_results_and_rows_along_another_axis():
    def f(x):
        def step(i, state):
            columns, sums = state
            row = settled(lax.dynamic_index_in_dim(x, i, 1, False))
            return lax.dynamic_update_index_in_dim(columns, row, i, 1), sums.at[i].set(row.sum())

        return lax.fori_loop(0, 9, step, (snp.zeros((24, 9)), snp.zeros(9)))

    check(f, numbers(24, 9), expected=[9])


def test_conditionals_and_unbounded_loops_inside():
    def f(x):
        def step(x):
            return lax.cond(x[0] > 0, lambda x: x * 0.5 - 0.01, lambda x: x * 0.7 - 0.01, x)

        return lax.while_loop(lambda x: abs(x).sum() > 1, step, x)

    check(lambda x: lax.map(f, x), numbers(12, 8) * 5, expected=[12])


@pytest.mark.parametrize(
    "step",
    [
        lambda x, i: x.at[i].set(settled(x[i] + x[(i + 1) % 8])),  # reads a row that another round writes
        lambda x, i: x.at[i].add(settled(x[0])),
        lambda x, i: x.at[i // 2].set(settled(x[i])),
        lambda x, i: settled(x),
    ],
)
def test_rounds_that_depend_on_one_another_run_one_after_the_other(step):
    check(lambda x: lax.fori_loop(0, 8, lambda i, x: step(x, i), x), numbers(8, 24), expected=[])


def test_a_loop_that_writes_some_rows_keeps_the_others():
    def f(x, y):
        return lax.fori_loop(0, 8, lambda i, y: y.at[i].set(settled(x[i])), y)

    check(f, numbers(8, 24), numbers(10, 24), expected=[])


def test_little_work_stays_on_one_core(monkeypatch):
    monkeypatch.undo()
    check(lambda x: lax.map(settled, x), numbers(4, 8), expected=[])


def test_threads_share_a_map():
    def f(x):
        return lax.map(lambda x: lax.fori_loop(0, 500, lambda _, x: snp.sin(x), x), x)

    assert stagec.jit(f).lower(numbers(64, 256))._runnable.executable().driver == "local-task"
