"""Loops over a batch are loops over its parts, which cores share, and compute the same."""

import os
import random
import re

import numpy as np
import pytest
from test_random_control_flow import random_function, repeated

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import batches

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))


def relaxed(x):
    return lax.fori_loop(0, 400, lambda _, x: x - 0.01 * snp.sin(3 * x), x)


def recurrent(x):
    weights = snp.eye(32) * 0.5 + 0.01
    return lax.scan(lambda h, _: (snp.tanh(h @ weights + x), h.sum()), x, None, length=200)


def rows(xs):
    return lax.scan(lambda total, x: (0.9 * total + x * x, snp.cumsum(snp.sin(total))), snp.zeros(32), xs)


def reversed_rows(xs):
    return lax.scan(lambda total, x: (snp.sin(total + x), total), snp.zeros(32), xs, reverse=True)


def newton(x):
    def step(state):
        x, rounds = state
        for _ in range(4):
            x = x - 0.05 * (x**3 - target) / (3 * x * x)
        return x, rounds + 1

    target = x
    return lax.while_loop(lambda s: (abs(s[0] ** 3 - target).max() > 1e-3) & (s[1] < 90), step, (x + 2, 0))


def drawn(key):
    def step(x, key):
        moves, accepts = stagec.random.split(key)
        proposed = x + stagec.random.normal(moves, x.shape)
        return snp.where(stagec.random.uniform(accepts) < 0.5, proposed, x), None

    return lax.scan(step, snp.zeros(32), stagec.random.split(key, 200))[0]


def wandering(key):
    """A loop whose rounds have loops with rounds of their own, which keep points that they pass."""
    data = vectors(500, 8)

    def step(x, k):
        wanted = stagec.random.randint(k, (), 1, 8)

        def move(state):
            count, x, kept = state
            return count + 1, x - 0.001 * (data.T @ snp.tanh(data @ x)), kept.at[count % 4].set(x)

        _, x, kept = lax.while_loop(lambda s: s[0] < wanted, move, (0, x, snp.zeros((4, 8))))
        return x, kept.sum(0)

    return lax.scan(step, snp.ones(8), stagec.random.split(key, 40))


def vectors(count, *shape):
    return snp.asarray(np.random.default_rng(0).uniform(0.5, 2, (count, *shape)).astype(np.float32))


CASES = {
    "fori": (relaxed, vectors(64, 32)),
    "products": (recurrent, vectors(64, 32)),
    "rows": (rows, vectors(64, 400, 32)),
    "reversed": (reversed_rows, vectors(64, 400, 32)),
    "while": (newton, vectors(64, 32)),
    "random": (drawn, stagec.random.split(stagec.random.key(0), 64)),
    "loops in loops": (wandering, stagec.random.split(stagec.random.key(0), 3)),
    "odd": (relaxed, vectors(77, 32)),
    "odd and random": (drawn, stagec.random.split(stagec.random.key(0), 77)),
    "in one row": (stagec.vmap(relaxed), vectors(1, 64, 32)),
    "of two devices": (stagec.vmap(drawn), stagec.random.split(stagec.random.key(0), (2, 32))),
    "gradient": (stagec.grad(lambda x: relaxed(x).sum()), vectors(64, 32)),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_of_a_batch_are_loops_that_compute_the_same(name):
    function, x = CASES[name]
    batched = stagec.vmap(function)
    compiled = stagec.jit(batched).lower(x)
    # Of a gradient, both directions are loops.
    count = {"gradient": 4, "loops in loops": 3}.get(name, 2)
    assert compiled.as_text("stablehlo").count("stablehlo.while") == count
    with stagec.disable_jit():
        expected = batched(x)
    for one, other in zip(stagec.tree.leaves(compiled.compile()(x)), stagec.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_workgroups_share_the_parts():
    text = stagec.jit(stagec.vmap(relaxed)).lower(vectors(64, 32)).as_text("kernels")
    assert re.search(r"%(\w+) = arith.constant 8 : index\n.*\n +stream.return %\1,", text), "of 8 vectors each"


def test_parts_with_numbers_for_each_row_fill_vectors():
    text = stagec.jit(stagec.vmap(drawn)).lower(CASES["random"][1]).as_text()
    assert "tensor<4x16x32xf32>" in text and "tensor<8x8x32xf32>" not in text
    text = stagec.jit(stagec.vmap(stagec.vmap(drawn))).lower(CASES["of two devices"][1]).as_text("kernels")
    assert re.search(r"%(\w+) = arith.constant 4 : index\n.*\n +stream.return %\1,", text), "of 8 rows of each"


@pytest.mark.parametrize(
    ("why", "function", "x"),
    [
        ("elements that depend on one another", lambda x: lax.fori_loop(0, 900, lambda _, x: x - x.mean(0), x), 64),
        ("a loop that goes on for all", lambda x: lax.while_loop(lambda x: (x > 0).any(), lambda x: x - 1e-3, x), 64),
        ("a sum along the batch", lambda x: lax.fori_loop(0, 900, lambda _, x: snp.cumsum(x, 0) * 0.1, x), 64),
        ("a batch without divisors", stagec.vmap(relaxed), 61),
        ("little to do", lambda x: lax.fori_loop(0, 2, lambda _, x: x * 2, x), 64),
    ],
)
def test_other_loops_stay_whole(why, function, x):
    x = vectors(x, 32)
    compiled = stagec.jit(function).lower(x)
    assert compiled.as_text("stablehlo").count("stablehlo.while") == 1, why
    with stagec.disable_jit():
        expected = function(x)
    np.testing.assert_allclose(compiled.compile()(x), expected, rtol=1e-5, atol=1e-6)


def test_what_is_printed_in_a_loop_is_printed_in_order(capsys):
    def noisy(x):
        def step(i, x):
            stagec.debug.print("{}", i)
            return snp.sin(x)

        return lax.fori_loop(0, 3, step, x)

    stagec.jit(noisy)(vectors(4096, 128))
    stagec.effects_barrier()
    assert capsys.readouterr().out.split() == ["0", "1", "2"]


@pytest.mark.parametrize("seed", range(12 * FUZZ))
def test_random_loops_over_batches_compute_what_they_do_one_by_one(seed, monkeypatch):
    monkeypatch.setattr(batches, "_LEAST", 0)
    monkeypatch.setattr(batches, "_ELEMENTS", 1)
    monkeypatch.setattr(batches, "_AGAIN", 100)
    monkeypatch.setattr("passes.kernels.cost._SHARED", 0)
    rng = random.Random(seed)
    looped = repeated(random_function(rng, 3, 2, set()))
    data = np.random.default_rng(seed).uniform(-1, 1, (3, 12, 3)).astype(np.float32)

    found = stagec.jit(stagec.vmap(looped))(*data)
    monkeypatch.setattr(batches, "_PARTS", 1)
    one = stagec.jit(lambda *vectors: looped(*vectors))
    for i in range(12):
        for batch, single in zip(stagec.tree.leaves(found), stagec.tree.leaves(one(*data[:, i]))):
            np.testing.assert_allclose(batch[i], single, rtol=1e-5, atol=1e-5)
