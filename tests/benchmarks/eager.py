"""Operations outside `jit`: each runs when it is written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.libraries import Library

Function = Callable[[Library, Any], Any]


def at_set(lib: Library, x: Any) -> Any:
    if lib.name != "numpy":
        return x.at[1].set(0.0)
    y = x.copy()
    y[1] = 0.0
    return y


@functools.cache
def _positions(lib: Library) -> Any:
    return lib.array(np.array([3, 1, 4, 1, 5], np.int32))


def at_add(lib: Library, x: Any) -> Any:
    if lib.name != "numpy":
        return x.at[_positions(lib)].add(1.0)
    y = x.copy()
    np.add.at(y, _positions(lib), 1.0)
    return y


# Of ten floats: what an operation costs besides its work, which is next to nothing.
OF_TEN: dict[str, Function] = {
    "x + x": lambda lib, x: x + x,
    "x + 1": lambda lib, x: x + 1,
    "x - 1.5": lambda lib, x: x - 1.5,
    "x * 2.0": lambda lib, x: x * 2.0,
    "x / 2": lambda lib, x: x / 2,
    "2 / x": lambda lib, x: 2 / x,
    "x // 2": lambda lib, x: x // 2,
    "x % 2": lambda lib, x: x % 2,
    "x ** 2": lambda lib, x: x**2,
    "x ** 0.5": lambda lib, x: abs(x) ** 0.5,
    "-x": lambda lib, x: -x,
    "x > 0": lambda lib, x: x > 0,
    "x == x": lambda lib, x: x == x,
    "abs(x)": lambda lib, x: abs(x),
    "sqrt": lambda lib, x: lib.np.sqrt(x),
    "exp": lambda lib, x: lib.np.exp(x),
    "log": lambda lib, x: lib.np.log(x),
    "sin": lambda lib, x: lib.np.sin(x),
    "tanh": lambda lib, x: lib.np.tanh(x),
    "floor": lambda lib, x: lib.np.floor(x),
    "round": lambda lib, x: lib.np.round(x),
    "round to 2 places": lambda lib, x: lib.np.round(x, 2),
    "sign": lambda lib, x: lib.np.sign(x),
    "isnan": lambda lib, x: lib.np.isnan(x),
    "maximum": lambda lib, x: lib.np.maximum(x, 0.0),
    "where": lambda lib, x: lib.np.where(x > 0, x, 0.0),
    "clip": lambda lib, x: lib.np.clip(x, -1.0, 1.0),
    "divmod": lambda lib, x: divmod(x, 2.0)[0],
    "sum": lambda lib, x: x.sum(),
    "mean": lambda lib, x: x.mean(),
    "prod": lambda lib, x: x.prod(),
    "var": lambda lib, x: x.var(),
    "std": lambda lib, x: x.std(),
    "max": lambda lib, x: x.max(),
    "argmax": lambda lib, x: x.argmax(),
    "any": lambda lib, x: (x > 0).any(),
    "cumsum": lambda lib, x: x.cumsum(),
    "median": lambda lib, x: lib.np.median(x),
    "diff": lambda lib, x: lib.np.diff(x),
    "norm": lambda lib, x: lib.np.linalg.norm(x),
    "reshape": lambda lib, x: x.reshape(2, 5),
    "transpose": lambda lib, x: x.reshape(2, 5).T,
    "x[i]": lambda lib, x: x[_positions(lib)],
    "x[None]": lambda lib, x: x[None],
    "x[0]": lambda lib, x: x[0],
    "x[1:7]": lambda lib, x: x[1:7],
    "x[::-1]": lambda lib, x: x[::-1],
    "flip": lambda lib, x: lib.np.flip(x),
    "roll": lambda lib, x: lib.np.roll(x, 1),
    "concatenate": lambda lib, x: lib.np.concatenate([x, x]),
    "stack": lambda lib, x: lib.np.stack([x, x]),
    "tile": lambda lib, x: lib.np.tile(x, 2),
    "broadcast_to": lambda lib, x: lib.np.broadcast_to(x, (3, 10)),
    "pad": lambda lib, x: lib.np.pad(x, 1),
    "astype": lambda lib, x: x.astype(lib.np.int32),
    "x.at[1].set": at_set,
    "x.at[i].add": at_add,
    "sort": lambda lib, x: lib.np.sort(x),
    "argsort": lambda lib, x: lib.np.argsort(x),
    "dot": lambda lib, x: lib.np.dot(x, x),
    "matmul": lambda lib, x: x.reshape(2, 5) @ x.reshape(5, 2),
    "outer": lambda lib, x: lib.np.outer(x, x),
    "einsum": lambda lib, x: lib.np.einsum("i,i->", x, x),
    "zeros_like": lambda lib, x: lib.np.zeros_like(x),
    "zeros": lambda lib, x: lib.np.zeros(10),
    "arange": lambda lib, x: lib.np.arange(10),
    "linspace": lambda lib, x: lib.np.linspace(0.0, 1.0, 10),
    "iterate": lambda lib, x: list(x)[-1],
}
