"""Axes and shapes as NumPy's users write them, made canonical."""

from __future__ import annotations

from typing import Any

from stagec.primitives.shape import as_int, as_shape, canonical_axes, canonical_axis

__all__ = ["as_int", "as_shape", "normalize_axes", "normalize_axis"]


def normalize_axis(axis: Any, ndim: int, name: str) -> int:
    """An axis in 0..ndim-1; negative ones count from the last.

    Args:
      axis: an integer.
      ndim: rank of the array.
      name: the function that was called, for the error.

    Raises:
      AxisError: there is no such axis.

    >>> normalize_axis(-1, 3, "sum")
    2
    """
    return canonical_axis(axis, ndim, name)


def normalize_axes(axes: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Distinct axes in 0..ndim-1, in the order given; `None` is all of them.

    Args:
      axes: an integer, a sequence of integers, or `None`.
      ndim: rank of the array.
      name: the function that was called, for the error.

    Raises:
      AxisError: there is no such axis, or one is named twice.

    >>> normalize_axes((0, -1), 3, "sum")
    (0, 2)
    """
    return canonical_axes(axes, ndim, name)
