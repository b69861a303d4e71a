"""Estimates of how long a call takes."""

import math

import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.backends import Target
from stagec.compiler.build import choose_driver
from stagec.compiler.estimate import duration, operations, rounds_of
from stagec.core.duration import Duration
from stagec.scipy.special import polygamma

X = snp.ones((100, 100))


def of(function, *args):
    return operations(stagec.jit(function).trace(*args)._trace.graph)


@pytest.mark.parametrize(
    ("function", "least", "most"),
    [
        (lambda x: x + 1, 1e4, 2e4),
        (lambda x: x @ x, 1e6, 1.1e6),
        (lambda x: lax.fori_loop(0, 1000, lambda i, x: x + 1, x), 1e7, 2e7),
        (lambda x: stagec.jit(lambda x: x @ x)(x), 1e6, 1.1e6),
        (lambda x: lax.fori_loop(0, 100, lambda i, y: y.at[i].set(x[i] @ y / x[i, i]), x[0]), 1e5, 1e6),
        (lambda x: lax.cond(x[0, 0] > 0, lambda: x, lambda: x @ x), 1e6, 1.1e6),
        (lambda x: lax.while_loop(lambda x: x[0, 0] < 9, lambda x: x + 1, x), math.inf, math.inf),
        (lambda x: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 2, s[1] + 1), (0, x)), 5e4, 1e5),
        (lambda x: (x[:, :, None] * x[:, None, :]).sum(), 1e6, 1e7),
        (lambda x: lax.conv(x[None, None], x[None, None, :9, :9], (1, 1), "SAME"), 8e5, 1e6),
        # Twice as much: the kernel of the convolution that computes the gradient has the size of a result.
        (stagec.grad(lambda x: lax.conv(X[None, None], x[None, None, :9, :9], (1, 1), "SAME").sum()), 1.6e6, 2e6),
    ],
)
def test_the_estimate_counts_what_is_computed(function, least, most):
    assert least <= of(function, X) <= most


def rounds(count, function):
    return lambda x: lax.fori_loop(0, count, lambda i, x: function(x), x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + 1, Duration.QUICK),
        (lambda x: polygamma(3, x), Duration.QUICK),
        (lambda x: polygamma(3, snp.tile(x, 10)), Duration.BOUNDED),
        (rounds(10_000, snp.sin), Duration.BOUNDED),
        (rounds(10_000_000, snp.sin), Duration.OPEN),
        # A short call of these does not tell how long others take.
        (lambda x: lax.while_loop(lambda x: x[0, 0] < 9, lambda x: x + 1, x), Duration.OPEN),
        (lambda x: lax.cond(x[0, 0] > 0, rounds(10_000, snp.sin), lambda x: x, x), Duration.OPEN),
        (lambda x: lax.cond(x[0, 0] > 0, rounds(10_000, snp.sin), rounds(9_000, snp.cos), x), Duration.BOUNDED),
    ],
)
def test_what_is_known_of_a_duration(function, expected):
    assert duration(stagec.jit(function).trace(X)._trace.graph, queued=False) is expected


@pytest.mark.parametrize(
    ("condition", "step", "start", "rounds"),
    [
        (lambda s: s[0] < 10, 1, 0, 10),
        (lambda s: s[0] < 10, 3, -1, 4),
        (lambda s: s[0] < 10, 3, 10, 0),
        (lambda s: s[0] <= 10, 3, 1, 4),
        (lambda s: s[0] <= 2**31 - 1, 1, 2**31 - 3, None),
        (lambda s: s[0] < 2**31 - 1, 2, 2**31 - 4, None),
        (lambda s: s[0] < s[2], 1, 0, None),
        (lambda s: s[0] < 10, 0, 0, None),
        (lambda s: s[0] < 10, -1, 0, None),
        (lambda s: s[0] > 10, 1, 0, None),
        (lambda s: s[1] < 10, 1, 0, None),
        (lambda s: (s[0] < 10) & (s[1] < 5.0), 1, 0, None),
    ],
)
def test_the_rounds_of_a_loop_are_known_where_it_counts_from_one_constant_to_another(condition, step, start, rounds):
    def counting(x, n):
        return lax.while_loop(condition, lambda s: (s[0] + step, s[1] * 2, s[2]), (start, x, n))

    (loop,) = stagec.make_graph(counting)(1.0, 5).graph.equations
    assert rounds_of(loop) == rounds


def test_threads_do_not_share_rounds_for_what_they_hand_on():
    def f(x):
        return lax.while_loop(lambda x: x < 5, lambda x: x * x + 0.1, x)

    with stagec.config.override(loop_checkpoint_bytes=32 << 20):
        graph = stagec.jit(stagec.grad(f)).trace(1.5)._trace.graph
    assert max(v.aval.size for e in graph.equations for v in e.outputs) > 1 << 20
    assert choose_driver(graph, Target.parse("cpu")) == "local-sync"


@pytest.mark.parametrize(
    ("function", "size", "queue"),
    [
        (snp.sum, 1_000_000, "local-sync"),
        (snp.max, 1_000_000, "local-sync"),
        (snp.sum, 4_000_000, "local-task"),
        (lambda x: x * 2 + 1, 1_100_000, "local-task"),
        (snp.exp, 1_000_000, "local-task"),
        (lambda x: x[:500_000].reshape(500, -1) @ x[500_000:].reshape(-1, 500), 1_000_000, "local-task"),
    ],
)
def test_sums_are_shared_from_more_elements_on_than_what_writes_as_much_as_it_reads(function, size, queue):
    graph = stagec.jit(function).trace(stagec.ShapeDtypeStruct((size,), "float32"))._trace.graph
    assert choose_driver(graph, Target.parse("cpu")) == queue


def test_a_call_without_results_that_an_inner_function_keeps_is_no_work():
    returns_nothing = stagec.custom_jvp(lambda x: ())
    returns_nothing.defjvp(lambda primals, tangents: ((), ()))
    function = stagec.checkpoint(lambda x: (returns_nothing(x), x + 1)[1])
    assert stagec.jit(function)(snp.arange(3.0)).tolist() == [1, 2, 3]
