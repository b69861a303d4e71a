"""Classify handwritten digits: a network trained by scikit-learn, run by stagec.

`python examples/digits_softmax.py` needs scikit-learn (`pip install '.[examples]'`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import stagec
import stagec.numpy as snp


class Result(NamedTuple):
    """Accuracy on images not seen in training, and how far the probabilities differ from scikit-learn's."""

    accuracy: float
    expected_accuracy: float
    largest_difference: float


@stagec.jit
def probabilities(layers: list[tuple[Any, Any]], images: Any) -> Any:
    """Class probabilities, one row an image.

    Args:
      layers: weights (inputs, outputs) and biases (outputs,) of each layer.
      images: (n, inputs).
    """
    hidden = images
    for weights, biases in layers[:-1]:
        hidden = snp.maximum(hidden @ weights + biases, 0.0)
    weights, biases = layers[-1]
    scores = hidden @ weights + biases
    raised = snp.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def run(iterations: int = 60) -> Result:
    """Train with scikit-learn, classify with both."""
    digits = load_digits()
    images = (digits.data / 16).astype(np.float32)
    train, test, train_labels, labels = train_test_split(images, digits.target, test_size=0.3, random_state=0)
    model = MLPClassifier((64, 32), max_iter=iterations, tol=0, n_iter_no_change=iterations, random_state=0)
    model.fit(train, train_labels)
    layers = [(snp.asarray(w), snp.asarray(b)) for w, b in zip(model.coefs_, model.intercepts_)]

    found = np.asarray(probabilities(layers, test))
    expected = model.predict_proba(test)
    return Result(
        float(np.mean(found.argmax(axis=1) == labels)),
        float(np.mean(expected.argmax(axis=1) == labels)),
        float(np.abs(found - expected).max()),
    )


def main() -> None:
    """Print how the two compare."""
    result = run()
    print(f"{'':24}{'stagec':>10}{'sklearn':>10}")
    print(f"{'accuracy':24}{result.accuracy:10.4f}{result.expected_accuracy:10.4f}")
    print(f"largest difference of a probability: {result.largest_difference:.1e}")


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # the number of iterations is meant
    main()
