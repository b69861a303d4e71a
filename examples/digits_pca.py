"""Principal components of handwritten digits: orthogonal iteration, each step compiled, beside NumPy's SVD.

`python examples/digits_pca.py` needs scikit-learn (`pip install '.[examples]'`), for the images only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import stagec
import stagec.numpy as snp


class Result(NamedTuple):
    """Variances along the components, by stagec and by NumPy, and the largest angle between their components."""

    variances: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    largest_angle: float


@stagec.jit
def covariance(images: Any) -> Any:
    """The covariance (d, d) of images (n, d)."""
    centred = images - images.mean(axis=0)
    return centred.T @ centred / (images.shape[0] - 1)


@stagec.jit
def step(matrix: Any, directions: Any) -> tuple[Any, Any]:
    """One orthogonal iteration: multiply, then make the directions orthonormal (modified Gram-Schmidt).

    Args:
      matrix: symmetric, (d, d).
      directions: (k, d), orthonormal rows.

    Returns:
      The new directions (k, d), and the length that each had gained (k,): the eigenvalues, in the end.
    """
    moved = directions @ matrix
    rows: list[Any] = []
    lengths: list[Any] = []
    for i in range(directions.shape[0]):
        row = moved[i]
        for done in rows:
            row = row - (row @ done) * done
        length = snp.sqrt(row @ row)
        lengths.append(length)
        rows.append(row / length)
    return snp.stack(rows), snp.stack(lengths)


def run(components: int = 4, steps: int = 200) -> Result:
    """The leading components by stagec and by NumPy."""
    images = load_digits().data.astype(np.float32)
    matrix = covariance(images)
    directions = snp.asarray(np.eye(components, images.shape[1], 20, dtype=np.float32))
    for _ in range(steps):
        directions, variances = step(matrix, directions)

    centred = images.astype(np.float64) - images.mean(axis=0, dtype=np.float64)
    _, singular, rows = np.linalg.svd(centred, full_matrices=False)
    cosines = np.abs(np.sum(np.asarray(directions) * rows[:components], axis=1))
    return Result(
        np.asarray(variances),
        singular[:components] ** 2 / (len(images) - 1),
        float(np.degrees(np.arccos(np.clip(cosines, 0, 1)).max())),
    )


def main() -> None:
    """Print how the two compare."""
    result = run()
    print(f"{'component':>10}{'stagec':>12}{'NumPy':>12}{'difference':>12}")
    for i, (found, expected) in enumerate(zip(result.variances, result.expected)):
        print(f"{i:>10}{found:12.4f}{expected:12.4f}{abs(found - expected) / expected:12.1e}")
    print(f"largest angle between the components: {result.largest_angle:.3f} degrees")


if __name__ == "__main__":
    main()
