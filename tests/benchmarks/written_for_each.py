"""Programs as each library wants them written: `python -m tests.benchmarks.written_for_each LIBRARY PROGRAM`.

It needs NumPy and the library, and nothing else of this repository, so each library may be in an environment of its
own. The first line is printed when the first result is there, the second after the later calls, both as JSON:

- `first`: seconds of the first call, which compiles, or finds the program in the library's cache on disk;
- `steady`: seconds of a later call, the least mean of some batches; `size`: the mean absolute value of the result.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Functions = dict[str, Callable[..., Any]]
# The variable of the folder where a library keeps its programs.
CACHES = {
    "numpy": "",
    "numba": "NUMBA_CACHE_DIR",
    "torch": "TORCHINDUCTOR_CACHE_DIR",
    "jax": "JAX_COMPILATION_CACHE_DIR",
    "stagec": "STAGEC_CACHE_DIR",
}


def arguments(tiny: bool) -> dict[str, list[Any]]:
    """The arrays that each program takes, in float32; a list of arrays is the weights of a network."""

    def sample(*shape: int) -> Any:
        return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)

    def weights(*shapes: tuple[int, ...]) -> list[Any]:
        return [sample(*shape) * np.float32(0.05) for shape in shapes]

    n, rows, side, i, h = (8, 4, 8, 8, 8) if tiny else (10**6, 2048, 1024, 784, 256)
    images, size, c, d = (2, 8, 2, 2) if tiny else (32, 28, 16, 32)
    return {
        "softmax": [sample(rows, side)],
        "sum": [sample(n)],
        "product": [sample(side, side), sample(side, side)],
        "sort": [sample(n // 10 if n > 8 else n)],
        "filter": [sample(n), np.float32(0.9)],
        "perceptron": [weights((i, h), (h,), (h, h), (h,), (h, 10), (10,)), sample(128, i), sample(128, 10)],
        "convolutions": [
            weights((3, 3, 1, c), (3, 3, c, d), ((size // 4) ** 2 * d, 10)),
            sample(images, size, size, 1),
            sample(images, 10),
        ],
    }


def expressions(xp: Any) -> Functions:
    """What reads the same in NumPy, JAX and stagec."""

    def softmax(x: Any) -> Any:
        e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    return {
        "softmax": softmax,
        "sum": lambda x: xp.sum(x * x + xp.sin(x)),
        "product": lambda a, b: a @ b,
        "sort": xp.sort,
    }


def recurrence(x: Any, a: Any) -> Any:
    """A filter whose every element depends on the one before, as a loop of Python's."""
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + x[i]
    return y


def networks(jax: Any) -> Functions:
    """Training steps, as JAX and stagec take them: a loss, and the weights a step later."""
    jnp, nn = jax.numpy, jax.nn

    def step(network: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(weights: Any, x: Any, y: Any) -> Any:
            loss = lambda w: jnp.mean((network(w, x) - y) ** 2)  # noqa: E731
            value, gradients = jax.value_and_grad(loss)(weights)
            return value, [w - 0.1 * g for w, g in zip(weights, gradients)]

        return stepped

    def perceptron(weights: Any, x: Any) -> Any:
        w0, b0, w1, b1, w2, b2 = weights
        return nn.log_softmax(nn.relu(nn.relu(x @ w0 + b0) @ w1 + b1) @ w2 + b2)

    def convolutions(weights: Any, h: Any) -> Any:
        for kernel in weights[:2]:
            order = jax.lax.conv_dimension_numbers(h.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
            h = nn.relu(jax.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=order))
            h = h.reshape(h.shape[0], h.shape[1] // 2, 2, h.shape[2] // 2, 2, h.shape[3]).mean(axis=(2, 4))
        return h.reshape(h.shape[0], -1) @ weights[2]

    return {"perceptron": step(perceptron), "convolutions": step(convolutions)}


def of_numpy() -> Functions:
    return {**expressions(np), "filter": recurrence}


def of_numba() -> Functions:
    import numba

    @numba.njit(parallel=True, cache=True)
    def softmax(x):  # type: ignore[no-untyped-def]
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            e = np.exp(x[i] - x[i].max())
            out[i] = e / e.sum()
        return out

    @numba.njit(parallel=True, cache=True)
    def total(x):  # type: ignore[no-untyped-def]
        found = np.float32(0)
        for i in numba.prange(x.size):
            found += x[i] * x[i] + np.sin(x[i])
        return found

    @numba.njit(cache=True)
    def product(a, b):  # type: ignore[no-untyped-def]
        return a @ b

    @numba.njit(cache=True)
    def sort(x):  # type: ignore[no-untyped-def]
        return np.sort(x)

    filtered = numba.njit(cache=True)(recurrence)
    return {"softmax": softmax, "sum": total, "product": product, "sort": sort, "filter": filtered}


def of_torch() -> Functions:
    import torch
    from torch.nn import functional

    def softmax(x: Any) -> Any:
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    def step(network: Callable[..., Any]) -> Callable[..., Any]:
        loss = torch.compile(lambda weights, x, y: ((network(weights, x) - y) ** 2).mean())

        def stepped(weights: Any, x: Any, y: Any) -> Any:
            for w in weights:
                w.requires_grad_().grad = None
            value = loss(weights, x, y)
            value.backward()
            with torch.no_grad():
                return value, [w - 0.1 * w.grad for w in weights]

        return stepped

    def perceptron(weights: Any, x: Any) -> Any:
        w0, b0, w1, b1, w2, b2 = weights
        return functional.log_softmax(torch.relu(torch.relu(x @ w0 + b0) @ w1 + b1) @ w2 + b2, -1)

    def convolutions(weights: Any, h: Any) -> Any:
        h = h.permute(0, 3, 1, 2)
        for kernel in weights[:2]:
            h = functional.avg_pool2d(torch.relu(functional.conv2d(h, kernel.permute(3, 2, 0, 1), padding="same")), 2)
        return h.permute(0, 2, 3, 1).flatten(1) @ weights[2]

    jitted = {
        "softmax": softmax,
        "sum": lambda x: (x * x + torch.sin(x)).sum(),
        "product": lambda a, b: a @ b,
        "sort": lambda x: torch.sort(x).values,
    }
    return {
        **{name: torch.compile(f) for name, f in jitted.items()},
        "perceptron": step(perceptron),
        "convolutions": step(convolutions),
    }


def of_jax() -> Functions:
    import jax

    # What takes less than a second is not kept by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

    def filtered(x: Any, a: Any) -> Any:
        def step(y: Any, v: Any) -> Any:
            y = a * y + v
            return y, y

        return jax.lax.scan(step, np.float32(0), x)[1]

    functions = {**expressions(jax.numpy), "filter": filtered, **networks(jax)}
    return {name: jax.jit(f) for name, f in functions.items()}


def of_stagec() -> Functions:
    import stagec

    functions = {**expressions(stagec.numpy), **networks(stagec)}
    return {**{name: stagec.jit(f) for name, f in functions.items()}, "filter": stagec.jit(recurrence, python=True)}


def put(library: str, given: Any) -> Any:
    """Arguments where compiled code reads them without a copy."""
    if isinstance(given, list):
        return [put(library, value) for value in given]
    if library == "torch":
        return importlib.import_module("torch").from_numpy(given) if given.ndim else given
    return given if library in ("numpy", "numba") else importlib.import_module(f"{library}.numpy").asarray(given)


def first_array(result: Any) -> Any:
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result.block_until_ready() if hasattr(result, "block_until_ready") else result


def main() -> None:
    """Measure one program of one library."""
    library, program = sys.argv[1:3]
    tiny = sys.argv[3:] == ["--tiny"]
    functions = {"numpy": of_numpy, "numba": of_numba, "torch": of_torch, "jax": of_jax, "stagec": of_stagec}
    function, given = functions[library]()[program], put(library, arguments(tiny)[program])
    started = time.perf_counter()
    result = first_array(function(*given))
    first = time.perf_counter() - started
    version = "" if library == "stagec" else importlib.metadata.version(library)
    print(json.dumps({"first": first, "version": version}), flush=True)
    if hasattr(result, "detach"):
        result = result.detach()
    size = float(np.abs(np.asarray(result)).astype(np.float64).mean())

    def batch(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            first_array(function(*given))
        return (time.perf_counter() - started) / count

    count = 1 if tiny else max(1, int(0.05 / max(batch(1), 1e-6)))
    print(json.dumps({"steady": min(batch(count) for _ in range(1 if tiny else 7)), "size": size}), flush=True)


if __name__ == "__main__":
    main()
