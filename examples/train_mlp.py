"""Train a network on handwritten digits, beside scikit-learn's network of the same size.

`python examples/train_mlp.py` needs `pip install '.[examples]'`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import nn
from training import arguments, batches, dense, digits, plot, scikit_learns_network, train


class Result(NamedTuple):
    """Accuracy on images not seen in training, by stagec and by scikit-learn, and stagec's losses."""

    accuracy: float
    expected_accuracy: float
    losses: np.ndarray[Any, Any]


def scores(layers: list[Any], images: Any) -> Any:
    """Scores (n, 10) of the classes for images (n, 64): their softmax is the probability."""
    hidden = images
    for layer in layers[:-1]:
        hidden = nn.relu(hidden @ layer["weights"] + layer["biases"])
    return hidden @ layers[-1]["weights"] + layers[-1]["biases"]


def loss(layers: list[Any], images: Any, labels: Any) -> Any:
    """The mean cross-entropy."""
    log_probabilities = nn.log_softmax(scores(layers, images))
    return -snp.mean(snp.take_along_axis(log_probabilities, labels[:, None], axis=1))


@stagec.jit
def accuracy(layers: list[Any], images: Any, labels: Any) -> Any:
    """The share of images whose highest score is that of their label."""
    return snp.mean(snp.argmax(scores(layers, images), axis=1) == labels)


def run(steps: int = 800, hidden: tuple[int, ...] = (128, 64), size: int = 64) -> Result:
    """Train both for the same number of passes over the images."""
    data = digits()
    random = np.random.default_rng(0)
    widths = (data.train.shape[1], *hidden, 10)
    layers = [dense(random, *pair) for pair in itertools.pairwise(widths)]
    layers, losses = train(
        loss, layers, batches(random, size, data.train, data.train_labels), steps=steps, rate=3e-3, title="MLP"
    )

    return Result(
        float(accuracy(layers, data.test, data.test_labels)),
        scikit_learns_network(data, hidden, passes=steps * size // len(data.train), size=size),
        losses,
    )


def main() -> None:
    """Train, print how the two compare, and draw the losses."""
    options = arguments(__doc__, steps=800, plot="train_mlp.png")
    result = run(options.steps)
    print(f"{'':24}{'stagec':>10}{'sklearn':>10}")
    print(f"{'accuracy':24}{result.accuracy:10.4f}{result.expected_accuracy:10.4f}")
    print(f"loss: {result.losses[0]:.3f} at first, {result.losses[-1]:.4f} at last")
    plot(options.plot, "MLP on digits", {"cross-entropy": result.losses})


if __name__ == "__main__":
    main()
