"""Random programs of sums and products in all surroundings: of moved, joined, computed arrays, in loops and branches.

A sum has the same order in each of them, so they have the bits that their operations have outside `jit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from tests.reproducible.programs import Program

_SHAPES = (
    *((7, 5, 9), (16, 33), (3, 4, 5, 6), (64, 64), (128, 3), (2, 300), (40, 17, 3)),
    *((1000,), (50000,), (8, 8, 8, 8), (5, 1, 70), (33, 2, 2, 40)),
)
_DTYPES = (*[np.float32] * 4, np.float64, np.float16, np.complex64)
# An array, random axes, one of them, and a random generator.
Step = Callable[[Any, tuple[int, ...], int, np.random.Generator], Any]


def _weights(x: Any, r: np.random.Generator, columns: int = 0) -> Any:
    n = x.shape[-1]
    return snp.asarray((r.standard_normal((n, columns or n)) / np.sqrt(n)).astype(x.dtype))


def _rows(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])[:24, :80]


def _in_loop(x: Any, r: np.random.Generator) -> Any:
    rows = _rows(x)
    w = _weights(rows, r)
    body = (lambda c: c @ w, lambda c: c @ w.T, lambda c: (w @ c.T).T, lambda c: c @ (c.T @ rows) * 0.01)
    product = body[int(r.integers(len(body)))]
    return lax.fori_loop(0, 3, lambda i, c: product(c) * 0.5 + rows, rows)


def _scanned(x: Any, r: np.random.Generator) -> Any:
    rows = _rows(x)
    w = _weights(rows, r)
    return lax.scan(lambda c, row: (w @ c * 0.5 + row, (c * row).sum()), rows[0], rows)[1]


# Each makes the next array.
STEPS: tuple[Step, ...] = (
    lambda x, axes, axis, r: x - x.mean(axes, keepdims=True),
    lambda x, axes, axis, r: snp.transpose(x, [int(a) for a in r.permutation(x.ndim)]),
    lambda x, axes, axis, r: x[::-1] * 0.5 + x,
    lambda x, axes, axis, r: snp.concatenate([x, x * 0.25], axis) if x.size < 60000 else x * 0.5,
    lambda x, axes, axis, r: x * (0.5 + 0.1j) if x.dtype.kind == "c" else snp.sin(x),
    lambda x, axes, axis, r: x / (1 + snp.sqrt((abs(x) ** 2).sum(axes, keepdims=True))).astype(x.dtype),
    lambda x, axes, axis, r: snp.where(abs(x) > 0.5, x, x * 0.1),
    lambda x, axes, axis, r: x.reshape(x.shape[0], -1) if axis else x.reshape(-1),
    lambda x, axes, axis, r: lax.fori_loop(0, 3, lambda i, y: y - y.mean(axes, keepdims=True) * 0.3, x),
    lambda x, axes, axis, r: x[..., ::2] if x.shape[-1] > 3 else x,
    lambda x, axes, axis, r: lax.cond(x.sum().real > 0, lambda y: y * 0.5, lambda y: y + 1, x),
    lambda x, axes, axis, r: snp.pad(x, [(1, 1)] + [(0, 0)] * (x.ndim - 1)),
    lambda x, axes, axis, r: x[snp.arange(x.shape[0]) % max(1, x.shape[0] // 2)],
    lambda x, axes, axis, r: x @ _weights(x, r, int(r.integers(1, 40))) if x.shape[-1] < 2000 else x,
)
# Each makes a further result.
RESULTS: tuple[Step, ...] = (
    lambda x, axes, axis, r: x.sum(axes),
    lambda x, axes, axis, r: (x * x).sum(axes),
    lambda x, axes, axis, r: x.var(axes),
    lambda x, axes, axis, r: x.sum(axis)[..., :2] if x.ndim > 1 else x[:2],
    lambda x, axes, axis, r: x @ x.reshape(-1)[: x.shape[-1]],
    lambda x, axes, axis, r: snp.einsum("ij,kj->ik", _rows(x), _rows(x)),
    lambda x, axes, axis, r: _rows(x).T @ _rows(x),
    lambda x, axes, axis, r: snp.vdot(x, x * 0.3),
    lambda x, axes, axis, r: snp.einsum("i...,i...->...", x, x * 0.5),
    lambda x, axes, axis, r: snp.cumsum(x, axis),
    lambda x, axes, axis, r: snp.cumsum(x[::-1], 0)[::-1][:3],
    lambda x, axes, axis, r: lax.reduce_window(_rows(x), x.dtype.type(0), lax.add, (1, 3), (1, 1), "SAME"),
    lambda x, axes, axis, r: _in_loop(x, r),
    lambda x, axes, axis, r: _scanned(x, r),
    lambda x, axes, axis, r: lax.scan(lambda c, row: (c * 0.5 + row, (row * 0.7).sum()), x[0], x)[1],
    lambda x, axes, axis, r: lax.map(lambda row: (row * 2).sum() + row.mean(), x),
    lambda x, axes, axis, r: stagec.vmap(lambda row: (row * row).sum() + row.mean())(x),
    lambda x, axes, axis, r: lax.cond(x.sum().real > 0, lambda y: (y * y).sum(axes), lambda y: y.mean(axes), x),
    lambda x, axes, axis, r: nn.softmax(x.real, axis) - nn.logsumexp(x.real, axes, keepdims=True),
    lambda x, axes, axis, r: stagec.grad(lambda y: (snp.tanh(y) * y.mean(axes, keepdims=True)).sum())(x.real),
)


def sums(seed: int) -> Program:
    """A random program; arrays have one to four axes."""
    rng = np.random.default_rng(seed)
    shape, dtype = _SHAPES[int(rng.integers(len(_SHAPES)))], _DTYPES[int(rng.integers(len(_DTYPES)))]
    x: Any = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    steps = rng.integers(0, len(STEPS) + len(RESULTS), int(rng.integers(2, 7)))
    seeds = rng.integers(0, 1 << 30, len(steps))

    def function(x: Any) -> Any:
        found = []
        for step, seed in zip(steps, seeds):
            r = np.random.default_rng(seed)
            axes = tuple(sorted({int(a) for a in r.integers(0, x.ndim, int(r.integers(1, x.ndim + 1)))}))
            if step < len(STEPS):
                x = STEPS[step](x, axes, axes[-1], r)
            else:
                found.append(RESULTS[step - len(STEPS)](x, axes, axes[-1], r))
        return *found, x, x.sum()

    names = tuple([f"step {n}" if n < len(STEPS) else f"result {n - len(STEPS)}" for n in steps])
    return Program(function, (x.astype(dtype),), names, dtype == np.float64)
