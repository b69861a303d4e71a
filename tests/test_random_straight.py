"""Random straight-line programs: kernels of our own compute what NumPy does, however workgroups share them."""

import os
import random
import time

import numpy as np
import pytest
from forming import without_failures
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.straight import groups, writing
from stagec.compiler import build, log

# A longer hunt: STAGEC_FUZZ=1000 python -m pytest tests/test_random_straight.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
START = int(os.environ.get("STAGEC_FUZZ_START", "1000"))
SHAPES = [
    *((1, 1024), (5, 17), (64, 130), (33, 333), (37, 37), (8, 3), (3, 8), (1, 1), (200, 5), (2, 4100)),
    *((3, 7, 64), (2, 16, 100), (4, 5, 3), (2, 3, 8, 31), (1000,), (37,), (1,), (40_000,), (250, 300)),
]

UNARY = {
    "exp": lambda m, a: m.exp(m.minimum(a, 2.0)),
    "tanh": lambda m, a: m.tanh(a),
    "sin": lambda m, a: m.sin(a),
    "log": lambda m, a: m.log(1 + abs(a)),
    "square": lambda m, a: a * a * 0.1,
    "root": lambda m, a: m.sqrt(abs(a)),
    "minus": lambda m, a: -a + 0.5,
    "floor": lambda m, a: m.clip(a, -1, 1.5),
    "rows reversed": lambda m, a: a[::-1],
    "reversed": lambda m, a: a[..., ::-1],
    "rolled": lambda m, a: m.roll(a, 1, -1),
    "rows rolled": lambda m, a: m.roll(a, 2, 0),
    "flat and back": lambda m, a: (a.reshape(-1) * 2).reshape(a.shape),
    "flat reversed": lambda m, a: a.reshape(-1)[::-1].reshape(a.shape),
    "turned twice": lambda m, a: (a.T + 1).T,
    "added to turned": lambda m, a: a + a.T if a.ndim == 2 and a.shape[0] == a.shape[1] else a,
    "counted": lambda m, a: a + m.arange(a.shape[-1], dtype=np.float32) * 0.01,
    "shifted": lambda m, a: m.concatenate([a[..., 1:] * 0.5, a[..., :1]], -1),
    "padded": lambda m, a: m.pad(a[..., 1:], [(0, 0)] * (a.ndim - 1) + [(1, 0)]),
    "rows taken": lambda m, a: a[m.arange(a.shape[0]) * 3 % a.shape[0]],
    "whole numbers": lambda m, a: (m.clip(a, -100, 100) * 0).astype(np.int32).astype(np.float32) + a,
}
BINARY = {
    "plus": lambda m, a, b: a + b,
    "minus": lambda m, a, b: a - b,
    "times": lambda m, a, b: m.tanh(a * b),
    "over": lambda m, a, b: a / (1 + abs(b)),
    "larger": lambda m, a, b: m.maximum(a, b),
    "average": lambda m, a, b: (a + b) * 0.5,
}
REDUCTIONS = {
    "largest": lambda m, a, axis: m.max(a, axis=axis, keepdims=True),
    "smallest": lambda m, a, axis: m.min(a, axis=axis, keepdims=True),
    "sum": lambda m, a, axis: m.tanh(m.sum(a, axis=axis, keepdims=True) * 0.1),
    "mean": lambda m, a, axis: m.mean(a, axis=axis, keepdims=True),
    "deviation": lambda m, a, axis: m.sqrt(m.var(a, axis=axis, keepdims=True) + 1e-2),
    "product": lambda m, a, axis: m.prod(1 + m.tanh(a) * (1 / a.size), axis=axis, keepdims=True),
}
# Of the inputs alone: where rounding decides, a comparison tells nothing.
CHOICES = {
    "where": lambda m, x, y, a, b: m.where(x > y, a, b),
    "some": lambda m, x, y, a, b: m.where(m.any(x > 2.1, axis=-1, keepdims=True), a, b),
    "all": lambda m, x, y, a, b: m.where(m.all(y < 2, axis=0, keepdims=True) & (x != y), a, b),
    "position": lambda m, x, y, a, b: a + m.argmax(x, axis=-1)[..., None] * 0.001,
    "position of rows": lambda m, x, y, a, b: b + m.argmin(y, axis=0) * 0.001,
    "bytes": lambda m, x, y, a, b: a + ((x > 0).astype(np.uint8) + (y > 0).astype(np.uint8)).astype(np.float32),
    "counted": lambda m, x, y, a, b: a + m.sum((x > y).astype(np.int32), axis=-1, keepdims=True) * 0.01,
}


def random_program(rng):
    """Steps (table, name, axis, operands) on a list of values that begins with two arguments; and what is returned."""
    full, narrow, steps = [0, 1], [], []
    for place in range(2, 2 + rng.randint(2, 12)):
        near = full[-4:]
        kind = rng.choices((UNARY, BINARY, REDUCTIONS, CHOICES), (4, 5, 4, 1))[0]
        name = rng.choice(list(kind))
        axis = rng.choice([-1, -1, -1, 0, 0, None, 1])
        if kind is UNARY:
            operands = [rng.choice(near)]
        elif kind is BINARY:
            operands = [rng.choice(near), rng.choice(3 * narrow + near)]
            operands = operands[:: rng.choice([1, -1])]
        elif kind is REDUCTIONS:
            operands = [rng.choice(near)]
        else:
            operands = [0, 1, rng.choice(near), rng.choice(near)]
        (narrow if kind is REDUCTIONS else full).append(place)
        steps.append((kind, name, axis, operands))
    last = len(steps) + 1
    return steps, sorted({last, *(rng.randrange(2, last + 1) for _ in range(rng.randint(0, 2)))})


def values(m, program, x, y):
    steps, returned = program
    found = [x, y]
    for table, name, axis, operands in steps:
        if table is REDUCTIONS:
            a = found[operands[0]]
            found.append(table[name](m, a, axis if axis is None or axis < a.ndim else -1))
        else:
            found.append(table[name](m, *(found[place] for place in operands)))
    return [found[place] for place in returned]


@pytest.fixture(autouse=True)
def failures(monkeypatch):
    """Kernels are formed, and compiled, without failures."""
    started = time.time()
    with without_failures(monkeypatch), stagec.config.override(straight_kernels=True):
        yield
    assert [r for r in log.records("compile") if r.message == "refused" and r.time >= started] == []


def check(seed, monkeypatch):
    """One program: with workgroups of all sizes, on either queue, on memory that ends at a guarded page."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    program, shape = random_program(rng), rng.choice(SHAPES)
    monkeypatch.setattr(writing, "SHARE", rng.choice([1, 50, 1000, 20_000]))
    monkeypatch.setattr(groups, "SHARED", rng.choice([1, 100, 1 << 15]))
    queue = rng.choice(["local-sync", "local-task"])
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: queue)
    x, y = (numbers.normal(size=shape).astype(np.float32) for _ in range(2))
    expected = values(np, program, x.astype(np.float64), y.astype(np.float64))
    function = stagec.jit(lambda x, y: values(snp, program, x, y))
    found = function(guarded(x), guarded(y))
    for got, want in zip(found, expected, strict=True):
        tolerance = 2e-4 * max(1, abs(want).max())
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance, err_msg=f"{seed} {shape} {program}")


@pytest.mark.parametrize("seed", range(START, START + FUZZ) if FUZZ else range(36))
def test_compiled_programs_are_those_of_numpy(seed, monkeypatch):
    with stagec.config.override(enable_cache=False):
        check(seed, monkeypatch)
