"""Random programs, and trainings, whose results are compared bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, nn

# Of an array with rows, and of a square matrix with as many rows as that has columns, to an array like the first.
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum of all": lambda x, w: x + x.sum() / x.size,
    "mean of rows": lambda x, w: x - x.mean(1, keepdims=True),
    "mean of columns": lambda x, w: x - x.mean(0),
    "variance": lambda x, w: x / (x.var(0) + 1),
    "norm": lambda x, w: x / (1 + snp.sqrt((x * x).sum())),
    "product": lambda x, w: x @ w / 16,
    "product with itself": lambda x, w: x @ (x.T @ x) / x.size,
    "product with a vector": lambda x, w: x * (x @ w[0])[:, None] / 16,
    "attention": lambda x, w: nn.softmax((x @ w) @ x[:64].T / 16, axis=-1) @ x[:64],
    "softmax": lambda x, w: nn.softmax(x, 1) + nn.softmax(x, 0),
    "logsumexp": lambda x, w: x - nn.logsumexp(x, 1, keepdims=True),
    "normalized": lambda x, w: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5),
    "gelu": lambda x, w: nn.gelu(x),
    "silu": lambda x, w: nn.silu(x) + nn.softplus(x),
    "exponentials": lambda x, w: snp.exp(-abs(x)) - snp.expm1(-x * x) * snp.exp2(-abs(x)),
    "logarithms": lambda x, w: snp.log(abs(x) + 0.1) + snp.log1p(x * x),
    "powers": lambda x, w: (abs(x) + 0.1) ** 1.7 - snp.cbrt(x),
    "angles": lambda x, w: snp.sin(3 * x) + snp.cos(x) * snp.tan(x / 4),
    "inverse functions": lambda x, w: snp.arctan2(x, x + 2) + snp.arcsinh(x) + snp.arccos(snp.tanh(x)),
    "error function": lambda x, w: stagec.scipy.special.erf(x) + stagec.scipy.special.gammaln(abs(x) + 1) / 9,
    "rounded": lambda x, w: snp.round(x * 8) / 8 + snp.floor(x) / 3,
    "remainder": lambda x, w: x % 0.7 - snp.fmod(x, 0.3),
    "running": lambda x, w: snp.cumsum(x, 1) / x.shape[1],
    "running rows": lambda x, w: snp.cumsum(x, 0) / x.shape[0],
    "sorted": lambda x, w: snp.sort(x, 1),
    "median": lambda x, w: x - snp.median(x, axis=1, keepdims=True),
    "largest": lambda x, w: x - lax.top_k(x, 3)[0].sum(1, keepdims=True),
    "scanned": lambda x, w: lax.scan(lambda c, r: (c * 0.9 + r, c), x[0], x)[1] / 9,
    "recurrent": lambda x, w: lax.scan(lambda c, r: (snp.tanh(c @ w / 8 + r), c), x[0], x[:40])[1][0] + x,
    "repeated": lambda x, w: lax.fori_loop(0, 5, lambda i, x: x - (x @ w) / 99 + x.mean(), x),
    "until": lambda x, w: lax.while_loop(lambda x: (x * x).mean() > 0.3, lambda x: x * 0.9 - x.mean() / 7, x),
    "either": lambda x, w: lax.cond(x.sum() > 0, lambda x: snp.exp(-x * x), lambda x: x / 3, x),
    "windows": lambda x, w: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 1), "SAME") / 3,
    "convolved": lambda x, w: lax.conv(x[None, None], w[None, None, :3, :3], (1, 1), "SAME")[0, 0] / 3,
    "gradient": lambda x, w: stagec.grad(lambda x: (snp.tanh(x @ w) ** 2).sum())(x),
    "slope of weights": lambda x, w: x @ stagec.grad(lambda w: snp.sin(x @ w).sum())(w) / x.shape[0],
    "scattered": lambda x, w: x.at[snp.arange(x.shape[0]) % 7].add(x) / 9,
    "looked up": lambda x, w: x + w[snp.argmax(x, axis=1)],
    "transform": lambda x, w: snp.fft.irfft(snp.fft.rfft(x, axis=1) * 0.5, x.shape[1], 1),
    "drawn": lambda x, w: x + stagec.random.normal(stagec.random.key(3), x.shape, x.dtype) / 9,
    "solved": lambda x, w: x @ snp.linalg.inv(w @ w.T / 8 + 8 * snp.eye(w.shape[0], dtype=w.dtype)),
    "factored": lambda x, w: x @ snp.linalg.cholesky(w @ w.T / 8 + snp.eye(w.shape[0], dtype=w.dtype)) / 9,
    "complex numbers": lambda x, w: abs((x + 1j * x[::-1]) * (1 + 0.5j)) - snp.exp(1j * x).imag,
    "halves": lambda x, w: (x.astype(snp.float16) @ w.astype(snp.float16)).astype(x.dtype) / 16,
    "bfloat16": lambda x, w: nn.gelu(x.astype(snp.bfloat16) @ w.astype(snp.bfloat16)).astype(x.dtype) / 16,
    "integers": lambda x, w: x + ((x * 64).astype(snp.int8).astype(snp.int32) @ (w * 9).astype(snp.int32)) / 999.0,
}
_SHAPES = ((64, 64), (300, 96), (1000, 32), (257, 61), (40, 128), (4096, 16))


class Program(NamedTuple):
    """A function, and arguments for it.

    Attributes:
      operations: the names of those that it consists of.
      doubles: whether they are float64.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    operations: tuple[str, ...] = ()
    doubles: bool = False

    @property
    def shown(self) -> str:
        """The operations in words."""
        return ", ".join(self.operations)


def program(seed: int) -> Program:
    """A random program; every fifth is of float64."""
    rng = np.random.default_rng(seed)
    rows, columns = _SHAPES[int(rng.integers(len(_SHAPES)))]
    operations = tuple([str(n) for n in rng.choice(sorted(OPERATIONS), int(rng.integers(1, 5)))])
    doubles = seed % 5 == 4
    arrays = [rng.standard_normal(shape) for shape in ((rows, columns), (columns, columns))]

    def function(x: Any, w: Any) -> Any:
        for name in operations:
            x = OPERATIONS[name](x, w)
        return x, x.sum(), x.max(0)

    return Program(
        function, tuple([a.astype(np.float64 if doubles else np.float32) for a in arrays]), operations, doubles
    )


# Trainings.


def _trained(loss: Callable[..., Any], steps: int) -> Callable[..., Any]:
    """A function of weights and examples: the weights after some steps of Adam, and the loss of each step."""

    def train(weights: Any, *examples: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            weights, first, second, losses = state
            value, slopes = stagec.value_and_grad(loss)(weights, *examples)
            first = [0.9 * m + 0.1 * d for m, d in zip(first, slopes)]
            second = [0.99 * v + 0.01 * d * d for v, d in zip(second, slopes)]
            weights = [w - 0.01 * m / (snp.sqrt(v) + 1e-6) for w, m, v in zip(weights, first, second)]
            return weights, first, second, losses.at[i].set(value)

        zeros = [snp.zeros_like(w) for w in weights]
        weights, _, _, losses = lax.fori_loop(0, steps, step, (list(weights), zeros, zeros, snp.zeros(steps)))
        return weights, losses

    return train


def _arrays(seed: int, *shapes: Sequence[int]) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]


def _entropy(scores: Any, labels: Any) -> Any:
    return -(nn.log_softmax(scores) * nn.one_hot(labels, scores.shape[-1])).sum(-1).mean()


def _perceptron(weights: Any, x: Any, labels: Any) -> Any:
    a, b, c, d = weights
    return _entropy(nn.gelu(x @ a + b) @ c + d, labels)


def _convolutions(weights: Any, x: Any, labels: Any) -> Any:
    a, b, c = weights
    x = nn.relu(lax.conv(x, a, (1, 1), "SAME"))
    x = lax.reduce_window(x, -snp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = nn.relu(lax.conv(x, b, (2, 2), "SAME"))
    return _entropy(x.reshape(x.shape[0], -1) @ c, labels)


def _attention(weights: Any, x: Any, labels: Any) -> Any:
    table, q, k, v, o, up, down, out = weights
    x = table[x]
    scores = nn.softmax((x @ q) @ (x @ k).swapaxes(-1, -2) / 4, axis=-1)
    x = x + scores @ (x @ v) @ o
    x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return _entropy((x + nn.silu(x @ up) @ down) @ out, labels)


def _recurrent(weights: Any, x: Any, y: Any) -> Any:
    a, b, c = weights

    def step(state: Any, row: Any) -> Any:
        gate = nn.sigmoid(row @ a + state @ b)
        state = gate * state + (1 - gate) * snp.tanh(state @ b + row @ a)
        return state, state @ c

    found = lax.scan(step, snp.zeros((x.shape[1], b.shape[0])), x)[1]
    return ((found[..., 0] - y) ** 2).mean()


def trainings(steps: int) -> dict[str, Program]:
    """Four networks that are trained for some steps: with layers, convolutions, attention, and a recurrence."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 64).astype(np.int32)
    tokens = rng.integers(0, 32, (8, 24)).astype(np.int32)
    (x,), (images,), (series,) = _arrays(2, (64, 100)), _arrays(3, (16, 1, 12, 12)), _arrays(4, (30, 8, 6))
    return {
        "perceptron": Program(_trained(_perceptron, steps), (_arrays(5, (100, 64), (64,), (64, 10), (10,)), x, labels)),
        "convolutions": Program(
            _trained(_convolutions, steps),
            (_arrays(6, (8, 1, 3, 3), (12, 8, 3, 3), (108, 10)), images, labels[:16]),
        ),
        "attention": Program(
            _trained(_attention, steps),
            (
                _arrays(7, (32, 32), *[(32, 16)] * 3, (16, 32), (32, 64), (64, 32), (32, 32)),
                *(tokens, np.roll(tokens, 1, 1)),
            ),
        ),
        "recurrence": Program(
            _trained(_recurrent, steps), (_arrays(8, (6, 24), (24, 24), (24, 1)), series, np.sin(series.sum(-1)))
        ),
    }
