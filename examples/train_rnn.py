"""Train a recurrent network to predict the next character of a text, beside counts of pairs of characters.

`python examples/train_rnn.py` reads the repository's LICENSE; it needs `pip install '.[examples]'`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from training import Text, arguments, dense, pair_loss, plot, text, train, windows


class Result(NamedTuple):
    """Cross-entropy of the text's last part, in nats a character: the network's, and that of counted pairs."""

    loss: float
    pair_loss: float
    losses: np.ndarray[Any, Any]


def cell(params: dict[str, Any], state: Any, given: Any) -> tuple[Any, Any]:
    """One step of a gated recurrent unit (Cho et al., 2014).

    Args:
      params: of the network.
      state: (n, width).
      given: (n, 3 * width), what the character adds to the gates and to the proposed state.

    Returns:
      The new state, twice: `scan` carries one on, and stacks the other.
    """
    width = state.shape[1]
    gates = nn.sigmoid(given[:, : 2 * width] + state @ params["gates"])
    keep, reset = gates[:, :width], gates[:, width:]
    proposed = snp.tanh(given[:, 2 * width :] + (reset * state) @ params["proposed"])
    state = keep * state + (1 - keep) * proposed
    return state, state


def loss(params: dict[str, Any], characters: Any) -> Any:
    """The mean cross-entropy of each next character, for rows (n, length + 1) of characters.

    Only what depends on the state is in the loop; the rest is a product for all steps before it, and one after it.
    """
    steps = characters.T
    given = params["embedding"][steps[:-1]] @ params["in"]["weights"] + params["in"]["biases"]
    state = snp.zeros((characters.shape[0], params["proposed"].shape[0]))
    _, states = lax.scan(functools.partial(cell, params), state, given)
    log_probabilities = nn.log_softmax(states @ params["last"]["weights"] + params["last"]["biases"])
    return -snp.mean(snp.take_along_axis(log_probabilities, steps[1:, :, None], axis=-1))


def parameters(random: np.random.Generator, letters: int, width: int, embedded: int = 16) -> dict[str, Any]:
    """Small random weights."""
    return {
        "embedding": snp.asarray(random.normal(0, 1, (letters, embedded)), np.float32),
        "in": dense(random, embedded, 3 * width, gain=1.0),
        "gates": dense(random, width, 2 * width, gain=1.0)["weights"],
        "proposed": dense(random, width, width, gain=1.0)["weights"],
        "last": dense(random, width, letters, gain=1.0),
    }


def run(steps: int = 600, width: int = 96, length: int = 48, size: int = 16) -> Result:
    """Train on the first part of the text, compare on the last."""
    data: Text = text()
    random = np.random.default_rng(0)
    params = parameters(random, len(data.letters), width)
    params, losses = train(loss, params, windows(random, size, length, data.train), steps=steps, rate=5e-3, title="RNN")
    return Result(
        float(stagec.jit(loss)(params, data.test[None])),
        pair_loss(data),
        losses,
    )


def main() -> None:
    """Train, print how the two compare, and draw the losses."""
    options = arguments(__doc__, steps=600, plot="train_rnn.png")
    result = run(options.steps)
    print(f"{'':24}{'stagec':>10}{'pairs':>10}")
    print(f"{'nats a character':24}{result.loss:10.4f}{result.pair_loss:10.4f}")
    plot(
        options.plot,
        "Recurrent network on LICENSE",
        {"in training": result.losses},
        {"counted pairs": result.pair_loss, "on the last part": result.loss},
    )


if __name__ == "__main__":
    main()
