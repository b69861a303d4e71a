"""Arrays of keys in functions that only move elements: what happens to keys happens to their bits."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax, random
from stagec.random.keys import words_of

K = random.split(random.key(0), 4)
ONE = random.key(7)
MASK = np.array([True, False, True, False])

MOVES = {
    "stack": lambda k, one: snp.stack([one, k[1]], axis=0),
    "stack of arrays": lambda k, one: snp.stack([k, k[::-1]], axis=1),
    "concatenate": lambda k, one: snp.concatenate([k, k[:1]]),
    "append": lambda k, one: snp.append(k, k),
    "where": lambda k, one: snp.where(MASK, k, one),
    "where with axes": lambda k, one: snp.where(MASK[:, None], k, one),
    "nested list": lambda k, one: snp.array([[one, one], [k[0], k[1]]]),
    "asarray": lambda k, one: snp.asarray(k),
    "take": lambda k, one: snp.take(k, np.array([2, 0]), axis=0),
    "insert": lambda k, one: snp.insert(k, 1, one),
    "roll": lambda k, one: snp.roll(k, 1),
    "broadcast_to": lambda k, one: snp.broadcast_to(one, (3,)),
    "split": lambda k, one: snp.split(k, 2)[1],
    "meshgrid": lambda k, one: snp.meshgrid(k, k)[0],
    "full_like": lambda k, one: snp.full_like(k, one),
    "zeros_like": lambda k, one: snp.zeros_like(k),
    "lax.select": lambda k, one: lax.select(MASK, k, k[::-1]),
    "lax.concatenate": lambda k, one: lax.concatenate([k, k], 0),
    "lax.dynamic_slice": lambda k, one: lax.dynamic_slice(k, (1,), (2,)),
    "lax.dynamic_update_index_in_dim": lambda k, one: lax.dynamic_update_index_in_dim(k, one, 1, 0),
    "lax.rev": lambda k, one: lax.rev(k, (0,)),
    "lax.full": lambda k, one: lax.full((2,), one),
    "indices": lambda k, one: k[np.array([2, 0])],
    "mask": lambda k, one: k[MASK],
    "new axis": lambda k, one: k[None, ..., None],
    "at.set": lambda k, one: k.at[1].set(one),
    "at.set of some": lambda k, one: k.at[np.array([0, 3])].set(k[:2]),
    "at.get": lambda k, one: k.at[7].get(mode="fill"),
}


def on_words(move):
    """The move of each word, as NumPy arrays do it that hold the same."""
    halves = [(snp.asarray(half), snp.asarray(one)) for half, one in zip(words_of(K), words_of(ONE), strict=True)]
    return np.stack([np.asarray(move(*half)) for half in halves], axis=-1)


@pytest.mark.parametrize("name", MOVES)
def test_keys_are_moved_as_their_words_are(name):
    found = MOVES[name](K, ONE)
    assert isinstance(found, random.PRNGKeyArray)
    np.testing.assert_array_equal(random.key_data(found), on_words(MOVES[name]))


def test_compiled_functions_move_keys_too():
    found = stagec.jit(lambda k, one: [move(k, one) for move in MOVES.values()])(K, ONE)
    for name, keys in zip(MOVES, found, strict=True):
        np.testing.assert_array_equal(random.key_data(keys), on_words(MOVES[name]), err_msg=name)


def test_batches_of_keys_are_moved():
    found = stagec.vmap(lambda c, k: snp.where(c, k, ONE))(MASK, K)
    assert (found == snp.where(MASK, K, ONE)).all()
    assert stagec.vmap(lambda k: K.at[1].set(k))(K).shape == (4, 4)


def test_what_is_no_array_is_the_same_for_both_words():
    assert (snp.shape(K), snp.ndim(K), snp.size(K)) == ((4,), 1, 4)
    assert (K.itemsize, K.nbytes, K.devices()) == (8, 32, {stagec.devices()[0]})
    assert (K[0] != K).tolist() == [False, True, True, True]


def shown_alone(caught):
    """Whether an error is shown without another one, and without frames of stagec."""
    alone = caught.value.__context__ is None or caught.value.__suppress_context__
    return alone and {str(frame.path) for frame in caught.traceback} == {__file__}


@pytest.mark.parametrize(
    "use",
    [
        lambda: snp.stack([ONE, 1]),
        lambda: snp.where(True, ONE, 1),
        lambda: lax.select(True, ONE, snp.uint32(1)),
        lambda: K.at[0].set(1),
        lambda: snp.array([ONE, 1]),
        lambda: ONE.astype("uint32"),
    ],
)
def test_keys_and_numbers_do_not_mix(use):
    with pytest.raises(
        errors.DtypeError, match=r"pass keys alone, or the bits of keys: random\.key_data\(keys\)"
    ) as caught:
        use()
    assert "test_key_arrays.py" in str(caught.value) and shown_alone(caught)


@pytest.mark.parametrize(
    "compute", [snp.sum, snp.sin, snp.sort, lambda k: k + k, lambda k: snp.add(k, 1), lambda k: k.at[0].add(k[1])]
)
def test_keys_are_not_computed_with(compute):
    with pytest.raises(TypeError):
        compute(K)


def test_a_wrong_call_with_keys_is_told_of_the_keys_shape():
    with pytest.raises(errors.ShapeError) as caught:
        snp.concatenate([K, K.reshape(2, 2)])
    assert shown_alone(caught)
    with pytest.raises(TypeError, match="random keys are not numbers"):
        bool(ONE)
