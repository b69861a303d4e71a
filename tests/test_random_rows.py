"""Random programs of independent rows: blocks of rows compute what NumPy does, for every number of rows."""

import os
import random

import numpy as np
import pytest
from c_libraries import ran, written

import stagec
import stagec.numpy as snp

FUZZ = int(os.environ.get("STAGEC_FUZZ", "0"))
START = int(os.environ.get("STAGEC_FUZZ_START", "1000"))
# Rows of one block, of all sizes of blocks, and of several large ones.
SIZES = (64, 1, 75, 203)
WIDTH = 5
WEIGHTS = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)).astype(np.float32)

# New values from a value of shape (b, 5), another one, and a number.
STEPS = [
    lambda xp, x, y, k: x * np.float32(k) + y,
    lambda xp, x, y, k: xp.tanh(x - y),
    lambda xp, x, y, k: xp.maximum(x, y),
    lambda xp, x, y, k: xp.sort(x * np.float32(k), axis=1),
    lambda xp, x, y, k: x @ WEIGHTS * np.float32(0.25),
    lambda xp, x, y, k: x / (1 + abs(y).sum(axis=1, keepdims=True)),
    lambda xp, x, y, k: xp.where(x > y, x, -y),
    lambda xp, x, y, k: x[:, ::-1] + y,
    lambda xp, x, y, k: xp.cumsum(x, axis=1) * np.float32(0.5),
    lambda xp, x, y, k: xp.concatenate([x[:, k:], y[:, :k]], axis=1),
    lambda xp, x, y, k: x - x.mean(axis=1, keepdims=True),
]
RESULTS = [
    lambda xp, x: x,
    lambda xp, x: x.max(axis=1),
    lambda xp, x: x.sum(axis=1),
    lambda xp, x: x.argmax(axis=1).astype(np.int32),
    lambda xp, x: x > 0,
    lambda xp, x: xp.sort(x, axis=1)[:, :2],
]


def program(seed):
    """A function of a module and two arrays, and its text."""
    rng = random.Random(seed)
    steps = [
        (rng.randrange(len(STEPS)), rng.random(), rng.random(), rng.randint(1, 3)) for _ in range(rng.randint(2, 7))
    ]
    results = [(rng.randrange(len(RESULTS)), rng.random()) for _ in range(rng.randint(1, 4))]

    def function(xp, x, y):
        values = [x, y, x * np.float32(1.5)]
        for step, first, second, k in steps:
            # Newer values are likelier.
            one, other = (values[int(len(values) * share**0.5)] for share in (first, second))
            values.append(STEPS[step](xp, one, other, k))
        return [RESULTS[kind](xp, values[int(len(values) * share**0.5)]) for kind, share in results]

    return function, f"seed {seed}: steps {steps}, results {results}"


def arguments(rows):
    rng = np.random.default_rng(rows)
    # Multiples of 1/8: a maximum is the same element whatever was rounded.
    return [(rng.integers(-20, 20, (rows, WIDTH)) / 8).astype(np.float32) for _ in range(2)]


def assert_close(found, expected, text, rows):
    for a, b in zip(map(np.asarray, found), expected, strict=True):
        if a.dtype == np.float32:
            np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=f"{text}, {rows} rows")
        else:
            assert (a != b).mean() < 0.02, f"{text}, {rows} rows"  # rounding decides some


@pytest.mark.parametrize("seed", range(START, START + 12 * FUZZ) if FUZZ else range(8))
def test_blocks_of_rows_compute_what_numpy_does(seed):
    function, text = program(seed)
    compiled = stagec.jit(lambda x, y: function(snp, x, y), dynamic={"x": "b, _", "y": "b, _"})
    for rows in SIZES:
        assert_close(compiled(*arguments(rows)), function(np, *arguments(rows)), text, rows)


@pytest.mark.parametrize("seed", range(START, START + 12 * FUZZ) if FUZZ else range(3))
def test_so_do_c_libraries(seed, tmp_path):
    function, text = program(seed)
    exported = written(lambda x, y: function(snp, x, y), [f"f32[b,{WIDTH}]"] * 2, tmp_path)
    for rows in SIZES:
        assert_close(ran(tmp_path, exported, arguments(rows), sizes=[rows]), function(np, *arguments(rows)), text, rows)
