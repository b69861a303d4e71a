"""Random programs of reductions over rows and what is computed from them: compiled as NumPy computes them."""

import os
import random

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compiler import driver, rows

# A longer hunt: STAGEC_FUZZ=20 python -m pytest tests/test_random_rows.py
SEEDS = range(3 * int(os.environ.get("STAGEC_FUZZ", "1")))
PROGRAMS = 20
SHAPES = [(1, 1024), (5, 17), (64, 130), (33, 333), (3, 7, 64), (2, 16, 100), (2, 3, 8, 31), (37, 37), (8, 3)]


@pytest.fixture(autouse=True)
def kernels_of_the_compiler():
    with stagec.config.override(straight_kernels=False):
        yield


REDUCTIONS = {
    "largest": lambda m, a: a.max(-1, keepdims=True),
    "smallest": lambda m, a: a.min(-1, keepdims=True),
    "sum": lambda m, a: m.tanh(a.sum(-1, keepdims=True)),
    "mean": lambda m, a: a.mean(-1, keepdims=True),
    "deviation": lambda m, a: a.std(-1, keepdims=True),
    "norm": lambda m, a: m.sqrt((a * a).sum(-1, keepdims=True) + 1e-3),
    "some": lambda m, a: (a > 1.234).any(-1, keepdims=True) + 0 * a[..., :1],
}
UNARY = {
    "exp": lambda m, a: m.exp(m.minimum(a, 2.0)),
    "tanh": lambda m, a: m.tanh(a),
    "square": lambda m, a: a * a * 0.1,
    "held": lambda m, a: lax.optimization_barrier(a) if m is snp else a,
    # What lets a row need other rows, or another order of its own.
    "rows reversed": lambda m, a: a[::-1],
    "rows moved": lambda m, a: m.roll(a, 1, 0),
    "columns reversed": lambda m, a: a[..., ::-1],
    "columns": lambda m, a: m.tanh(a.sum(0)) + 0 * a,
}
BINARY = {
    "plus": lambda m, a, b: a + b,
    "minus": lambda m, a, b: a - b,
    "times": lambda m, a, b: m.tanh(a * b),
    "over": lambda m, a, b: a / (1 + abs(b)),
    "beside": lambda m, a, b: a + m.tanh(b).ravel()[: a.shape[-1]].sum(),
}


def random_program(rng):
    """Steps (name, operand, ...) on a list of values that begins with two arguments, and which values it returns."""
    full, narrow, steps = [0, 1], [], []
    for place in range(2, 2 + rng.randint(4, 14)):
        near = full[-4:]
        kind = rng.choices(("reduce", "unary", "binary"), (4, 3, 5))[0]
        if kind == "reduce":
            steps.append((rng.choice(list(REDUCTIONS)), rng.choice(near)))
            narrow.append(place)
        elif kind == "unary":
            steps.append((rng.choice(list(UNARY)), rng.choice(near)))
            full.append(place)
        else:
            steps.append((rng.choice(list(BINARY)), rng.choice(near), rng.choice(3 * narrow + near)))
            full.append(place)
    return steps, sorted({place, rng.randrange(2, place + 1)} if rng.random() < 0.4 else {place})


def values(m, program, x, y):
    steps, returned = program
    found = [x, y]
    for name, *places in steps:
        found.append((REDUCTIONS | UNARY | BINARY)[name](m, *(found[place] for place in places)))
    return [found[place] for place in returned]


@pytest.fixture
def joined(monkeypatch):
    """How many kernels each program lost."""
    counts = []

    def join(module):
        counts.append(rows.join(module))
        return counts[-1]

    monkeypatch.setitem(driver.IMPROVEMENTS, "dispatch-creation", join)
    with stagec.config.override(enable_cache=False):
        yield counts


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_rows_are_those_of_numpy(seed, joined):
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(PROGRAMS):
        program, shape = random_program(rng), rng.choice(SHAPES)
        x, y = (numbers.normal(size=shape).astype(np.float32) for _ in range(2))
        expected = values(np, program, x.astype(np.float64), y.astype(np.float64))
        found = stagec.jit(lambda x, y, program=program: values(snp, program, x, y))(x, y)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-3 * max(1, abs(want).max()), err_msg=str(program))
    assert sum(joined) > 0
