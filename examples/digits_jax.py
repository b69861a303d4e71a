"""Ship a network that JAX trained: its StableHLO compiled into one file, for machines with neither JAX nor a compiler.

`python examples/digits_jax.py` needs scikit-learn, JAX and flatbuffers
(`pip install '.[examples]' jax flatbuffers`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import stagec

TARGETS = ("cpu:x86-64-v2", "cpu:x86-64-v3", "vulkan")

# The other machine: it has the file, NumPy, and IREE's runtime. Where there is a Vulkan device, it takes that too.
RUNNER = """
import sys

import numpy as np
import stagec

predict = stagec.load("digits.stagec")
parameters = dict(np.load("parameters.npz"))
images = np.load("images.npy")
for device in (stagec.devices("cpu")[0], *stagec.devices("vulkan")[:1]):
    found = predict(*stagec.device_put((parameters, images), device))
    np.save(f"{device.platform}.npy", np.asarray(found))
assert not [name for name in sys.modules if name.startswith(("jax", "iree.compiler"))]
"""


class Result(NamedTuple):
    """What the other process found, beside JAX."""

    accuracy: float
    differences: dict[str, float]
    file_bytes: int


def predict(parameters: Any, images: Any) -> Any:
    """Probabilities (n, 10) of images (n, 64): a convolution, a pool and a layer."""
    x = images.reshape(-1, 8, 8, 1)
    x = jax.lax.conv_general_dilated(
        x, parameters["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.softmax(x.reshape(len(images), -1) @ parameters["weights"] + parameters["bias"])


def trained(images: Any, labels: Any, steps: int) -> Any:
    """The network's parameters after some steps of gradient descent."""
    keys = jax.random.split(jax.random.key(0))
    parameters = {
        "kernel": 0.3 * jax.random.normal(keys[0], (3, 3, 1, 8)),
        "weights": 0.05 * jax.random.normal(keys[1], (128, 10)),
        "bias": jnp.zeros(10),
    }

    def loss(parameters: Any) -> Any:
        return -jnp.log(predict(parameters, images)[jnp.arange(len(labels)), labels] + 1e-9).mean()

    @jax.jit
    def step(parameters: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 0.5 * g, parameters, jax.grad(loss)(parameters))

    for _ in range(steps):
        parameters = step(parameters)
    return parameters


def run(steps: int = 200) -> Result:
    """Train and export with JAX, compile with stagec, run in another process."""
    digits = load_digits()
    images = (digits.data / 16).astype(np.float32)
    train, test, train_labels, labels = train_test_split(images, digits.target, test_size=0.3, random_state=0)
    parameters = trained(train, train_labels, steps)
    expected = np.asarray(predict(parameters, test))
    written = bytes(jax.export.export(jax.jit(predict))(parameters, test).serialize())

    imported = stagec.from_stablehlo(written)
    args, kwargs = imported.arguments()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "digits.stagec")
        stagec.export(imported, TARGETS)(*args, **kwargs).save(path)
        np.save(os.path.join(folder, "images.npy"), test)
        np.savez(os.path.join(folder, "parameters.npz"), **{k: np.asarray(v) for k, v in parameters.items()})
        done = subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, capture_output=True, text=True, env=_paths())
        if done.returncode:
            raise RuntimeError(done.stderr)
        files = {name: os.path.join(folder, f"{name}.npy") for name in ("cpu", "vulkan")}
        found = {name: np.load(file) for name, file in files.items() if os.path.exists(file)}
        return Result(
            float(np.mean(found["cpu"].argmax(1) == labels)),
            {platform: float(abs(values - expected).max()) for platform, values in found.items()},
            os.path.getsize(path),
        )


def _paths() -> dict[str, str]:
    """The environment, with the folders that this process imports from."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def main() -> None:
    """Print what came of it."""
    result = run()
    print(f"one file for {', '.join(TARGETS)}: {result.file_bytes / 1024:.0f} KiB")
    print(f"accuracy {result.accuracy:.4f} of the digits that JAX was not trained with")
    print(f"{'device':10}{'largest difference from JAX':>30}")
    for platform, difference in result.differences.items():
        print(f"{platform:10}{difference:30.1e}")


if __name__ == "__main__":
    main()
