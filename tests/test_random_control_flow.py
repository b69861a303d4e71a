"""Random programs of loops and choices in one another, and their derivatives: compiled as they are evaluated."""

import os
import random

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
PLAIN = ("mix", "bend", "swap", "set", "constant")
CONTROL = ("cond", "switch", "scan", "fori", "while")


def random_function(rng, count, depth, kinds):
    """A random function from a list of `count` vectors of 3 elements to one like it; notes its kinds of steps."""
    steps = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(PLAIN + CONTROL if depth else PLAIN)
        kinds.add(kind)
        inner = {"cond": 2, "switch": 3, "scan": 1, "fori": 1, "while": 1}.get(kind, 0)
        functions = [random_function(rng, count, depth - 1, kinds) for _ in range(inner)]
        a, b, n, i = rng.randrange(count), rng.randrange(count), rng.randint(1, 4), rng.randint(0, 2)
        steps.append((kind, a, b, functions, n, i, rng.random() < 0.5))

    def function(vectors):
        for step in steps:
            vectors = apply(list(vectors), *step)
        return vectors

    return function


def repeated(function):
    """A loop of such a function, whose number of rounds depends on the vectors; returns it, and the last vectors."""

    def unfinished(state):
        return (state[0] < 6) & (state[1][0].sum() < 2)

    def step(state):
        return state[0] + 1, function([snp.tanh(v) for v in state[1]])

    return lambda *vectors: lax.while_loop(unfinished, step, (0, function(list(vectors))))


def apply(v, kind, a, b, functions, n, i, flag):
    if kind == "mix":
        v[a] = v[a] * 0.5 + v[b] * v[a] * 0.25
    elif kind == "bend":
        v[a] = snp.tanh(v[b]) + 0.1 * v[a]
    elif kind == "swap":
        v[a], v[b] = v[b], v[a]
    elif kind == "set":
        v[a] = v[a].at[i].set(v[b][(i + 1) % 3])
    elif kind == "constant":
        v[a] = snp.full(3, float(i)) if flag else snp.zeros(3)
    elif kind == "cond":
        v = lax.cond(v[a].sum() > 0.3 * i, *functions, v)
    elif kind == "switch":
        v = lax.switch((v[a][0] * 4).astype(int), functions, v)
    elif kind == "fori":
        v = lax.fori_loop(0, n, lambda k, state: functions[0](state), v)
    elif kind == "while":
        v = lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, list(functions[0](s[1]))), (0, v))[1]
    else:
        v = scanned(v, a, b, functions[0], n, i == 1, flag)
    return list(v)


def scanned(v, a, b, function, n, reverse, two):
    def step(carry, x):
        carry = list(carry)
        carry[a] = carry[a] + x * 0.1
        carry = list(function(carry))
        return carry, (carry[b], carry[a]) if two else carry[b]

    v, ys = lax.scan(step, v, snp.stack([v[b]] * n), reverse=reverse)
    v[b] = v[b] + snp.tanh(ys[0] + ys[1] * 0.5 if two else ys).sum(0)
    return v


@pytest.mark.parametrize("seed", range(8))
def test_compiled_loops_and_choices_are_the_evaluated_ones(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    kinds = set()
    function = random_function(rng, count, 3, kinds)
    x = np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32)

    def size(x):
        return sum((y * y).sum() for y in function(list(x)))

    def everything(x):
        slope = stagec.jvp(size, (x,), (snp.ones_like(x),))
        return function(list(x)), slope, slope if "while" in kinds else stagec.grad(size)(x)

    expected, found = everything(snp.asarray(x)), stagec.jit(everything)(x)
    for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)


MOVES = (
    lambda c: snp.sort(c) * snp.cumprod(c),
    lambda c: snp.sort(c) * 0.5,
    snp.cumsum,
    snp.sin,
    lambda c: c[::-1] * 0.5,
    lambda c: c * snp.tanh(c.sum()),
    lambda c: snp.where(c > 0.7, c, 0.3),
    lambda c: snp.zeros(5),
    lambda c: c.at[1].set(c[0]),
)


def random_move(rng, depth):
    """A random function of a vector of 5 elements: a conditional, a loop, or one of `MOVES`."""
    kind = rng.random()
    if kind < 0.5:
        yes, no = random_move(rng, 0) if depth else MOVES[0], rng.choice(MOVES)
        return lambda c: lax.cond(c.sum() > 1, yes, no, c)
    return random_loop(rng, depth - 1) if kind < 0.6 and depth else rng.choice(MOVES)


def random_loop(rng, depth):
    """A random loop over a vector of 5 elements, unrolled or not."""
    body = [random_move(rng, depth) for _ in range(rng.randint(1, 2))]
    length, unroll, reverse, shape = rng.randint(2, 5), rng.choice((1, 2, 2, 3)), rng.random() < 0.3, rng.randrange(3)

    def step(carry, x):
        for move in body:
            carry = move(carry)
        return snp.tanh(carry), (carry.sum(), carry, carry * x)[shape]

    def loop(c):
        c, ys = lax.scan(step, c, snp.linspace(0.5, 1.5, length), unroll=unroll, reverse=reverse)
        return c + 0.1 * ys.sum(0)

    return loop


@pytest.mark.parametrize("seed", range(START, START + 4 * FUZZ))
def test_compiled_second_derivatives_of_two_loops_are_the_evaluated_ones(seed):
    rng = random.Random(seed)
    moves = [random_loop(rng, 1), random_loop(rng, 0)]
    square, kind = rng.random() < 0.5, rng.randrange(3)

    def size(x):
        for move in moves:
            x = move(x)
        return (x * x).sum() if square else x[1] * x[2]

    def second(x):
        if kind == 0:
            return stagec.hessian(size)(x)
        return stagec.grad(lambda x: (stagec.grad(size)(x) ** (2 if kind == 1 else 1)).sum())(x)

    x = np.linspace(0.5, 1.5, 5)
    with stagec.config.override(enable_x64=True):
        expected, found = np.asarray(second(snp.asarray(x))), np.asarray(stagec.jit(second)(x))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
