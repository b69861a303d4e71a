"""What the training examples share: the digits, batches, Adam, the loop with its progress bar, and the plot.

Only the plot needs matplotlib, the rest `pip install '.[examples]'`; without matplotlib the plot is left out.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import stagec
import stagec.numpy as snp


class Digits(NamedTuple):
    """Images of 8 by 8 pixels between 0 and 1 as rows of 64 numbers, and their labels, in two parts."""

    train: np.ndarray[Any, Any]
    test: np.ndarray[Any, Any]
    train_labels: np.ndarray[Any, Any]
    test_labels: np.ndarray[Any, Any]


def digits() -> Digits:
    """Scikit-learn's 1797 handwritten digits; 30 % of them are for the test."""
    data = load_digits()
    images, labels = (data.data / 16).astype(np.float32), data.target.astype(np.int32)
    return Digits(*train_test_split(images, labels, test_size=0.3, random_state=0))


def batches(random: np.random.Generator, size: int, *arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of the arrays, `size` at a time, shuffled anew for each pass; a last part that is too small is left out."""
    while True:
        order = random.permutation(len(arrays[0]))
        for start in range(0, len(order) - size + 1, size):
            yield tuple(array[order[start : start + size]] for array in arrays)


def scikit_learns_network(data: Digits, hidden: tuple[int, ...], passes: int, size: int) -> float:
    """The accuracy on the test's images that scikit-learn's network reaches, with hidden layers of these widths."""
    passes = max(1, passes)
    model = MLPClassifier(
        hidden, batch_size=size, learning_rate_init=3e-3, max_iter=passes, n_iter_no_change=passes, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of passes is meant
        model.fit(data.train, data.train_labels)
    return float(model.score(data.test, data.test_labels))


class Text(NamedTuple):
    """A text as numbers of characters, in two parts, and the characters in the order of their numbers."""

    train: np.ndarray[Any, Any]
    test: np.ndarray[Any, Any]
    letters: str


def text() -> Text:
    """The repository's LICENSE; its last tenth is for the test."""
    written = (pathlib.Path(__file__).resolve().parent.parent / "LICENSE").read_text()
    written = " ".join(written.split())  # the layout is of no interest
    letters = "".join(sorted(set(written)))
    numbers = np.array([letters.index(c) for c in written], np.int32)
    cut = len(numbers) * 9 // 10
    return Text(numbers[:cut], numbers[cut:], letters)


def windows(random: np.random.Generator, size: int, length: int, numbers: Any) -> Iterator[tuple[Any]]:
    """Pieces of a text from random places: (size, length + 1) at a time."""
    while True:
        starts = random.integers(0, len(numbers) - length, size)
        yield (numbers[starts[:, None] + np.arange(length + 1)],)


def pair_loss(data: Text) -> float:
    """The cross-entropy of the test's characters, each predicted from the one before it by counts, in nats.

    The counts are of pairs in the training's part, with a little added to each, as best serves the test.
    """
    counts = np.zeros((len(data.letters), len(data.letters)))
    np.add.at(counts, (data.train[:-1], data.train[1:]), 1)
    found = []
    for more in (0.01, 0.03, 0.1, 0.3, 1.0):
        shares = (counts + more) / (counts + more).sum(axis=1, keepdims=True)
        found.append(-np.mean(np.log(shares[data.test[:-1], data.test[1:]])))
    return float(min(found))


def dense(random: np.random.Generator, inputs: int, outputs: int, gain: float = 2.0) -> dict[str, Any]:
    """Weights (inputs, outputs) and biases (outputs,) of a layer; a gain of 2 suits the layers before a relu."""
    weights = random.normal(0, np.sqrt(gain / inputs), (inputs, outputs))
    return {"weights": snp.asarray(weights, np.float32), "biases": snp.zeros(outputs)}


class Adam(NamedTuple):
    """Adam's state: steps done, and running means of the gradient and of its square, shaped as the parameters."""

    steps: Any
    mean: Any
    square: Any


def adam(params: Any) -> Adam:
    """The state before the first step."""
    return Adam(snp.int32(0), stagec.tree.map(snp.zeros_like, params), stagec.tree.map(snp.zeros_like, params))


def adam_step(params: Any, state: Adam, gradient: Any, rate: float) -> tuple[Any, Adam]:
    """One step of Adam (Kingma and Ba, 2015, algorithm 1)."""
    decay, square_decay, eps = 0.9, 0.999, 1e-8
    steps = state.steps + 1
    mean = stagec.tree.map(lambda m, g: decay * m + (1 - decay) * g, state.mean, gradient)
    square = stagec.tree.map(lambda s, g: square_decay * s + (1 - square_decay) * g**2, state.square, gradient)
    size = rate * snp.sqrt(1 - square_decay**steps) / (1 - decay**steps)
    params = stagec.tree.map(lambda p, m, s: p - size * m / (snp.sqrt(s) + eps), params, mean, square)
    return params, Adam(steps, mean, square)


def train(
    loss: Callable[..., Any], params: Any, data: Iterator[tuple[Any, ...]], *, steps: int, rate: float, title: str
) -> tuple[Any, np.ndarray[Any, Any]]:
    """Minimize `loss(params, *batch)` with Adam, one batch a step, under a progress bar.

    A step is one compiled program. The old parameters and Adam's state are donated: their memory takes the new ones.

    Args:
      loss: a function of parameters and of a batch's arrays, which returns a scalar.
      params: pytree of arrays.
      data: batches.
      steps: how many.
      rate: Adam's step size.
      title: shown beside the bar.

    Returns:
      The parameters after the last step, and the losses (steps,).
    """

    @functools.partial(stagec.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Adam, *batch: Any) -> tuple[Any, Adam, Any]:
        value, gradient = stagec.value_and_grad(loss)(params, *batch)
        return *adam_step(params, state, gradient, rate), value

    state = adam(params)
    losses = np.empty(steps, np.float32)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("loss {task.fields[loss]:.4f}"))
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task(title, total=steps, loss=float("nan"))
        for i in range(steps):
            params, state, value = step(params, state, *next(data))
            losses[i] = value
            progress.update(task, advance=1, loss=losses[i])
    return params, losses


def plot(path: str, title: str, curves: dict[str, Any], levels: dict[str, float] | None = None) -> bool:
    """Draw curves of losses over steps, and levels to compare them with, into a PNG.

    Returns:
      Whether there is a plot: without matplotlib there is none, and a line says so.
    """
    try:
        import matplotlib
    except ImportError:
        print("no plot: it needs matplotlib (pip install '.[examples]')")
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, values in curves.items():
        axes.semilogy(values, label=name, linewidth=1)
    for name, level in (levels or {}).items():
        axes.axhline(level, label=name, linestyle="--", color="gray", linewidth=1)
    axes.set(title=title, xlabel="step", ylabel="loss")
    axes.legend()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    print(f"losses drawn in {path}")
    return True


def arguments(description: str, steps: int, plot: str) -> argparse.Namespace:
    """The command line of an example: `--steps` and `--plot`, with these defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps, help=f"steps of training (default: {steps})")
    parser.add_argument("--plot", default=plot, help=f"where the losses are drawn (default: {plot})")
    return parser.parse_args()
