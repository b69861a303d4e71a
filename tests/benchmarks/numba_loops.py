"""Loops over arrays in plain Python, in float64: `python -m tests.benchmarks.numba_loops stagec`, or `numba`, `numpy`.

Each library is measured in a process of its own, so Numba may be in another environment than stagec. Where it is not
installed, `python tests/benchmarks/numba_loops.py numba` in that environment needs nothing else of this repository.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def decay(x: Any, a: Any) -> Any:
    """A filter whose every element depends on the one before."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + x[i]
    return y


def distances(p: Any) -> Any:
    """Between each two points, in three nested loops."""
    n = p.shape[0]
    d = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(p.shape[1]):
                s += (p[i, k] - p[j, k]) ** 2
            d[i, j] = math.sqrt(s)
    return d


def heat(u: Any, rounds: Any) -> Any:
    """Rounds of a stencil, written with slices."""
    for _ in range(rounds):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


def escape(c: Any, limit: Any) -> Any:
    """The rounds until each number of a Mandelbrot set leaves: loops of different length."""
    out = np.zeros(c.shape[0], np.int64)
    for i in range(c.shape[0]):
        z = 0j
        n = 0
        while n < limit and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c[i]
            n += 1
        out[i] = n
    return out


def cases() -> dict[Callable[..., Any], tuple[Any, ...]]:
    """The functions and their arguments."""
    rng = np.random.default_rng(0)
    plane = np.linspace(-2, 0.5, 300)[None, :] + 1j * np.linspace(-1.2, 1.2, 300)[:, None]
    return {
        decay: (rng.standard_normal(10**6), 0.9),
        distances: (rng.standard_normal((1000, 3)),),
        heat: (rng.standard_normal((512, 512)), 100),
        escape: (plane.ravel(), 200),
    }


def jit_of(library: str) -> Callable[..., Any]:
    """What the library compiles a function with, without caches on disk."""
    if library == "numba":
        import numba  # type: ignore[import-not-found, unused-ignore]

        return numba.njit  # type: ignore[no-any-return, unused-ignore]
    if library == "numpy":
        return lambda function: function
    import stagec

    stagec.config.update("enable_x64", True)
    stagec.config.update("enable_cache", False)
    return lambda function: stagec.jit(function, python=True)


def measured(function: Callable[..., Any], given: tuple[Any, ...]) -> float:
    """The seconds of one call, with arrays of its own."""
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
    started = time.perf_counter()
    np.asarray(function(*arguments))
    return time.perf_counter() - started


def main() -> None:
    """Print a row for each function: the first call of it, and the fastest of seven later ones."""
    library = sys.argv[1]
    jit = jit_of(library)
    measured(jit(lambda x: x + 1), (np.ones(3),))  # imports are no function's
    for function, given in cases().items():
        compiled = jit(function)
        first = measured(compiled, given)
        later = min(measured(compiled, given) for _ in range(7))
        print(f"| `{function.__name__}` | {library} | {first:.3f} s | {later * 1e3:.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
