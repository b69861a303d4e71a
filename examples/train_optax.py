"""Train a network on handwritten digits with optax, a library written for JAX, on stagec.

`python examples/train_optax.py` needs `pip install '.[examples]'`, and optax, which brings JAX along.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import stagec

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp
    import optax

from training import arguments, batches, digits, plot


class Result(NamedTuple):
    """Accuracy on images not seen in training, and the losses."""

    accuracy: float
    losses: np.ndarray[Any, Any]


def scores(params: Any, images: Any) -> Any:
    """Scores (n, 10) of the classes for images (n, 64)."""
    hidden = jax.nn.relu(images @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params: Any, images: Any, labels: Any) -> Any:
    """The mean cross-entropy."""
    return optax.softmax_cross_entropy_with_integer_labels(scores(params, images), labels).mean()


def run(steps: int = 400, hidden: int = 64, size: int = 64) -> Result:
    """Train with AdamW, a learning rate that rises and falls, and gradients of bounded norm."""
    data = digits()
    first, second = jax.random.split(jax.random.key(0))
    init = jax.nn.initializers.he_normal()
    params = {
        "w1": init(first, (64, hidden)),
        "b1": jnp.zeros(hidden),
        "w2": init(second, (hidden, 10)),
        "b2": jnp.zeros(10),
    }
    rate = optax.warmup_cosine_decay_schedule(0.0, 1e-2, max(1, steps // 10), steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate))

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Any, images: Any, labels: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, images, labels)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    losses = np.empty(steps, np.float32)
    source = batches(np.random.default_rng(0), size, data.train, data.train_labels)
    for i in range(steps):
        params, state, losses[i] = step(params, state, *next(source))
    found = jnp.argmax(scores(params, data.test), axis=1)
    return Result(float((found == data.test_labels).mean()), losses)


def main() -> None:
    """Train, print the accuracy, and draw the losses."""
    options = arguments(__doc__, steps=400, plot="train_optax.png")
    result = run(options.steps)
    print(f"optax on stagec: accuracy {result.accuracy:.4f}")
    print(f"loss: {result.losses[0]:.3f} at first, {result.losses[-1]:.4f} at last")
    plot(options.plot, "optax on stagec", {"cross-entropy": result.losses})


if __name__ == "__main__":
    main()
