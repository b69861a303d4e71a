"""Ten small models for `browser.py`, each as a function for stagec and as an ONNX graph, with the same weights."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec import lax, nn

Array = Any
_RNG = np.random.default_rng(0)


def _weights(*shape: int) -> Array:
    """Random weights, by which sums keep their size."""
    return (_RNG.normal(size=shape) / np.sqrt(shape[0] if len(shape) < 3 else np.prod(shape[1:]))).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model in both forms.

    Attributes:
      function: of float32 arrays.
      inputs: their shapes, by name.
      outputs: the types of the results, by name, as ONNX writes them.
      graph: the nodes, in ONNX's text format.
      weights: what the nodes read besides the inputs.
    """

    function: Callable[..., Any]
    inputs: dict[str, tuple[int, ...]]
    outputs: dict[str, str]
    graph: str
    weights: dict[str, Array]

    def text(self, name: str) -> str:
        """The ONNX graph without weights."""
        given = ", ".join([f"float[{','.join(map(str, shape))}] {n}" for n, shape in self.inputs.items()])
        made = ", ".join([f"{type_} {n}" for n, type_ in self.outputs.items()])
        return f'<ir_version: 10, opset_import: ["" : 20]>\n{name} ({given}) => ({made}) {{\n{self.graph}\n}}'


def _layers(*sizes: int) -> dict[str, Array]:
    found = {}
    for i, (n, m) in enumerate(itertools.pairwise(sizes)):
        found |= {f"w{i}": _weights(n, m), f"b{i}": _weights(m)}
    return found


def _mlp() -> Model:
    w = _layers(784, 128, 64, 10)

    def mlp(x: Array) -> Array:
        h = nn.relu(x @ w["w0"] + w["b0"])
        return nn.softmax(nn.relu(h @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"])

    graph = "a = Gemm(x, w0, b0) c = Relu(a) d = Gemm(c, w1, b1) e = Relu(d) f = Gemm(e, w2, b2) y = Softmax(f)"
    return Model(mlp, {"x": (1, 784)}, {"y": "float[1,10]"}, graph, w)


def _digits() -> Model:
    w = _layers(64, 48, 10)

    def digits(image: Array) -> Array:
        small = image.reshape(8, 4, 8, 4).mean((1, 3)).reshape(1, 64)
        scores = nn.softmax(nn.relu(small @ w["w0"] + w["b0"]) @ w["w1"] + w["b1"])
        return scores, snp.argmax(scores, axis=1)

    graph = """a = AveragePool<kernel_shape=[4,4], strides=[4,4]>(image) c = Flatten(a) d = Gemm(c, w0, b0) e = Relu(d)
        f = Gemm(e, w1, b1) scores = Softmax(f) digit = ArgMax<axis=1, keepdims=0>(scores)"""
    return Model(digits, {"image": (1, 1, 32, 32)}, {"scores": "float[1,10]", "digit": "int64[1]"}, graph, w)


def _cnn() -> Model:
    w = {"k0": _weights(8, 1, 3, 3), "k1": _weights(16, 8, 3, 3), **_layers(400, 10)}

    def pooled(x: Array) -> Array:
        return lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def cnn(x: Array) -> Array:
        x = pooled(nn.relu(lax.conv_general_dilated(x, w["k0"], (1, 1), "VALID")))
        x = pooled(nn.relu(lax.conv_general_dilated(x, w["k1"], (1, 1), "VALID")))
        return x.reshape(1, 400) @ w["w0"] + w["b0"]

    pool = "MaxPool<kernel_shape=[2,2], strides=[2,2]>"
    graph = f"""a = Conv(x, k0) c = Relu(a) d = {pool}(c) e = Conv(d, k1) f = Relu(e) g = {pool}(f) h = Flatten(g)
        y = Gemm(h, w0, b0)"""
    return Model(cnn, {"x": (1, 1, 28, 28)}, {"y": "float[1,10]"}, graph, w)


def _attention() -> Model:
    w = {name: _weights(64, 32) for name in "qkv"} | {"scale": np.float32(32**-0.5)}

    def attention(x: Array) -> Array:
        q, k, v = (x @ w[name] for name in "qkv")
        return nn.softmax(q @ k.T * w["scale"]) @ v

    graph = """a = MatMul(x, q) c = MatMul(x, k) d = MatMul(x, v) e = Transpose<perm=[1,0]>(c) f = MatMul(a, e)
        g = Mul(f, scale) h = Softmax(g) y = MatMul(h, d)"""
    return Model(attention, {"x": (32, 64)}, {"y": "float[32,32]"}, graph, w)


def _normalized(x: Array, scale: Array, bias: Array) -> Array:
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale + bias


def _norm() -> Model:
    w = {"scale": 1 + _weights(128), "bias": _weights(128), **_layers(128, 128)}

    def norm(x: Array) -> Array:
        return x + snp.tanh(_normalized(x, w["scale"], w["bias"]) @ w["w0"] + w["b0"])

    graph = "a = LayerNormalization(x, scale, bias) c = Gemm(a, w0, b0) d = Tanh(c) y = Add(x, d)"
    return Model(norm, {"x": (64, 128)}, {"y": "float[64,128]"}, graph, w)


def _gru() -> Model:
    """The order of ONNX: the update gate z, the reset gate r, and what is new."""
    w = {"w": _weights(32, 192), "r": _weights(64, 192), "b": _weights(192)}
    turned = {"wt": w["w"].T[None], "rt": w["r"].T[None], "bt": np.concatenate([w["b"], 0 * w["b"]])[None]}

    def gru(x: Array, h: Array) -> Array:
        given, kept = x @ w["w"] + w["b"], h @ w["r"]
        z, r = (nn.sigmoid(given[:, i : i + 64] + kept[:, i : i + 64]) for i in (0, 64))
        new = snp.tanh(given[:, 128:] + r * kept[:, 128:])
        return z * h + (1 - z) * new

    shapes = {"s1": np.array([1, 1, 32]), "s2": np.array([1, 1, 64]), "s3": np.array([1, 64])}
    graph = """a = Reshape(x, s1) c = Reshape(h, s2)
        e, d = GRU<hidden_size=64, linear_before_reset=1>(a, wt, rt, bt, , c) y = Reshape(d, s3)"""
    return Model(gru, {"x": (1, 32), "h": (1, 64)}, {"y": "float[1,64]"}, graph, turned | shapes)


def _filter() -> Model:
    taps = _weights(1, 1, 31)

    def filtered(signal: Array) -> Array:
        return snp.abs(lax.conv_general_dilated(signal, taps, (1,), [(15, 15)]))

    graph = "a = Conv<pads=[15,15]>(signal, taps) y = Abs(a)"
    return Model(filtered, {"signal": (1, 1, 4096)}, {"y": "float[1,1,4096]"}, graph, {"taps": taps})


def _kmeans() -> Model:
    def kmeans(points: Array, centers: Array) -> Array:
        distances = (centers * centers).sum(1) - 2 * (points @ centers.T)
        nearest = nn.one_hot(snp.argmin(distances, axis=1), 8)
        return (nearest.T @ points) / nearest.sum(0)[:, None]

    graph = """a = Mul(centers, centers) c = ReduceSum<keepdims=0>(a, one) d = Transpose<perm=[1,0]>(centers)
        e = MatMul(points, d) f = Mul(e, two) g = Sub(c, f) h = ArgMin<axis=1, keepdims=0>(g)
        i = OneHot(h, eight, values) j = Transpose<perm=[1,0]>(i) k = MatMul(j, points)
        l = ReduceSum<keepdims=1>(j, one) y = Div(k, l)"""
    constants = {"one": np.array([1]), "two": np.float32(2), "eight": np.array(8), "values": np.float32([0, 1])}
    return Model(kmeans, {"points": (512, 16), "centers": (8, 16)}, {"y": "float[8,16]"}, graph, constants)


def _rational() -> Model:
    top, bottom = [0.5, -1.25, 0.75, 2.0], [1.0, 0.3, 0.25]

    def rational(x: Array) -> Array:
        return snp.polyval(snp.asarray(top, "float32"), x) / snp.polyval(snp.asarray(bottom, "float32"), x * x)

    def horner(into: str, x: str, names: Sequence[str]) -> str:
        found, last = "", names[0]
        for i, name in enumerate(names[1:]):
            made = into if i == len(names) - 2 else f"{into}{i}"
            found += f"{into}m{i} = Mul({last}, {x}) {made} = Add({into}m{i}, {name}) "
            last = made
        return found

    constants = {f"t{i}": np.float32(c) for i, c in enumerate(top)} | {
        f"c{i}": np.float32(c) for i, c in enumerate(bottom)
    }
    numerator, denominator = horner("n", "x", ["t0", "t1", "t2", "t3"]), horner("d", "q", ["c0", "c1", "c2"])
    graph = f"q = Mul(x, x) {numerator} {denominator} y = Div(n, d)"
    return Model(rational, {"x": (4096,)}, {"y": "float[4096]"}, graph, constants)


def _transformer() -> Model:
    w = {"s0": 1 + _weights(64), "o0": _weights(64), "s1": 1 + _weights(64), "o1": _weights(64), **_layers(64, 256, 64)}
    w |= {name: _weights(64, 64) for name in "qkvo"}

    def transformer(x: Array) -> Array:
        a = _normalized(x, w["s0"], w["o0"])
        q, k, v = ((a @ w[name]).reshape(16, 4, 16).transpose(1, 0, 2) for name in "qkv")
        seen = nn.softmax(q @ k.transpose(0, 2, 1) * 0.25) @ v
        x = x + seen.transpose(1, 0, 2).reshape(16, 64) @ w["o"]
        h = nn.gelu(_normalized(x, w["s1"], w["o1"]) @ w["w0"] + w["b0"], approximate=False)
        return x + h @ w["w1"] + w["b1"]

    heads = "".join(
        f"{n}0 = MatMul(a, {n}) {n}1 = Reshape({n}0, heads) {n}2 = Transpose<perm=[{perm}]>({n}1) "
        for n, perm in (("q", "1,0,2"), ("k", "1,2,0"), ("v", "1,0,2"))
    )
    graph = f"""a = LayerNormalization(x, s0, o0) {heads} b = MatMul(q2, k2) c = Mul(b, quarter) d = Softmax(c)
        e = MatMul(d, v2) f = Transpose<perm=[1,0,2]>(e) g = Reshape(f, rows) h = MatMul(g, o) i = Add(x, h)
        j = LayerNormalization(i, s1, o1) l = Gemm(j, w0, b0) m = Gelu(l) p = Gemm(m, w1, b1) y = Add(i, p)"""
    constants = {"heads": np.array([16, 4, 16]), "rows": np.array([16, 64]), "quarter": np.float32(0.25)}
    return Model(transformer, {"x": (16, 64)}, {"y": "float[16,64]"}, graph, w | constants)


@functools.cache
def models() -> dict[str, Model]:
    """The models by their names in tables."""
    return {
        "MLP, 784-128-64-10": _mlp(),
        "digits, 32x32 pixels": _digits(),
        "CNN, 28x28 pixels": _cnn(),
        "attention head, 32x64": _attention(),
        "layer norm and dense, 64x128": _norm(),
        "GRU cell, 32 to 64": _gru(),
        "filter, 31 taps on 4096": _filter(),
        "k-means step, 512x16": _kmeans(),
        "rational function of 4096": _rational(),
        "transformer block, 16x64": _transformer(),
    }
