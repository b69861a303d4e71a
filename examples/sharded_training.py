"""A network trained on several devices: images are split along one axis of a mesh, and weights along the other.

One process, whose CPU is divided into devices:

    python examples/sharded_training.py

Four processes that MPI connects (`pip install mpi4py mpich`), with the same code:

    mpiexec -n 4 python examples/sharded_training.py

Every process has all images here, and puts its own on its devices; the loss is that of one device.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import stagec
import stagec.numpy as snp
from stagec import NamedSharding, P, nn
from stagec.sharding import Mesh

HIDDEN = 64
RATE = 0.5


class Result(NamedTuple):
    """Attributes:
    first, last: the loss before and after training.
    accuracy: the share of the images that are recognized.
    parts: the shape of the part of the first matrix that a device has.
    """

    first: float
    last: float
    accuracy: float
    parts: tuple[int, ...]


class Weights(NamedTuple):
    """The columns of the first matrix and the rows of the second are split along the axis `model`."""

    into: Any
    bias: Any
    out: Any


SPECS = Weights(P(None, "model"), P("model"), P("model"))


def logits(weights: Weights, images: snp.ndarray) -> snp.ndarray:
    found: snp.ndarray = nn.relu(images @ weights.into + weights.bias) @ weights.out
    return found


def loss(weights: Weights, images: snp.ndarray, labels: snp.ndarray) -> snp.ndarray:
    chosen = nn.one_hot(labels, 10) * nn.log_softmax(logits(weights, images))
    return -chosen.sum() / len(labels)


@stagec.jit
def step(weights: Weights, images: snp.ndarray, labels: snp.ndarray) -> tuple[Weights, snp.ndarray]:
    value, slope = stagec.value_and_grad(loss)(weights, images, labels)
    return stagec.tree.map(lambda w, d: w - RATE * d, weights, slope), value


@stagec.jit
def accuracy(weights: Weights, images: snp.ndarray, labels: snp.ndarray) -> snp.ndarray:
    return (snp.argmax(logits(weights, images), 1) == labels).mean()


def mesh() -> Mesh:
    """Two devices along each axis, or as many as there are along `data`."""
    count = stagec.device_count("cpu")
    shape = (count // 2, 2) if count % 2 == 0 else (count, 1)
    return stagec.make_mesh(shape, ("data", "model"), devices=stagec.devices("cpu"))


def run(steps: int = 100) -> Result:
    data = load_digits()
    devices = mesh()
    rows = NamedSharding(devices, P("data"))
    count = len(data.target) // 8 * 8
    images = stagec.device_put((data.data[:count] / 16).astype(np.float32), rows)
    labels = stagec.device_put(data.target[:count].astype(np.int32), rows)
    rng = np.random.default_rng(0)
    whole = Weights(
        (rng.standard_normal((64, HIDDEN)) / 8).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        (rng.standard_normal((HIDDEN, 10)) / 8).astype(np.float32),
    )
    weights = Weights(*[stagec.device_put(w, NamedSharding(devices, spec)) for w, spec in zip(whole, SPECS)])
    losses = []
    for _ in range(steps):
        weights, value = step(weights, images, labels)
        losses.append(float(value))
    parts = weights.into.addressable_data(0).shape
    return Result(losses[0], losses[-1], float(accuracy(weights, images, labels)), parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    if "PMI_SIZE" in os.environ or "OMPI_COMM_WORLD_SIZE" in os.environ:  # started by mpiexec
        stagec.distributed.initialize()
    else:
        stagec.config.update("num_cpu_devices", 4)
    found = run(given.steps)
    if stagec.process_index() == 0:
        print(f"{stagec.device_count('cpu')} devices in {stagec.process_count()} processes, parts of {found.parts}")
        print(f"loss {found.first:.3f} -> {found.last:.3f}, {found.accuracy:.1%} of the images recognized")
