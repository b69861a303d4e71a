"""Histograms of points in two and more dimensions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from stagec.core import dtypes
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.conditionals import where
from stagec.numpy.creation import ones
from stagec.numpy.manipulation import ravel
from stagec.numpy.promotion import promote_inexact
from stagec.numpy.reductions import strong
from stagec.numpy.statistics import bin_indices, edges_of, is_count, totals
from stagec.primitives.axes import shape_error
from stagec.typing import ArrayLike, Arrays

__all__ = ["histogram2d", "histogramdd"]


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[float]] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points of a plane are in each rectangle of a grid.

    Args:
      x, y: coordinates of the points, of rank 1.
      bins: the number of bins along both axes, or their edges; or a pair of these, one for each axis.
      range: `((low, high), (low, high))` instead of the smallest and largest coordinates.
      weights: the weight of each point.
      density: divide by the total and by the areas of the bins.

    Returns:
      Counts, as integers, or the sums of weights, with `x` along the first axis; the edges along `x`, and along `y`.

    Raises:
      ShapeError: `x` and `y` differ in size.

    >>> import stagec.numpy as snp
    >>> snp.histogram2d(snp.array([0.0, 0.0, 2.0]), snp.array([0.0, 1.0, 1.0]), 2)[0]
    Array([[1, 1],
           [0, 1]], dtype=int32)
    """
    points = [array_argument(v, "histogram2d") for v in (x, y)]
    if points[0].ndim != 1 or points[0].shape != points[1].shape:
        raise shape_error(
            "histogram2d",
            f"x is {points[0].aval.long()}, y is {points[1].aval.long()}",
            "pass two vectors of one size",
        )
    pair = list(bins) if isinstance(bins, (tuple, list)) and len(bins) == 2 else [bins, bins]
    counts, (along_x, along_y) = _histogram("histogram2d", points, pair, range, weights, density)
    return counts, along_x, along_y


def histogramdd(
    sample: Arrays,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """How many points are in each box of a grid.

    Args:
      sample: the points, one in each row; or a list of arrays, one for each coordinate.
      bins: the number of bins along all axes; or a list with a number, or edges, for each axis.
      range: a list of `(low, high)`, or `None`, for each axis.
      weights: the weight of each point.
      density: divide by the total and by the volumes of the bins.

    Returns:
      Counts, as integers, or the sums of weights, with an axis for each coordinate; and a list of the edges along each.

    Raises:
      ShapeError: `bins` or `range` are not one for each coordinate.

    >>> import stagec.numpy as snp
    >>> snp.histogramdd(snp.array([[0.0, 0.0], [2.0, 1.0]]), (2, 1))[0]
    Array([[1],
           [1]], dtype=int32)
    """
    if isinstance(sample, (tuple, list)):
        points = [array_argument(v, "histogramdd") for v in sample]
    else:
        whole = array_argument(sample, "histogramdd")
        whole = whole if whole.ndim == 2 else whole.reshape(-1, 1)
        points = [whole[:, i] for i in builtins.range(whole.shape[1])]
    is_many = isinstance(bins, (tuple, list)) or getattr(bins, "ndim", 0) > 0
    each: Any = bins if is_many else [bins] * len(points)
    return _histogram("histogramdd", points, list(each), range, weights, density)


def _histogram(
    name: str, points: list[Any], bins: list[Any], range: Any, weights: Any, density: bool | None
) -> tuple[Any, list[Any]]:
    rank = len(points)
    ranges = [None] * rank if range is None else list(range)
    if len(bins) != rank or len(ranges) != rank:
        raise shape_error(
            name,
            f"{len(bins)} bins and {len(ranges)} ranges for points with {rank} coordinates",
            "give one of each for each coordinate",
        )
    points = promote_inexact(*points)
    edges = [edges_of(name, p, b, r) for p, b, r in zip(points, bins, ranges)]
    sizes = [e.size - 1 for e in edges]
    flat, inside = 0, True
    for point, edge, count, b in zip(points, edges, sizes, bins):
        index = bin_indices(edge, point, is_count(b))
        flat, inside = flat * count + index, (index < count) & inside
    total = math.prod(sizes)
    if weights is None:
        amounts = ones(points[0].shape, dtypes.default_int())
    else:
        (amounts,) = promote_inexact(array_argument(weights, f"{name}'s weights"))
    counts = totals(where(inside, flat, total), strong(ravel(amounts)), total).reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            counts = counts / widths.reshape([-1 if i == axis else 1 for i in builtins.range(rank)])
    return counts, edges
