"""Bits and numbers are JAX's, wherever they are drawn."""

from __future__ import annotations

import os

import ml_dtypes  # noqa: F401  makes NumPy know bfloat16 by name
import numpy as np
import pytest
from known import KNOWN

import stagec
import stagec.numpy as snp
from stagec import lax, random
from stagec.primitives.threefry import threefry2x32

# Random123's vectors for 20 rounds: key, block, encrypted block.
VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "block", "expected"), VECTORS)
def test_the_cipher_encrypts_the_published_vectors(key, block, expected):
    words = [np.uint32(w) for w in (*key, *block)]
    assert tuple(int(w) for w in threefry2x32(*words)) == expected


def test_the_compiled_cipher_is_the_evaluated_one():
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 1 << 32, 20_001, dtype=np.uint32) for _ in range(4)]
    expected = threefry2x32(*words)
    actual = stagec.jit(threefry2x32)(*words)
    assert all((np.asarray(e) == np.asarray(a)).all() for e, a in zip(expected, actual))


def drawn(name, arguments, key):
    return eval(f"draw(key, {arguments})", {"np": np, "draw": getattr(random, name), "key": key})


def check(name, dtype, expected, actual):
    actual = np.asarray(actual)
    assert actual.dtype == np.dtype(dtype)
    if actual.dtype.kind in "iub":
        assert actual.tolist() == expected
    else:
        exact = name == "uniform" and actual.dtype.itemsize == 2
        wide = actual.astype(np.complex64 if actual.dtype.kind == "c" else np.float32)
        tolerance = 2e-3 if actual.dtype.itemsize == 2 else 2e-5
        np.testing.assert_allclose(wide, np.array(expected, wide.dtype), 0 if exact else tolerance, 1e-6)


# Loops take seconds to compile each; one of every kind is enough.
COMPILED = [row for row in KNOWN if row[0] not in ("f", "chisquare", "beta", "t", "ball", "generalized_normal")]
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1


@pytest.mark.parametrize(("name", "arguments", "dtype", "expected"), KNOWN, ids=lambda v: v if type(v) is str else "")
def test_draws_are_those_of_jax(name, arguments, dtype, expected):
    """By NumPy, outside of hunts: the bits of programs outside jit are those of `jit`, see `test_outside_jit`."""
    with stagec.disable_jit(not FUZZ):
        check(name, dtype, expected, drawn(name, arguments, random.key(42)))


@pytest.mark.parametrize("part", range(4))
def test_compiled_draws_are_those_of_jax(part):
    rows = COMPILED[part::4]
    program = stagec.jit(lambda key: [drawn(name, arguments, key) for name, arguments, _, _ in rows])
    for (name, _, dtype, expected), actual in zip(rows, program(random.key(42))):
        check(name, dtype, expected, actual)


def test_draws_under_vmap_are_those_of_each_key():
    keys = random.split(random.key(3), 4)
    for draw in (random.normal, lambda k: random.gamma(k, 1.5), lambda k: random.permutation(k, 5)):
        together = np.asarray(stagec.vmap(draw)(keys))
        assert together.tolist() == [np.asarray(draw(k)).tolist() for k in keys]
    grid = keys.reshape(2, 2)
    last = stagec.vmap(lambda row: random.normal(row[0]), in_axes=-1)(grid)
    assert last.tolist() == [random.normal(k).tolist() for k in grid[0]]


def test_draws_in_a_scan_are_those_of_a_loop():
    def step(key, _):
        key, own = random.split(key)
        return key, random.uniform(own, (2,))

    _, actual = stagec.jit(lambda key: lax.scan(step, key, None, length=3))(random.key(5))
    key, expected = random.key(5), []
    for _ in range(3):
        key, own = random.split(key)
        expected.append(random.uniform(own, (2,)).tolist())
    assert actual.tolist() == expected


def test_64_bit_draws_are_those_of_jax():
    with stagec.enable_x64():
        key = random.key(2**40 + 1)
        assert np.asarray(random.key_data(key)).tolist() == [256, 1]
        # As jax 0.10.2 printed them with 64-bit types.
        assert np.asarray(random.bits(random.key(42), (2,))).tolist() == [7871734211187709741, 276886910877598708]
        np.testing.assert_allclose(
            np.asarray(random.normal(random.key(42), (2,))), [-0.18471174528191162, -2.169824560397754], 1e-12
        )
        assert np.asarray(random.randint(random.key(42), (2,), 0, 10**12)).tolist() == [464050701877, 604979476158]


def test_vulkan_draws_the_same_bits(vulkan):
    program = stagec.jit(lambda key: random.bits(key, (1000,)), device=vulkan)
    expected = np.asarray(random.bits(random.key(9), (1000,)))
    assert (np.asarray(program(random.key(9))) == expected).all()


def test_a_seed_may_be_traced():
    assert (stagec.jit(random.key)(snp.int32(7)) == random.key(7)).all()
    assert (stagec.vmap(random.key)(snp.arange(3))[2] == random.key(2)).all()
    assert (random.key(-1) == random.wrap_key_data(snp.array([0, 0xFFFFFFFF], "uint32"))).all()
