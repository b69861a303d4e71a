"""What the examples compute with data that they are given, as C libraries and as WebAssembly modules."""

import functools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from c_libraries import LEVEL, assert_same_bits, ran
from test_web import TARGET, ran as ran_in_node

import stagec
import stagec.numpy as snp

pytest.importorskip("sklearn", reason="scikit-learn has the examples' data: pip install '.[examples]'")
sys.path.append(str(Path(__file__).parents[2] / "examples"))  # which import one another

import digits_kmeans
import digits_page
import digits_pca
import digits_shipped
import digits_softmax
import minimize
import sharded_training
import simulate
import train_conv
import train_mlp
import train_rnn
import train_transformer

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def constants(tree):
    return stagec.tree.map(snp.asarray, tree)


LAYERS = [tuple(map(snp.asarray, (normal(n, m) / 8, normal(m)))) for n, m in ((64, 64), (64, 32), (32, 10))]
NAMED = [{"weights": weights, "biases": biases} for weights, biases in LAYERS]
CONVOLUTIONS = [train_conv.convolution(RNG, *pair) for pair in ((1, 8), (8, 16))]
CONV = {"convolutions": CONVOLUTIONS, "last": {"weights": snp.asarray(normal(64, 10)), "biases": snp.zeros(10)}}
SPLIT = sharded_training.Weights(*map(snp.asarray, (normal(64, 32) / 8, normal(32), normal(32, 10))))
RNN = constants(train_rnn.parameters(RNG, 30, 48))
TRANSFORMER = constants(train_transformer.parameters(RNG, 30, 16, 32, 2))
TEXT = RNG.integers(0, 30, (4, 16)).astype(np.int32)
DRAWING = (normal(32, 32) > 0.5).astype(np.float32)

EXAMPLES = {
    "digits_page": (digits_page.recognizer(LAYERS), DRAWING),
    "digits_softmax": (functools.partial(digits_softmax.probabilities, LAYERS), normal(50, 64)),
    "digits_shipped": (digits_shipped.classifier(LAYERS), normal(50, 64)),
    "digits_kmeans": (functools.partial(digits_kmeans.step, snp), normal(300, 64), normal(10, 64)),
    "digits_pca": (lambda x, d: digits_pca.step(digits_pca.covariance(x), d), normal(300, 64), normal(4, 64)),
    "train_mlp": (functools.partial(train_mlp.scores, NAMED), normal(20, 64)),
    "sharded_training": (functools.partial(sharded_training.logits, SPLIT), normal(20, 64)),
    "train_conv": (functools.partial(train_conv.scores, CONV), normal(5, 64)),
    "train_rnn": (functools.partial(train_rnn.loss, RNN), TEXT),
    "train_transformer": (functools.partial(train_transformer.scores, TRANSFORMER, 4), TEXT[0]),
    "write": (functools.partial(train_transformer.write, TRANSFORMER, 4), TEXT[0], normal(6, 30)),
    "simulate": (lambda throw: simulate.flight(throw, 0.01, 2.0, 200), normal(2)),
    "newton": (functools.partial(minimize.newton, minimize.rosenbrock), normal(10)),
    "lbfgs": (functools.partial(minimize.lbfgs, minimize.rosenbrock), normal(10)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_results_have_the_bits_of_the_jitted_function(name, tmp_path):
    assert_same(tmp_path, *EXAMPLES[name])


def test_so_has_what_xarray_maps(tmp_path):
    pytest.importorskip("xarray", reason="the example maps a function over a dataset")
    import map_artifact

    assert_same(tmp_path, map_artifact.wind_chill, 9 * normal(30, 20), 9 + normal(30, 20))


def test_so_has_the_network_that_jax_trained(tmp_path):
    jax = pytest.importorskip("jax", reason="the example's network is JAX's")
    pytest.importorskip("flatbuffers", reason="JAX serializes with it")
    import digits_jax

    sizes = {"kernel": (3, 3, 1, 8), "weights": (128, 10), "bias": (10,)}
    parameters = {name: normal(*shape) / 8 for name, shape in sizes.items()}  # so that no result is subnormal
    written = jax.export.export(jax.jit(digits_jax.predict))(parameters, normal(7, 64)).serialize()
    assert_same(tmp_path, stagec.from_stablehlo(bytes(written)), parameters, normal(7, 64))


def assert_same(tmp_path, function, *arguments):
    """Compare a function with what is jitted for the same vectors, as a C library and as a module."""
    exported = stagec.export(function, LEVEL)(*arguments)
    exported.to_c(tmp_path, name="f")
    found = ran(tmp_path, exported, arguments)
    with stagec.config.override(target=LEVEL):
        assert_same_bits(found, stagec.jit(function)(*arguments))
    if not shutil.which("node"):
        return
    found = ran_in_node(tmp_path, exported, arguments)
    with stagec.config.override(target=TARGET):
        assert_same_bits(found, stagec.jit(function)(*arguments))


def test_the_network_of_the_first_page_is_small(tmp_path):
    exported = stagec.export(digits_page.recognizer(LAYERS), LEVEL)("f32[32,32]")
    files = [Path(file) for file in exported.to_c(tmp_path / "c", weights="file")]
    assert sum(f.stat().st_size for f in files if f.suffix == ".o") < 40_000
    module = [Path(file) for file in exported.to_wasm(tmp_path / "wasm")]
    assert sum(f.stat().st_size for f in module if f.suffix == ".wasm") < 60_000
