"""Estimates of how long a call takes."""

import math

import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.backends import Target
from stagec.compiler.build import choose_driver
from stagec.compiler.estimate import operations

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
        (lambda x: (x[:, :, None] * x[:, None, :]).sum(), 1e6, 1e7),
    ],
)
def test_the_estimate_counts_what_is_computed(function, least, most):
    assert least <= of(function, X) <= most


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
