"""Random numbers, factorizations and transforms: what JAX's CPU backend leaves to libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.loop_programs import Names, Program, arrays, matrix, numbers

PROGRAMS: list[Program] = []


def add(name: str, make: Callable[[Names], Callable[..., Any]], operands: Callable[[bool], tuple[Any, ...]]) -> None:
    PROGRAMS.append(Program(name, make, operands))


def _key(tiny: bool) -> tuple[Any, ...]:
    return (np.array([0, 42], np.uint32),)


COUNT = 1_000_000
add("10^6 random bits", lambda x: lambda key: x.random.bits(key, (COUNT,), np.uint32), _key)
add("10^6 normals", lambda x: lambda key: x.random.normal(key, (COUNT,), np.float32), _key)


def _spd(n: int) -> Callable[[bool], tuple[Any, ...]]:
    make = matrix(n)
    return lambda tiny: tuple(a.astype(np.float32) for a in make(tiny))


def _system(n: int) -> Callable[[bool], tuple[Any, ...]]:
    make = arrays((n, n), (n,), dtype=np.float32)

    def operands(tiny: bool) -> tuple[Any, ...]:
        a, b = make(tiny)
        return a + 4 * np.eye(len(a), dtype=np.float32), b

    return operands


for n in (256, 512):
    add(f"cholesky {n}", lambda x: x.np.linalg.cholesky, _spd(n))
    add(f"solve {n}", lambda x: x.np.linalg.solve, _system(n))
    add(f"eigh {n}", lambda x: lambda a: _both(x, *x.np.linalg.eigh(a)), _spd(n))
    add(f"svd {n}", lambda x: lambda a: _three(x, *x.np.linalg.svd(a)), arrays((n, n), dtype=np.float32))


def _both(x: Names, values: Any, vectors: Any) -> Any:
    # The signs of vectors are free.
    return values + x.np.sum(vectors * vectors, 0)


def _three(x: Names, u: Any, values: Any, v: Any) -> Any:
    return values + x.np.sum(u * u, 0) + x.np.sum(v * v, 1)


def _signal(n: int) -> Callable[[bool], tuple[Any, ...]]:
    return lambda tiny: ((numbers(60 if tiny else n) + 1j * numbers(1)).astype(np.complex64),)


for size, text in ((2**16, "2^16"), (10**5, "10^5")):
    add(f"fft of {text}", lambda x: lambda z: x.np.abs(x.np.fft.fft(z)), _signal(size))
