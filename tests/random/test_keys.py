"""Keys as values: shapes, containers, errors, reuse."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, random


def test_keys_have_the_shape_of_an_array_of_keys():
    keys = random.split(random.key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert (keys[1, 2] == random.split(random.key(0), 6)[5]).all()
    assert [k.shape for k in keys] == [(3,), (3,)]
    assert (keys.reshape(6) == keys.ravel()).all() and keys.T.shape == (3, 2)
    assert stagec.dtypes.issubdtype(keys.dtype, stagec.dtypes.prng_key)
    assert str(keys.dtype) == "key<fry>"


def test_keys_pass_through_transformations_as_values():
    key = random.key(1)
    assert (stagec.jit(lambda k: random.split(k))(key) == random.split(key)).all()
    assert stagec.tree.leaves({"key": key}) == [key] and isinstance(key, random.PRNGKeyArray)
    assert not isinstance(random.PRNGKey(1), random.PRNGKeyArray)
    assert stagec.vmap(lambda k: random.fold_in(k, 3))(random.split(key, 4)).shape == (4,)
    shown = []
    stagec.jit(lambda k: shown.append(repr(k)))(key)
    assert shown == ["Tracer<key<fry>[]>"]


def test_keys_of_the_older_kind_draw_the_same_numbers():
    old = random.PRNGKey(3)
    assert old.dtype == np.uint32 and old.tolist() == [0, 3]
    assert random.normal(old).tolist() == random.normal(random.key(3)).tolist()
    assert type(random.split(old)) is type(old) and random.split(old).shape == (2, 2)
    assert random.fold_in(old, 1).shape == (2,)
    assert (random.wrap_key_data(old) == random.key(3)).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: random.normal(0), errors.ArgumentTypeError, "stagec.random.key(seed)"),
        (lambda: random.normal(snp.zeros(2)), errors.ArgumentTypeError, "normal: expected a random key"),
        (lambda: random.normal(random.split(random.key(0))), errors.ShapeError, "stagec.vmap"),
        (lambda: random.key(1.5), errors.ArgumentTypeError, "expected an integer seed"),
        (lambda: random.key(snp.arange(2)), errors.ArgumentTypeError, "stagec.vmap(random.key)"),
        (lambda: random.key(2**70), OverflowError, "modulo 2**64"),
        (lambda: random.key(0, impl="rbg"), errors.UnsupportedError, "threefry2x32"),
        (lambda: random.key(random.key(0)), errors.ArgumentTypeError, "use the key as it is"),
        (lambda: random.uniform(random.key(0), dtype="int32"), errors.DtypeError, "floating-point"),
        (lambda: random.gamma(random.key(0), np.ones(3), (2,)), errors.ShapeError, "do not broadcast"),
        (lambda: random.bernoulli(random.key(0), 1), errors.DtypeError, "probability"),
        (lambda: random.choice(random.key(0), 3, (4,), replace=False), ValueError, "4 of 3"),
        (lambda: np.asarray(random.key(0)), errors.ArgumentTypeError, "key_data"),
        (lambda: random.permutation(random.key(0), 2.5), errors.ShapeError, "Python integer"),
    ],
)
def test_errors_name_the_fault_and_the_fix(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_a_key_that_is_used_twice_is_found_when_asked_for():
    key = random.key(0)
    random.normal(key), random.normal(key)
    with stagec.config.override(debug_key_reuse=True):
        key, spare = random.split(random.key(0))
        random.normal(key)
        with pytest.raises(errors.KeyReuseError, match=r"random\.split") as caught:
            random.uniform(key)
        assert "normal at" in str(caught.value) and "test_keys.py" in str(caught.value)
        first = random.normal(random.clone(spare))
        assert random.normal(spare).tolist() == first.tolist()

        @stagec.jit
        def twice(key):
            return random.normal(key) + random.normal(key)

        with pytest.raises(errors.KeyReuseError):
            twice(random.key(1))
