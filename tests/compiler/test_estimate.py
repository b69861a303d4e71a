"""Estimates of how long a call takes."""

import math

import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
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
        (lambda x: lax.cond(x[0, 0] > 0, lambda: x, lambda: x @ x), 1e6, 1.1e6),
        (lambda x: lax.while_loop(lambda x: x[0, 0] < 9, lambda x: x + 1, x), math.inf, math.inf),
        (lambda x: (x[:, :, None] * x[:, None, :]).sum(), 1e6, 1e7),
    ],
)
def test_the_estimate_counts_what_is_computed(function, least, most):
    assert least <= of(function, X) <= most
