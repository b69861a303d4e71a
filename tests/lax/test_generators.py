"""Random bits of a state: bit for bit those of JAX; and the rest that `jax.lax` has for one device."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn

LAST = 2**32 - 1
# Counters that carry, into the second half of a block too.
STATES = [[1, 2, 3, 4], [1, 2, LAST - 1, LAST], [LAST, LAST, LAST - 1, LAST]]
SHAPES = [(), (1,), (9,), (3, 5), (3, 2), (2, 3), (3, 3), (0, 3)]


@pytest.mark.parametrize("algorithm", list(lax.RandomAlgorithm))
def test_bits_are_those_of_jax(algorithm):
    jax = pytest.importorskip("jax")
    calls = [(s, shape, dtype) for shape in SHAPES for s, dtype in enumerate(["uint8", "uint16", "uint32"])]

    def draws(states):
        of_jax = jax.lax.RandomAlgorithm(algorithm)
        return [jax.lax.rng_bit_generator(states[s], shape, dtype, of_jax) for s, shape, dtype in calls]

    states = np.array(STATES, np.uint32)
    for (s, shape, dtype), expected in zip(calls, jax.jit(draws)(states), strict=True):
        for x, y in zip(lax.rng_bit_generator(states[s], shape, dtype, algorithm), expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


# Of JAX 0.10.2, with the state 1, 2, 4294967294, 4294967295.
WIDE = {
    1: ["0xa0a6a1e9f549de6f", "0x9c2710ffe5890944", "0x8bb042e4257edf33"],
    2: ["0xa2fe85df91727c03", "0x255695d74d5b8ce2", "0x9279b5403427fc20"],
}


@pytest.mark.parametrize("algorithm", [1, 2])
def test_known_bits(algorithm):
    with stagec.enable_x64():
        words = np.array(STATES[1], np.uint32)
        for state in (words, words.view(np.uint64)):
            draw = stagec.jit(lambda s: lax.rng_bit_generator(s, (3,), "uint64", lax.RandomAlgorithm(algorithm)))
            after, bits = draw(state)
            assert [hex(b) for b in np.asarray(bits)] == WIDE[algorithm]
            assert after.dtype == state.dtype
            assert np.asarray(after).view(np.uint32).tolist() == [1, 2, 1 if algorithm == 1 else 0, 0]


def test_bits_of_several_states():
    states = np.array(STATES, np.uint32)
    made = stagec.vmap(lambda s: lax.rng_bit_generator(s, (5,)))(states)
    for i, state in enumerate(states):
        for x, y in zip(made, lax.rng_bit_generator(state, (5,)), strict=True):
            np.testing.assert_array_equal(np.asarray(x[i]), np.asarray(y))


def test_numbers_without_a_state_differ_from_call_to_call():
    drawn = stagec.jit(lambda: (lax.rng_uniform(2.0, 3.0, (50,)), lax.rng_uniform(-3, 4, (50,))))
    calls = [drawn(), drawn(), (lax.rng_uniform(2.0, 3.0, (50,)), lax.rng_uniform(-3, 4, (50,)))]
    for reals, integers in calls:
        assert (np.asarray(reals) >= 2).all() and (np.asarray(reals) < 3).all()
        assert set(np.asarray(integers).tolist()) <= set(range(-3, 4))
    assert len({tuple(np.asarray(c[0]).tolist()) for c in calls}) == 3


def test_tokens_and_constraints_are_values():
    def through(x):
        token = lax.after_all(lax.create_token(), lax.create_token())
        lax.dce_sink({"x": x, "token": token})
        return lax.with_sharding_constraint({"x": lax.stage(x) * 2}, stagec.devices()[0])["x"], token

    for doubled, token in (through(3.0), stagec.jit(through)(3.0)):
        assert float(doubled) == 6.0 and token.size == 0


def test_scales_serve_blocks():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 8)).astype("float32"), rng.normal(size=(2, 8, 5)).astype("float32")
    first, second = a[:, :, :2] + 2, b[:, :4] + 2
    expected = (a * first.repeat(4, 2)) @ (b * second.repeat(2, 1))
    made = lax.scaled_dot(a, b, lhs_scale=first, rhs_scale=second, preferred_element_type="float32")
    np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-4, atol=1e-5)
    assert lax.scaled_dot(a, b).dtype == snp.bfloat16
    halves = second.swapaxes(1, 2)[:, :, ::2]
    made = nn.scaled_matmul(a, b.swapaxes(1, 2), first, halves)
    expected = (a * first.repeat(4, 2)) @ (b.swapaxes(1, 2) * halves.repeat(4, 2)).swapaxes(1, 2)
    np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-4, atol=1e-4)
