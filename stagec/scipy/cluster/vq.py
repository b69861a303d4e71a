"""Vector quantization, by the name of `scipy.cluster.vq`."""

from __future__ import annotations

from stagec import numpy as snp
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.numpy.arguments import to_array
from stagec.numpy.promotion import promote_inexact
from stagec.primitives.operand import aval_of
from stagec.runtime.plans import cover as _cover
from stagec.typing import ArrayLike

__all__ = ["vq"]


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The index of the nearest center of each observation, and the distance from it.

    Args:
      obs: observations, shape (N, K), or (N,) for numbers.
      code_book: centers, shape (M, K), or (M,).
      check_finite: accepted as in SciPy; nothing is checked.

    >>> import stagec.numpy as snp
    >>> codes, distances = vq(snp.array([[0.0, 1.0], [5.0, 5.0]]), snp.array([[0.0, 0.0], [5.0, 4.0]]))
    >>> codes.tolist(), distances.tolist()
    ([0, 1], [1.0, 1.0])
    """
    points, centers = (to_array(o) for o in promote_inexact(obs, code_book))
    if points.ndim != centers.ndim or points.ndim not in (1, 2) or points.shape[1:] != centers.shape[1:]:
        raise location.error(
            errors.ShapeError,
            f"vq: obs is {aval_of(points).long()}, code_book {aval_of(centers).long()}",
            fix="give both one axis, or two of which the last has the same size",
        )
    if points.ndim == 1:
        points, centers = points[:, None], centers[:, None]
    difference = points[:, None, :] - centers[None, :, :]
    square = (difference * difference).sum(-1)
    nearest = square.min(-1)
    return snp.argmin(square, axis=-1), snp.sqrt(nearest)


_cover(globals())
_publish(globals())
