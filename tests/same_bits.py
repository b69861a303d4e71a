"""Prints hashes of the results of random programs and of a training.

`python tests/same_bits.py FIRST COUNT STEPS QUEUE`: the first seed, how many, the steps of the training, and the queue
that runs the programs, or auto. The number of threads (`STAGEC_NUM_THREADS`) and the queue that runs a program must not
change a bit.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.compiler import build

OPERATIONS = {
    "sum of all": lambda x, w: x + x.sum() / x.size,
    "mean of rows": lambda x, w: x - x.mean(1, keepdims=True),
    "mean of columns": lambda x, w: x - x.mean(0),
    "variance": lambda x, w: x / (x.var(0) + 1),
    "norm": lambda x, w: x / (1 + snp.sqrt((x * x).sum())),
    "product": lambda x, w: x @ w / 16,
    "product with itself": lambda x, w: x @ (x.T @ x) / x.size,
    "softmax": lambda x, w: nn.softmax(x, 1) + nn.softmax(x, 0),
    "logsumexp": lambda x, w: x - nn.logsumexp(x, 1, keepdims=True),
    "gelu": lambda x, w: nn.gelu(x),
    "running": lambda x, w: snp.cumsum(x, 1) / x.shape[1],
    "running rows": lambda x, w: snp.cumsum(x, 0) / x.shape[0],
    "sorted": lambda x, w: snp.sort(x, 1),
    "scanned": lambda x, w: lax.scan(lambda c, r: (c * 0.9 + r, c), x[0], x)[1],
    "windows": lambda x, w: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 1), "SAME") / 3,
    "convolved": lambda x, w: lax.conv(x[None, None], w[None, None, :3, :3], (1, 1), "SAME")[0, 0] / 3,
    "gradient": lambda x, w: stagec.grad(lambda x: (snp.tanh(x @ w) ** 2).sum())(x),
    "slope of weights": lambda x, w: x @ stagec.grad(lambda w: snp.sin(x @ w).sum())(w) / x.shape[0],
    "scattered": lambda x, w: x.at[snp.arange(x.shape[0]) % 7].add(x) / 9,
    "transform": lambda x, w: snp.fft.irfft(snp.fft.rfft(x, axis=1) * 0.5, axis=1),
    "drawn": lambda x, w: x + stagec.random.normal(stagec.random.key(3), x.shape) / 9,
}


def results(seed: int) -> list[np.ndarray[Any, Any]]:
    """Those of a random program on arrays that are large enough for several threads."""
    rng = np.random.default_rng(seed)
    rows, columns = [(64, 64), (300, 96), (1000, 32), (257, 128), (4096, 16)][int(rng.integers(5))]
    steps = [str(n) for n in rng.choice(sorted(OPERATIONS), int(rng.integers(1, 5)))]
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    w = rng.standard_normal((columns, columns)).astype(np.float32)

    @stagec.jit
    def program(x: Any, w: Any) -> Any:
        for name in steps:
            x = OPERATIONS[name](x, w)
        return x, x.sum(), x.max(0)

    return [np.asarray(v) for v in program(x, w)]


def trained(steps: int) -> list[np.ndarray[Any, Any]]:
    """The weights of a network after so many steps."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 32)).astype(np.float32)
    y = np.sin(x.sum(1))
    weights = [rng.standard_normal(s).astype(np.float32) / 6 for s in ((32, 64), (64, 1))]

    def loss(weights: Any) -> Any:
        return ((snp.tanh(x @ weights[0]) @ weights[1])[:, 0] - y).__pow__(2).mean()

    @stagec.jit
    def step(weights: Any) -> Any:
        return [w - 0.1 * d for w, d in zip(weights, stagec.grad(loss)(weights))]

    for _ in range(steps):
        weights = step(weights)
    return [np.asarray(w) for w in weights]


def main() -> None:
    first, count, steps, queue = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if queue != "auto":
        build.choose_driver = lambda graph, target: queue
    for seed in range(first, first + count):
        digest = hashlib.sha256(b"".join(r.tobytes() for r in results(seed))).hexdigest()
        print(seed, digest)
    print("trained", hashlib.sha256(b"".join(r.tobytes() for r in trained(steps))).hexdigest())


if __name__ == "__main__":
    main()
