"""Recognize digits that are drawn in a browser: a network in a page of one file, which runs it as WebAssembly.

`python examples/digits_page.py` needs scikit-learn (`pip install '.[examples]'`), and writes digits.html. Open it, and
draw a digit.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import stagec
import stagec.numpy as snp

# Drawings have as many rows and columns as the bitmaps from which scikit-learn's digits were made.
SIZE = 32


class Result(NamedTuple):
    """Accuracy on images not seen in training, and the function that the page holds."""

    accuracy: float
    expected_accuracy: float
    recognize: Any
    file_bytes: int


def centered(drawing: Any) -> Any:
    """Ink (32, 32) scaled so that it fills the square, as it does in scikit-learn's digits."""
    ink = drawing > 0.3
    centers, extents = [], []
    for axis in (0, 1):
        along = ink.any(axis=1 - axis)
        first, last = snp.argmax(along), SIZE - snp.argmax(along[::-1])
        centers.append((first + last) / 2)
        extents.append(last - first)
    side = snp.maximum(extents[0], extents[1])
    steps = (snp.arange(SIZE) + 0.5) / SIZE - 0.5
    rows, columns = [snp.clip(snp.floor(c + steps * side), 0, SIZE - 1).astype("int32") for c in centers]
    return ink[rows][:, columns]


def recognizer(layers: list[tuple[Any, Any]]) -> Any:
    """A function of a drawing (32, 32), from 0 to 1, that returns the probabilities of the ten digits."""

    def recognize(drawing: Any) -> Any:
        blocks = centered(drawing).reshape(SIZE // 4, 4, SIZE // 4, 4)
        hidden = blocks.mean(axis=(1, 3), dtype="float32").reshape(1, -1)
        for weights, biases in layers[:-1]:
            hidden = snp.maximum(hidden @ weights + biases, 0.0)
        weights, biases = layers[-1]
        return stagec.nn.softmax(hidden @ weights + biases)[0]

    return recognize


def run(path: str, iterations: int = 60) -> Result:
    """Train with scikit-learn, and write the page."""
    digits = load_digits()
    images = (digits.data / 16).astype(np.float32)
    train, test, train_labels, labels = train_test_split(images, digits.target, test_size=0.3, random_state=0)
    model = MLPClassifier((64, 32), max_iter=iterations, tol=0, n_iter_no_change=iterations, random_state=0)
    model.fit(train, train_labels)
    layers = [(snp.asarray(w, "float32"), snp.asarray(b, "float32")) for w, b in zip(model.coefs_, model.intercepts_)]

    recognize = recognizer(layers)
    stagec.export(recognize)(f"f32[{SIZE},{SIZE}]").to_html(path)
    # The test's images are means of blocks; a pattern with as many dots in each block has the same means.
    order = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
    drawings = np.tile(order, (SIZE // 4, SIZE // 4)) < np.kron(test.reshape(-1, 8, 8) * 16, np.ones((4, 4)))
    found = np.asarray(stagec.jit(stagec.vmap(recognize))(drawings.astype(np.float32)))
    return Result(
        float(np.mean(found.argmax(axis=1) == labels)),
        float(np.mean(model.predict(test) == labels)),
        recognize,
        os.path.getsize(path),
    )


def main() -> None:
    """Write the page where the user wants it."""
    path = sys.argv[1] if len(sys.argv) > 1 else "digits.html"
    result = run(path)
    print(f"{path}: {result.file_bytes / 1024:.0f} KiB; open it in a browser, and draw a digit")
    print(f"{'':24}{'stagec':>10}{'sklearn':>10}")
    print(f"{'accuracy':24}{result.accuracy:10.4f}{result.expected_accuracy:10.4f}")


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # the number of iterations is meant
    main()
