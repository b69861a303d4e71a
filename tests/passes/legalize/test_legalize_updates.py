"""Updates of an array by its own values: compiled code must not read what it has written."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.lax as lax
import stagec.numpy as snp

put = lax.dynamic_update_slice

# Each gets a matrix of 256 rows and columns, and the number 2.
CASES = {
    "rows down": lambda x, k: x.at[1:].set(x[:-1]),
    "rows down, new memory": lambda x, k: (lambda y: y.at[1:].set(y[:-1]))(x * 2),
    "columns right": lambda x, k: (lambda y: y.at[:, 1:].set(y[:, :-1]))(x * 2),
    "computed": lambda x, k: (lambda y: y.at[1:, 1:].set(y[:-1, :-1] * 2 + 1))(x * 2),
    "added": lambda x, k: (lambda y: y.at[1:].add(y[:-1]))(x * 2),
    "stencil": lambda x, k: x.at[1:-1, 1:-1].set(x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]),
    "reduced": lambda x, k: (lambda y: y.at[0].set(y.sum(0)))(x * 2),
    "moved by an argument": lambda x, k: (lambda y: put(y, y[:3], (k, 0)))(x * 2),
    "moved sideways": lambda x, k: put(x, x[:, :3], (0, k)),
    "sliced and moved": lambda x, k: (lambda y: put(y, lax.dynamic_slice(y, (k, 0), (9, 256)), (k + 1, 0)))(x * 2),
    "two results": lambda x, k: (lambda y: (put(y, y[:8], (k, 0)), put(y, y[8:16], (k + 1, 0))))(x * 2),
    "one after another": lambda x, k: (lambda y: put(put(y, y[:8], (k, 0)), y[3:9], (k + 4, 0)))(x * 2),
    "flat": lambda x, k: (lambda y: put(y.reshape(-1), y[:3].reshape(-1), (k,)))(x * 2),
    "out of range": lambda x, k: put(x, x[:9], (250 + k * 4, 0)),
    "integers": lambda x, k: (lambda y: y.at[1:].set(y[:-1]))(x.astype(np.int32) + k),
    "bools": lambda x, k: (lambda y: y.at[1:].set(y[:-1]))(x % 3 == 1),
    "complex": lambda x, k: (lambda y: y.at[1:].set(y[:-1]))(x + 2j),
    "complex argument": lambda x, k: (lambda y: y.at[1:].set(y[:-1]))(lax.complex(x, x)),
    "steps exchanged": lambda x, k: (lambda y: y.at[::2].set(y[1::2]).at[1::2].set(y[::2]))(x * 2),
}


@pytest.fixture(scope="module")
def compiled():
    x = np.arange(256 * 256, dtype=np.float32).reshape(256, 256) % 251
    return x, stagec.jit(lambda x, k: {name: f(x, k) for name, f in CASES.items()})(x, np.int32(2))


@pytest.mark.parametrize("name", CASES)
def test_an_update_from_the_same_array_reads_the_old_values(compiled, name):
    x, together = compiled
    expected = CASES[name](snp.asarray(x), np.int32(2))
    alone = stagec.jit(CASES[name])(x, np.int32(2))
    for actual in (together[name], alone):
        for e, a in zip(*[v if isinstance(v, tuple) else (v,) for v in (expected, actual)], strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(e))


def test_a_loop_that_shifts_reads_the_old_values():
    x = np.arange(3000, dtype=np.float32)
    shifted = stagec.jit(lambda x: lax.fori_loop(0, 3, lambda i, y: put(y, y[:-6], (i + 1,)), x * 2))(x)
    expected = x * 2
    for i in range(3):
        expected[i + 1 : i + 1 + 2994] = expected[:-6].copy()
    np.testing.assert_array_equal(np.asarray(shifted), expected)


@pytest.mark.parametrize("interior", [0, 1])
def test_complex_numbers_are_padded_between_a_slice_and_a_choice(interior):
    def f(x):
        padded = lax.pad(x[:-1], np.complex64(3 - 1j), [(1, 0, interior)])
        return snp.where(snp.arange(padded.size) != 4, padded, x[0])

    x = (np.arange(9) * (1 + 2j)).astype(np.complex64)
    np.testing.assert_array_equal(np.asarray(stagec.jit(f)(x)), np.asarray(f(snp.asarray(x))))


def text_of(f, *args):
    return stagec.jit(f).lower(*args).as_text("kernels")


def test_an_update_from_elsewhere_stays_an_update():
    x, y = np.zeros((4, 4), np.float32), np.ones((2, 4), np.float32)
    text = text_of(lambda x, y, k: put(x, y * 2, (k, 0)), x, y, np.int32(1))
    assert "dynamic_update_slice" in text and "iota" not in text
    text = text_of(lambda x, y: x.at[1:3].set(y * 2), x, y)
    assert "dynamic_update_slice" in text and "iota" not in text


def test_a_barrier_holds_back_every_use():
    with stagec.config.override(straight_kernels=False):
        text = text_of(lambda x: (lambda y: (y[::2] + 1, y.at[0].set(5)))(snp.sin(x)), np.ones(8, np.float32))
    (barrier,) = [line for line in text.splitlines() if "optimization_barrier" in line]
    name, source = barrier.split()[0], barrier.split()[3]
    assert text.count(source) == 2 and text.count(name) >= 3
