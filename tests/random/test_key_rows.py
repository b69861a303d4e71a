"""Primitives on random keys: evaluated, compiled and batched, against the words of the keys."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, random
from stagec.primitives.keys import random_unwrap_p, random_wrap_p

WORDS = [np.random.default_rng(i).integers(0, 1 << 32, (3, 5), np.uint32) for i in range(2)]
KEYS = random.wrap_key_data(np.stack(WORDS, axis=-1))
OTHERS = random.wrap_key_data(np.stack(WORDS[::-1], axis=-1))


def bits(keys):
    return np.asarray(random.key_data(keys))


@pytest.mark.parametrize("run", [lambda f: f, stagec.jit, stagec.vmap, lambda f: stagec.jit(stagec.vmap(f))])
def test_words_become_keys_and_keys_words(run):
    np.testing.assert_array_equal(bits(run(random_wrap_p)(*WORDS)), np.stack(WORDS, axis=-1))
    for found, word in zip(run(random_unwrap_p)(KEYS), WORDS, strict=True):
        assert found.dtype == np.uint32
        np.testing.assert_array_equal(found, word)


def test_a_word_without_axes_fits_any():
    keys = stagec.jit(lambda word: random_wrap_p(np.uint32(7), word))(WORDS[0])
    np.testing.assert_array_equal(bits(keys), np.stack([np.full((3, 5), 7), WORDS[0]], axis=-1))
    mapped = stagec.vmap(random_wrap_p, in_axes=(0, None))(WORDS[0][0], WORDS[1][0, 0])
    np.testing.assert_array_equal(bits(mapped)[:, 0], WORDS[0][0])


@pytest.mark.parametrize("run", [lambda f: f, stagec.jit])
def test_keys_are_equal_where_all_words_are(run):
    half = random.wrap_key_data(np.stack([WORDS[0], WORDS[0]], axis=-1))
    assert run(snp.equal)(KEYS, KEYS).all() and not run(snp.not_equal)(KEYS, KEYS).any()
    assert not run(snp.equal)(KEYS, half).any() and run(snp.not_equal)(KEYS, half).all()
    assert run(snp.equal)(KEYS, KEYS[1, 2]).sum() == 1
    assert run(snp.allclose)(KEYS, KEYS) and not run(snp.allclose)(KEYS, OTHERS)


@pytest.mark.parametrize("size", [4, 1 << 13])  # NumPy's evaluation selects large arrays by their bits
def test_keys_are_selected(size):
    keys, others = random.split(random.key(0), size), random.split(random.key(1), size)
    mask = np.random.default_rng(0).random(size) < 0.5
    expected = np.where(mask[:, None], bits(keys), bits(others))
    for run in (lambda f: f, stagec.jit):
        np.testing.assert_array_equal(bits(run(lax.select)(mask, keys, others)), expected)


def test_keys_have_no_derivatives():
    value, pull = stagec.vjp(lambda x, keys: x * random.uniform(keys[0, 0]), 2.0, KEYS)
    x_ct, keys_ct = pull(1.0)
    assert x_ct == value / 2 and keys_ct.dtype == stagec.dtypes.float0 and keys_ct.shape == KEYS.shape
    step = lambda c, key: (c * random.uniform(key), key)  # noqa: E731
    slope, keys = stagec.grad(lambda x: lax.scan(step, x, KEYS[0]), has_aux=True)(1.0)
    np.testing.assert_allclose(slope, np.prod([float(random.uniform(k)) for k in KEYS[0]]), rtol=1e-6)
    assert (keys == KEYS[0]).all()


def test_keys_are_one_leaf_of_everything():
    tree = {"key": KEYS, "number": 1.0}
    assert stagec.tree.leaves(tree)[0] is KEYS
    assert stagec.tree.map(lambda x: x, tree)["key"] is KEYS
    made = stagec.eval_shape(random.split, random.key(0))
    assert (made.shape, made.dtype) == ((2,), KEYS.dtype)
    compiled = stagec.jit(random.split).lower(stagec.ShapeDtypeStruct((), KEYS.dtype)).compile()
    assert (compiled(random.key(3)) == random.split(random.key(3))).all()
    assert [v.aval for v in stagec.make_jaxpr(random.split)(random.key(0)).jaxpr.invars] == [random.key(0).aval]


def test_keys_are_pickled_copied_and_exported(tmp_path):

    for same in (
        pickle.loads(pickle.dumps(KEYS)),
        copy.deepcopy(KEYS),
        stagec.device_put(KEYS),
        stagec.device_get(KEYS),
    ):
        assert (same == KEYS).all() and same.dtype == KEYS.dtype
    assert pickle.loads(pickle.dumps(KEYS.dtype)) is KEYS.dtype
    path = tmp_path / "draws.stagec"
    stagec.export(lambda key: (random.uniform(key, (2,)), random.split(key)))(random.key(0)).save(path)
    drawn, following = stagec.load(path)(random.key(4))
    assert drawn.tolist() == random.uniform(random.key(4), (2,)).tolist()
    assert (following == random.split(random.key(4))).all()


def test_keys_reach_callbacks():
    seen = []
    stagec.jit(lambda keys: stagec.debug.callback(seen.append, keys))(KEYS)
    stagec.effects_barrier()
    assert (seen[0] == KEYS).all()
