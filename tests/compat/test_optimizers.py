"""`jax.example_libraries.optimizers` against JAX's."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compat.example_libraries import optimizers

OPTIMIZERS = {
    "sgd": (0.1,),
    "momentum": (0.1, 0.9),
    "nesterov": (0.1, 0.9),
    "adagrad": (0.1,),
    "rmsprop": (0.1,),
    "rmsprop_momentum": (0.1,),
    "adam": (0.1,),
    "adamax": (0.1,),
    "sm3": (0.1,),
}
SCHEDULES = {
    "constant": (0.1,),
    "exponential_decay": (0.1, 3, 0.5),
    "inverse_time_decay": (0.1, 3, 0.5, True),
    "polynomial_decay": (0.1, 3, 0.01, 2.0),
    "piecewise_constant": ([1, 3], [0.1, 0.2, 0.3]),
}


@pytest.mark.parametrize(("name", "args"), OPTIMIZERS.items())
def test_steps_are_those_of_jax(name, args):
    theirs = pytest.importorskip("jax.example_libraries.optimizers")
    params = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": [np.float32(2), np.ones(2, np.float32)]}
    found = []
    for module, make in ((theirs, np.asarray), (optimizers, snp.asarray)):
        init, update, get_params = getattr(module, name)(*args)
        state = init(stagec.tree.map(make, params))
        for i in range(4):
            slopes = [make(np.cos(np.asarray(x) + i)) for x in stagec.tree.leaves(get_params(state))]
            state = update(i, stagec.tree.structure(params).unflatten(slopes), state)
        found.append(stagec.tree.leaves(get_params(state)))
    for expected, actual in zip(*found, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.parametrize(("name", "args"), SCHEDULES.items())
def test_step_sizes_are_those_of_jax(name, args):
    theirs = pytest.importorskip("jax.example_libraries.optimizers")
    for i in range(6):
        expected, found = getattr(theirs, name)(*args)(i), stagec.jit(getattr(optimizers, name)(*args))(i)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_jitted_update_follows_a_schedule():
    init, update, get_params = optimizers.sgd(optimizers.piecewise_constant([0], [1.0, 10.0]))
    state = init(snp.zeros(2))
    for i in range(2):
        state = stagec.jit(update)(i, snp.ones(2), state)
    np.testing.assert_allclose(get_params(state), [-11, -11])


def test_gradients_are_clipped_together():
    gradients = {"a": snp.array([3.0, 0.0]), "b": snp.array(4.0)}
    assert optimizers.l2_norm(gradients) == 5
    clipped = optimizers.clip_grads(gradients, 1.0)
    np.testing.assert_allclose(clipped["b"], 0.8)
    np.testing.assert_allclose(optimizers.clip_grads(gradients, 9.0)["a"], [3, 0])


def test_misuse_is_explained():
    with pytest.raises(ValueError, match="2 values for 2 boundaries"):
        optimizers.piecewise_constant([1, 2], [0.1, 0.2])
    with pytest.raises(TypeError, match="a step size is a number"):
        optimizers.sgd([0.1, 0.2])


def test_a_state_is_taken_apart_and_put_together():
    init, update, params_of = optimizers.adam(0.1)
    params = {"w": snp.ones(2), "b": [snp.zeros(())]}
    state = update(0, params, init(params))
    apart = optimizers.unpack_optimizer_state(state)
    (weights,) = apart["w"]
    assert len(weights) == 3 and weights[0] is params_of(state)["w"]
    again = optimizers.pack_optimizer_state(stagec.tree.map(lambda p: p, apart))
    assert stagec.tree.structure(again) == stagec.tree.structure(state)
    one, other = (stagec.tree.leaves(update(1, params, s)) for s in (state, again))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
