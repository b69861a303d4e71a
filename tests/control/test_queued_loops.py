"""Loops whose rounds run on a queue, a device's or that of worker threads: each waits for the round before."""

import numpy as np
import pytest
from platforms import first_device

import stagec
import stagec.numpy as snp
from stagec import lax

X = np.array([1, 2, 3, 4], np.float32)


def branch_in_loop(x):
    return lax.fori_loop(0, 3, lambda i, c: lax.cond(c[0] > 2, lambda c: c + x, lambda c: c * 2, c), x)


def loop_in_branch_in_loop(x):
    def added(c):
        return lax.fori_loop(0, 2, lambda j, d: d + x, c)

    return lax.fori_loop(0, 3, lambda i, c: lax.cond(c[0] > 2, lambda c: c + 1, added, c), x)


def loop_in_loop(x):
    return lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: snp.sqrt(d * d) + x, c), x)


def scan_in_branch_in_while(x):
    def scanned(c):
        return lax.scan(lambda d, row: (d + row * x, d[0]), c, x)[0]

    def body(state):
        i, c = state
        return i + 1, lax.cond(c.sum() > 20, lambda c: c - x, scanned, c)

    return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]


def condition_on_what_an_inner_loop_made(x):
    return lax.while_loop(lambda c: c[0] < 9, lambda c: lax.fori_loop(0, 2, lambda j, d: d + x, c), x)


def exchanged_state(x):
    return lax.fori_loop(0, 3, lambda i, s: (lax.fori_loop(0, 2, lambda j, d: d + x, s[1]), s[0]), (x, x * 2))


def gradient_of_a_loop(x):
    last = lambda x: lax.while_loop(lambda s: s[1] < 5, lambda s: (snp.sin(s[0]) + x, s[1] + 1), (x, x[0] * 0))  # noqa: E731
    return stagec.grad(lambda x: last(x)[0].sum())(x)


@pytest.mark.parametrize(
    "function",
    [
        branch_in_loop,
        loop_in_branch_in_loop,
        loop_in_loop,
        scan_in_branch_in_while,
        condition_on_what_an_inner_loop_made,
        exchanged_state,
        gradient_of_a_loop,
    ],
    ids=lambda function: function.__name__,
)
def test_loops_and_branches_in_one_another_on_vulkan(function):
    device = first_device("vulkan")
    expected = function(snp.asarray(X))
    compiled = stagec.jit(function, device=device)
    for _ in range(3):
        for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(compiled(X)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_round_on_worker_threads_waits_for_the_round_before():
    x = np.ones(1 << 20, np.float32)
    with stagec.config.override(cpu_kernels=False):
        for _ in range(3):
            np.testing.assert_array_equal(stagec.jit(loop_in_loop)(x), np.full_like(x, 7))
