"""`stagec.nn`."""

from __future__ import annotations

import numpy as np

from function_rows.drawing import Call, Draw, call
from function_rows.row import Row


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _wide(function):
    """In float64, since the formulas here are the plain ones."""
    return lambda x, *args, **kwargs: function(x.astype(np.float64), *args, **kwargs)


def _softplus(x):
    return np.logaddexp(x, 0)


def _gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _selu(x):
    return 1.0507009873554804934193349852946 * np.where(x > 0, x, 1.6732632423543772848170429916717 * np.expm1(x))


def _celu(x):
    return np.maximum(x, 0) + np.minimum(np.expm1(x), 0)


PLAIN = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "swish": lambda x: x * _sigmoid(x),
    "softplus": _softplus,
    "log_sigmoid": lambda x: -_softplus(-x),
    "soft_sign": lambda x: x / (1 + abs(x)),
    "tanh": np.tanh,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "celu": _celu,
    "selu": _selu,
    "gelu": _gelu,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip(x + 1, 0, 2) / 2,
    "identity": lambda x: x,
}


def _floats(low: float | None = -6, high: float = 6):
    def draw(s: Draw) -> Call:
        return call(s.array(s.shape(), s.kind("f"), low, high))

    return draw


def _axis(s: Draw) -> Call:
    x = s.array(s.shape(1, 4, False), s.kind("f"), -4, 4)
    return call(x, s.axis(x.ndim, False, False))


def _axes(s: Draw) -> Call:
    x = s.array(s.shape(1, 4, False), s.kind("f"), -4, 4)
    options = {"where": s.array(x.shape, "bool") | (np.arange(x.shape[-1]) == 0)} if s.chance(0.3) else {}
    return call(x, axis=s.axis(x.ndim, True), keepdims=s.chance(0.5), **options)


def _logsumexp(x, axis, keepdims, where=True):
    with np.errstate(all="ignore"):
        return np.log(np.sum(np.exp(x.astype(np.float64)), axis=axis, keepdims=keepdims, where=where))


def _logmeanexp(x, axis, keepdims, where=True):
    with np.errstate(all="ignore"):
        return np.log(np.mean(np.exp(x.astype(np.float64)), axis=axis, keepdims=keepdims, where=where))


def _softmax(x, axis):
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis=axis, keepdims=True)


def _glu(s: Draw) -> Call:
    shape = (*s.shape(0, 2), 2 * s.whole(1, 2))
    return call(s.array(shape, s.kind("f"), -4, 4))


def _gated(x, axis=-1):
    a, b = np.split(x.astype(np.float64), 2, axis)
    return a * _sigmoid(b)


def _standardize(s: Draw) -> Call:
    return call(s.array((*s.shape(0, 2), s.whole(3, 5)), s.kind("f"), -2, 2))


def _standard(x):
    x = x.astype(np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _one_hot(s: Draw) -> Call:
    return call(s.array(s.shape(0, 3), s.kind("iu"), 0, 4), s.whole(1, 5), axis=s.one_of(-1, 0))


def _hot(x, n, axis):
    return np.moveaxis((x[..., None] == np.arange(n)).astype(np.float32), -1, axis)


def _attention(s: Draw) -> Call:
    b, t, k, n, h = (s.whole(1, 3) for _ in range(5))
    kind = s.kind("f")
    shapes = ((b, t, n, h), (b, k, n, h), (b, k, n, h))
    return call(*(s.array(shape, kind, -2, 2) for shape in shapes), scale=0.5)


def _attended(q, k, v, scale):
    logits = scale * np.einsum("btnh,bsnh->bnts", *(a.astype(np.float64) for a in (q, k)))
    return np.einsum("bnts,bsnh->btnh", _softmax(logits, -1), v)


def _log1mexp(x):
    return np.log1p(-np.exp(-x))


ROWS = [
    *(Row(f"nn.{name}", _floats(), _wide(f), loose=4, scaled=True) for name, f in PLAIN.items()),
    Row("nn.log1mexp", _floats(0.3, 5), _wide(_log1mexp), loose=8),
    Row("nn.glu", _glu, _gated, loose=4),
    Row("nn.softmax", _axis, _softmax, loose=4),
    Row("nn.log_softmax", _axis, lambda x, axis: np.log(_softmax(x, axis)), loose=4),
    Row("nn.logsumexp", _axes, _logsumexp, loose=4),
    Row("nn.logmeanexp", _axes, _logmeanexp, loose=4),
    Row("nn.standardize", _standardize, _standard, loose=16),
    Row("nn.one_hot", _one_hot, _hot),
    Row(
        "nn.dot_product_attention",
        _attention,
        _attended,
        loose=1e4,
        note="weights are float32, as in JAX",
    ),
]
