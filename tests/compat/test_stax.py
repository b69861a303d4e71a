"""`jax.example_libraries.stax` against JAX's, with the same parameters."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.compat.example_libraries import stax

NETS = {
    "serial": lambda s: s.serial(s.Flatten, s.Dense(4), s.Relu, s.Dense(3), s.LogSoftmax),
    "elements": lambda s: s.serial(s.Flatten, s.Elu, s.Softplus, s.Selu, s.Gelu, s.Tanh, s.Exp, s.Sigmoid, s.Softmax),
    "fan": lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Identity), s.FanInConcat(1)),
    "sum": lambda s: s.serial(s.FanOut(2), s.parallel(s.LeakyRelu, s.Tanh), s.FanInSum),
    "shape": lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1])),
}


@pytest.mark.parametrize("name", NETS)
def test_nets_compute_as_those_of_jax(name):
    theirs = pytest.importorskip("jax.example_libraries.stax")
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(0).standard_normal((2, 3, 2) if name in ("serial", "elements") else (2, 5, 3))
    x = x.astype(np.float32)
    start, apply = NETS[name](theirs)
    shape, params = start(jax.random.key(0), x.shape)
    init, run = NETS[name](stax)
    found_shape, found = init(stagec.random.key(0), x.shape)
    assert found_shape == shape and stagec.tree.structure(found) == stagec.tree.structure(params)
    for a, b in zip(stagec.tree.leaves(params), stagec.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4)
    expected = apply(params, x)
    np.testing.assert_allclose(stagec.jit(run)(found, x), expected, rtol=1e-4, atol=1e-6)
    assert expected.shape == shape


def test_dropout_keeps_the_mean():
    _, run = stax.serial(stax.Dropout(0.75))
    y = run([()], snp.ones(10000), rng=stagec.random.key(1))
    assert set(np.unique(y).tolist()) == {0.0, np.float32(1 / 0.75).item()} and abs(y.mean() - 1) < 0.05
    np.testing.assert_array_equal(stax.Dropout(0.75, mode="test")[1]((), y), y)
    with pytest.raises(ValueError, match="Dropout: no key"):
        run([()], snp.ones(2))
