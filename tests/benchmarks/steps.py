"""Training steps of four small networks: the loss, its gradient, and the weights a step later."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.case import Call, Case, sample
from tests.benchmarks.libraries import Library

Loss = Callable[[Library, list[Any], Any, Any], Any]
Shapes = list[tuple[int, ...]]


class Network(NamedTuple):
    """A loss and the shapes of what it takes.

    Attributes:
      loss: `(library, weights, examples, wanted) -> number`.
      shapes: `(tiny) -> (shapes of the weights, shape of the examples, shape of what is wanted)`.
    """

    loss: Loss
    shapes: Callable[[bool], tuple[Shapes, tuple[int, ...], tuple[int, ...]]]


def _module(lib: Library) -> Any:
    return importlib.import_module(lib.name)


def _squares(lib: Library, found: Any, wanted: Any) -> Any:
    return lib.np.mean((found - wanted) ** 2)


def _mlp(lib: Library, weights: list[Any], x: Any, y: Any) -> Any:
    w0, b0, w1, b1, w2, b2 = weights
    h = lib.np.maximum(x @ w0 + b0, 0.0)
    h = lib.np.maximum(h @ w1 + b1, 0.0)
    return _squares(lib, _module(lib).nn.log_softmax(h @ w2 + b2), y)


def _mlp_shapes(tiny: bool) -> tuple[Shapes, tuple[int, ...], tuple[int, ...]]:
    n, i, h, o = (4, 8, 8, 4) if tiny else (128, 784, 256, 10)
    return [(i, h), (h,), (h, h), (h,), (h, o), (o,)], (n, i), (n, o)


def _convolutional(lib: Library, weights: list[Any], x: Any, y: Any) -> Any:
    """Two convolutions of 3x3 with pooling after each, in the order NHWC, and a dense layer."""
    first, second, dense = weights
    module = _module(lib)
    h = x
    for kernel in (first, second):
        layout = module.lax.conv_dimension_numbers(h.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
        h = module.nn.relu(module.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=layout))
        h = lib.np.mean(h.reshape(h.shape[0], h.shape[1] // 2, 2, h.shape[2] // 2, 2, h.shape[3]), axis=(2, 4))
    return _squares(lib, h.reshape(h.shape[0], -1) @ dense, y)


def _convolutional_shapes(tiny: bool) -> tuple[Shapes, tuple[int, ...], tuple[int, ...]]:
    n, size, c, d, o = (2, 8, 2, 2, 4) if tiny else (32, 28, 16, 32, 10)
    return [(3, 3, 1, c), (3, 3, c, d), ((size // 4) ** 2 * d, o)], (n, size, size, 1), (n, o)


def transformer(lib: Library, weights: list[Any], x: Any, y: Any) -> Any:
    """Two blocks of attention with four heads and a layer of four times the width, each after a normalization."""
    heads, np_, nn = 4, lib.np, _module(lib).nn

    def normalized(x: Any) -> Any:
        centred = x - np_.mean(x, axis=-1, keepdims=True)
        return centred / np_.sqrt(np_.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

    def attention(x: Any, qkv: Any, out: Any) -> Any:
        n, t, d = x.shape
        q, k, v = np_.moveaxis((x @ qkv).reshape(n, t, 3, heads, d // heads), 2, 0)
        scores = np_.einsum("nqhd,nkhd->nhqk", q, k) / float(d // heads) ** 0.5
        scores = np_.where(np_.tril(np_.ones((t, t), bool)), scores, -1e9)
        return np_.einsum("nhqk,nkhd->nqhd", nn.softmax(scores, axis=-1), v).reshape(n, t, d) @ out

    for qkv, out, up, down in zip(*[iter(weights)] * 4, strict=True):
        x = x + attention(normalized(x), qkv, out)
        x = x + nn.gelu(normalized(x) @ up) @ down
    return _squares(lib, normalized(x), y)


def _transformer_shapes(tiny: bool) -> tuple[Shapes, tuple[int, ...], tuple[int, ...]]:
    n, t, d = (2, 4, 8) if tiny else (8, 64, 128)
    return [(d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)] * 2, (n, t, d), (n, t, d)


def _recurrent(lib: Library, weights: list[Any], x: Any, y: Any) -> Any:
    """A gated unit over the steps of a sequence."""
    inner, gate, outer = weights
    module = _module(lib)

    def step(state: Any, now: Any) -> tuple[Any, None]:
        both = lib.np.concatenate([state, now], axis=1)
        opened = module.nn.sigmoid(both @ gate)
        return (1 - opened) * state + opened * lib.np.tanh(both @ inner), None

    state, _ = module.lax.scan(step, lib.np.zeros((x.shape[1], inner.shape[1])), x)
    return _squares(lib, state @ outer, y)


def _recurrent_shapes(tiny: bool) -> tuple[Shapes, tuple[int, ...], tuple[int, ...]]:
    t, n, i, h, o = (3, 2, 4, 4, 2) if tiny else (64, 16, 32, 64, 8)
    return [(h + i, h), (h + i, h), (h, o)], (t, n, i), (n, o)


def training_step(network: Network, lib: Library, tiny: bool) -> Call:
    """A call that computes the loss, and the weights a step later."""
    weights, examples, wanted = network.shapes(tiny)

    def step(weights: list[Any], x: Any, y: Any) -> list[Any]:
        loss, gradients = _module(lib).value_and_grad(lambda w: network.loss(lib, w, x, y))(weights)
        return [loss, *(w - 0.1 * g for w, g in zip(weights, gradients, strict=True))]

    f = lib.jit(step)
    ws = [lib.array(sample(*shape) * np.float32(0.05)) for shape in weights]
    x, y = lib.array(sample(*examples)), lib.array(sample(*wanted))
    return lambda: lib.wait(f(ws, x, y)[0])


def _step(network: Network) -> Callable[[Library, bool], Call]:
    return lambda lib, tiny: training_step(network, lib, tiny)


NETWORKS = {
    "MLP": Network(_mlp, _mlp_shapes),
    "convolutional network": Network(_convolutional, _convolutional_shapes),
    "transformer": Network(transformer, _transformer_shapes),
    "recurrent network": Network(_recurrent, _recurrent_shapes),
}
# A step may take 0.7 of JAX's time.
STEPS = [
    Case("steps", name, _step(network), round(1 / 0.7, 2), ("jax", "stagec")) for name, network in NETWORKS.items()
]
