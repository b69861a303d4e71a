"""Train a causal transformer to predict the next character of a text, and let it write some.

`python examples/train_transformer.py` reads the repository's LICENSE; it needs `pip install '.[examples]'`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from training import arguments, dense, pair_loss, plot, text, train, windows


class Result(NamedTuple):
    """Cross-entropy of the text's last part, in nats a character, as of counted pairs; and what the network writes."""

    loss: float
    pair_loss: float
    losses: np.ndarray[Any, Any]
    sample: str


def apply(layer: dict[str, Any], x: Any) -> Any:
    """A layer's weights and biases on (..., inputs)."""
    return x @ layer["weights"] + layer["biases"]


def attend(query: Any, key: Any, value: Any) -> Any:
    """One head's attention of each place (length, width) to itself and the places before it."""
    length, width = query.shape
    likeness = query @ key.T / np.sqrt(width)
    likeness = snp.where(snp.tri(length, dtype=bool), likeness, -snp.inf)
    return nn.softmax(likeness) @ value


def block(params: dict[str, Any], heads: int, x: Any) -> Any:
    """Attention and a network for each place, both of normalized values and added to what comes in: (length, width)."""
    length, width = x.shape
    split = apply(params["in"], nn.standardize(x)).reshape(length, 3, heads, width // heads)
    query, key, value = snp.transpose(split, (1, 2, 0, 3))
    joined = snp.transpose(stagec.vmap(attend)(query, key, value), (1, 0, 2)).reshape(length, width)
    x = x + apply(params["out"], joined)
    return x + apply(params["narrow"], nn.gelu(apply(params["wide"], nn.standardize(x))))


def scores(params: dict[str, Any], heads: int, characters: Any) -> Any:
    """Scores (length, letters) of what follows each of the characters (length,)."""
    x = params["embedding"][characters] + params["places"][: len(characters)]
    for layer in params["blocks"]:
        x = block(layer, heads, x)
    return apply(params["last"], nn.standardize(x))


def loss(heads: int, params: dict[str, Any], characters: Any) -> Any:
    """The mean cross-entropy of each next character, for rows (n, length + 1) of characters."""

    def of_row(row: Any) -> Any:
        log_probabilities = nn.log_softmax(scores(params, heads, row[:-1]))
        return -snp.mean(snp.take_along_axis(log_probabilities, row[1:, None], axis=1))

    return snp.mean(stagec.vmap(of_row)(characters))


@functools.partial(stagec.jit, static_argnums=1)
def write(params: dict[str, Any], heads: int, start: Any, noise: Any) -> Any:
    """Sample characters, one for each row of `noise`, to follow `start`.

    The window of characters moves on in a loop of the program. Adding Gumbel noise to the scores and taking the largest
    samples from their softmax.

    Args:
      params: of the network.
      heads: of its attention.
      start: (length,).
      noise: (n, letters), of Gumbel's distribution.
    """

    def step(window: Any, noise: Any) -> tuple[Any, Any]:
        following = snp.argmax(scores(params, heads, window)[-1] + noise).astype(window.dtype)
        return snp.append(window[1:], following), following

    return lax.scan(step, start, noise)[1]


def parameters(random: np.random.Generator, letters: int, length: int, width: int, blocks: int) -> dict[str, Any]:
    """Small random weights; each block adds little at first."""

    def block() -> dict[str, Any]:
        return {
            "in": dense(random, width, 3 * width, gain=1.0),
            "out": dense(random, width, width, gain=0.1),
            "wide": dense(random, width, 4 * width),
            "narrow": dense(random, 4 * width, width, gain=0.1),
        }

    return {
        "embedding": snp.asarray(random.normal(0, 0.5, (letters, width)), np.float32),
        "places": snp.asarray(random.normal(0, 0.5, (length, width)), np.float32),
        "blocks": [block() for _ in range(blocks)],
        "last": dense(random, width, letters, gain=0.1),
    }


def run(
    steps: int = 600,
    width: int = 64,
    heads: int = 4,
    blocks: int = 2,
    length: int = 48,
    size: int = 16,
    written: int = 200,
) -> Result:
    """Train on the first part of the text, compare on the last, and continue the first."""
    data = text()
    random = np.random.default_rng(0)
    params = parameters(random, len(data.letters), length, width, blocks)
    params, losses = train(
        functools.partial(loss, heads),
        params,
        windows(random, size, length, data.train),
        steps=steps,
        rate=3e-3,
        title="transformer",
    )
    pieces = data.test[: (len(data.test) - 1) // length * length + 1]
    rows = pieces[np.arange(0, len(pieces) - 1, length)[:, None] + np.arange(length + 1)]
    noise = random.gumbel(size=(written, len(data.letters))).astype(np.float32)
    return Result(
        float(stagec.jit(loss, static_argnums=0)(heads, params, rows)),
        pair_loss(data),
        losses,
        "".join(data.letters[i] for i in np.asarray(write(params, heads, data.train[:length], noise))),
    )


def main() -> None:
    """Train, print how the two compare and what the network writes, and draw the losses."""
    options = arguments(__doc__, steps=600, plot="train_transformer.png")
    result = run(options.steps)
    print(f"{'':24}{'stagec':>10}{'pairs':>10}")
    print(f"{'nats a character':24}{result.loss:10.4f}{result.pair_loss:10.4f}")
    print(f"it writes: {result.sample}")
    plot(
        options.plot,
        "Transformer on LICENSE",
        {"in training": result.losses},
        {"counted pairs": result.pair_loss, "on the last part": result.loss},
    )


if __name__ == "__main__":
    main()
