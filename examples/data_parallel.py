"""Train a network on handwritten digits in several processes of Dask, each of which has a part of the images.

A worker computes the gradient of each of its images (`vmap`), clips it, and adds the gradients up; the sums of the
workers are added in pairs. The results are compared with those of the same training in one process.

`python examples/data_parallel.py` needs `pip install '.[examples,dask]'`.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, Future, LocalCluster

import stagec
import stagec.numpy as snp
from train_mlp import accuracy, loss
from training import dense, digits


class Result(NamedTuple):
    """Accuracy on images not seen in training, largest difference from one process, and compiles in total."""

    accuracy: float
    largest_difference: float
    compiles: int


@stagec.jit
def clipped_gradients(layers: list[Any], images: Any, labels: Any) -> Any:
    """The sum over images of the gradients of their losses, each of which is at most 1 long."""

    def clipped(image: Any, label: Any) -> Any:
        gradient = stagec.grad(loss)(layers, image[None], label[None])
        length = snp.sqrt(sum(snp.sum(g**2) for g in stagec.tree.leaves(gradient)))
        return stagec.tree.map(lambda g: g / snp.maximum(length, 1.0), gradient)

    gradients = stagec.vmap(clipped)(images, labels)
    return stagec.tree.map(lambda g: snp.sum(g, axis=0), gradients)


@stagec.jit
def added(one: Any, other: Any) -> Any:
    """The sum of two trees of arrays."""
    return stagec.tree.map(snp.add, one, other)


@stagec.jit
def moved(layers: Any, gradient: Any, rate: float) -> Any:
    """The parameters after a step of gradient descent."""
    return stagec.tree.map(lambda p, g: p - rate * g, layers, gradient)


def tree_sum(client: Client, parts: list[Future]) -> Future:
    """The sum of the workers' parts, added in pairs by workers that have one of the two; none comes to this process."""
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [client.submit(added, *pair, pure=False) for pair in zip(parts[::2], parts[1::2])] + odd
    return parts[0]


def trained(layers: Any, gradient: Callable[[Any], Any], steps: int, count: int) -> Any:
    """The parameters after some steps."""
    for _ in range(steps):
        layers = moved(layers, gradient(layers), 2.0 / count)
    return layers


def compiles() -> int:
    """How many programs this process has compiled."""
    from stagec.compiler import log

    return sum(record.message == "compiled" for record in log.records("compile"))


def run(workers: int = 2, steps: int = 100, hidden: tuple[int, ...] = (64,)) -> Result:
    """Train with several workers, and alone."""
    data = digits()
    random = np.random.default_rng(0)
    count = len(data.train) // workers * workers  # parts of one size need one program
    images, labels = data.train[:count], data.train_labels[:count]
    layers = [dense(random, *pair) for pair in itertools.pairwise((images.shape[1], *hidden, 10))]

    # Small programs gain nothing by more threads, and each process would have one for each core.
    environment = {"STAGEC_NUM_THREADS": "1"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, env=environment, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        places = list(client.scheduler_info()["workers"])
        parts = [
            client.scatter(part, workers=[place])
            for part, place in zip(zip(np.split(images, workers), np.split(labels, workers)), places)
        ]

        def together(layers: Any) -> Any:
            sent = client.scatter(layers, broadcast=True, hash=False)
            sums = [
                client.submit(lambda layers, part: clipped_gradients(layers, *part), sent, part, pure=False)
                for part in parts
            ]
            return tree_sum(client, sums).result()

        found = trained(layers, together, steps, count)
        compiled = sum(client.run(compiles).values())

    alone = trained(layers, lambda p: clipped_gradients(p, images, labels), steps, count)
    differences = stagec.tree.map(lambda a, b: float(snp.max(snp.abs(a - b))), found, alone)
    return Result(
        float(accuracy(found, data.test, data.test_labels)),
        max(stagec.tree.leaves(differences)),
        compiled,
    )


def main() -> None:
    """Train, and print how the two compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--steps", type=int, default=100, help="steps of training (default: 100)")
    options = parser.parse_args()
    result = run(options.workers, options.steps)
    print(f"accuracy on the test's images  {result.accuracy:.4f}")
    print(f"largest difference from one process  {result.largest_difference:.1e}")
    print(f"programs compiled by {options.workers} workers  {result.compiles}")


if __name__ == "__main__":
    main()
