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
    "convolutions": lambda s: s.serial(
        s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2)), s.Conv(3, (2, 1), (2, 1))
    ),
    "general convolutions": lambda s: s.serial(
        s.GeneralConv(("NHWC", "OIHW", "NCHW"), 4, (2, 3), (1, 2)),
        s.GeneralConvTranspose(("NCHW", "HWIO", "NHWC"), 2, (2, 2), (2, 1), "SAME"),
        s.BatchNorm((0, 2), center=False),
    ),
    "transposed": lambda s: s.serial(s.ConvTranspose(2, (3, 3), (2, 2)), s.BatchNorm(3, scale=False)),
    "pooling": lambda s: s.serial(
        s.FanOut(3),
        s.parallel(
            s.AvgPool((3, 2), (2, 2), "SAME"), s.SumPool((2, 2), padding="SAME", spec="HWCN"), s.MaxPool((1, 5))
        ),
    ),
    "one axis": lambda s: s.serial(s.Conv1DTranspose(4, (3,), (2,), "SAME"), s.AvgPool((2,), padding="SAME")),
    "shape": lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1])),
}


SHAPES = {
    "serial": (2, 3, 2),
    "elements": (2, 3, 2),
    **dict.fromkeys(["convolutions", "general convolutions", "transposed", "pooling"], (2, 6, 7, 3)),
}


@pytest.mark.parametrize("name", NETS)
def test_nets_compute_as_those_of_jax(name):
    theirs = pytest.importorskip("jax.example_libraries.stax")
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(0).standard_normal(SHAPES.get(name, (2, 5, 3))).astype(np.float32)
    start, apply = NETS[name](theirs)
    shape, params = start(jax.random.key(0), x.shape)
    init, run = NETS[name](stax)
    found_shape, found = init(stagec.random.key(0), x.shape)
    assert found_shape == shape and stagec.tree.structure(found) == stagec.tree.structure(params)
    for a, b in zip(stagec.tree.leaves(params), stagec.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4)
    expected = apply(params, x)
    same = stagec.tree.map(np.asarray, params)
    results = stagec.tree.leaves(stagec.jit(run)(same, x))
    # Some pairs of channels are so close that dividing by their deviation makes much of a last bit.
    atol = 1e-3 if name == "transposed" else 1e-5
    for a, b in zip(stagec.tree.leaves(expected), results, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=atol)
    assert [r.shape for r in results] == ([*shape] if isinstance(shape[0], tuple) else [shape])


def test_dropout_keeps_the_mean():
    _, run = stax.serial(stax.Dropout(0.75))
    y = run([()], snp.ones(10000), rng=stagec.random.key(1))
    assert set(np.unique(y).tolist()) == {0.0, np.float32(1 / 0.75).item()} and abs(y.mean() - 1) < 0.05
    np.testing.assert_array_equal(stax.Dropout(0.75, mode="test")[1]((), y), y)
    with pytest.raises(ValueError, match="Dropout: no key"):
        run([()], snp.ones(2))


def test_the_size_of_the_batch_may_be_left_open():
    init, _ = stax.serial(stax.Conv(4, (3, 3)), stax.AvgPool((2, 2)), stax.Flatten, stax.Dense(3))
    shape, params = init(stagec.random.key(0), (-1, 8, 8, 3))
    assert shape[1:] == (3,) and params[3][0].shape == (100, 3)
