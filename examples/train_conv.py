"""Train a convolutional network on handwritten digits, beside a network without convolutions.

`python examples/train_conv.py` needs `pip install '.[examples]'`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from training import arguments, batches, dense, digits, plot, scikit_learns_network, train


class Result(NamedTuple):
    """Accuracy on images not seen in training, and the losses.

    `expected_accuracy` is that of scikit-learn's network without convolutions, `best_accuracy` that of its support
    vector machine, which on images as small as these is better than networks.
    """

    accuracy: float
    expected_accuracy: float
    best_accuracy: float
    losses: np.ndarray[Any, Any]


def convolution(random: np.random.Generator, inputs: int, outputs: int, size: int = 3) -> dict[str, Any]:
    """Kernels (outputs, inputs, size, size) and biases (outputs, 1, 1) of a layer."""
    kernels = random.normal(0, np.sqrt(2 / (inputs * size**2)), (outputs, inputs, size, size))
    return {"kernels": snp.asarray(kernels, np.float32), "biases": snp.zeros((outputs, 1, 1))}


def convolve(layer: dict[str, Any], images: Any) -> Any:
    """Convolve (n, inputs, height, width), relu, and halve height and width: the maximum of each 2 by 2 pixels."""
    hidden = nn.relu(lax.conv_general_dilated(images, layer["kernels"], (1, 1), "SAME") + layer["biases"])
    return lax.reduce_window(hidden, -snp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def scores(params: dict[str, Any], images: Any) -> Any:
    """Scores (n, 10) of the classes for images (n, 64): their softmax is the probability."""
    hidden = images.reshape(-1, 1, 8, 8)
    for layer in params["convolutions"]:
        hidden = convolve(layer, hidden)
    return hidden.reshape(len(images), -1) @ params["last"]["weights"] + params["last"]["biases"]


def loss(params: dict[str, Any], images: Any, labels: Any) -> Any:
    """The mean cross-entropy."""
    return -snp.mean(snp.sum(nn.one_hot(labels, 10) * nn.log_softmax(scores(params, images)), axis=1))


@stagec.jit
def accuracy(params: dict[str, Any], images: Any, labels: Any) -> Any:
    """The share of images whose highest score is that of their label."""
    return snp.mean(snp.argmax(scores(params, images), axis=1) == labels)


def run(steps: int = 400, channels: tuple[int, int] = (32, 64), size: int = 64) -> Result:
    """Train all three."""
    data = digits()
    random = np.random.default_rng(0)
    widths = (1, *channels)
    params = {
        "convolutions": [convolution(random, *pair) for pair in itertools.pairwise(widths)],
        "last": dense(random, channels[-1] * 2 * 2, 10, gain=1.0),
    }
    params, losses = train(
        loss, params, batches(random, size, data.train, data.train_labels), steps=steps, rate=2e-3, title="conv net"
    )
    return Result(
        float(accuracy(params, data.test, data.test_labels)),
        scikit_learns_network(data, (128, 64), passes=40, size=size),
        float(SVC().fit(data.train, data.train_labels).score(data.test, data.test_labels)),
        losses,
    )


def main() -> None:
    """Train, print how the two compare, and draw the losses."""
    options = arguments(__doc__, steps=400, plot="train_conv.png")
    result = run(options.steps)
    print(f"{'':24}{'stagec':>10}{'sklearn':>10}{'its SVM':>10}")
    print(f"{'accuracy':24}{result.accuracy:10.4f}{result.expected_accuracy:10.4f}{result.best_accuracy:10.4f}")
    print(f"loss: {result.losses[0]:.3f} at first, {result.losses[-1]:.4f} at last")
    plot(options.plot, "Convolutional network on digits", {"cross-entropy": result.losses})


if __name__ == "__main__":
    main()
