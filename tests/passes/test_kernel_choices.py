"""Functions with choices are one kernel, as those with loops are."""

import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import log

X = np.random.default_rng(0).normal(size=(7, 9)).astype(np.float32)


def check(function, *arrays):
    """Compiled directly, a function returns what it does outside of jit."""
    log.clear()
    stagec.clear_caches()
    with stagec.config.override(enable_cache=False):
        found = stagec.jit(function)(*map(guarded, arrays))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for got, want in zip(
        stagec.tree.leaves(found), stagec.tree.leaves(function(*map(snp.asarray, arrays))), strict=True
    ):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("i", [-1, 0, 1, 2, 5])
def test_a_choice_of_small_work_is_one_kernel(i):
    def function(x, i):
        softmax = lambda x: snp.exp(x) / snp.exp(x).sum(1, keepdims=True)  # noqa: E731
        return lax.switch(i, [lambda x: x @ x.T @ x, softmax, lambda x: x[::-1]], x) * 2

    check(function, X, np.int32(i))


@pytest.mark.parametrize("scale", [0.01, 10])
def test_choices_in_choices_and_before_other_work(scale):
    def function(x):
        norm = snp.sqrt((x * x).sum())
        x = lax.cond(norm > 1, lambda x: lax.cond(norm > 5, lambda x: x / norm, lambda x: -x, x), lambda x: x, x)
        return x.at[2].set(0), x.sum(0)

    check(function, X * np.float32(scale))


def test_a_choice_of_much_work_stays_with_the_host():
    x = np.ones((1500, 1500), np.float32)
    text = stagec.jit(lambda x: lax.cond(x[0, 0] > 0, snp.exp, snp.sin, x)).lower(x).as_text("kernels")
    assert "ms of work outside of loops" in text.partition("module")[0]
