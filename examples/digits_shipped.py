"""Ship the digits' classifier: compiled into one file for several machines, and run where no compiler is loaded.

`python examples/digits_shipped.py` needs scikit-learn (`pip install '.[examples]'`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import stagec
import stagec.numpy as snp

TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "vulkan")

# The other machine: it has the file, NumPy, and IREE's runtime.
RUNNER = """
import sys
import time

import numpy as np
import stagec

started = time.perf_counter()
classify = stagec.load("digits.stagec")
found = np.asarray(classify(np.load("images.npy")))
seconds = time.perf_counter() - started
np.save("labels.npy", found)
assert not [name for name in sys.modules if name.startswith(("iree.compiler", "stagec.lowering"))]
((target, source),) = classify.modules
print(target, source, seconds)
"""


class Result(NamedTuple):
    """What the other process found, beside scikit-learn."""

    accuracy: float
    expected_accuracy: float
    target: str
    source: str
    seconds: float
    file_bytes: int


def classifier(layers: list[tuple[Any, Any]]) -> Any:
    """A function of images (n, inputs) that holds the network's weights (inputs, outputs) and biases (outputs,)."""

    def classify(images: Any) -> Any:
        hidden = images
        for weights, biases in layers[:-1]:
            hidden = snp.maximum(hidden @ weights + biases, 0.0)
        weights, biases = layers[-1]
        return snp.argmax(hidden @ weights + biases, axis=1)

    return classify


def run(iterations: int = 60) -> Result:
    """Train with scikit-learn, export to a file, classify in another process."""
    digits = load_digits()
    images = (digits.data / 16).astype(np.float32)
    train, test, train_labels, labels = train_test_split(images, digits.target, test_size=0.3, random_state=0)
    model = MLPClassifier((64, 32), max_iter=iterations, tol=0, n_iter_no_change=iterations, random_state=0)
    model.fit(train, train_labels)
    layers = [(snp.asarray(w), snp.asarray(b)) for w, b in zip(model.coefs_, model.intercepts_)]

    exported = stagec.export(classifier(layers), TARGETS)(stagec.ShapeDtypeStruct(test.shape, "float32"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "digits.stagec")
        exported.save(path)
        np.save(os.path.join(folder, "images.npy"), test)
        done = subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, capture_output=True, text=True, env=_paths())
        if done.returncode:
            raise RuntimeError(done.stderr)
        found = np.load(os.path.join(folder, "labels.npy"))
        target, source, seconds = done.stdout.split()
        return Result(
            float(np.mean(found == labels)),
            float(np.mean(model.predict(test) == labels)),
            target,
            source,
            float(seconds),
            os.path.getsize(path),
        )


def _paths() -> dict[str, str]:
    """The environment, with the folders that this process imports from."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def main() -> None:
    """Print what came of it."""
    result = run()
    print(f"one file for {', '.join(TARGETS)}: {result.file_bytes / 1024:.0f} KiB")
    print(f"the other process took the module for {result.target} from the {result.source}")
    print(f"loaded and classified in {1e3 * result.seconds:.0f} ms, without a compiler")
    print(f"{'':24}{'stagec':>10}{'sklearn':>10}")
    print(f"{'accuracy':24}{result.accuracy:10.4f}{result.expected_accuracy:10.4f}")


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # the number of iterations is meant
    main()
