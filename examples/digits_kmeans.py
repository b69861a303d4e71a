"""Group handwritten digits without their labels: Lloyd's k-means, each step compiled.

`python examples/digits_kmeans.py` needs scikit-learn (`pip install '.[examples]'`), for the images only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import stagec
import stagec.numpy as snp


class Result(NamedTuple):
    """What stagec and NumPy found from the same start."""

    steps: int
    inertia: float
    expected_inertia: float
    same_group: float
    purity: float


def step(np_: Any, points: Any, centres: Any) -> tuple[Any, Any, Any]:
    """Assign points to their nearest centre, and move the centres to the means of their points.

    Args:
      np_: `numpy` or `stagec.numpy`: the same code serves both.
      points: (n, d).
      centres: (k, d).

    Returns:
      New centres (k, d), the group of each point (n,), and the summed squared distances.
    """
    squares = (points * points).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres * centres).sum(axis=1)
    groups = squares.argmin(axis=1)
    members = (groups[:, None] == np_.arange(centres.shape[0])).astype(points.dtype)
    counts = members.sum(axis=0)
    means = members.T @ points / np_.maximum(counts, 1)[:, None]
    return np_.where(counts[:, None] > 0, means, centres), groups, squares.min(axis=1).sum()


compiled_step = stagec.jit(lambda points, centres: step(snp, points, centres))


def cluster(one_step: Any, points: Any, centres: Any, most_steps: int = 100) -> tuple[int, Any, Any]:
    """Step until the centres rest; returns the number of steps, the groups and the inertia."""
    steps = 0
    while True:
        before = centres
        centres, groups, inertia = one_step(points, before)
        steps += 1
        if steps == most_steps or np.array_equal(centres, before):
            return steps, np.asarray(groups), float(inertia)


def purity(groups: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    """The share of points whose label is the commonest of their group."""
    commonest = sum(np.bincount(labels[groups == g]).max() for g in np.unique(groups))
    return float(commonest / len(labels))


def run(k: int = 10) -> Result:
    """Cluster with stagec and with NumPy from the same centres."""
    digits = load_digits()
    points = digits.data.astype(np.float32)
    start = points[np.random.default_rng(0).choice(len(points), k, replace=False)]
    steps, groups, inertia = cluster(compiled_step, snp.asarray(points), snp.asarray(start))
    _, expected, expected_inertia = cluster(lambda p, c: step(np, p, c), points, start)
    return Result(
        steps,
        inertia,
        expected_inertia,
        float(np.mean(groups == expected)),
        purity(groups, digits.target),
    )


def main() -> None:
    """Print how the two compare."""
    result = run()
    print(f"{'':24}{'stagec':>12}{'NumPy':>12}")
    print(f"{'inertia':24}{result.inertia:12.0f}{result.expected_inertia:12.0f}")
    print(f"points in the same group: {result.same_group:.2%}, after {result.steps} steps")
    print(f"groups that agree with the digits: {result.purity:.1%}")


if __name__ == "__main__":
    main()
