"""Generators that keep count of their draws."""

import pytest

import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.experimental import random


def test_draws_follow_from_the_seed_and_their_number():
    rng = random.stateful_rng(42)
    # The numbers of JAX's documentation.
    assert [round(float(rng.uniform()), 6) for _ in range(2)] == [0.530261, 0.727664]
    draw = stagec.jit(rng.uniform)
    assert [round(float(draw()), 6) for _ in range(2)] == [0.667241, 0.389012]
    assert stagec.random.key_data(rng.key()).tolist() == [2954079971, 3276725750]


def test_a_jitted_function_counts_draws_of_its_argument():
    rng = random.stateful_rng(0)
    draw = stagec.jit(lambda rng: rng.integers(1000, size=4))
    again = random.stateful_rng(0)
    assert [draw(rng).tolist() for _ in range(3)] == [again.integers(1000, size=4).tolist() for _ in range(3)]


def test_split_generators_are_mapped_and_spawned_ones_are_separate():
    rng = random.stateful_rng(123)
    found = stagec.vmap(lambda rng, x: x + rng.uniform())(rng.split(3), snp.zeros(3))
    assert [round(float(x), 6) for x in found] == [0.35526, 0.219379, 0.533696]
    with pytest.raises(errors.ShapeError, match=r"an array of \(3,\) generators"):
        rng.split(3).uniform()
    assert [r.integers(0, 10, 2).tolist() for r in random.stateful_rng(123).spawn(2)] == [[4, 5], [2, 1]]


def test_shapes_and_dtypes_are_as_asked():
    rng = random.stateful_rng()
    assert rng.random((2, 3)).shape == rng.key((2, 3)).shape == (2, 3)
    assert rng.normal(snp.zeros(4), 2.0).shape == (4,)
    assert rng.normal(size=2, dtype="float16").dtype == "float16"
    assert rng.uniform(5.0, 6.0, 3).min() >= 5


def test_a_traced_function_needs_a_seed():
    with pytest.raises(errors.ArgumentTypeError, match="needs a seed"):
        stagec.jit(lambda: random.stateful_rng().uniform())()
