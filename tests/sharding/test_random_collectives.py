"""Random programs of collective operations against a simulation by NumPy, which holds the parts of all devices."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import stagec
from stagec import P, lax
from stagec.sharding import Mesh

# A longer hunt: STAGEC_FUZZ=20 STAGEC_FUZZ_START=1000 python -m pytest tests/sharding/test_random_collectives.py
FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
START = int(os.environ.get("STAGEC_FUZZ_START", "0"))
SHAPES = [(8,), (2,), (2, 4), (4, 2), (2, 2, 2), (1, 4), (3, 2)]
NAMES = ("x", "y", "z")


class Simulation:
    """The parts of all devices: an array whose first axes are those of the mesh."""

    def __init__(self, value: np.ndarray[Any, Any], count: int) -> None:
        self.value = value
        self.count = count

    def gathered(self, k: int) -> np.ndarray[Any, Any]:
        """The parts along axis `k` of the mesh, along a new first local axis, on each device."""
        moved = np.moveaxis(self.value, k, self.count - 1)
        size = self.value.shape[k]
        repeated = np.stack([moved] * size, k)
        return repeated

    def psum(self, k: int) -> np.ndarray[Any, Any]:
        return np.broadcast_to(self.value.sum(k, keepdims=True), self.value.shape).copy()

    def own(self, gathered: np.ndarray[Any, Any], k: int, axis: int) -> np.ndarray[Any, Any]:
        """On each device, the entry of a local axis with the device's number along axis `k` of the mesh."""
        index = np.arange(self.value.shape[k]).reshape([-1 if i == k else 1 for i in range(gathered.ndim)])
        return np.take_along_axis(gathered, index, self.count + axis).squeeze(self.count + axis)


def step(rng: np.random.Generator, s: Simulation) -> tuple[str, Callable[[Any], Any], np.ndarray[Any, Any]]:
    """A random operation: its name, what it is in stagec, and its result by NumPy."""
    k = int(rng.integers(s.count))
    name, size = NAMES[k], s.value.shape[k]
    local = s.value.ndim - s.count
    kind = rng.choice(["psum", "pmax", "pmean", "gather", "scatter", "permute", "shuffle", "to all", "index", "sin"])
    if kind == "psum":
        return "psum", lambda x: lax.psum(x, name) / size, s.psum(k) / size
    if kind == "pmax":
        whole = np.broadcast_to(s.value.max(k, keepdims=True), s.value.shape).copy()
        return "pmax", lambda x: lax.pmax(x, name), whole
    if kind == "pmean":
        return "pmean", lambda x: lax.pmean(x, name), s.psum(k) / size
    if kind == "gather":
        weights = np.arange(1, size + 1, dtype=np.float32) / size
        mixed = np.tensordot(s.gathered(k), weights, (s.count, 0))
        return "gather", lambda x: stagec.numpy.tensordot(weights, lax.all_gather(x, name), 1), mixed
    if kind == "scatter":
        stacked = np.stack([s.psum(k) / size * (i + 1) for i in range(size)], s.count)
        factors = np.arange(1, size + 1, dtype=np.float32).reshape(-1, *[1] * local) / size
        return "scatter", lambda x: lax.psum_scatter(x[None] * factors, name), s.own(stacked, k, 0)
    if kind == "permute":
        pairs = [(int(a), int(b)) for a, b in zip(rng.permutation(size), rng.permutation(size))]
        pairs = pairs[: int(rng.integers(1, size + 1))]
        out = np.zeros_like(s.value)
        for a, b in pairs:
            out[(slice(None),) * k + (b,)] = s.value[(slice(None),) * k + (a,)]
        return f"permute {pairs}", lambda x: lax.ppermute(x, name, pairs), out
    if kind == "shuffle":
        order = [int(i) for i in rng.permutation(size)]
        return f"shuffle {order}", lambda x: lax.pshuffle(x, name, order), np.take(s.value, order, k)
    if kind == "to all":
        factors = np.arange(1, size + 1, dtype=np.float32).reshape(-1, *[1] * local) / size
        sent = np.stack([s.value * (i + 1) / size for i in range(size)], s.count)  # the part for device i
        gathered = Simulation(sent, s.count).gathered(k)
        received = s.own(gathered, k, 1)

        def exchanged(x: Any) -> Any:
            return lax.all_to_all(x[None] * factors, name, 0, 0).mean(0)

        return "to all", exchanged, received.mean(s.count)
    if kind == "index":
        numbers = np.arange(size, dtype=np.float32).reshape([-1 if i == k else 1 for i in range(s.value.ndim)])
        return "index", lambda x: x + lax.axis_index(name), s.value + numbers
    return "sin", stagec.numpy.sin, np.sin(s.value)


class Random(NamedTuple):
    """A program, an array that it takes, and the result by NumPy."""

    run: Callable[[Any], Any]
    mesh: Mesh
    array: np.ndarray[Any, Any]
    wanted: np.ndarray[Any, Any]
    text: str


def random_program(seed: int) -> Random:
    rng = np.random.default_rng(seed)
    sizes = SHAPES[int(rng.integers(len(SHAPES)))]
    count = len(sizes)
    mesh = Mesh(np.array(stagec.devices()[: int(np.prod(sizes))]).reshape(sizes), NAMES[:count])
    local = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(1, 3))))
    start = rng.standard_normal((*sizes, *local)).astype(np.float32)
    simulated, steps, texts = Simulation(start, count), [], []
    for _ in range(int(rng.integers(2, 6))):
        text, function, value = step(rng, simulated)
        texts.append(text)
        steps.append(function)
        simulated = Simulation(value.astype(np.float32), count)

    spec = P(NAMES[:count])

    def program(x: Any) -> Any:
        for function in steps:
            x = function(x)
        return x

    # The first local axis is split along all axes of the mesh.
    whole = start.reshape(int(np.prod(sizes)) * local[0], *local[1:])
    run = stagec.shard_map(program, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=bool(seed % 2))
    wanted = simulated.value.reshape(-1, *local[1:])
    return Random(run, mesh, whole, wanted, f"{sizes} {local}: {texts}")


@pytest.mark.parametrize("seed", range(START, START + 40 * FUZZ))
def test_random_collectives(seed: int) -> None:
    run, _, array, wanted, text = random_program(seed)
    np.testing.assert_allclose(run(array), wanted, rtol=2e-5, atol=2e-5, err_msg=text)
