"""Elementwise programs and reductions at three sizes: what a call costs, what a kernel costs, and what memory costs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tests.benchmarks.case import Call, Case, sample
from tests.benchmarks.libraries import Library

# Rows and columns of each number of elements.
_SHAPES = {"1e3": (20, 50), "1e5": (250, 400), "1e6": (1000, 1000)}


def _nn(lib: Library) -> Any:
    return importlib.import_module(lib.name).nn


def _cross_entropy(lib: Library, x: Any) -> Any:
    return -lib.np.mean(_nn(lib).log_softmax(x, axis=-1)[:, 0])


def _gradient(lib: Library, x: Any) -> Any:
    return importlib.import_module(lib.name).grad(lambda x: _cross_entropy(lib, x))(x)


def _layer_norm(lib: Library, x: Any) -> Any:
    centred = x - lib.np.mean(x, axis=-1, keepdims=True)
    return centred / lib.np.sqrt(lib.np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


_PROGRAMS: dict[str, Callable[[Library, Any], Any]] = {
    "x * 2 + 1": lambda lib, x: x * 2.0 + 1.0,
    "gelu": lambda lib, x: _nn(lib).gelu(x),
    "sin(x) / (1 + x * x)": lambda lib, x: lib.np.sin(x) / (1.0 + x * x),
    "where": lambda lib, x: lib.np.where(x > 0, x, lib.np.exp(x) - 1.0),
    "sum": lambda lib, x: lib.np.sum(x),
    "sum of rows": lambda lib, x: lib.np.sum(x, axis=1),
    "sum of columns": lambda lib, x: lib.np.sum(x, axis=0),
    "largest of rows": lambda lib, x: lib.np.max(x, axis=1),
    "places of the largest": lambda lib, x: lib.np.argmax(x, axis=1),
    "variance": lambda lib, x: lib.np.var(x, axis=1),
    "softmax": lambda lib, x: _nn(lib).softmax(x, axis=-1),
    "log-sum-exp": lambda lib, x: _nn(lib).logsumexp(x, axis=-1),
    "layer normalization": _layer_norm,
    "cross-entropy": _cross_entropy,
    "gradient of cross-entropy": _gradient,
    "turned": lambda lib, x: lib.np.exp(x.T) + 1.0,
    "halves put together": lambda lib, x: lib.np.concatenate([x[:, ::2], -x[:, 1::2]], axis=1),
    "running sum of rows": lambda lib, x: lib.np.cumsum(x, axis=1),
}


def _setup(program: Callable[[Library, Any], Any], shape: tuple[int, int]) -> Callable[[Library, bool], Call]:
    def setup(lib: Library, tiny: bool) -> Call:
        f = lib.jit(lambda x: program(lib, x))
        x = lib.array(sample(*((4, 6) if tiny else shape)))
        return lambda: lib.wait(f(x))

    return setup


SIZES = [
    Case("sizes", f"{name} {size}", _setup(program, shape), 1.0, ("jax", "stagec"))
    for size, shape in _SHAPES.items()
    for name, program in _PROGRAMS.items()
]
