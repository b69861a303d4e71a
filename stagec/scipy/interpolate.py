"""Interpolation on grids, by the name of `scipy.interpolate`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core import dims, dtypes, errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.trace import Tracer
from stagec.numpy.arguments import array_argument
from stagec.primitives.operand import aval_of
from stagec.typing import ArrayLike

__all__ = ["RegularGridInterpolator"]


class RegularGridInterpolator:
    """A function that interpolates values on a grid, whose lines need not have equal distances.

    Args:
      points: for each axis of the grid, its coordinates, which ascend.
      values: on the grid's points; further axes are those of the results.
      method: `"linear"` or `"nearest"`.
      bounds_error: not supported: a compiled program raises no errors.
      fill_value: the result outside of the grid; None extrapolates.

    >>> import stagec.numpy as snp
    >>> grid = (snp.array([0.0, 1.0, 3.0]),)
    >>> RegularGridInterpolator(grid, snp.array([0.0, 2.0, 4.0]))(snp.array([[0.5], [2.0]]))
    Array([1., 3.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: float | None = math.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise location.error(
                errors.UnsupportedError,
                "RegularGridInterpolator: bounds_error is not supported, a compiled program raises no errors",
                fix="leave it out, and look for NaN in the results",
            )
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.grid = tuple(array_argument(p, "RegularGridInterpolator") for p in points)
        given = array_argument(values, "RegularGridInterpolator")
        self.values = given if dtypes.is_inexact(given.dtype) else given.astype(dtypes.default_float())
        sizes = tuple(p.shape[0] if p.ndim == 1 else -1 for p in self.grid)
        if self.values.shape[: len(sizes)] != sizes or 0 in sizes:
            raise location.error(
                errors.ShapeError,
                f"RegularGridInterpolator: {sizes} points for values {aval_of(self.values).long()}",
                fix="give each of the first axes of the values as many points as it has elements",
            )
        for axis, p in enumerate(self.grid):
            if not isinstance(p, Tracer) and not (np.diff(np.asarray(p)) > 0).all():
                raise location.error(
                    errors.ArgumentTypeError,
                    f"RegularGridInterpolator: the points of axis {axis} do not ascend",
                    fix="sort them, and the values with them",
                )

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at points, along the last axis of an array, or coordinates as a tuple of arrays."""
        method = self.method if method is None else method
        _check_method(method)
        coordinates = snp.stack(snp.broadcast_arrays(*xi), -1) if isinstance(xi, tuple) else snp.asarray(xi)
        if len(self.grid) == 1 and coordinates.ndim < 2:
            coordinates = coordinates.reshape(-1, 1)
        if coordinates.shape[-1] != len(self.grid):
            raise location.error(
                errors.ShapeError,
                f"RegularGridInterpolator: points {aval_of(coordinates).long()} on a grid of {len(self.grid)} axes",
                fix="give a coordinate for each axis of the grid, along the last axis",
            )
        nodes = []
        outside: Any = False
        for axis, grid in enumerate(self.grid):
            x = coordinates[..., axis]
            outside = outside | (x < grid[0]) | (x > grid[-1])
            nodes.append(_nodes(grid, x, method))
        spread = (Ellipsis, *(None,) * (self.values.ndim - len(self.grid)))
        total: Any = 0.0
        for corner in itertools.product(*nodes):
            weight: Any = 1.0
            for _, w in corner:
                weight = weight * w
            total = total + self.values[tuple(i for i, _ in corner)] * weight[spread]
        if self.fill_value is not None:
            total = snp.where(outside[spread], self.fill_value, total)
        # NaN compares false, so it is in no cell of the grid.
        missing = snp.isnan(coordinates).any(-1)
        return snp.where(missing[spread], math.nan, total)


def _check_method(method: str) -> None:
    if method not in ("linear", "nearest"):
        raise location.error(
            errors.UnsupportedError,
            f"RegularGridInterpolator: unknown method {method!r}",
            fix="use 'linear' or 'nearest'",
        )


def _nodes(grid: Array, x: Array, method: str) -> list[tuple[Any, Any]]:
    """The indices of the points around coordinates, each with its weight."""
    if dims.equal(grid.shape[0], 1):
        return [(snp.zeros(x.shape, dtypes.default_int()), snp.ones_like(x))]
    low = snp.clip(snp.searchsorted(grid, x, side="right") - 1, 0, grid.shape[0] - 2)
    above = (x - grid[low]) / (grid[low + 1] - grid[low])
    if method == "nearest":
        return [(snp.where(above <= 0.5, low, low + 1), snp.ones_like(above))]
    return [(low, 1 - above), (low + 1, above)]


_publish(globals())
